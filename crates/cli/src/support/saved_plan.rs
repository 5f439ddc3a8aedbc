//! A plan in a file: the objects as they are to be, how they are changed, and what the cluster was like where that matters.
//!
//! An apply of the plan does what was planned or nothing. The file has values of Secrets as the manifests have them, so
//! only its owner may read it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use cluster::Session;
use diag::{Diagnostic, Source, Span};
use manifest::{ObjectRef, secret};
use ownership::FieldManager;
use plan::applyset::{Fate, PART_OF};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::applyset::SetPlan;
use super::applyset::prune::Prune;
use super::batch::Batch;
use super::exit::Failure;
use super::files::{Loaded, Written, unreadable};
use super::private_file;
use crate::args::plan::ChangeArgs;
use crate::codes;

/// The version of the file.
const SCHEMA: &str = "plimsoll.dev/plan/v1";

/// A plan that can be carried out later.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SavedPlan {
    schema: String,
    /// The version of plimsoll that made it.
    made_by: String,
    /// The uid of its namespace kube-system, if that may be read.
    cluster: Option<String>,
    pub(crate) namespace: String,
    pub(crate) change: ChangeArgs,
    objects: Vec<SavedObject>,
    /// The members of the set that are not among the objects.
    members: Vec<SavedMember>,
}

#[derive(Serialize, Deserialize)]
#[serde(try_from = "WrittenObject")]
struct SavedObject {
    #[serde(skip_serializing)]
    target: ObjectRef,
    body: Value,
    /// What the plan is about in the live object; none if there is none.
    before: Option<String>,
}

/// An object as it is in the file, before it is known to be one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenObject {
    body: Value,
    before: Option<String>,
}

impl TryFrom<WrittenObject> for SavedObject {
    type Error = String;

    fn try_from(WrittenObject { body, before }: WrittenObject) -> Result<Self, String> {
        let fields = body.as_object().ok_or("the body of an object is not a mapping")?;
        let target = ObjectRef::of(fields).map_err(|error| diag::error_chain(&error))?;
        Ok(Self { target, body, before })
    }
}

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct SavedMember {
    object: String,
    uid: Option<String>,
    is_deleted: bool,
}

impl SavedPlan {
    pub(crate) async fn of(batch: &Batch, change: &ChangeArgs, session: &Session, namespace: &str) -> Self {
        let manager = FieldManager::new(change.writer.field_manager.as_str());
        let objects = batch.objects.iter().map(|object| {
            let mut body = object.body.clone();
            let mut remove = |place: &str, name: &str| {
                body.pointer_mut(place).and_then(Value::as_object_mut).and_then(|fields| fields.remove(name))
            };
            if batch.set.is_some() {
                // An apply adds it again.
                remove("/metadata/labels", PART_OF);
            }
            if object.target.namespace.is_none() {
                remove("/metadata", "namespace");
            }
            let before = snapshot(batch, &object.target, &object.body, &manager);
            SavedObject { target: object.target.clone(), body, before }
        });
        Self {
            schema: SCHEMA.to_owned(),
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            cluster: cluster_uid(session).await,
            namespace: namespace.to_owned(),
            change: change.clone(),
            objects: objects.collect(),
            members: batch.set.as_ref().map(members).unwrap_or_default(),
        }
    }

    /// How many of the objects are Secrets.
    pub(crate) fn secrets(&self) -> usize {
        self.objects.iter().filter(|object| secret::is_secret(&object.body)).count()
    }

    /// The objects as if a file had them.
    pub(crate) fn loaded(&self) -> Loaded {
        let source = Source::new("the plan", "");
        let written = |SavedObject { target, body, .. }: &SavedObject| {
            let ObjectRef { gvk, namespace, name } = target.clone();
            Written {
                body: body.clone(),
                gvk,
                namespace,
                name,
                is_name_generated: false,
                source: source.clone(),
                part: Span::default(),
                span: Span::default(),
                violations: Vec::new(),
            }
        };
        Loaded { objects: self.objects.iter().map(written).collect(), problems: Vec::new() }
    }

    /// Refuses to carry out the plan if `batch`, which is made of the same objects now, would do anything else.
    pub(crate) async fn check(&self, batch: &Batch, session: &Session) -> Result<(), Diagnostic> {
        let here = cluster_uid(session).await;
        if let (Some(planned), Some(here)) = (&self.cluster, &here)
            && planned != here
        {
            return Err(Diagnostic::error(codes::PLAN_STALE, "the plan is for another cluster")
                .detail("The namespace kube-system has another uid than when the plan was made.")
                .hint("Choose the cluster with --context or --kubeconfig, or plan again."));
        }
        let manager = FieldManager::new(self.change.writer.field_manager.as_str());
        let before: HashMap<&ObjectRef, &Option<String>> =
            self.objects.iter().map(|it| (&it.target, &it.before)).collect();
        let mut moved: Vec<String> = Vec::new();
        for object in &batch.objects {
            let now = snapshot(batch, &object.target, &object.body, &manager);
            let before = before.get(&object.target).and_then(|before| before.as_deref());
            let what = match (before, now.as_deref()) {
                (None, Some(_)) => "exists now",
                (Some(_), None) => "does not exist any more, or cannot be read",
                (before, now) if before != now => "has been changed",
                _ => continue,
            };
            moved.push(format!("{} {what}", object.target));
        }
        if batch.set.as_ref().map(members).unwrap_or_default() != self.members {
            moved.push("the set's prune candidates changed".to_owned());
        }
        if moved.is_empty() { Ok(()) } else { Err(stale(&moved)) }
    }

