//! What holds for every description: its definition, its bodies and its states.

use operations::{Drift, ExternalService as _, Lifecycle, Phase};
use oraclecloud::kind::{Embedded, Extent, Shape};
use oraclecloud::{Catalogue, Kind};
use serde_json::{Value, json};

use super::super::Described;
use crate::api::{definition, role};
use crate::operations::object::{recorded, show};
use crate::runtime::metrics::Metrics;

pub(super) const UID: &str = "uid-1";

pub(super) fn every_kind() -> impl Iterator<Item = Kind> {
    Embedded::all().iter().flat_map(|embedded| embedded.read().kinds())
}

pub(super) fn service(kind: Kind) -> Described {
    Described::new(kind, Err(operations::CallError::default()), &Metrics::new())
}

/// A spec as a user writes it: with what is required, or with everything. Passwords are in a Secret.
pub(super) fn spec(kind: Kind, variant: Option<&str>, extent: Extent) -> Value {
    let model = &kind.description().spec;
    let mut spec = kind.example(model, variant, extent);
    for name in kind.scope[0].iter().chain([&kind.name_field]) {
        spec.entry(name.clone()).or_insert_with(|| json!("example"));
    }
    for group in &kind.exclusive {
        group.iter().skip(1).for_each(|name| _ = spec.remove(name));
    }
    let mut spec = Value::Object(spec);
    hide(kind, model.iter().map(|(name, field)| (name.as_str(), &field.shape)), &mut spec);
    spec
}

/// Replaces texts that belong in a Secret by its name.
fn hide<'a>(kind: Kind, fields: impl Iterator<Item = (&'a str, &'a Shape)>, object: &mut Value) {
    for (name, shape) in fields {
        if let Some(value) = object.get_mut(name) {
            hide_in(kind, shape, value);
        }
    }
}

fn hide_in(kind: Kind, shape: &Shape, value: &mut Value) {
    match (shape, &mut *value) {
        (Shape::Secret, _) => *value = json!({"secret": {"secretName": "login"}}),
        (Shape::List(of), Value::Array(entries)) => entries.iter_mut().for_each(|it| hide_in(kind, of, it)),
        (Shape::Map(of), Value::Object(entries)) => entries.values_mut().for_each(|it| hide_in(kind, of, it)),
        (Shape::Model(name), _) => {
            let model = kind.model(name).unwrap();
            hide(kind, model.iter().map(|(name, field)| (name.as_str(), &field.shape)), value);
        }
        _ => {}
    }
}

/// What the service shows of a resource that was created with this body.
pub(super) fn shown(kind: Kind, body: &Value, state: Option<&str>) -> Value {
    let status = &kind.description().status;
    let mut shown = kind.example(status, None, Extent::Required);
    let fields = body.as_object().unwrap().iter().filter(|(name, _)| status.contains_key(*name));
    shown.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
    shown.insert(kind.id_field.clone(), json!("ocid1.thing"));
    shown.extend(state.map(|state| ("lifecycleState".to_owned(), json!(state))));
    shown.into()
}

/// The kind's first word for a state.
pub(super) fn word(kind: Kind, meaning: Lifecycle) -> Option<&'static str> {
    kind.decisions.states.iter().find(|(_, it)| *it == meaning).map(|(name, _)| *name)
}

#[test]
fn what_was_created_as_asked_has_no_drift_and_is_ours() {
    for kind in every_kind() {
        for extent in [Extent::Required, Extent::Everything] {
            let (service, spec) = (service(kind), spec(kind, None, extent));
            let body = service.create_body(&spec, UID);
            if kind.takes_tags() {
                assert_eq!(body["freeformTags"]["plimsoll-uid"], UID, "{kind:?}");
            }
            assert!(!service.scope(&spec).is_empty(), "{kind:?} can be listed");
            let mut body = body;
            // What an update alone takes is set by the update that follows.
            for (name, _) in kind.spec.iter().filter(|(_, field)| field.late) {
                body[name] = spec[name].clone();
            }
            if kind.id_field != "id" && kind.spec.contains_key(&kind.id_field) {
                continue;
            }
            let read = service.read(&spec, UID, &shown(kind, &body, word(kind, Lifecycle::Ready))).unwrap();
            assert_eq!(read.drift, Drift::None, "{kind:?} {extent:?}");
            assert_eq!(read.owner.as_deref(), kind.takes_tags().then_some(UID), "{kind:?}");
        }
    }
}

