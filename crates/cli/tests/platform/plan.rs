//! What a change of a Composition, an XRD or a Function does to live XRs.

use std::process::Command;

use serde_json::{Value, json};
use testkit::Sandbox;

use crate::fixture::{
    Platform, apply, deployment, function_name, get, in_one_line, map, requests, until, with_input, world,
};
use crate::schema;

fn only_for(size: &str, mut resource: Value) -> Value {
    resource["onlyFor"] = size.into();
    resource
}

/// The input before: a Deployment for all, a queue for large ones.
fn before() -> Value {
    json!({"resources": {
        "web": deployment(2),
        "queue": only_for("large", map(&json!({"queue": "yes"}))),
        "settings": map(&json!({"size": "{size}"})),
    }})
}

/// Two XRs of medium size, two small ones and a large one.
async fn shop(test: &str) -> Platform {
    let platform = Platform::new(test, &before()).await;
    for (name, size) in [("a", "small"), ("b", "small"), ("c", "medium"), ("d", "medium"), ("e", "large")] {
        platform.composed(name, size).await;
    }
    platform
}

/// The changed input: medium ones get another number of replicas, large ones lose their queue.
fn after() -> Value {
    let mut input = before();
    let resources = input["resources"].as_object_mut().unwrap();
    resources.remove("queue");
    resources.insert("web".to_owned(), only_for("small", deployment(2)));
    resources.insert("web-large".to_owned(), only_for("large", deployment(2)));
    resources.insert("web-medium".to_owned(), only_for("medium", deployment(3)));
    input
}

/// Versions of everything that a plan must not write.
async fn versions(platform: &Platform) -> Vec<String> {
    let kinds = [
        format!("{}/v1/XApp", platform.group),
        "apps/v1/Deployment".to_owned(),
        "v1/ConfigMap".to_owned(),
        "apiextensions.crossplane.io/v1/Composition".to_owned(),
        "apiextensions.crossplane.io/v1/CompositionRevision".to_owned(),
    ];
    let mut versions = Vec::new();
    for kind in kinds {
        let listed =
            platform.session.list(&kind.parse().unwrap(), &cluster::Selection::default()).await.unwrap();
        let ours = listed.items.iter().filter(|item| item.to_string().contains(platform.ns.name()));
        versions.extend(ours.map(|item| {
            // The status of a Deployment moves on its own.
            format!("{} {} {}", item["kind"], item["metadata"]["name"], item["metadata"]["generation"])
        }));
    }
    versions
}

