use manifest::Namespace;
use serde_json::json;
use tfplugin::private::Private;

use super::*;

const MANAGER: &str = "k8sconnect-patch-0123456789ab";

fn target() -> ObjectRef {
    ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new("shop"), "settings")
}

/// The target with one key, held by `manager`.
fn object(level: &str, manager: &str) -> Observed {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"level": level, "other": "x"},
        "metadata": {"name": "settings", "namespace": "shop", "resourceVersion": level, "managedFields": [
            {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:level": {}}}},
        ]},
    });
    Observed::new(object).unwrap()
}

struct Case {
    patch: (&'static str, &'static str),
    same: bool,
    live: Observed,
    answer: Observed,
}

impl Case {
    /// The planned maps, and the titles of all warnings.
    fn outcome(&self) -> (Value, Value, Vec<String>) {
        let manager = FieldManager::new(MANAGER);
        let attributes = Object::from([self.patch]).with("id", "0123456789ab");
        let prior = attributes.clone().with(VALUES, "the values").with(MANAGERS, "the managers");
        let recorded = object("info", MANAGER);
        let desired = Desired::new(&manager, recorded.object());
        let baseline = ownership::Baseline::record(&recorded, &desired, &MaskKey::FORMER);
        let mut private = Private::default();
        private.adopt_baseline(&baseline);
        let change = PlannedChange {
            prior: Some(prior),
            planned: attributes.clone(),
            private,
            ..PlannedChange::default()
        };
        let content = Content::of(&attributes).unwrap().unwrap_or_else(|problem| panic!("{problem:?}"));
        let answer = DryRunResult {
            target: &target(),
            content: &content,
            same: self.same,
            live: &self.live,
            object: &self.answer,
            manager: &manager,
            write_only: Effect::default(),
        };
        let before = self.same.then(|| content.clone());
        let preview = answer.preview(&change, before.as_ref());
        let warnings = answer.warnings(&preview, Reporting::default());
        let planned = answer.decide(&change, &preview);
        let titles = warnings.iter().map(|warning| warning.summary.clone()).collect();
        (planned.get(VALUES).clone(), planned.get(MANAGERS).clone(), titles)
    }
}

const APPLY: (&str, &str) = ("patch", "data: {level: info}");
const MERGE: (&str, &str) = ("merge_patch", r#"{"data":{"level":"info"}}"#);
const JSON: (&str, &str) = ("json_patch", r#"[{"op":"replace","path":"/data/level","value":"info"}]"#);

#[test]
fn a_patch_that_would_change_nothing_is_kept() {
    for patch in [APPLY, MERGE, JSON] {
        let case = Case { patch, same: true, live: object("info", MANAGER), answer: object("info", MANAGER) };
        assert_eq!(case.outcome(), ("the values".into(), "the managers".into(), vec![]), "{patch:?}");
    }
}

#[test]
fn drift_of_any_kind_of_patch_is_planned_and_reported_and_not_written_by_a_read() {
    let titles = ["Field Ownership Conflict - Controllers Fighting (ConfigMap shop/settings)"];
    for patch in [APPLY, MERGE, JSON] {
        let case =
            Case { patch, same: true, live: object("debug", "kubectl"), answer: object("info", MANAGER) };
        let (values, managers, warnings) = case.outcome();
        assert_eq!(warnings, titles, "{patch:?}");
        if patch == APPLY {
            assert_eq!(values, Object::from([("data.level", "info")]).into());
            assert_eq!(managers, Object::from([("data.level", "k8sconnect-patch")]).into());
        } else {
            assert_eq!((values, managers), (Value::Null, Value::unknown()), "{patch:?}");
        }
    }
}

#[test]
fn a_new_patch_is_planned_even_if_its_target_stays_as_it_is() {
    let case =
        Case { patch: APPLY, same: false, live: object("info", MANAGER), answer: object("info", MANAGER) };
    let (values, _, warnings) = case.outcome();
    assert_eq!(values, Object::from([("data.level", "info")]).into());
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn a_field_that_a_patch_removes_is_reported_like_one_that_it_sets() {
    let live = object("info", "kubectl");
    let mut answer = live.object().clone();
    answer["data"].as_object_mut().unwrap().remove("level");
    answer["metadata"]["managedFields"] = json!([]);
    let answer = Observed::new(answer).unwrap();
    for patch in [
        ("json_patch", r#"[{"op":"remove","path":"/data/level"}]"#),
        ("merge_patch", r#"{"data":{"level":null}}"#),
    ] {
        let manager = FieldManager::new(MANAGER);
        let attributes = Object::from([patch]).with("id", "0123456789ab");
        let content = Content::of(&attributes).unwrap().unwrap_or_else(|problem| panic!("{problem:?}"));
        let warnings = |prior: Option<Object>, private: Private, live: &Observed| {
            let same = prior.is_some();
            let change =
                PlannedChange { prior, planned: attributes.clone(), private, ..PlannedChange::default() };
            let answer = DryRunResult {
                target: &target(),
                content: &content,
                same,
                live,
                object: &answer,
                manager: &manager,
                write_only: Effect::default(),
            };
            let preview = answer.preview(&change, same.then_some(&content));
            let warnings = answer.warnings(&preview, Reporting::default());
            // A patch has no ignore_fields for a hint to point to.
            let hints: Vec<_> = warnings.iter().map(|warning| warning.hint.as_deref()).collect();
            assert!(hints.iter().all(|hint| *hint == Some(RESOLVE_CONFLICT)), "{hints:?}");
            warnings.iter().map(|warning| warning.detail.clone()).collect::<Vec<_>>()
        };
        let [taking] = &warnings(None, Private::default(), &live)[..] else { panic!("one warning") };
        assert!(taking.contains("data.level: \"info\" → (none) (modified by: kubectl)"), "{taking}");

        // Applied, and then reverted by another manager.
        let removed = maps::removals((&content, false), (&live, &answer), None, &manager);
        let nothing = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
        let desired = Desired::new(&manager, &nothing).removing(&removed);
        let mut private = Private::default();
        private.adopt_baseline(&ownership::Baseline::record(&answer, &desired, &MaskKey::FORMER));
        assert!(warnings(Some(attributes.clone()), private.clone(), &answer).is_empty());
        let drifted = warnings(Some(attributes.clone()), private, &live);
        assert!(drifted[0].contains("data.level: \"info\" → (none)"), "{drifted:?}");
    }
}
