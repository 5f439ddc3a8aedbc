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
struct SavedObject {
    body: Value,
    /// What the plan is about in the live object; none if there is none.
    before: Option<String>,
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
            SavedObject { body, before: snapshot(batch, &object.target, &object.body, &manager) }
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
        let written = |SavedObject { body, .. }: &SavedObject| {
            let ObjectRef { gvk, namespace, name } = ObjectRef::of(body.as_object()?).ok()?;
            Some(Written {
                body: body.clone(),
                gvk,
                namespace,
                name,
                is_name_generated: false,
                source: source.clone(),
                part: Span::default(),
                span: Span::default(),
                violations: Vec::new(),
            })
        };
        Loaded { objects: self.objects.iter().filter_map(written).collect(), problems: Vec::new() }
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
        let before: HashMap<ObjectRef, &Option<String>> =
            self.objects.iter().filter_map(|it| Some((reference(&it.body)?, &it.before))).collect();
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
            moved.push("the members of the set that are not in the files are others".to_owned());
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
            Diagnostic::error(codes::PLAN_UNREADABLE, format!("{} is no plan", path.display()))
                .detail(detail)
                .hint(format!("To apply manifests, write: plimsoll apply -f {}", path.display()))
        };
        let value: Value = serde_json::from_slice(&text)
            .map_err(|_| no_plan("`plimsoll plan --out` writes plans, as JSON.".to_owned()))?;
        if value["schema"] != SCHEMA {
            let found = value["schema"].as_str().unwrap_or("none");
            return Err(no_plan(format!("Its field schema should be {SCHEMA}; found: {found}.")).into());
        }
        Ok(serde_json::from_value(value).map_err(|error| no_plan(format!("Cause: {error}.")))?)
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
            "Nothing was applied, because it would not be what was planned:\n\n  - {}",
            moved.join("\n  - ")
        ))
        .hint("Plan again.")
}

/// What the plan is about in the live object.
fn snapshot(batch: &Batch, target: &ObjectRef, body: &Value, manager: &FieldManager) -> Option<String> {
    batch.observed(target).map(|live| plan::snapshot(body, manager, live))
}

fn reference(body: &Value) -> Option<ObjectRef> {
    ObjectRef::of(body.as_object()?).ok()
}

fn members(set: &SetPlan) -> Vec<SavedMember> {
    let member = |prune: &super::applyset::Prune| SavedMember {
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