#[tokio::test]
async fn a_changed_composition_is_shown_xr_by_xr_and_nothing_is_written() {
    let platform = shop("review").await;
    let before = versions(&platform).await;
    let mut changed = self::before();
    changed["resources"]["web"] = deployment(3);
    changed["resources"].as_object_mut().unwrap().remove("queue");
    let changed = platform.composition("main", &changed);
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    insta::assert_snapshot!(shown, @r#"
    exit 2
    --- stdout
    0 of 5 XRs unchanged; 4 change Deployment.spec.replicas; 1 loses a ConfigMap and changes Deployment.spec.replicas
    ~ Composition main.NS.example.org
        spec.pipeline[step="render"].input.resources.queue: → (none)   held by plimsoll
          - object:
          -   apiVersion: v1
          -   data:
          -     queue: "yes"
          -   kind: ConfigMap
          - onlyFor: large
        spec.pipeline[step="render"].input.resources.web.object.spec.replicas: 2 → 3   held by plimsoll
    ~ XApp NS/a
        ~ Deployment NS/a-HASH
            spec.replicas: 2 → 3
              held by apiextensions.crossplane.io/composed/HASH
    ~ XApp NS/b
        ~ Deployment NS/b-HASH
            spec.replicas: 2 → 3
              held by apiextensions.crossplane.io/composed/HASH
    ~ XApp NS/c
        ~ Deployment NS/c-HASH
            spec.replicas: 2 → 3
              held by apiextensions.crossplane.io/composed/HASH
    ~ XApp NS/d
        ~ Deployment NS/d-HASH
            spec.replicas: 2 → 3
              held by apiextensions.crossplane.io/composed/HASH
    ~ XApp NS/e
        - ConfigMap NS/e-HASH
        ~ Deployment NS/e-HASH
            spec.replicas: 2 → 3
              held by apiextensions.crossplane.io/composed/HASH
    --- stderr
    1 to change
    "#);
    assert_eq!(versions(&platform).await, before);
    assert_eq!(requests(&platform.session, platform.ns.name()).await, 0);
}

#[tokio::test]
async fn an_apply_that_shows_a_plan_shows_the_xrs() {
    let platform = Platform::new("confirm", &before()).await;
    platform.composed("a", "small").await;
    let mut changed = before();
    changed["resources"]["web"] = deployment(3);
    let changed = platform.composition("main", &changed);
    let dry_run = |more: &[&str]| {
        let arguments = [&["apply", "-f", "-", "--dry-run"], more].concat();
        platform.transcript(&platform.run(&arguments, &[&changed]))
    };
    let shown = dry_run(&[]);
    assert!(
        shown.starts_with("exit 0\n--- stdout\nthe only XR changes Deployment.spec.replicas\n"),
        "{shown}"
    );
    assert!(shown.contains("\n~ XApp NS/a\n"), "{shown}");
    assert!(!dry_run(&["--without-xrs"]).contains("XApp"));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("composition.yaml");
    std::fs::write(&file, changed.to_string()).unwrap();
    let confirm = platform.plimsoll(&["apply", "--confirm", "-f", file.to_str().unwrap()]);
    let output = with_input(on_terminal(&confirm), "n\n");
    let shown = platform.steady(&String::from_utf8_lossy(&output.stdout));
    assert!(shown.contains("~ XApp NS/a") && shown.contains("Apply this? [y/N]"), "{shown}");
    assert_eq!(output.status.code(), Some(1), "{shown}");
}

/// The same command on a terminal of its own.
fn on_terminal(command: &Command) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| format!("'{}'", word.to_str().expect("plain words")));
    let line = format!("exec {}", quoted.collect::<Vec<_>>().join(" "));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    script.envs(variables).env("TERM", "xterm");
    script
}

#[tokio::test]
async fn xrs_that_stay_as_they_are_are_counted_only() {
    let platform = shop("unchanged").await;
    // Another text, the same outcome.
    let mut same = before();
    same["comment"] = "new".into();
    let changed = platform.composition("main", &same);
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert!(
        shown.starts_with("exit 2\n--- stdout\nall 5 XRs are unchanged\n~ Composition main.NS"),
        "{shown}"
    );
    assert!(!shown.contains("XApp"), "{shown}");
    // The Composition as it is concerns none.
    let shown =
        platform.transcript(&platform.run(&["plan", "-f", "-"], &[&platform.composition("main", &before())]));
    assert_eq!(shown, "exit 0\n--- stderr\n1 unchanged\n");
}

#[tokio::test]
async fn xrs_with_different_effects_are_summed_up_in_groups() {
    let platform = shop("groups").await;
    let changed = platform.composition("main", &after());
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    let summary = shown.lines().nth(2).unwrap_or_default();
    assert_eq!(
        summary,
        "2 of 5 XRs unchanged; 2 lose a Deployment and gain a Deployment; \
         1 loses a ConfigMap and a Deployment and gains a Deployment",
        "{shown}"
    );
}

