//! The CLI and the Terraform provider plan the same update alike: same changes, same managers, same warnings.

use std::collections::{BTreeMap, BTreeSet};

use cluster::Reply;
use manifest::Namespace;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::support::report::{Action, ObjectState};

/// The manager of `k8sconnect_object`.
const US: &str = "k8sconnect";
const KEYS: [&str; 4] = ["a", "b.conf", "c", "d"];
const MANAGERS: [&str; 3] = [US, "hpa", "kubectl-edit"];

type Data = BTreeMap<&'static str, &'static str>;
type Held = BTreeMap<&'static str, BTreeSet<&'static str>>;

/// A ConfigMap, and the keys that each manager holds.
#[derive(Clone, Debug)]
struct Settings {
    data: Data,
    held: Held,
}

impl Settings {
    fn object(&self) -> Value {
        let entry = |(manager, keys): (&&str, &BTreeSet<&str>)| {
            let fields: Map<String, Value> = keys.iter().map(|key| (format!("f:{key}"), json!({}))).collect();
            json!({
                "manager": manager, "operation": if *manager == US { "Apply" } else { "Update" }, "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": { "f:data": fields },
            })
        };
        let held = self.held.iter().filter(|(_, keys)| !keys.is_empty());
        let mut object = body(&self.data);
        object["metadata"]["managedFields"] = held.map(entry).collect();
        object
    }

    /// The result of a forced apply of `written`.
    fn applied(&self, written: &Data) -> Self {
        let mut after = self.clone();
        let ours = after.held.insert(US, written.keys().copied().collect()).unwrap_or_default();
        for (key, value) in written {
            if after.data.insert(key, value) != Some(value) {
                let others = after.held.iter_mut().filter(|(manager, _)| **manager != US);
                for (_, keys) in others {
                    keys.remove(key);
                }
            }
        }
        let is_held = |key: &&str| after.held.values().any(|keys| keys.contains(*key));
        let dropped: Vec<&str> = ours.into_iter().filter(|key| !is_held(key)).collect();
        for key in dropped {
            after.data.remove(key);
        }
        after
    }
}

fn body(data: &Data) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings", "namespace": "shop" }, "data": data,
    })
}

fn data() -> impl Strategy<Value = Data> {
    let value = prop_oneof![Just("1"), Just("2"), Just("x")];
    prop::collection::btree_map(prop::sample::select(&KEYS[..]), value, 1..=KEYS.len())
}

fn settings() -> impl Strategy<Value = Settings> {
    let held = prop::collection::btree_map(
        prop::sample::select(&MANAGERS[..]),
        prop::collection::btree_set(prop::sample::select(&KEYS[..]), 0..=KEYS.len()),
        0..=MANAGERS.len(),
    );
    (data(), held).prop_map(|(data, mut held)| {
        for keys in held.values_mut() {
            keys.retain(|key| data.contains_key(key));
        }
        Settings { data, held }
    })
}

fn report(written: &Data, live: &Settings, answer: &Settings) -> ObjectReport {
    let target = ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new("shop"), "settings");
    let object =
        ResolvedObject { target: target.clone(), body: body(written), is_served: true, pending: None };
    let live = HashMap::from([(target, Observed::new(live.object()))]);
    let batch = Batch { objects: Vec::new(), live, problems: Vec::new() };
    let reply = Reply { code: 200, object: answer.object(), warnings: Vec::new(), retries: Vec::new() };
    let writer = WriterArgs { field_manager: US.to_owned(), force_conflicts: true };
    batch.compare(&object, reply, &writer)
}

proptest! {
    #[test]
    fn the_provider_plans_what_the_command_line_plans(
        written in data(), live in settings(), other in settings(), intervenes in any::<bool>(),
    ) {
        // A webhook may turn an apply into anything.
        let answer = if intervenes { other } else { live.applied(&written) };
        let ours = report(&written, &live, &answer);
        let theirs = provider::parity::planned_update(&body(&written).to_string(), live.object(), answer.object());
        let ObjectState::Known(preview) = &ours.state else { panic!("{:?}", ours.findings) };

        let texts = |warnings: &[Diagnostic]| -> Vec<_> {
            warnings.iter().map(|it| (it.code.name(), it.summary.clone(), it.detail.clone())).collect()
        };
        prop_assert_eq!(texts(&ours.findings), texts(&theirs.warnings));

        // Every field we hold whose value changes in Terraform's projection changes here, or changes its manager. If we
        // hold nothing of an object, the projection has the written fields instead.
        let held = [&live, &answer].into_iter().filter_map(|object| object.held.get(US)).flatten();
        let held: BTreeSet<String> = held.map(|key| format!("data.{key}")).collect();
        for field in held.iter().filter(|field| theirs.before.get(*field) != theirs.after.get(*field)) {
            let is_change = preview.changes.iter().any(|change| change.field == *field);
            let changes_hands = preview.takes.contains(field) || preview.releases.contains(field);
            prop_assert!(is_change || changes_hands, "{field}");
        }
        let text = |value: &Option<Value>| value.as_ref().map(fields::flat_text);
        let manager = FieldManager::new(US);
        for change in &preview.changes {
            let (now, after) = (change.held_now.contains(&manager), change.held_after.contains(&manager));
            if now || after {
                prop_assert_ne!(theirs.before.get(&change.field), theirs.after.get(&change.field));
            }
            if now {
                prop_assert_eq!(theirs.before.get(&change.field).cloned(), text(&change.old));
            }
            if after {
                prop_assert_eq!(theirs.after.get(&change.field).cloned(), text(&change.new));
            }
            // While nothing of ours changes, Terraform keeps the managers of the last refresh.
            let managers = theirs.managers.as_ref().filter(|_| !theirs.unchanged);
            if let Some(holder) = managers.and_then(|managers| managers.get(&change.field)) {
                let expected = change.held_after.iter().find(|it| **it == manager).or(change.held_after.first());
                prop_assert_eq!(Some(holder.as_str()), expected.map(FieldManager::as_str));
            }
        }
        if ours.action() == Action::Nothing {
            // `managed_fields` lists every manager, so a webhook may still change it for fields that are not ours.
            prop_assert_eq!(&theirs.before, &theirs.after);
            let managers = theirs.managers.unwrap_or_default();
            prop_assert!(held.iter().all(|field| managers.get(field).map(String::as_str) == Some(US)));
        }
    }
}
