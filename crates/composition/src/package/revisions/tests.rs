use super::*;

const PACKAGE: &str = "xpkg.example.org/org/fn:v2";

fn function(spec: Value) -> Object {
    let mut function = object::object(json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "Function", "metadata": {"name": "fn", "uid": "f"},
        "spec": {"package": PACKAGE, "runtimeConfigRef": {"name": "small"}},
    }));
    object::nested_mut(&mut function, &["spec"]).extend(object::from_value(spec));
    function
}

/// `name image number state [ours|theirs|loose]`: with a runtime of ours or Crossplane's, or without an owner.
fn revision(text: &str) -> Object {
    let mut parts = text.split(' ');
    let mut next = || parts.next().unwrap_or_default();
    let (name, image, number, state, runtime) = (next(), next(), next(), next(), next());
    let mut revision = object::object(json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "FunctionRevision",
        "metadata": {"name": name, "resourceVersion": "1", "labels": {LABEL_PACKAGE: "fn"}},
        "spec": {
            "image": format!("xpkg.example.org/org/fn:{image}"), "desiredState": state,
            "revision": number.parse::<i64>().unwrap(),
        },
    }));
    if runtime != "loose" {
        let owner = object::controller_reference(&function(json!({})));
        object::nested_mut(&mut revision, &["metadata"]).insert("ownerReferences".to_owned(), json!([owner]));
    }
    if !runtime.is_empty() {
        object::nested_mut(&mut revision, &["status"])
            .insert("endpoint".to_owned(), "dns:///fn.ns:9443".into());
    }
    if runtime == "ours" {
        run_here(&mut revision, &function(json!({})), "system");
    }
    revision
}

fn shown(plan: &Plan) -> String {
    match plan {
        Plan::External(revision) => format!("external {}", object::name(revision).unwrap()),
        Plan::Ours(plan) => {
            let shown = |revision: &Object| {
                let state = object::text(revision, &["spec", "desiredState"]).unwrap();
                format!("{} {} {state}", object::name(revision).unwrap(), number(revision))
            };
            let write: Vec<String> = plan.write.iter().map(shown).collect();
            format!("active {:?}, write {write:?}, delete {:?}", plan.active.as_deref(), plan.delete)
        }
    }
}

#[test]
fn every_package_gets_a_revision_and_the_newest_is_active() {
    let check = |spec: Value, existing: &[&str], expected: &str| {
        let existing: Vec<Object> = existing.iter().map(|text| revision(text)).collect();
        assert_eq!(shown(&plan(&function(spec), &existing, "system")), expected, "{existing:?}");
    };
    let new = revision_name("fn", PACKAGE);
    let first = format!(r#"active Some("{new}"), write ["{new} 1 Active"], delete []"#);
    check(json!({}), &[], &first);
    let settled = format!("{new} v2 1 Active ours");
    check(json!({}), &[&settled], &format!(r#"active Some("{new}"), write [], delete []"#));
    // An upgrade: the one before is made inactive first.
    let upgraded = format!(r#"active Some("{new}"), write ["a 1 Inactive", "{new} 2 Active"], delete []"#);
    check(json!({}), &["a v1 1 Active ours"], &upgraded);
    // Back to an earlier package: its revision is the newest again, and runs here.
    let back = r#"active Some("b"), write ["a 2 Inactive", "b 3 Active"], delete []"#;
    check(json!({}), &["a v3 2 Active ours", "b v2 1 Inactive"], back);
    // The history limit.
    let three = ["a v0 1 Inactive", "b v1 2 Inactive", "c v3 3 Active ours"];
    let kept = |names: &str| {
        format!(r#"active Some("{new}"), write ["c 3 Inactive", "{new} 4 Active"], delete [{names}]"#)
    };
    check(json!({}), &three, &kept(r#""b", "a""#));
    check(json!({"revisionHistoryLimit": 2}), &three, &kept(r#""a""#));
    check(json!({"revisionHistoryLimit": 0}), &three, &kept(""));
}

#[test]
fn a_revision_waits_for_its_activation_if_the_policy_says_so() {
    let manual = json!({"revisionActivationPolicy": "Manual"});
    let check = |existing: &[&str], expected: &str| {
        let existing: Vec<Object> = existing.iter().map(|text| revision(text)).collect();
        assert_eq!(shown(&plan(&function(manual.clone()), &existing, "system")), expected);
    };
    let new = revision_name("fn", PACKAGE);
    check(&[], &format!(r#"active None, write ["{new} 1 Inactive"], delete []"#));
    let waits = format!(r#"active Some("a"), write ["{new} 2 Inactive"], delete []"#);
    check(&["a v1 1 Active ours"], &waits);
    let waiting = format!("{new} v2 2 Inactive");
    check(&["a v1 1 Active ours", &waiting], r#"active Some("a"), write [], delete []"#);
    let activated = format!("{new} v2 2 Active ours");
    let switched = format!(r#"active Some("{new}"), write ["a 1 Inactive"], delete []"#);
    check(&["a v1 1 Active ours", &activated], &switched);
}

#[test]
fn what_runs_already_is_left_alone_until_its_package_changes() {
    let check = |existing: &[&str], expected: &str| {
        let existing: Vec<Object> = existing.iter().map(|text| revision(text)).collect();
        assert_eq!(shown(&plan(&function(json!({})), &existing, "system")), expected);
    };
    let new = revision_name("fn", PACKAGE);
    check(&["theirs v2 4 Active theirs"], "external theirs");
    check(&["by-hand v9 1 Active loose"], "external by-hand");
    let taken = format!(r#"active Some("{new}"), write ["theirs 4 Inactive", "{new} 5 Active"], delete []"#);
    check(&["theirs v1 4 Active theirs"], &taken);
}

#[test]
fn a_revision_is_named_after_the_digest_as_in_crossplane() {
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_eq!(revision_name("fn", &format!("xpkg.example.org/fn:v1@{digest}")), "fn-0123456789ab");
    let long = "x".repeat(60);
    assert_eq!(
        revision_name(&long, &format!("e.org/fn@{digest}")),
        format!("{}-0123456789ab", "x".repeat(50))
    );
    assert_eq!(revision_name("fn", PACKAGE).len(), "fn-".len() + 12);
}

#[test]
fn the_active_revision_follows_its_function() {
    let Plan::Ours(plan) = plan(&function(json!({"packagePullSecrets": [{"name": "pull"}]})), &[], "system")
    else {
        panic!("nothing else runs")
    };
    let revision = &plan.write[0];
    assert_eq!(runtime_namespace(revision), Some("system"));
    assert_eq!(revision["spec"]["runtimeConfigRef"]["name"], "small");
    assert_eq!(revision["spec"]["packagePullSecrets"], json!([{"name": "pull"}]));
    assert_eq!(revision["spec"]["tlsServerSecretName"], "fn-tls-server");
}