#[tokio::test]
async fn the_formats_for_programs_and_pull_requests_have_the_xrs() {
    let platform = shop("formats").await;
    let mut changed = before();
    changed["resources"]["web"] = deployment(3);
    changed["resources"]["token"] = json!({"object": {
        "apiVersion": "v1", "kind": "Secret", "stringData": {"token": "hunter2"},
    }});
    let changed = platform.composition("main", &changed);
    let output = platform.run(&["plan", "-f", "-", "-o", "json"], &[&changed]);
    assert_eq!(output.status.code(), Some(2), "{}", platform.transcript(&output));
    let report = schema::check("report", &String::from_utf8_lossy(&output.stdout));
    let composites = &report["composites"];
    assert_eq!(composites["summary"], "all 5 XRs gain a Secret and change Deployment.spec.replicas");
    let first = &composites["items"][0];
    assert_eq!((&first["name"], &first["state"]), (&json!("a"), &json!("changed")));
    let actions: Vec<&str> =
        first["objects"].as_array().unwrap().iter().filter_map(|it| it["action"].as_str()).collect();
    assert_eq!(actions, ["none", "create", "change"]);
    assert!(
        first["objects"][2]["fields"][0]["heldNow"][0]
            .as_str()
            .unwrap()
            .starts_with("apiextensions.crossplane.io/composed/")
    );

    for format in ["json", "markdown", "diff", "text", "yaml"] {
        let output = platform.run(&["plan", "-f", "-", "-o", format], &[&changed]);
        let shown = String::from_utf8_lossy(&output.stdout);
        // The Composition itself contains the value; what is composed must not show it.
        let composed: String = shown.lines().filter(|line| !line.contains("stringData")).collect();
        assert!(shown.contains("(sensitive hmac:"), "{format}: {shown}");
        assert!(!composed.contains("aHVudGVyMg"), "{format}: {shown}");
    }
    let markdown = platform.run(&["plan", "-f", "-", "-o", "markdown"], &[&changed]);
    let markdown = String::from_utf8_lossy(&markdown.stdout).into_owned();
    let mut lines = markdown.lines();
    assert_eq!(lines.next(), Some("### Plan: 1 to change"));
    assert_eq!(lines.nth(1), Some("**all 5 XRs gain a Secret and change Deployment.spec.replicas**"));
    assert!(markdown.contains("<details><summary><code>~ XApp"), "{markdown}");
    let names = platform.run(&["plan", "-f", "-", "-o", "name"], &[&changed]);
    let names = platform.steady(&String::from_utf8_lossy(&names.stdout));
    assert!(names.contains("composition.apiextensions.crossplane.io/main"), "{names}");
    assert!(names.contains("xapp.NS.example.org/a\n"), "{names}");
}

#[tokio::test]
async fn a_changed_xrd_shows_which_fields_xrs_lose() {
    let platform =
        Platform::new("xrd", &json!({"resources": {"settings": map(&json!({"size": "{size}"}))}})).await;
    let mut xr = platform.xr("a", "small");
    xr["spec"]["note"] = "kept until now".into();
    platform.settled(&xr).await;
    platform.composed("b", "large").await;
    let mut xrd = platform.xrd("Namespaced");
    let properties =
        &mut xrd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    properties.as_object_mut().unwrap().remove("note");
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&xrd]));
    assert!(shown.contains("\n1 of 2 XRs unchanged; 1 changes XApp.spec.note\n"), "{shown}");
    assert!(shown.contains("~ XApp NS/a\n    spec.note   its XRD no longer has this field\n"), "{shown}");
    assert!(
        shown.contains("warning[composite-pruned]: XApp NS/a loses fields that its XRD no longer has"),
        "{shown}"
    );
    // A new default changes what is composed.
    let properties =
        &mut xrd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    *properties = json!({"size": {"type": "string"}, "note": {"type": "string"}, "zone": {"type": "string", "default": "eu"}});
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&xrd]));
    assert!(shown.contains("\nall 2 XRs are unchanged\n"), "{shown}");
}

