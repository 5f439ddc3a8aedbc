use serde_json::{Value as Json, json};

use super::*;
use crate::private::WAIT_OWED;

const TEXT: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata: {app.conf: one}\n";

/// The API server's response for a body, held by us.
fn answer(text: &str, extra: &[(&str, &str)]) -> Json {
    let mut object = Body::parse(text).unwrap().value;
    let keys = object["data"].as_object().unwrap().keys();
    let held: serde_json::Map<String, Json> = keys.map(|key| (format!("f:{key}"), json!({}))).collect();
    let mut managed = vec![json!({
        "manager": "k8sconnect", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": held},
    })];
    for (manager, key) in extra {
        managed.push(json!({
            "manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {format!("f:{key}"): {}}},
        }));
    }
    object["metadata"]["managedFields"] = json!(managed);
    object["metadata"]["annotations"] = json!({"k8sconnect.terraform.io/terraform-id": "0123456789ab"});
    object
}

fn target() -> ObjectRef {
    Body::parse(TEXT).unwrap().target(true)
}

fn lens_maps(object: &Json, text: &str) -> Maps {
    let (manager, body, ignored) = (manager(), Body::parse(text).unwrap(), IgnoreFields::default());
    let observed = Observed::new(object.clone()).unwrap();
    Maps::of(&observed, &Desired::new(&manager, &body.value).ignoring(&ignored), &MaskKey::FORMER)
}

/// The state after an apply of `TEXT`.
fn state() -> Object {
    let maps = lens_maps(&answer(TEXT, &[]), TEXT);
    Object::new()
        .with("id", "0123456789ab")
        .with("yaml_body", TEXT)
        .with(VALUES, projection::attribute(&maps.values))
        .with(MANAGERS, projection::attribute(&maps.managers))
        .with(REFERENCE, attributes::object_ref(&target()))
        .with("status", Value::Null)
}

/// An update from `prior` to `text`, with all computed attributes unknown, as the schema leaves them.
fn update(prior: Object, text: &str) -> PlannedChange {
    let mut planned = prior.clone().with("yaml_body", text);
    for name in [VALUES, MANAGERS, REFERENCE, "status"] {
        planned.set(name, Value::unknown());
    }
    let mut private = Private::default();
    let body = Body::parse(TEXT).unwrap();
    let (manager, answer) = (manager(), Observed::new(answer(TEXT, &[])).unwrap());
    let baseline = Baseline::record(&answer, &Desired::new(&manager, &body.value), &MaskKey::FORMER);
    private.set_baseline(&baseline, &body.value);
    PlannedChange { prior: Some(prior), planned, private, ..PlannedChange::default() }
}

fn answered(text: &str, live: Option<Json>, planned: Json) -> Outcome {
    Outcome::Answered(Box::new(DryRunResult {
        target: target(),
        body: Body::parse(text).unwrap(),
        ignored: IgnoreFields::default(),
        live: live.map(|live| Observed::new(live).unwrap()),
        planned: Observed::new(planned).unwrap(),
        released: FieldSet::new(),
        write_only: Effect::default(),
        autoscaler: None,
        diagnostics: Diagnostics::new(),
    }))
}

fn decided(change: &PlannedChange, outcome: Outcome) -> Decision {
    decide(change, outcome, Reporting::default())
}

fn titles(decision: &Decision) -> Vec<String> {
    decision.diagnostics.iter().map(|(_, diagnostic)| diagnostic.summary.clone()).collect()
}

#[test]
fn a_body_that_only_reads_differently_is_no_change() {
    let text = "# comment\nkind: ConfigMap\napiVersion: v1\ndata:\n  app.conf: one\nmetadata:\n  namespace: shop\n  name: a\n";
    let live = answer(TEXT, &[]);
    let decision = decided(&update(state(), text), answered(text, Some(live), answer(text, &[])));
    assert_eq!(decision.planned, state());
    assert_eq!(titles(&decision), [""; 0]);
}

#[test]
fn a_change_of_a_dotted_key_alone_is_applied() {
    let text = TEXT.replace("one", "two");
    let decision =
        decided(&update(state(), &text), answered(&text, Some(answer(TEXT, &[])), answer(&text, &[])));
    assert_eq!(decision.planned.text("yaml_body"), Some(text.as_str()));
    assert_eq!(projection::texts(decision.planned.get(VALUES)).unwrap()["data.app.conf"], "two");
}

