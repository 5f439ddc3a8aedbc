//! The results for all objects, for people, programs and CI.

pub(crate) mod change_text;
pub(crate) mod composites;
mod diff;
mod findings;
mod junit;
mod markdown;
mod set;
pub(crate) mod text;

pub(crate) use change_text::ChangeText;
pub(crate) use junit::junit;

use cluster::Propagation;
use diag::Diagnostic;
use fields::FieldPath;
use manifest::ObjectRef;
use plan::{FieldChange, Preview};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use self::composites::Composites;
use super::applyset::SetPlan;
use super::batch::replacement::Replacement;
use super::batch::resolve::Pending;
use super::exit::Exit;
use crate::codes;

/// The version of `-o json`, which `book/src/reference/report-v1.schema.json` describes. Additions do not change it.
const SCHEMA: &str = "plimsoll.dev/report/v1";

/// The results for all objects, in the order in which they are applied.
pub(crate) struct Report {
    pub(crate) objects: Vec<ObjectReport>,
    /// Problems in documents that are not among the objects.
    pub(crate) problems: Vec<Diagnostic>,
    pub(crate) set: Option<SetPlan>,
    /// What changed Compositions, XRDs and Functions do to the live XRs.
    pub(crate) composites: Option<Composites>,
}

pub(crate) struct ObjectReport {
    pub(crate) target: ObjectRef,
    pub(crate) state: ObjectState,
    /// Whether the API server rejected the dry run, so that this is only a local comparison.
    pub(crate) not_asked: bool,
    /// Whether the object is being deleted, where that is a difference.
    is_going: bool,
    /// Fields of other managers that are not in the files, if these count.
    pub(crate) additions: Vec<FieldChange>,
    /// Includes errors.
    pub(crate) findings: Vec<Diagnostic>,
    /// How the wait for the object ended.
    pub(crate) wait: Option<WaitResult>,
    /// The whole object before and after, if it is known and the format shows it. Values of Secrets are masked.
    pub(crate) whole: Option<Whole>,
    /// A Composition, XRD or Function as the API server would store it, if it changes.
    pub(crate) answer: Option<Value>,
}

/// An object before and after; `None` if it does not exist.
pub(crate) struct Whole {
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

pub(crate) enum WaitResult {
    Ready,
    NotReady(Box<Diagnostic>),
}

pub(crate) enum ObjectState {
    Known(Box<Preview>),
    /// It is deleted and created again.
    Replaced(Box<Replacement>),
    Pending(Pending),
    Refused,
    /// An XR would no longer be composed of it.
    Deleted {
        finalizers: Vec<String>,
    },
    /// An XR is composed of it, and the user may not read it.
    Hidden,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Create,
    Change,
    Replace,
    /// Values stay, managers change.
    Hold,
    Nothing,
    /// As in the files, with fields of other managers.
    Addition,
    Pending,
    Going,
    Refused,
    Delete,
    Hidden,
}

impl Action {
    /// What stands before the name of an object.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Create => "+",
            Self::Change | Self::Addition => "~",
            Self::Replace => "±",
            Self::Hold | Self::Nothing => "=",
            Self::Going | Self::Delete => "-",
            Self::Pending | Self::Hidden => "?",
            Self::Refused => "!",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Replace => "replace",
            Self::Hold => "hold",
            Self::Nothing => "none",
            Self::Addition => "addition",
            Self::Pending => "pending",
            Self::Going => "going",
            Self::Refused => "refused",
            Self::Delete => "delete",
            Self::Hidden => "hidden",
        }
    }
}

impl ObjectReport {
    fn new(target: &ObjectRef, state: ObjectState, findings: Vec<Diagnostic>) -> Self {
        Self {
            target: target.clone(),
            state,
            not_asked: false,
            is_going: false,
            additions: Vec::new(),
            findings,
            wait: None,
            whole: None,
            answer: None,
        }
    }

    pub(crate) fn known(target: &ObjectRef, preview: Preview, findings: Vec<Diagnostic>) -> Self {
        Self::new(target, ObjectState::Known(Box::new(preview)), findings)
    }

    pub(crate) fn unchanged(target: &ObjectRef) -> Self {
        Self::known(target, Preview::default(), Vec::new())
    }

    /// An object that matches the files, although the API server may not be asked what an apply would do.
    pub(crate) fn not_asked(target: &ObjectRef) -> Self {
        Self { not_asked: true, findings: vec![plan::not_asked(target)], ..Self::unchanged(target) }
    }