#[tokio::test]
async fn a_function_at_another_address_is_called_there() {
    let platform = Platform::new("moved", &json!({"resources": {}})).await;
    let (world, name) = (world(), format!("function-of-{}", platform.ns.name()));
    let function = |endpoint: &str| {
        json!({
            "apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
            "metadata": {"name": name, "annotations": {"plimsoll.dev/endpoint": endpoint}},
            "spec": {"package": "xpkg.example.org/test/function:v1"},
        })
    };
    apply(&platform.session, &function(&world.endpoint)).await;
    let mut composition =
        platform.composition("main", &json!({"resources": {"settings": map(&json!({"size": "{size}"}))}}));
    composition["spec"]["pipeline"][0]["functionRef"]["name"] = name.as_str().into();
    apply(&platform.session, &composition).await;
    platform.composed("a", "small").await;

    let elsewhere = world.serve();
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&function(&elsewhere)]));
    assert!(shown.starts_with("exit 2\n--- stdout\nthe only XR is unchanged\n~ Function"), "{shown}");
    // Nothing listens there: every XR that uses the function says so.
    let nowhere = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&function("127.0.0.1:1")]));
    assert!(nowhere.starts_with("exit 1\n--- stdout\nthe only XR fails\n"), "{nowhere}");
    assert!(nowhere.contains("! XApp NS/a: could not be composed"), "{nowhere}");
    assert!(in_one_line(&nowhere).contains("cannot reach the function at 127.0.0.1:1"), "{nowhere}");
    // A package runs only once it is installed.
    let mut package = function("");
    package["metadata"].as_object_mut().unwrap().remove("annotations");
    package["spec"]["package"] = "xpkg.example.org/test/function:v2".into();
    let unknown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&package]));
    assert!(
        unknown.contains("warning[function-not-running]: cannot preview the new package of Function"),
        "{unknown}"
    );
    // Without a file, the address is the change.
    let address = format!("{name}={elsewhere}");
    let shown = platform.transcript(&with_input(platform.plimsoll(&["plan", "--function", &address]), ""));
    assert_eq!(shown, "exit 0\n--- stdout\nthe only XR is unchanged\n");
}

#[tokio::test]
async fn without_an_operator_the_command_renders_with_functions_at_named_addresses() {
    let platform = shop("here").await;
    let mut changed = before();
    changed["resources"]["web"] = deployment(3);
    let changed = platform.composition("main", &changed);
    let address = format!("{}={}", function_name(), world().serve());
    let here = platform.transcript(&platform.run(&["plan", "-f", "-", "--function", &address], &[&changed]));
    let by_operator = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert_eq!(here, by_operator);
    assert!(here.contains("all 5 XRs change Deployment.spec.replicas"), "{here}");
    let nowhere = format!("{}=127.0.0.1:1", function_name());
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-", "--function", &nowhere], &[&changed]));
    assert!(shown.starts_with("exit 1\n") && shown.contains("all 5 XRs fail"), "{shown}");
}

#[tokio::test]
async fn holders_of_changed_fields_are_named() {
    let platform = Platform::new("holders", &json!({"resources": {"web": deployment(2)}})).await;
    let xr = platform.composed("a", "small").await;
    let name = xr["spec"]["crossplane"]["resourceRefs"][0]["name"].as_str().unwrap();
    let child = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": platform.ns.name(), "name": name}});
    platform.ns.merge_as("cert-bot", &child, &json!({"metadata": {"annotations": {"team": "shop"}}})).await;
    let mut wanted = deployment(2);
    wanted["object"]["metadata"]["annotations"] = json!({"team": "platform"});
    let changed = platform.composition("main", &json!({"resources": {"web": wanted}}));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    let line = in_one_line(&shown);
    assert!(line.contains(r#"metadata.annotations.team: "shop" → "platform""#), "{shown}");
    assert!(line.contains("held by cert-bot, then by apiextensions.crossplane.io/composed/HASH"), "{shown}");
    // The live object is as it was.
    assert_eq!(get(&platform.session, &child).await.unwrap()["metadata"]["annotations"]["team"], "shop");
}

#[tokio::test]
async fn a_composition_that_no_xr_uses_is_planned_as_any_object() {
    let platform = Platform::new("unused", &json!({"resources": {}})).await;
    let changed = platform.composition("main", &json!({"resources": {"web": deployment(1)}}));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert!(shown.starts_with("exit 2\n--- stdout\n~ Composition"), "{shown}");
    let new = platform.composition("new", &json!({"resources": {"web": deployment(1)}}));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&new]));
    assert!(shown.starts_with("exit 2\n--- stdout\n+ Composition"), "{shown}");
}

