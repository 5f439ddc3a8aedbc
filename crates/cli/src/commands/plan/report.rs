//! What came of every object, for people, for programs and for build servers.

mod junit;

pub(crate) use junit::junit;

use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::{Value, json};

use super::forecast::{FieldChange, Forecast};
use super::placed::Pending;

/// What came of all objects, in the order of their turns.
pub(crate) struct Report {
    pub(crate) objects: Vec<ObjectReport>,
    /// What is wrong with documents that are not among the objects.
    pub(crate) problems: Vec<Diagnostic>,
}

/// What came of one object.
pub(crate) struct ObjectReport {
    pub(crate) target: ObjectRef,
    pub(crate) state: State,
    /// What there is to say about it, errors included.
    pub(crate) findings: Vec<Diagnostic>,
}

/// How much is known.
pub(crate) enum State {
    Known(Forecast),
    Pending(Pending),
    Refused,
}

/// What an apply does to an object, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Create,
    Change,
    /// Values stay, holders change.
    Hold,
    Nothing,
    Pending,
    Refused,
}

impl Action {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Hold => "hold",
            Self::Nothing => "none",
            Self::Pending => "pending",
            Self::Refused => "refused",
        }
    }
}

impl ObjectReport {
    pub(super) fn known(target: &ObjectRef, mut forecast: Forecast, server: Vec<Diagnostic>) -> Self {
        let findings = std::mem::take(&mut forecast.warnings).into_iter().chain(server).collect();
        Self { target: target.clone(), state: State::Known(forecast), findings }
    }

    /// What an apply is known to leave as it is.
    pub(crate) fn unchanged(target: &ObjectRef) -> Self {
        Self::known(target, Forecast::nothing(), Vec::new())
    }

    pub(super) fn pending(target: &ObjectRef, pending: Pending) -> Self {
        Self { target: target.clone(), state: State::Pending(pending), findings: Vec::new() }
    }

    pub(crate) fn refused(target: &ObjectRef, why: Diagnostic) -> Self {
        Self { target: target.clone(), state: State::Refused, findings: vec![why] }
    }

    /// The same, with an obstacle, which says what the warnings about other managers say as well.
    pub(super) fn but(mut self, obstacle: Diagnostic) -> Self {
        self.findings.retain(is_by_server);
        self.findings.insert(0, obstacle);
        self
    }

    /// Keeps what says that the cluster is not as the files say, and nothing about who holds what.
    pub(crate) fn values_only(&mut self) {
        if let State::Known(forecast) = &mut self.state {
            forecast.takes.clear();
            forecast.releases.clear();
        }
        self.findings.retain(|finding| finding.is_error() || is_by_server(finding));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.findings.iter().any(Diagnostic::is_error)
    }

    pub(crate) fn action(&self) -> Action {
        match &self.state {
            State::Pending(_) => Action::Pending,
            State::Refused => Action::Refused,
            State::Known(forecast) if forecast.created => Action::Create,
            State::Known(forecast) if forecast.changes_values() => Action::Change,
            State::Known(forecast) if forecast.is_nothing() => Action::Nothing,
            State::Known(_) => Action::Hold,
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
            State::Known(forecast) => {
                report["fields"] = forecast.changes.iter().map(change).collect();
                report["takes"] = json!(forecast.takes);
                report["releases"] = json!(forecast.releases);
            }
            State::Pending(pending) => report["pending"] = pending.reason().into(),
            State::Refused => {}
        }
        report["findings"] = self.findings.iter().map(finding).collect();
        report
    }
}

impl Report {
    pub(crate) fn has_errors(&self) -> bool {
        self.problems.iter().any(Diagnostic::is_error) || self.objects.iter().any(ObjectReport::has_errors)
    }

    /// Whether an apply would do anything.
    pub(crate) fn has_changes(&self) -> bool {
        self.objects.iter().any(|object| !matches!(object.action(), Action::Nothing | Action::Refused))
    }

    pub(crate) fn count(&self, action: Action) -> usize {
        self.objects.iter().filter(|object| object.action() == action).count()
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "objects": self.objects.iter().map(ObjectReport::to_json).collect::<Vec<_>>(),
            "problems": self.problems.iter().map(finding).collect::<Vec<_>>(),
        })
    }
}

/// Whether the API server itself says it, rather than a comparison of managers.
fn is_by_server(finding: &Diagnostic) -> bool {
    finding.code == cluster::codes::API_WARNING
}

fn change(change: &FieldChange) -> Value {
    json!({
        "field": change.field,
        "old": change.old,
        "new": change.new,
        "heldNow": change.held_now,
        "heldAfter": change.held_after,
        "row": change.row.map(|row| json!({ "number": row.number(), "name": row.name() })),
    })
}

fn finding(diagnostic: &Diagnostic) -> Value {
    json!({
        "severity": diagnostic.severity.word(),
        "code": diagnostic.code.name(),
        "summary": diagnostic.summary,
        "detail": diagnostic.detail,
        "hint": diagnostic.hint,
        "at": diagnostic.location.as_ref().map(ToString::to_string),
    })
}