    pub(crate) fn pending(target: &ObjectRef, pending: Pending) -> Self {
        Self::new(target, ObjectState::Pending(pending), Vec::new())
    }

    /// The same with the whole object, if there is one.
    pub(crate) fn with_whole(self, whole: Option<Whole>) -> Self {
        Self { whole, ..self }
    }

    /// An object that an XR would no longer be composed of.
    pub(crate) fn deleted(target: &ObjectRef, finalizers: Vec<String>) -> Self {
        Self::new(target, ObjectState::Deleted { finalizers }, Vec::new())
    }

    /// An object of an XR that the user may not read.
    pub(crate) fn hidden(target: &ObjectRef) -> Self {
        Self::new(target, ObjectState::Hidden, Vec::new())
    }

    pub(crate) fn replaced(target: &ObjectRef, replacement: Replacement, findings: Vec<Diagnostic>) -> Self {
        Self::new(target, ObjectState::Replaced(Box::new(replacement)), findings)
    }

    pub(crate) fn refused(target: &ObjectRef, why: Diagnostic) -> Self {
        Self::new(target, ObjectState::Refused, vec![why])
    }

    /// The same for a dry run of `body`, which does not know what the API server allocates.
    pub(crate) fn of_dry_run(mut self, body: &Value) -> Self {
        if let ObjectState::Known(preview) = self.state {
            self.state = ObjectState::Known(Box::new(preview.of_dry_run(body)));
        }
        self
    }

    /// Adds an error, which makes the warnings about other managers redundant.
    pub(crate) fn but(mut self, error: Diagnostic) -> Self {
        self.findings.retain(is_by_server);
        self.findings.insert(0, error);
        self
    }

    /// Keeps only differences in values, and drops those in managers.
    pub(crate) fn values_only(&mut self) {
        match &mut self.state {
            ObjectState::Known(preview) => **preview = std::mem::take(&mut **preview).without_holders(),
            // Whether the values can be changed in place does not matter.
            ObjectState::Replaced(replacement) => {
                let changes = std::mem::take(&mut replacement.changes);
                self.state = ObjectState::Known(Box::new(Preview::of_changes(changes)));
                self.findings.clear();
            }
            ObjectState::Pending(_)
            | ObjectState::Refused
            | ObjectState::Deleted { .. }
            | ObjectState::Hidden => {}
        }
        self.is_going = self.findings.iter().any(|finding| finding.code == codes::OBJECT_GOING);
        let is_kept = |finding: &Diagnostic| {
            [plan::codes::NOT_ASKED, codes::OBJECT_GOING].contains(&finding.code) || is_by_server(finding)
        };
        self.findings.retain(|finding| finding.is_error() || is_kept(finding));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.findings.iter().any(Diagnostic::is_error)
    }

    pub(crate) fn action(&self) -> Action {
        match &self.state {
            ObjectState::Pending(_) => Action::Pending,
            ObjectState::Replaced(_) => Action::Replace,
            ObjectState::Refused => Action::Refused,
            ObjectState::Deleted { .. } => Action::Delete,
            ObjectState::Hidden => Action::Hidden,
            ObjectState::Known(preview) if preview.created => Action::Create,
            ObjectState::Known(preview) if preview.changes_values() => Action::Change,
            ObjectState::Known(_) if self.is_going => Action::Going,
            ObjectState::Known(preview) if preview.is_empty() && !self.additions.is_empty() => {
                Action::Addition
            }
            ObjectState::Known(preview) if preview.is_empty() => Action::Nothing,
            ObjectState::Known(_) => Action::Hold,
        }
    }