#[tokio::test]
async fn a_composition_that_cannot_be_read_says_where() {
    let platform = Platform::new("invalid", &json!({"resources": {"web": deployment(1)}})).await;
    platform.composed("a", "small").await;
    let broken =
        "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata:\n  name: x\nspec: [\n";
    let shown = platform.transcript(&with_input(platform.plimsoll(&["plan", "-f", "-"]), broken));
    assert!(shown.starts_with("exit 1\n") && shown.contains("<stdin>:5:7"), "{shown}");
    let mut twice = platform.composition("main", &json!({"resources": {}}));
    let step = twice["spec"]["pipeline"][0].clone();
    twice["spec"]["pipeline"].as_array_mut().unwrap().push(step);
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&twice]));
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    let mut unknown = platform.composition("main", &json!({"resources": {}}));
    unknown["spec"]["pipeline"][0]["functionRef"]["name"] = "function-none".into();
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&unknown]));
    assert!(in_one_line(&shown).contains(r#"no function "function-none" is known"#), "{shown}");
}

#[tokio::test]
async fn more_than_fits_into_one_answer_is_asked_for_in_parts() {
    let platform = Platform::new("large", &json!({"resources": {}})).await;
    for name in ["a", "b", "c"] {
        platform.settled(&platform.xr(name, "small")).await;
    }
    let changed = platform.composition("main", &json!({"resources": {}, "bytes": 500_000}));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert!(shown.contains("all 3 XRs gain a ConfigMap"), "{}", &shown[..shown.len().min(2000)]);
    assert!(shown.starts_with("exit 2\n"));
    // An object that etcd could not keep.
    let changed = platform.composition("main", &json!({"resources": {}, "bytes": 900_000}));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert!(shown.starts_with("exit 1\n"), "{}", &shown[..shown.len().min(2000)]);
    assert!(
        in_one_line(&shown).contains("exceeds the size limit"),
        "{}",
        &shown[shown.len().saturating_sub(3000)..]
    );
}

#[tokio::test]
async fn the_set_of_a_claim_is_named() {
    let platform = Platform::with(
        "claims",
        &json!({"resources": {"settings": legacy_map(&json!({"a": "1"}))}}),
        "LegacyCluster",
    )
    .await;
    let claim = json!({
        "apiVersion": format!("{}/v1", platform.group), "kind": "App",
        "metadata": {"name": "web", "namespace": platform.ns.name()},
        "spec": {"size": "small", "compositionRef": {"name": format!("main.{}", platform.group)}},
    });
    apply(&platform.session, &claim).await;
    let claim =
        until(&platform.session, &claim, "it is ready", |claim| crate::fixture::is_true(claim, "Ready"))
            .await;
    let xr = claim["spec"]["resourceRef"]["name"].as_str().unwrap();
    let changed =
        platform.composition("main", &json!({"resources": {"settings": legacy_map(&json!({"a": "2"}))}}));
    let shown = platform.transcript(&platform.run(&["plan", "-f", "-"], &[&changed]));
    assert!(shown.contains(&format!("~ XApp {xr} (of App NS/web)\n")), "{xr}: {shown}");
    assert!(shown.contains(r#"data.a: "1" → "2""#), "{shown}");
    assert!(Sandbox::shared().kubeconfig().exists());
}

/// XRs of the cluster say in which namespace they compose.
fn legacy_map(data: &Value) -> Value {
    let mut map = map(data);
    map["object"]["metadata"] = json!({"namespace": "default"});
    map
}
