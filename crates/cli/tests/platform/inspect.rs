//! One pass over an XR, step by step.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixture::{
    Platform, apply, deployment, in_one_line, is_true, map, requests, until, until_request_is,
};
use crate::schema;

fn input() -> Value {
    json!({
        "resources": {
            "settings": map(&json!({"size": "{size}"})),
            "token": {"object": {"apiVersion": "v1", "kind": "Secret", "stringData": {"token": "hunter2"}}},
        },
        "warnFor": "a",
        "context": {"zone": "eu"},
    })
}

/// A transcript without times, which differ.
fn timeless(text: &str) -> String {
    let word = |word: &str| if word.parse::<f64>().is_ok() { "N".to_owned() } else { word.to_owned() };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_pass_is_shown_step_by_step() {
    let platform = Platform::new("inspect", &input()).await;
    platform.composed("a", "small").await;
    let kind = platform.kind();
    let output = platform.run(&["inspect", &format!("{kind}/a")], &[]);
    let shown = timeless(&platform.transcript(&output));
    insta::assert_snapshot!(shown, @r#"
    exit N
    --- stdout
    XApp NS/a, main.NS.example.org-HASH   N ms
    select N ms, observe N ms, functions N ms, delete N ms, refer N ms, apply N ms, status N ms

    observed
      settings   ConfigMap NS/a-HASH
      token   Secret NS/a-HASH

    N render   FUNCTION   N ms
      given input   Input
      + settings   ConfigMap   ready
      + token   Secret   ready
      Warning: a is almost full
      DatabaseReady=True Available
      sets context   zone
      valid for N s

    written
      unchanged   ConfigMap NS/a-HASH   N ms
      unchanged   Secret NS/a-HASH   N ms

    events
      Warning ComposeResources: Pipeline step "render": a is almost full

    conditions
      Responsive=True WatchCircuitClosed
      DatabaseReady=True Available
      Synced=True ReconcileSuccess
      Ready=True Available
      Healthy=True Healthy
    "#);
    assert_eq!(requests(&platform.session, platform.ns.name()).await, 0);
}

#[tokio::test]
async fn the_recording_has_everything_but_the_values_of_secrets() {
    let platform = Platform::new("recording", &input()).await;
    platform.composed("a", "small").await;
    let kind = platform.kind();
    for arguments in [&["-o", "json"][..], &["-o", "yaml"], &["--full"], &[]] {
        let output = platform.run(&[&["inspect", &kind, "a"], arguments].concat(), &[]);
        assert_eq!(output.status.code(), Some(0), "{}", platform.transcript(&output));
        let text = String::from_utf8_lossy(&output.stdout);
        let is_composition = |line: &str| line.contains("stringData") || line.contains("token");
        for line in text.lines().filter(|line| !is_composition(line)) {
            assert!(!line.contains("hunter2") && !line.contains("aHVudGVyMg"), "{arguments:?}: {line}");
        }
    }
    let output = platform.run(&["inspect", &kind, "a", "-o", "json"], &[]);
    let recording = schema::check("inspect", &String::from_utf8_lossy(&output.stdout));
    assert_eq!(recording["schema"], "plimsoll.dev/recording/v1");
    assert_eq!(recording["object"]["name"], "a");
    assert_eq!(recording["composite"]["value"]["spec"]["size"], "small");
    assert!(
        recording["observed"]["token"]["value"]["data"]["token"]
            .as_str()
            .unwrap()
            .starts_with("(sensitive hmac:")
    );
    let step = &recording["steps"][0];
    assert_eq!(step["step"], "render");
    assert_eq!(step["calls"][0]["returned"]["context"]["value"], json!({"zone": "eu"}));
    assert_eq!(step["calls"][0]["returned"]["results"][0]["message"], "a is almost full");
    assert!(step["calls"][0]["milliseconds"].as_f64().unwrap() > 0.0);
    let outcomes: Vec<&str> =
        recording["writes"].as_array().unwrap().iter().filter_map(|it| it["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["unchanged", "unchanged"]);
    let phases: Vec<&str> =
        recording["phases"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(phases, ["select", "observe", "functions", "delete", "refer", "apply", "status"]);
}

#[tokio::test]
async fn what_is_written_is_shown_with_refusals() {
    let mut input = input();
    input["resources"] = json!({"web": deployment(1)});
    let platform = Platform::new("writes", &input).await;
    let xr = platform.composed("b", "small").await;
    let name = xr["spec"]["crossplane"]["resourceRefs"][0]["name"].as_str().unwrap();
    // The operator would revert this anyway; the recording shows whichever pass does.
    let child = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": platform.ns.name(), "name": name}});
    platform.ns.merge_as("person", &child, &json!({"spec": {"replicas": 4}})).await;
    input["resources"]["bad"] = map(&json!({"v": {"not": "text"}}));
    apply(&platform.session, &platform.composition("main", &input)).await;
    let is_refused = |xr: &Value| !is_true(xr, "Healthy") || !is_true(xr, "Synced");
    until(&platform.session, &xr, "its resource is refused", is_refused).await;
    let output = platform.run(&["inspect", &platform.kind(), "b"], &[]);
    let shown = platform.transcript(&output);
    assert!(shown.contains("  refused   ConfigMap NS/b-HASH"), "{shown}");
    assert!(
        shown.contains("  unchanged   Deployment NS/b-HASH") || shown.contains("  applied   Deployment"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_claim_leads_to_its_xr() {
    let mut settings = map(&json!({"a": "1"}));
    settings["object"]["metadata"] = json!({"namespace": "default"});
    let platform =
        Platform::with("inspect-claim", &json!({"resources": {"settings": settings}}), "LegacyCluster").await;
    let claim = json!({
        "apiVersion": format!("{}/v1", platform.group), "kind": "App",
        "metadata": {"name": "web", "namespace": platform.ns.name()},
        "spec": {"size": "small", "compositionRef": {"name": format!("main.{}", platform.group)}},
    });
    apply(&platform.session, &claim).await;
    let claim = until(&platform.session, &claim, "it is ready", |claim| is_true(claim, "Ready")).await;
    let xr = claim["spec"]["resourceRef"]["name"].as_str().unwrap();
    let shown =
        platform.transcript(&platform.run(&["inspect", &format!("apps.{}/web", platform.group)], &[]));
    assert!(shown.contains(&format!("XApp {xr}, main.")), "{shown}");
    let shown = platform.transcript(&platform.run(&["inspect", "configmap/kube-root-ca.crt"], &[]));
    assert!(shown.contains("error[no-composite]: ConfigMap NS/kube-root-ca.crt is not an XR"), "{shown}");
    let shown = platform.transcript(&platform.run(&["inspect", &platform.kind(), "none"], &[]));
    assert!(shown.contains("error[object-missing]"), "{shown}");
}

#[tokio::test]
async fn an_xr_without_passes_says_why() {
    let platform = Platform::new("no-pass", &input()).await;
    let mut xr = platform.xr("a", "small");
    xr["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
    apply(&platform.session, &xr).await;
    let paused = |xr: &Value| xr["status"]["conditions"].to_string().contains("ReconcilePaused");
    until(&platform.session, &xr, "it is paused", paused).await;
    let shown = platform.transcript(&platform.run(&["inspect", &platform.kind(), "a"], &[]));
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(in_one_line(&shown).contains("is paused by the annotation crossplane.io/paused"), "{shown}");
}

#[tokio::test]
async fn a_pass_that_fails_is_shown_as_far_as_it_came() {
    let mut failing = input();
    failing["failFor"] = "a".into();
    let platform = Platform::new("inspect-fails", &failing).await;
    let xr = platform.xr("a", "small");
    apply(&platform.session, &xr).await;
    let is_reported = |xr: &Value| xr["status"]["conditions"].is_array() && !is_true(xr, "Synced");
    until(&platform.session, &xr, "it has failed", is_reported).await;
    let shown = platform.transcript(&platform.run(&["inspect", &platform.kind(), "a"], &[]));
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(shown.contains("Fatal: there is no room for a"), "{shown}");
    assert!(in_one_line(&shown).contains("failed: cannot compose resources: pipeline step"), "{shown}");
}

#[tokio::test]
async fn an_interruption_leaves_no_request_behind() {
    let mut waiting = input();
    waiting["waitFor"] = "slow".into();
    let platform = Platform::new("interrupt", &waiting).await;
    apply(&platform.session, &platform.xr("slow", "small")).await;
    let mut command = platform.plimsoll(&["inspect", &platform.kind(), "slow"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_request_is(&platform.session, platform.ns.name(), "Running").await;
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", platform.transcript(&output));
    assert_eq!(requests(&platform.session, platform.ns.name()).await, 0);
}

#[tokio::test]
async fn a_time_limit_ends_the_wait_and_the_request() {
    let mut waiting = input();
    waiting["waitFor"] = "slow".into();
    let platform = Platform::new("time-limit", &waiting).await;
    apply(&platform.session, &platform.xr("slow", "small")).await;
    let output = platform.run(&["inspect", &platform.kind(), "slow", "--timeout", "2s"], &[]);
    let shown = platform.transcript(&output);
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(shown.contains("error[operator-silent]: the operator did not answer within 2 s"), "{shown}");
    assert_eq!(requests(&platform.session, platform.ns.name()).await, 0);
}

#[tokio::test]
async fn what_functions_were_given_is_hidden_from_those_who_may_not_read_it() {
    let mut requiring = input();
    let platform = Platform::new("inspect-hidden", &requiring).await;
    requiring["requires"] = json!({"config": {
        "apiVersion": "v1", "kind": "ConfigMap", "namespace": platform.ns.name(), "name": "kube-root-ca.crt",
    }});
    apply(&platform.session, &platform.composition("main", &requiring)).await;
    platform.composed("a", "small").await;
    let user = format!("viewer-of-{}", platform.ns.name());
    let rules = json!([
        {"apiGroups": [platform.group], "resources": ["xapps"], "verbs": ["get", "patch"]},
        {"apiGroups": ["plimsoll.dev"], "resources": ["requests"], "verbs": ["create", "get", "delete"]},
    ]);
    let (namespace, group) = (platform.ns.name(), "rbac.authorization.k8s.io");
    for object in [
        json!({"apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"namespace": namespace, "name": "viewer"}, "rules": rules}),
        json!({"apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"namespace": namespace, "name": "viewer"},
               "roleRef": {"apiGroup": group, "kind": "Role", "name": "viewer"},
               "subjects": [{"kind": "User", "apiGroup": group, "name": user}]}),
    ] {
        apply(&platform.session, &object).await;
    }
    let output = platform.run(&["inspect", &platform.kind(), "a", "-o", "json", "--as", &user], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", platform.transcript(&output));
    let recording: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(recording["composite"]["value"]["spec"]["size"], "small");
    let step = &recording["steps"][0];
    let call = step["calls"].as_array().unwrap().last().unwrap();
    for piece in [
        &recording["observed"]["settings"],
        &recording["observed"]["token"],
        &step["input"],
        &call["required"]["config"][0],
        &call["returned"]["context"],
        &call["returned"]["resources"]["settings"],
        &call["returned"]["resources"]["token"],
    ] {
        assert!(piece["hidden"].is_string() && piece.get("value").is_none(), "{piece}\n{recording:#}");
    }
    assert_eq!(call["required"]["config"][0]["object"]["name"], "");
    assert!(!recording.to_string().contains("CERTIFICATE"));
    // The administrator sees them.
    let output = platform.run(&["inspect", &platform.kind(), "a", "-o", "json"], &[]);
    let recording: Value = serde_json::from_slice(&output.stdout).unwrap();
    let call = recording["steps"][0]["calls"].as_array().unwrap().last().unwrap();
    assert_eq!(call["required"]["config"][0]["object"]["name"], "kube-root-ca.crt");
    assert!(recording.to_string().contains("CERTIFICATE"));
}

#[tokio::test]
async fn a_large_recording_says_how_much_was_left_out() {
    let mut large = input();
    large["bytes"] = 900_000.into();
    let platform = Platform::new("inspect-large", &large).await;
    platform.composed("a", "small").await;
    let output = platform.run(&["inspect", &platform.kind(), "a"], &[]);
    let shown = platform.transcript(&output);
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    assert!(shown.contains("values were too large to be recorded"), "{shown}");
    assert!(shown.contains("bytes, not recorded)"), "{shown}");
}
