//! What holds for every description: its definition, its bodies and its states.

use operations::{Drift, ExternalService as _, Lifecycle, Phase};
use oraclecloud::kind::Embedded;
use oraclecloud::{Catalogue, Kind};
use serde_json::{Value, json};

use super::super::Described;
use crate::api::definition;
use crate::operations::object::{recorded, show};
use crate::runtime::metrics::Metrics;

fn every_kind() -> impl Iterator<Item = Kind> {
    Embedded::all().iter().flat_map(|embedded| embedded.read().kinds())
}

fn service(kind: Kind) -> Described {
    Described::new(kind, Err(operations::CallError::default()), &Metrics::new())
}

/// A spec with what is required.
fn spec(kind: Kind) -> Value {
    let mut spec = kind.example(&kind.spec);
    for name in kind.scope[0].iter().chain([&kind.name_field]) {
        spec.entry(name.clone()).or_insert_with(|| json!("example"));
    }
    spec.into()
}

/// What the service shows of a resource that was created with this body.
fn shown(kind: Kind, body: &Value, state: &str) -> Value {
    let mut shown = kind.example(&kind.status);
    let fields = body.as_object().unwrap().iter().filter(|(name, _)| kind.status.contains_key(*name));
    shown.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
    shown.insert("id".to_owned(), json!("ocid1.thing"));
    shown.insert("lifecycleState".to_owned(), json!(state));
    shown.into()
}

#[test]
fn what_was_created_as_asked_has_no_drift_and_is_ours() {
    for kind in every_kind() {
        let (service, spec) = (service(kind), spec(kind));
        let body = service.create_body(&spec, "uid-1");
        assert_eq!(body["freeformTags"]["plimsoll-uid"], "uid-1", "{kind:?}");
        assert!(!service.scope(&spec).is_empty(), "{kind:?} can be listed");
        let read = service.read(&spec, "uid-1", &shown(kind, &body, "ACTIVE")).unwrap();
        assert_eq!((read.owner.as_deref(), read.drift), (Some("uid-1"), Drift::None), "{kind:?}");
    }
}

#[test]
fn what_differs_is_sent_or_named() {
    for kind in every_kind() {
        let (service, spec) = (service(kind), spec(kind));
        let shown = shown(kind, &service.create_body(&spec, "uid-1"), "ACTIVE");
        for (name, field) in &kind.spec {
            let is_text = field.shape == oraclecloud::kind::Shape::Text && kind.status.contains_key(name);
            if !is_text || !shown[name].is_string() {
                continue;
            }
            let mut changed = spec.clone();
            changed[name] = json!("another");
            let expected = if field.update {
                Drift::Update(json!({name: "another"}))
            } else {
                Drift::Immutable(vec![name.clone()])
            };
            assert_eq!(service.read(&changed, "uid-1", &shown).unwrap().drift, expected, "{kind:?} {name}");
        }
    }
}

#[test]
fn every_kind_comes_up_and_states_that_are_not_described_have_no_meaning() {
    for kind in every_kind() {
        let states: Vec<Lifecycle> = kind.decisions.states.iter().map(|(_, meaning)| *meaning).collect();
        assert!(states.contains(&Lifecycle::Ready), "{kind:?}");
        assert_eq!(kind.decisions.lifecycle(Some("PONDERING")), None, "{kind:?}");
        for (name, phase) in &kind.operation_types {
            let expected = match name.split('_').next() {
                Some("CREATE") => Phase::Create,
                Some("DELETE") => Phase::Delete,
                _ => Phase::Update,
            };
            assert_eq!(Phase::from(*phase), expected, "{kind:?} {name}");
        }
    }
}

#[test]
fn a_status_is_stored_and_read_again_and_shows_no_secret() {
    for kind in every_kind() {
        let body = shown(kind, &service(kind).create_body(&spec(kind), "uid-1"), "ACTIVE");
        let mut object: kube::core::DynamicObject =
            serde_json::from_value(json!({"metadata": {"name": "x"}, "spec": {}})).unwrap();
        let mut status = operations::Status::default();
        status.status.ocid = Some("ocid1.thing".to_owned());
        show(kind, &mut object, &status, Some(&body));
        assert_eq!(recorded(kind, &object, jiff::Timestamp::UNIX_EPOCH).unwrap(), status, "{kind:?}");
        assert_eq!(object.data["status"]["id"], "ocid1.thing", "{kind:?}");
        let again = object.clone();
        show(kind, &mut object, &status, None);
        assert_eq!(object.data, again.data, "{kind:?}: looking again changes nothing");
        assert!(kind.status.values().all(|it| it.shape != oraclecloud::kind::Shape::Secret), "{kind:?}");
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