#[test]
fn a_value_of_another_type_with_the_same_text_is_a_change() {
    let (number, text) = (TEXT.replace("one", "80"), TEXT.replace("one", "'80'"));
    let maps = lens_maps(&answer(&number, &[]), &number);
    let prior = state().with("yaml_body", number.as_str()).with(VALUES, projection::attribute(&maps.values));
    let changed = decided(
        &update(prior.clone(), &text),
        answered(&text, Some(answer(&number, &[])), answer(&text, &[])),
    );
    assert_eq!(changed.planned, prior.clone().with("yaml_body", text.as_str()));
    let kept = decided(
        &update(prior.clone(), &number),
        answered(&number, Some(answer(&number, &[])), answer(&number, &[])),
    );
    assert_eq!(kept.planned, prior);
    // Another client turned it into a string, in our name.
    let drifted = decided(
        &update(prior.clone(), &number),
        answered(&number, Some(answer(&text, &[])), answer(&number, &[])),
    );
    assert_eq!(drifted.planned, prior.with(MANAGERS, Value::unknown()));
}

#[test]
fn a_create_knows_its_values_and_not_yet_its_managers() {
    let mut change = update(state(), TEXT);
    change.prior = None;
    let decision = decided(&change, answered(TEXT, None, answer(TEXT, &[])));
    assert!(decision.planned.get(VALUES).is_wholly_known());
    assert!(decision.planned.get(MANAGERS).is_unknown());
    assert_eq!(*decision.planned.get(REFERENCE), attributes::object_ref(&target()));
    assert_eq!(decision.planned.get("status"), &Value::Null);
}

#[test]
fn an_unchanged_object_keeps_its_prior_values() {
    let unchanged = || Outcome::Unchanged { target: target(), diagnostics: Diagnostics::new() };
    assert_eq!(decided(&update(state(), TEXT), unchanged()).planned, state());
    let mut change = update(state(), TEXT);
    change.planned.set("delete_protection", true);
    let decision = decided(&change, unchanged());
    assert_eq!(decision.planned, state().with("delete_protection", true));
}

#[test]
fn drift_is_reverted_with_a_warning_that_names_values_and_manager() {
    let mut live = answer(TEXT, &[("kubectl-edit", "app.conf")]);
    live["data"]["app.conf"] = json!("theirs");
    live["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:metadata": {}});
    // The read before the plan has put the live values into the state.
    let refreshed = state().with(VALUES, projection::attribute(&lens_maps(&live, TEXT).values));
    let decision = decided(&update(refreshed, TEXT), answered(TEXT, Some(live), answer(TEXT, &[])));
    assert_eq!(titles(&decision), ["Drift Detected - Reverting External Changes (ConfigMap shop/a)"]);
    let detail = &decision.diagnostics.iter().next().unwrap().1.detail;
    assert!(detail.contains("\"theirs\" → \"one\"") && detail.contains("kubectl-edit"), "{detail}");
    assert_eq!(projection::texts(decision.planned.get(VALUES)).unwrap()["data.app.conf"], "one");
}

#[test]
fn an_old_state_is_compared_with_the_cluster() {
    let stale = state().with(VALUES, Value::Object(Object::new()));
    let mut change = update(stale.clone(), TEXT);
    let live = answer(TEXT, &[]);
    let changed = decided(&change, answered(TEXT, Some(live.clone()), answer(TEXT, &[])));
    assert_ne!(changed.planned, stale);
    change.private.set_flag(STALE_READ, true);
    let kept = decided(&change, answered(TEXT, Some(live), answer(TEXT, &[])));
    assert_eq!(kept.planned, stale);
}

#[test]
fn an_import_is_annotated_even_if_nothing_else_changes() {
    let mut change = update(state(), TEXT);
    change.private.set_flag(IMPORTED, true);
    let mut live = answer(TEXT, &[]);
    live["metadata"]["annotations"] = json!({});
    let decision = decided(&change, answered(TEXT, Some(live), answer(TEXT, &[])));
    assert!(decision.planned.get(MANAGERS).is_unknown());
    let stamped = decided(&change, answered(TEXT, Some(answer(TEXT, &[])), answer(TEXT, &[])));
    assert_eq!(stamped.planned, state());
}

#[test]
fn a_replacement_leaves_everything_open_and_names_the_attribute() {
    let warning = Box::new(Diagnostic::warning(codes::IDENTITY_CHANGED, "x"));
    let outcome = Outcome::Replace { paths: vec![Path::of("yaml_body")], warning };
    let decision = decided(&update(state(), TEXT), outcome);
    assert_eq!(decision.requires_replace, [Path::of("yaml_body")]);
    assert!([VALUES, MANAGERS, REFERENCE].iter().all(|name| decision.planned.get(name).is_unknown()));
    assert_eq!(decision.identity, None);
}

#[test]
fn a_wait_that_is_owed_is_an_update() {
    let wait = || Object::new().with("field", "status.x");
    let prior = state().with("wait_for", wait());
    let mut change = update(prior.clone(), TEXT);
    change.private.set_flag(WAIT_OWED, true);
    let decision = decided(&change, Outcome::Unchanged { target: target(), diagnostics: Diagnostics::new() });
    assert_eq!(decision.planned, prior.with("status", Value::unknown()));
}
