use manifest::Namespace;
use serde_json::json;
use tfplugin::private::Private;

use super::*;

const MANAGER: &str = "k8sconnect-patch-0123456789ab";

fn target() -> ObjectRef {
    ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new("shop"), "settings")
}

/// The target with one key, held by `manager`.
fn object(level: &str, manager: &str) -> Json {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"level": level, "other": "x"},
        "metadata": {"name": "settings", "namespace": "shop", "resourceVersion": level, "managedFields": [
            {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:level": {}}}},
        ]},
    })
}

struct Case {
    patch: (&'static str, &'static str),
    same: bool,
    live: Json,
    answer: Json,
}

impl Case {
    /// The planned maps, and the titles of all warnings.
    fn outcome(&self) -> (Value, Value, Vec<String>) {
        let manager = FieldManager::new(MANAGER);
        let attributes = Object::from([self.patch]).with("id", "0123456789ab");
        let prior = attributes.clone().with(VALUES, "the values").with(MANAGERS, "the managers");
        let baseline =
            ownership::Baseline::record(&object("info", MANAGER), &object("info", MANAGER), |_| false)
                .unwrap();
        let mut private = Private::default();
        private.adopt_baseline(&baseline);
        let situation = Situation { prior: Some(prior), planned: attributes.clone(), private };
        let content = Content::of(&attributes).unwrap().unwrap_or_else(|problem| panic!("{problem:?}"));
        let preview = Preview {
            target: &target(),
            content: &content,
            same: self.same,
            live: &self.live,
            answer: &self.answer,
            manager: &manager,
        };
        let before = self.same.then(|| content.clone());
        let analysis = preview.analyse(&situation, before.as_ref()).unwrap();
        let warnings = preview.warnings(&analysis, Verbosity::Full);
        let planned = preview.decide(&situation).unwrap();
        let titles = warnings.iter().map(|(_, warning)| warning.summary.clone()).collect();
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
fn bug_19a_drift_of_any_kind_of_patch_is_planned_and_told_and_not_written_by_a_read() {
    let titles = [
        "Drift Detected - Reverting External Changes (ConfigMap shop/settings)",
        "Field Ownership Conflict - Controllers Fighting",
    ];
    for patch in [APPLY, MERGE, JSON] {
        let case =
            Case { patch, same: true, live: object("debug", "kubectl"), answer: object("info", MANAGER) };
        let (values, managers, told) = case.outcome();
        assert_eq!(told, titles, "{patch:?}");
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
    let (values, _, told) = case.outcome();
    assert_eq!(values, Object::from([("data.level", "info")]).into());
    assert_eq!(told, Vec::<String>::new());
}

#[test]
fn a_field_that_a_patch_takes_away_is_told_like_one_that_it_sets() {
    let live = object("info", "kubectl");
    let mut answer = live.clone();
    answer["data"].as_object_mut().unwrap().remove("level");
    answer["metadata"]["managedFields"] = json!([]);
    for patch in [
        ("json_patch", r#"[{"op":"remove","path":"/data/level"}]"#),
        ("merge_patch", r#"{"data":{"level":null}}"#),
    ] {
        let manager = FieldManager::new(MANAGER);
        let attributes = Object::from([patch]).with("id", "0123456789ab");
        let content = Content::of(&attributes).unwrap().unwrap_or_else(|problem| panic!("{problem:?}"));
        let told = |prior: Option<Object>, private: Private, live: &Json| {
            let same = prior.is_some();
            let situation = Situation { prior, planned: attributes.clone(), private };
            let preview = Preview {
                target: &target(),
                content: &content,
                same,
                live,
                answer: &answer,
                manager: &manager,
            };
            let analysis = preview.analyse(&situation, same.then_some(&content)).unwrap();
            let warnings = preview.warnings(&analysis, Verbosity::Full);
            // A patch has no ignore_fields that one could be told to set.
            let hints: Vec<_> = warnings.iter().map(|(_, warning)| warning.hint.as_deref()).collect();
            assert!(hints.iter().all(|hint| *hint == Some(LEAVE_TO_OTHERS)), "{hints:?}");
            warnings.iter().map(|(_, warning)| warning.detail.clone()).collect::<Vec<_>>()
        };
        let [taking] = &told(None, Private::default(), &live)[..] else { panic!("one warning") };
        assert!(taking.contains("data.level: \"info\" → (none) (modified by: kubectl)"), "{taking}");

        // Done, and then put back by somebody.
        let removed = shown::removals((&content, false), (&live, &answer), None, &manager).unwrap();
        let nothing = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
        let baseline = ownership::Baseline::record(&answer, &nothing, |_| false).unwrap();
        let mut private = Private::default();
        private.adopt_baseline(&baseline.with_removals(&removed, &manager));
        assert!(told(Some(attributes.clone()), private.clone(), &answer).is_empty());
        let drifted = told(Some(attributes.clone()), private, &live);
        assert!(drifted[0].contains("data.level: \"info\" → (none)"), "{drifted:?}");
    }
}