#[test]
fn what_differs_is_sent_moved_or_named() {
    for kind in every_kind() {
        let (service, spec) = (service(kind), spec(kind, None, Extent::Required));
        let shown = shown(kind, &service.create_body(&spec, UID), word(kind, Lifecycle::Ready));
        for (name, field) in kind.spec.iter() {
            let is_text = field.shape == Shape::Text && kind.status.contains_key(name) && !field.unread;
            if !is_text || kind.is_place(name) || !shown[name].is_string() || *name == kind.id_field {
                continue;
            }
            let mut changed = spec.clone();
            changed[name] = json!("another");
            let change = json!({name: "another"});
            let expected = match (name.as_str(), field.update) {
                ("compartmentId", true) => Drift::Move(change),
                ("compartmentId", false) if kind.change_compartment.is_some() => Drift::Move(change),
                (_, true) => Drift::Update(change),
                (_, false) => Drift::Immutable(vec![name.clone()]),
            };
            assert_eq!(service.read(&changed, UID, &shown).unwrap().drift, expected, "{kind:?} {name}");
        }
    }
}

#[test]
fn every_kind_comes_up_and_states_that_are_not_described_have_no_meaning() {
    for kind in every_kind() {
        if !kind.states.is_empty() {
            assert!(word(kind, Lifecycle::Ready).is_some(), "{kind:?}");
            assert_eq!(kind.decisions.lifecycle(Some("PONDERING")), None, "{kind:?}");
        }
        for (name, phase) in &kind.operation_types {
            let verbs = [("CREATE", Phase::Create), ("DELETE", Phase::Delete)];
            let expected =
                verbs.iter().find(|(verb, _)| name.contains(verb)).map_or(Phase::Update, |(_, it)| *it);
            assert_eq!(*phase, expected, "{kind:?} {name}");
        }
    }
}

#[test]
fn a_status_is_stored_and_read_again_and_shows_no_secret() {
    for kind in every_kind() {
        let mut body =
            shown(kind, &service(kind).create_body(&spec(kind, None, Extent::Required), UID), None);
        for (name, _) in kind.status.iter().filter(|(_, field)| field.shape == Shape::Secret) {
            body[name] = json!("hunter2");
        }
        let mut object: kube::core::DynamicObject =
            serde_json::from_value(json!({"metadata": {"name": "x"}, "spec": {}})).unwrap();
        let mut status = operations::Status::default();
        status.status.ocid = Some("ocid1.thing".to_owned());
        show(kind, &mut object, &status, Some(&body));
        assert_eq!(recorded(kind, &object, jiff::Timestamp::UNIX_EPOCH).unwrap(), status, "{kind:?}");
        assert_eq!(object.data["status"][&kind.id_field], "ocid1.thing", "{kind:?}");
        assert!(!object.data.to_string().contains("hunter2"), "{kind:?}");
        let again = object.clone();
        show(kind, &mut object, &status, None);
        assert_eq!(object.data, again.data, "{kind:?}: looking again changes nothing");
    }
}

#[test]
fn a_definition_names_its_kind_and_marks_what_is_only_derived() {
    let standard = Catalogue::standard();
    for kind in every_kind() {
        let definition = definition(kind);
        let is_derived = definition["metadata"]["annotations"]["plimsoll.dev/derived"] == "true";
        assert_eq!(is_derived, standard.get(&kind.path()).is_none(), "{kind:?}");
        let properties = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        assert_eq!(properties["status"]["required"], json!(["status"]), "{kind:?}");
        assert!(properties["status"]["properties"]["status"]["properties"]["async"].is_object(), "{kind:?}");
    }
}

#[test]
fn a_kind_is_granted_what_its_description_needs_and_no_more() {
    let rules = |path: &str| {
        let kind = Embedded::kind(path).unwrap();
        let [role, _] = role("it", &[kind]);
        let rules = role["rules"].as_array().unwrap().iter();
        rules
            .map(|it| format!("{} {} {}", it["apiGroups"][0], it["resources"][0], it["verbs"]))
            .collect::<Vec<_>>()
    };
    insta::assert_debug_snapshot!(rules("queue/Queue"), @r#"
    [
        "\"queue.oracle.com\" \"queues\" [\"get\",\"list\",\"watch\",\"patch\"]",
        "\"queue.oracle.com\" \"queues/status\" [\"update\"]",
        "\"\" \"secrets\" [\"get\",\"create\",\"update\",\"delete\"]",
    ]
    "#);
    insta::assert_debug_snapshot!(rules("database/AutonomousDatabase").last(), @r#"
    Some(
        "\"\" \"secrets\" [\"get\"]",
    )
    "#);
    assert_eq!(rules("core/Vcn").len(), 2);
}
