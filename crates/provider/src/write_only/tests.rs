//! Marks, what is revealed, and what messages may say.

use std::sync::LazyLock;

use diag::Source;
use manifest::Limits;
use serde_json::json;
use tfplugin::private::Private;

use super::*;
use crate::testing::assert_diagnostics;

const NAMES: Attributes = Attributes { value: "yaml_body_wo", version: "yaml_body_wo_version" };

/// A change of a resource whose last apply stored the marks of `before`.
fn change(now: &str, version: Value, before: Option<(&str, Value)>) -> PlannedChange {
    let attributes = |version: Value| Object::new().with(NAMES.version, version);
    let mut private = Private::default();
    if let Some((text, _)) = &before {
        private.set(WRITE_ONLY, &known(&change(text, Value::Null, None)).marks);
    }
    PlannedChange {
        prior: before.map(|(_, version)| attributes(version)),
        planned: attributes(version),
        private,
        config: Object::new().with(NAMES.value, now),
        ..PlannedChange::default()
    }
}

fn known(change: &PlannedChange) -> WriteOnly {
    match WriteOnly::of(NAMES, change, ("v1", "Secret")) {
        Ok(Configured::Known(write_only)) => write_only,
        _ => panic!("it is not known"),
    }
}

/// What `body` is to be applied as.
fn desired(body: &Json) -> Desired<'_> {
    static MANAGER: LazyLock<FieldManager> = LazyLock::new(|| FieldManager::new("k8sconnect"));
    Desired::new(&MANAGER, body)
}

/// A Secret whose password is held by `holder`.
fn secret(password: &str, holder: &str) -> Observed {
    Observed::new(json!({
        "apiVersion": "v1", "kind": "Secret", "data": {"user": "YQ==", "password": password},
        "metadata": {"name": "db", "managedFields": [
            {"manager": "k8sconnect", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:user": {}}}},
            {"manager": holder, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:password": {}}}},
        ]},
    }))
    .unwrap()
}

const HUNTER: &str = "stringData: {password: hunter2}";

#[test]
fn every_value_but_the_keys_of_lists_is_marked() {
    let env = json!({"spec": {"containers": [{"name": "web", "env": [{"name": "KEY", "value": "x"}], "args": ["y"]}]}});
    let marks = marked(&env, Schema::of_kind("v1", "Pod").root());
    let container = json!({"name": "web", "env": [{"name": "KEY", "value": MARK}], "args": MARK});
    assert_eq!(marks, json!({"spec": {"containers": [container]}}));
    assert_eq!(known(&change(HUNTER, Value::Null, None)).marks, json!({"data": {"password": MARK}}));
    // These items are held as a whole.
    let owner = json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "a", "kind": "b"}]}});
    let schema = Schema::of_kind("v1", "Pod");
    let marks = marked(&owner, schema.root());
    let item = json!({"uid": "1", "name": MARK, "kind": MARK});
    assert_eq!(marks, json!({"metadata": {"ownerReferences": [item]}}));
    assert_eq!(paths(&marks, &schema).len(), 1);
    assert_eq!(marked(&json!({"spec": {"containers": ["x"]}}), schema.root())["spec"]["containers"][0], MARK);
}

#[test]
fn a_version_decides_when_the_values_are_sent() {
    let check = |version: Value, before: Option<(&str, Value)>, live: Option<Observed>, expected: &str| {
        let write_only = known(&change(HUNTER, version, before));
        let mut body = json!({"apiVersion": "v1", "kind": "Secret", "data": {"user": "YQ=="}});
        plan::lay_over(&mut body, &write_only.marks, Schema::of_kind("v1", "Secret").root());
        assert_eq!(write_only.reveal(&mut body, live.as_ref(), &desired(&json!({}))), Revealed::Everything);
        assert_eq!(body["data"], json!({"user": "YQ==", "password": expected}));
    };
    let (one, two) = (|| Value::from("1"), || Value::from("2"));
    let (new, old) = ("aHVudGVyMg==", "b2xk");
    check(one(), None, None, new);
    check(one(), Some((HUNTER, one())), Some(secret(old, "k8sconnect")), old);
    check(two(), Some((HUNTER, one())), Some(secret(old, "k8sconnect")), new);
    check(Value::Null, Some((HUNTER, Value::Null)), Some(secret(old, "k8sconnect")), new);
    // Another manager has it, or it was not write-only before.
    check(one(), Some((HUNTER, one())), Some(secret(old, "kubectl")), new);
    check(one(), Some(("data: {other: eA==}", one())), Some(secret(old, "k8sconnect")), new);
}

