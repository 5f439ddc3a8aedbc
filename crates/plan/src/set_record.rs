//! What is kept with a set of objects after an apply: of each member what we held, and the fingerprint of the API server's
//! answer. It makes drift of what would otherwise be another manager's field, and dry runs needless.

use std::collections::BTreeMap;

use manifest::secret::{self, MaskKey};
use manifest::{Namespace, ObjectRef};
use ownership::{Desired, Observed, Record};
use serde_json::{Map, Value, json};

use crate::fingerprint;

/// The version of the stored form.
const VERSION: u8 = 1;

/// The records of a set's members.
#[derive(Clone, Debug, PartialEq)]
pub struct SetRecord {
    key: MaskKey,
    members: BTreeMap<String, Member>,
}

/// What is kept of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// None of a Secret in another namespace than the record: its readers may not be allowed to read that Secret.
    pub record: Option<Record>,
    /// See [`crate::fingerprint`], keyed.
    asked: u64,
}

impl SetRecord {
    /// `key` must come from the system's random numbers.
    pub fn new(key: MaskKey) -> Self {
        Self { key, members: BTreeMap::new() }
    }

    pub fn member(&self, target: &ObjectRef) -> Option<&Member> {
        self.members.get(&name(target))
    }

    /// Keeps what came of an apply: `answer` is the object after it, `ignored` are the fields that were left to others, as
    /// the user named them, and `namespace` is the one of the record.
    pub fn insert(
        &mut self,
        target: &ObjectRef,
        desired: &Desired<'_>,
        ignored: &[String],
        answer: &Observed,
        namespace: Option<&Namespace>,
    ) {
        let is_readable = !secret::is_secret(answer.object()) || target.namespace.as_ref() == namespace;
        let record = Record::new(answer, desired, &self.key).filter(|_| is_readable);
        let asked = self.asked(desired, ignored, answer);
        self.members.insert(name(target), Member { record, asked });
    }

    /// Whether the API server would answer as it did after the last apply.
    pub fn is_answered(
        &self,
        target: &ObjectRef,
        desired: &Desired<'_>,
        ignored: &[String],
        live: &Observed,
    ) -> bool {
        self.member(target).is_some_and(|member| member.asked == self.asked(desired, ignored, live))
    }

    /// Keeps only the records of these objects.
    pub fn retain<'o>(&mut self, objects: impl IntoIterator<Item = &'o ObjectRef>) {
        let mut kept = BTreeMap::new();
        for object in objects {
            kept.extend(self.members.remove_entry(&name(object)));
        }
        self.members = kept;
    }

    fn asked(&self, desired: &Desired<'_>, ignored: &[String], object: &Observed) -> u64 {
        self.key.digest(&fingerprint(desired.written, ignored, desired.manager, object))
    }

    /// The stored form.
    pub fn to_value(&self) -> Value {
        let member = |(name, Member { record, asked }): (&String, &Member)| {
            let record = record.as_ref().map(Record::to_value);
            (name.clone(), json!({ "asked": format!("{asked:016x}"), "record": record }))
        };
        let members: Map<String, Value> = self.members.iter().map(member).collect();
        let key = format!("{:032x}", self.key.random().unwrap_or_default());
        json!({ "version": VERSION, "key": key, "members": members })
    }

    /// Reads the stored form; `None` if it is another version's.
    pub fn from_value(value: &Value) -> Option<Self> {
        if value["version"] != VERSION {
            return None;
        }
        let key = MaskKey::new(u128::from_str_radix(value["key"].as_str()?, 16).ok()?);
        let member = |(name, value): (&String, &Value)| {
            let record = match &value["record"] {
                Value::Null => None,
                record => Some(Record::from_value(record, &key)?),
            };
            let asked = u64::from_str_radix(value["asked"].as_str()?, 16).ok()?;
            Some((name.clone(), Member { record, asked }))
        };
        let members = value["members"].as_object()?.iter().map(member).collect::<Option<_>>()?;
        Some(Self { key, members })
    }
}

/// `Deployment.apps shop/web`; versions of a kind are one object.
fn name(target: &ObjectRef) -> String {
    let namespace = target.namespace.as_ref().map_or("", Namespace::as_str);
    format!("{} {namespace}/{}", target.gvk.group_kind(), target.name)
}

#[cfg(test)]
mod tests {
    use ownership::FieldManager;

    use super::*;

    fn observed(kind: &str, value: &str) -> Observed {
        let entry = json!({
            "manager": "us", "operation": "Apply", "apiVersion": "v1", "time": "t1", "fieldsType": "FieldsV1",
            "fieldsV1": { "f:data": { "f:k": {} } },
        });
        let mut object = written(kind, value);
        object["metadata"]["managedFields"] = json!([entry]);
        Observed::new(object).unwrap()
    }

    fn written(kind: &str, value: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": "m", "namespace": "shop" }, "data": { "k": value } })
    }

    fn target(kind: &str) -> ObjectRef {
        ObjectRef::new(format!("v1/{kind}").parse().unwrap(), Namespace::new("shop"), "m")
    }

    #[test]
    fn an_answer_is_remembered_until_something_of_it_changes() {
        let manager = FieldManager::new("us");
        let mut set = SetRecord::new(MaskKey::new(7));
        let body = written("ConfigMap", "v");
        let target = target("ConfigMap");
        set.insert(&target, &Desired::new(&manager, &body), &[], &observed("ConfigMap", "v"), None);
        let set = SetRecord::from_value(&set.to_value()).unwrap();
        let check = |body: &Value, ignored: &[&str], live: &str, answered: bool| {
            let ignored: Vec<String> = ignored.iter().map(|&text| text.to_owned()).collect();
            let live = observed("ConfigMap", live);
            let found = set.is_answered(&target, &Desired::new(&manager, body), &ignored, &live);
            assert_eq!(found, answered, "{body} {ignored:?}");
        };
        check(&body, &[], "v", true);
        check(&body, &[], "w", false);
        check(&body, &["data.k"], "v", false);
        check(&written("ConfigMap", "w"), &[], "v", false);
        let mut emptied = set.clone();
        emptied.retain([]);
        assert_eq!(emptied.member(&target), None);
    }

    #[test]
    fn of_secrets_elsewhere_nothing_is_recorded() {
        let manager = FieldManager::new("us");
        let body = written("Secret", "dg==");
        for (namespace, recorded) in [("shop", true), ("other", false)] {
            let mut set = SetRecord::new(MaskKey::new(7));
            let namespace = Namespace::new(namespace);
            let desired = Desired::new(&manager, &body);
            set.insert(&target("Secret"), &desired, &[], &observed("Secret", "dg=="), namespace.as_ref());
            assert_eq!(set.member(&target("Secret")).unwrap().record.is_some(), recorded);
            assert!(!set.to_value().to_string().contains("dg=="));
        }
    }
}