    /// Writes the plan, so that only its owner can read it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(self).expect("a plan has only string keys");
        Ok(private_file::write(path, &text).map_err(|error| {
            Diagnostic::error(codes::REPORT_UNWRITABLE, format!("cannot write {}", path.display()))
                .detail(format!("Cause: {error}."))
        })?)
    }

    /// Reads a plan.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read(path).map_err(|error| unreadable(path, &error))?;
        let no_plan = |detail: String| {
            Diagnostic::error(codes::PLAN_UNREADABLE, format!("{} is not a saved plan", path.display()))
                .detail(detail)
                .hint(format!("To apply manifests, write: plimsoll apply -f {}", path.display()))
        };
        Ok(Self::parse(&text).map_err(no_plan)?)
    }

    /// A plan from the text of its file, or why it is none.
    fn parse(text: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(text)
            .map_err(|_| "`plimsoll plan --out` writes plans, as JSON.".to_owned())?;
        if value["schema"] != SCHEMA {
            let found = value["schema"].as_str().unwrap_or("none");
            return Err(format!("Its field schema should be {SCHEMA}; found: {found}."));
        }
        serde_json::from_value(value).map_err(|error| format!("Cause: {error}."))
    }
}

/// The warning about a plan with Secrets that others can read.
pub(crate) fn exposed(path: &Path, plan: &SavedPlan) -> Option<Diagnostic> {
    let is_exposed = plan.secrets() > 0 && private_file::is_open_to_others(path);
    is_exposed.then(|| {
        Diagnostic::warning(codes::PLAN_EXPOSED, format!("other users can read {}", path.display()))
            .detail("The plan has values of Secrets in clear.")
            .hint(format!("Limit it to yourself: chmod 600 {}", path.display()))
    })
}

pub(crate) fn stale(moved: &[String]) -> Diagnostic {
    Diagnostic::error(codes::PLAN_STALE, "the cluster has changed since the plan was made")
        .detail(format!(
            "Nothing was applied, because the result would differ from the plan:\n\n  - {}",
            moved.join("\n  - ")
        ))
        .hint("Plan again.")
}

/// What the plan is about in the live object.
fn snapshot(batch: &Batch, target: &ObjectRef, body: &Value, manager: &FieldManager) -> Option<String> {
    batch.observed(target).map(|live| plan::snapshot(body, manager, live))
}

fn members(set: &SetPlan) -> Vec<SavedMember> {
    let member = |prune: &Prune| SavedMember {
        object: prune.target.to_string(),
        uid: prune.uid.clone(),
        is_deleted: set.is_pruned && matches!(prune.fate, Fate::Delete { .. }),
    };
    let mut members: Vec<SavedMember> = set.prunes.iter().map(member).collect();
    members.sort();
    members
}

/// Tells clusters apart.
async fn cluster_uid(session: &Session) -> Option<String> {
    let namespace = ObjectRef::new("v1/Namespace".parse().ok()?, None, "kube-system");
    let found = session.read(&namespace).await.ok()??;
    found.object["metadata"]["uid"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_damaged_plan_is_refused_as_a_whole() {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "shop" } });
        let check = |object: Value, expected: Result<usize, &str>| {
            let change = json!({
                "writer": {
                    "field_manager": "plimsoll", "force_conflicts": false, "take": [], "take_from": [],
                    "leave": { "ignore": [], "leave_to": [] },
                },
                "set": { "applyset": null, "prune": false, "adopt_applyset": false },
                "replacement": { "replace": false, "cascade": "background" },
            });
            let plan = json!({
                "schema": SCHEMA, "madeBy": "0.2.0", "cluster": null, "namespace": "shop", "change": change,
                "objects": [{ "body": map, "before": null }, object], "members": [],
            });
            let parsed = SavedPlan::parse(plan.to_string().as_bytes());
            match (parsed.map(|plan| plan.loaded().objects.len()), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
                (found, expected) => panic!("{found:?}, and not {expected:?}"),
            }
        };
        let mut other = map.clone();
        other["metadata"]["name"] = "b".into();
        check(json!({ "body": other, "before": "x" }), Ok(2));
        check(json!({ "body": { "kind": "ConfigMap" }, "before": null }), Err("apiVersion"));
        other["metadata"]["name"] = json!(null);
        check(json!({ "body": other, "before": null }), Err("name"));
        check(json!({ "body": "b", "before": null }), Err("is not a mapping"));
        check(json!({ "before": null }), Err("body"));
        check(json!({ "body": map, "befor": "x" }), Err("befor"));
    }
}