#[test]
fn a_version_that_stays_keeps_every_value_but_new_and_lost_ones() {
    let body = "stringData: {password: hunter2, user: new, added: x}";
    let write_only =
        known(&change(body, "1".into(), Some(("data: {password: eA==, user: eA==}", "1".into()))));
    let check = |holder: &str, password: &str| {
        let live = secret("b2xk", holder);
        let mut sent = json!({"apiVersion": "v1", "kind": "Secret", "data": write_only.marks["data"]});
        assert_eq!(write_only.reveal(&mut sent, Some(&live), &desired(&json!({}))), Revealed::Everything);
        assert_eq!(sent["data"], json!({"user": "YQ==", "password": password, "added": "eA=="}));
        assert!(write_only.is_due(Some(&live), &live, &desired(&json!({}))));
    };
    check("k8sconnect", "b2xk");
    check("kubectl", "aHVudGVyMg==");
    let same = known(&change(HUNTER, "1".into(), Some((HUNTER, "1".into()))));
    let live = secret("b2xk", "k8sconnect");
    assert!(!same.is_due(Some(&live), &live, &desired(&json!({}))));
}

#[test]
fn a_new_item_of_a_keyed_list_is_sent_beside_kept_ones() {
    let env = |value: &str| json!({"spec": {"containers": [{"name": "web", "env": [{"name": "KEY", "value": value}]}]}});
    let of = |now: &str, before: &str| {
        let mut change = change(now, "1".into(), Some((before, "1".into())));
        let schema = Schema::of_kind("v1", "Pod");
        let fields = manifest::read(&Source::new("before", before), &Limits::default()).single().unwrap();
        change.private.set(WRITE_ONLY, &marked(&fields.into_value(), schema.root()));
        WriteOnly::of(NAMES, &change, ("v1", "Pod"))
    };
    let mut now = env("new");
    let items = now["spec"]["containers"][0]["env"].as_array_mut().unwrap();
    items.push(json!({"name": "MORE", "value": "more"}));
    let Ok(Configured::Known(write_only)) = of(&now.to_string(), &env("old").to_string()) else {
        panic!("it is known")
    };
    let mut live = env("live");
    live["apiVersion"] = "v1".into();
    live["kind"] = "Pod".into();
    let held = json!({"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {"f:env": {"k:{\"name\":\"KEY\"}": {"f:value": {}}}}}}});
    live["metadata"] = json!({"name": "a", "managedFields": [
        {"manager": "k8sconnect", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": held},
    ]});
    let mut sent = json!({"apiVersion": "v1", "kind": "Pod", "spec": write_only.marks["spec"]});
    let live = Observed::new(live).unwrap();
    assert_eq!(write_only.reveal(&mut sent, Some(&live), &desired(&json!({}))), Revealed::Everything);
    assert_eq!(
        sent["spec"]["containers"][0]["env"],
        json!([{"name": "KEY", "value": "live"}, {"name": "MORE", "value": "more"}])
    );
}

#[test]
fn ignored_fields_are_not_revealed() {
    let write_only = known(&change(HUNTER, Value::Null, None));
    let mut body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}});
    let before = body.clone();
    assert_eq!(write_only.reveal(&mut body, None, &desired(&json!({}))), Revealed::Everything);
    assert_eq!(body, before);
}

#[test]
fn an_unknown_value_matters_only_if_it_would_be_sent() {
    let of = |version: &str, before: Option<(&str, Value)>| {
        let mut change = change(HUNTER, version.into(), before);
        change.config.set(NAMES.value, Value::unknown());
        WriteOnly::of(NAMES, &change, ("v1", "Secret")).unwrap_or(Configured::Absent)
    };
    assert!(matches!(of("1", None), Configured::Unknown));
    assert!(matches!(of("2", Some((HUNTER, "1".into()))), Configured::Unknown));
    let Configured::Known(kept) = of("1", Some((HUNTER, "1".into()))) else { panic!("it is not known") };
    let check = |live: Option<Observed>, expected: Revealed, password: &str| {
        let mut body = json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": MARK}});
        assert_eq!(kept.reveal(&mut body, live.as_ref(), &desired(&json!({}))), expected);
        assert_eq!(body["data"]["password"], password);
    };
    check(Some(secret("b2xk", "k8sconnect")), Revealed::Everything, "b2xk");
    check(Some(secret("b2xk", "kubectl")), Revealed::LiveValues, "b2xk");
    check(None, Revealed::Nothing, MARK);
}

#[test]
fn a_projection_shows_marks_and_who_changed_them() {
    let check = |holder: &str, expected: &str| {
        let mut shown = BTreeMap::new();
        let (marks, object) = (json!({"data": {"password": MARK}}), secret("b2xk", holder));
        show(&mut shown, &marks, &object, &desired(&marks));
        assert_eq!(shown, BTreeMap::from([("data.password".to_owned(), expected.to_owned())]));
    };
    check("k8sconnect", "(write-only)");
    check("kubectl", "(write-only, changed outside by kubectl)");
    let marks = json!({"data": {"gone": MARK}});
    let mut shown = BTreeMap::new();
    show(&mut shown, &marks, &secret("b2xk", "kubectl"), &desired(&marks));
    assert_eq!(shown["data.gone"], "(write-only, removed outside)");
}