    fn to_json(&self) -> Value {
        let mut report = json!({
            "apiVersion": self.target.api_version().to_string(),
            "kind": self.target.kind(),
            "name": self.target.name,
            "action": self.action().name(),
        });
        if let Some(namespace) = &self.target.namespace {
            report["namespace"] = namespace.as_str().into();
        }
        match &self.state {
            ObjectState::Known(preview) => {
                report["fields"] = preview.changes.iter().map(change).collect();
                report["takes"] = names(&preview.takes).into();
                report["releases"] = names(&preview.releases).into();
                if let Some(former) = &preview.taken_over_from {
                    report["takesOverFrom"] = json!(former);
                }
                if self.not_asked {
                    report["asked"] = false.into();
                }
            }
            ObjectState::Replaced(replacement) => {
                report["fields"] = replacement.changes.iter().map(change).collect();
                report["replacement"] = json!({
                    "immutable": names(&replacement.immutable), "lost": names(&replacement.lost),
                    "cascade": word(replacement.cascade),
                });
            }
            ObjectState::Pending(pending) => report["pending"] = pending.reason().into(),
            ObjectState::Deleted { finalizers } => report["finalizers"] = json!(finalizers),
            ObjectState::Refused | ObjectState::Hidden => {}
        }
        if !self.additions.is_empty() {
            report["additions"] = self.additions.iter().map(addition).collect();
        }
        report["findings"] = self.findings.iter().map(finding).collect();
        match &self.wait {
            Some(WaitResult::Ready) => report["wait"] = json!({ "ready": true }),
            Some(WaitResult::NotReady(why)) => {
                report["wait"] = json!({ "ready": false, "finding": finding(why) });
            }
            None => {}
        }
        report
    }
}

impl Report {
    pub(crate) fn has_errors(&self) -> bool {
        let is_listed = self.set.as_ref().is_none_or(|set| set.set.unlisted.is_empty());
        !is_listed
            || self.problems.iter().any(Diagnostic::is_error)
            || self.objects.iter().any(ObjectReport::has_errors)
            || self.composites.as_ref().is_some_and(Composites::has_errors)
    }

    /// Whether an apply would do anything.
    pub(crate) fn has_changes(&self) -> bool {
        self.set.as_ref().is_some_and(SetPlan::has_changes)
            || self.objects.iter().any(|object| !matches!(object.action(), Action::Nothing | Action::Refused))
            || self.composites.as_ref().is_some_and(Composites::has_changes)
    }

    /// The exit status of a command that writes nothing.
    pub(crate) fn exit(&self) -> Exit {
        match (self.has_errors(), self.has_changes()) {
            (true, _) => Exit::Failure,
            (false, true) => Exit::Changes,
            (false, false) => Exit::Success,
        }
    }

    pub(crate) fn count(&self, action: Action, not_asked: bool) -> usize {
        let is_counted = |object: &&ObjectReport| object.action() == action && object.not_asked == not_asked;
        self.objects.iter().filter(is_counted).count()
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut report = json!({
            "schema": SCHEMA,
            "objects": self.objects.iter().map(ObjectReport::to_json).collect::<Vec<_>>(),
            "problems": self.problems.iter().map(finding).collect::<Vec<_>>(),
        });
        if let Some(set) = &self.set {
            report["applyset"] = set::to_json(set);
        }
        if let Some(composites) = &self.composites {
            report["composites"] = composites.to_json();
        }
        report
    }
}

/// As JSON, which is made only where it is asked for: of many objects, it takes more than the rest of a report.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

/// Whether the finding comes from the API server rather than from a comparison of managers.
fn is_by_server(finding: &Diagnostic) -> bool {
    finding.code == cluster::codes::API_WARNING
}

/// Paths as they can be pasted into options.
fn names(paths: &[FieldPath]) -> Vec<String> {
    paths.iter().map(|path| path.notation().to_string()).collect()
}

fn addition(addition: &FieldChange) -> Value {
    json!({
        "field": addition.path.notation().to_string(), "value": addition.new, "heldBy": addition.held_now,
    })
}

fn change(change: &FieldChange) -> Value {
    json!({
        "field": change.path.notation().to_string(),
        "old": change.old,
        "new": change.new,
        "heldNow": change.held_now,
        "heldAfter": change.held_after,
        "allocated": change.is_allocated,
        "row": change.row.map(|row| json!({ "number": row.number(), "name": row.name() })),
    })
}

/// A message for programs.
pub(crate) fn finding(diagnostic: &Diagnostic) -> Value {
    json!({
        "severity": diagnostic.severity.word(),
        "code": diagnostic.code.name(),
        "summary": diagnostic.summary,
        "detail": diagnostic.detail,
        "hint": diagnostic.hint,
        "at": diagnostic.location.as_ref().map(ToString::to_string),
        "alsoAt": diagnostic.related.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// A way of deletion, as `--cascade` names it.
const fn word(cascade: Propagation) -> &'static str {
    match cascade {
        Propagation::Background => "background",
        Propagation::Foreground => "foreground",
        Propagation::Orphan => "orphan",
    }
}