#[test]
fn messages_do_not_quote_values() {
    let change = change("data: {a: b2xk, port: \"80\"}", Value::Null, None);
    let marks = known(&change).marks;
    let check = |message: &str, expected: &str| {
        let rejected = Diagnostic::error(codes::WRITE_ONLY_INVALID, message.to_owned()).detail(message);
        let shown = change.hidden.redact(rejected.into());
        let (_, shown) = shown.iter().next().unwrap();
        assert_eq!((&*shown.summary, &*shown.detail), (expected, expected));
    };
    check("Invalid value: \"b2xk\"", "Invalid value: \"(write-only)\"");
    check(
        "old is not allowed, neither is \"80\"; port 8080 is",
        "old is not allowed, neither is (write-only); port 8080 is",
    );
    // What is sent again while the version stays.
    let live = |a: &str| {
        let object =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"a": a}});
        change.hidden.add_live(&Observed::new(object).unwrap(), Some(&marks));
    };
    check("p&ss<word>", "p&ss<word>");
    live("p&ss<word>");
    for quoted in [
        "p&ss<word>",
        "\"p\\u0026ss\\u003cword\\u003e\"",
        "\"{\\\"a\\\": \\\"p\\\\u0026ss\\\\u003cword\\\\u003e\\\"}\"",
    ] {
        let expected = if quoted.contains("a\\\"") {
            "\"{\\\"a\\\": \\\"(write-only)\\\"}\""
        } else if quoted.starts_with('"') {
            "\"(write-only)\""
        } else {
            MARK
        };
        check(quoted, expected);
    }
    live("say \"it\"\n");
    check("{\"a\":\"say \\\"it\\\"\\n\"}", "{\"a\":\"(write-only)\"}");
    live("x&");
    check("\"x\\u0026\", and x& as a word", "(write-only), and x& as a word");
}

/// What an apply does to the marks of `before`, if `now` is configured and `holder` has the live password.
fn effect(now: &str, version: &str, before: &str, holder: &str) -> Effect {
    let change = change(now, version.into(), Some((before, "1".into())));
    let write_only = (!now.is_empty()).then(|| known(&change));
    let (live, answer) = (secret("b2xk", holder), secret("aHVudGVyMg==", "k8sconnect"));
    let stored = stored(&change.private);
    Effect::of(write_only.as_ref(), stored.as_ref(), (Some(&live), &answer), &desired(&json!({})))
}

#[test]
fn a_field_that_is_no_longer_write_only_is_applied_and_shown_afterwards() {
    let check = |now: &str, before: &str, is_due: bool, expected: Value| {
        let effect = effect(now, "1", before, "k8sconnect");
        assert_eq!(effect.is_due, is_due, "{now}");
        let body = json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": "eA=="}});
        let values = Value::Object(Object::new().with("data.password", MARK));
        let schema = Schema::of_kind("v1", "Secret");
        assert_eq!(
            effect.planned(values, &body, &schema),
            Value::Object(Object::new().with("data.password", expected))
        );
    };
    check(HUNTER, HUNTER, false, MARK.into());
    check("data: {user: eA==}", "data: {user: eA==, password: eA==}", true, Value::unknown());
    check("", HUNTER, true, Value::unknown());
}

#[test]
fn a_change_of_another_manager_is_told_from_a_rotation() {
    let check = |version: &str, holder: &str, before: &str, expected: Option<Row>| {
        let effect = effect(HUNTER, version, before, holder);
        let found = effect.changed_outside.paths();
        assert_eq!(found.len(), usize::from(expected.is_some()), "{version} {holder}");
        assert!(expected.is_none_or(|row| row == effect.row()), "{version} {holder}");
    };
    check("1", "k8sconnect", HUNTER, None);
    check("2", "k8sconnect", HUNTER, None);
    check("1", "kubectl", HUNTER, Some(Row::RevertDrift));
    check("2", "kubectl", HUNTER, Some(Row::OverwriteConcurrent));
    // It was not write-only before.
    check("1", "kubectl", "data: {user: eA==}", None);
}

#[test]
fn fields_that_name_the_object_and_other_text_are_rejected() {
    let check = |text: &str, expected: &[(&str, &str)]| {
        let found = validate(NAMES, &Object::from([(NAMES.value, text)]));
        assert_diagnostics(&found, expected);
        assert!(found.iter().all(|(_, found)| !found.detail.contains("hunter2")), "{found:?}");
    };
    let invalid = [(NAMES.value, "Invalid Write-Only Fields")];
    check(HUNTER, &[]);
    check("{\"data\": {\"a\": \"hunter2\"}}", &[]);
    check("hunter2", &invalid);
    check("a: [hunter2", &invalid);
    check("a: hunter2\n---\nb: hunter2", &invalid);
    for refused in [
        "apiVersion: v1",
        "kind: Secret",
        "metadata: {name: hunter2}",
        "metadata: {namespace: hunter2}",
        "metadata: {resourceVersion: hunter2}",
        "status: {a: hunter2}",
    ] {
        check(refused, &invalid);
    }
    let idle = validate(NAMES, &Object::from([(NAMES.version, "1")]));
    assert_diagnostics(&idle, &[(NAMES.version, "Write-Only Version Without a Value")]);
}
