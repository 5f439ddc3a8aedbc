//! Decides what a Terraform plan shows, from the configuration, the state and the cluster's response. Pure.

use std::collections::BTreeMap;

use diag::Diagnostic;
use fields::{FieldSet, IgnoreFields};
use manifest::ObjectRef;
use manifest::secret::MaskKey;
use ownership::{Baseline, Desired, FormerManagers, ManagedFieldsError, Observed, Prior, Reporting};
use plan::Preview;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::private::Private;
use tfplugin::value::{Object, Value};

use super::{annotations, attributes, manager, wait_for};
use crate::body::Body;
use crate::planned_change::{Decision, PlannedChange};
use crate::private::{FORMER_BASELINE, IMPORTED, Keys as _, STALE_READ};
use crate::projection::{self, MANAGERS, Maps, VALUES};
use crate::write_only::{self, Effect};
use crate::{codes, identity};

const REFERENCE: &str = "object_ref";

/// What is known about the object after an apply.
pub(super) enum Outcome {
    /// Nothing: the body or the cluster is not known yet, or the server did not respond.
    Unknown {
        target: Option<ObjectRef>,
        diagnostics: Diagnostics,
    },
    /// The object has to be replaced because of the attributes at `paths`.
    Replace {
        paths: Vec<Path>,
        warning: Box<Diagnostic>,
    },
    /// The object does not change (see `plan::question`).
    Unchanged {
        target: ObjectRef,
        diagnostics: Diagnostics,
    },
    Answered(Box<DryRunResult>),
}

/// The API server's response to a dry run.
pub(super) struct DryRunResult {
    pub(super) target: ObjectRef,
    pub(super) body: Body,
    pub(super) ignored: IgnoreFields,
    pub(super) live: Option<Observed>,
    pub(super) planned: Observed,
    /// The fields released before the apply.
    pub(super) released: FieldSet,
    pub(super) write_only: Effect,
    /// What else sets the replicas that the apply changes.
    pub(super) autoscaler: Option<String>,
    pub(super) diagnostics: Diagnostics,
}

pub(super) fn decide(change: &PlannedChange, outcome: Outcome, reporting: Reporting<'_>) -> Decision {
    match outcome {
        Outcome::Unknown { target, diagnostics } => change.unknown(target.as_ref(), diagnostics),
        Outcome::Replace { paths, warning } => {
            let mut decision = change.unknown(None, (*warning).into());
            decision.planned.set(REFERENCE, Value::unknown());
            decision.requires_replace = paths;
            decision
        }
        Outcome::Unchanged { target, diagnostics } => {
            let kept = change.prior.as_ref().map_or_else(Object::new, Clone::clone);
            change.keep(&kept, &target, kept.get(MANAGERS).clone(), diagnostics)
        }
        Outcome::Answered(answer) => change.answered(&answer, reporting),
    }
}

/// A plan that is never applied, because everything is destroyed: whatever an apply would do must not prevent that.
pub(super) fn not_applied(change: &PlannedChange) -> Decision {
    match change.prior.as_ref().and_then(|prior| Some((prior, attributes::target(prior)?))) {
        Some((prior, target)) => change.keep(prior, &target, prior.get(MANAGERS).clone(), Diagnostics::new()),
        None => change.unknown(None, Diagnostics::new()),
    }
}

impl PlannedChange {
    /// All computed attributes are known only after the apply.
    fn unknown(&self, target: Option<&ObjectRef>, diagnostics: Diagnostics) -> Decision {
        let mut planned = self.planned.clone();
        planned.set(VALUES, Value::unknown());
        planned.set(MANAGERS, Value::unknown());
        planned.set(REFERENCE, target.map_or_else(|| self.reference_so_far(), attributes::object_ref));
        self.decision(planned, target, true, diagnostics)
    }

    /// The prior reference, if the body is known and names the same object.
    fn reference_so_far(&self) -> Value {
        let Some(prior) = &self.prior else { return Value::unknown() };
        match (attributes::body(prior), attributes::body(&self.planned)) {
            (Some(before), Some(now)) if before.gvk == now.gvk => prior.get(REFERENCE).clone(),
            _ => Value::unknown(),
        }
    }

    fn answered(&self, answer: &DryRunResult, reporting: Reporting<'_>) -> Decision {
        let manager = manager();
        let desired = Desired::new(&manager, &answer.body.value).ignoring(&answer.ignored);
        let key = self.private.mask_key();
        let mut maps = Maps::after_release(&answer.planned, &desired, &answer.released, &key);
        answer.show_write_only(&mut maps, &answer.planned, &desired);
        let diagnostics = answer.diagnostics.clone();
        let Some(prior) = &self.prior else {
            let mut planned = self.planned.clone();
            planned.set(VALUES, maps.planned_values(true));
            planned.set(MANAGERS, Value::unknown());
            planned.set(REFERENCE, attributes::object_ref(&answer.target));
            return self.decision(planned, Some(&answer.target), true, diagnostics);
        };
        let preview = self.preview(prior, &desired, answer);
        let mut decision = self.updated(prior, (&maps, &desired), answer, diagnostics);
        let is_unapplied = self.is_prior(&decision.planned);
        let (fights, autoscaler) = (self.fights(), answer.autoscaler.as_deref());
        let reporting = Reporting { is_unapplied, fights: Some(&fights), autoscaler, ..reporting };
        decision.diagnostics.add(preview.warnings(&answer.target.to_string(), &reporting, None));
        decision.private = Some(self.private_after(preview.analysis()));
        decision
    }

    /// The plan of an update, before what is said about other managers.
    fn updated(
        &self,
        prior: &Object,
        (maps, desired): (&Maps, &Desired<'_>),
        answer: &DryRunResult,
        diagnostics: Diagnostics,
    ) -> Decision {
        let key = self.private.mask_key();
        let live = answer.live.as_ref();
        let annotated = live.is_some_and(|live| annotations::id_of(live.object()) == prior.text("id"));
        let unannotated = self.private.flag(IMPORTED) && !annotated;
        let managers = projection::attribute(&maps.managers);
        let live = live.map(|live| {
            let mut maps = Maps::of(live, desired, &key);
            answer.show_write_only(&mut maps, live, desired);
            maps
        });
        let sends_values = answer.write_only.is_due;
        let retyped =
            live.as_ref().is_some_and(|live| live.values == maps.values && live.differ_in_type(maps));
        let before = match live {
            // If the last read failed, the state is older than the cluster.
            Some(live) if self.private.flag(STALE_READ) => Some(live.values),
            _ => projection::texts(prior.get(VALUES)),
        };
        if before.as_ref() == Some(&maps.values) && !unannotated && !retyped && !sends_values {
            let managers =
                if self.managers_change(prior, maps) { managers } else { prior.get(MANAGERS).clone() };
            return self.keep(prior, &answer.target, managers, diagnostics);
        }
        let mut planned = self.planned.clone();
        let values = maps.planned_values(key == MaskKey::FORMER);
        let values = answer.write_only.planned(values, &answer.body.value, answer.planned.schema());
        planned.set(VALUES, values);
        // An import without other changes still has to be annotated, and Terraform applies only if there is a difference.
        // The same is true of a value of another type with the same text.
        let same_body = planned.get("yaml_body") == prior.get("yaml_body");
        let same = (unannotated || (retyped && same_body)) && managers == *prior.get(MANAGERS);
        planned.set(MANAGERS, if same || sends_values { Value::unknown() } else { managers });
        planned.set(REFERENCE, attributes::object_ref(&answer.target));
        self.decision(planned, Some(&answer.target), true, diagnostics)
    }

    /// The object does not change: a body that only reads differently is not a change.
    fn keep(
        &self,
        prior: &Object,
        target: &ObjectRef,
        managers: Value,
        diagnostics: Diagnostics,
    ) -> Decision {
        let mut planned = self.planned.clone();
        for name in ["yaml_body", VALUES, REFERENCE] {
            planned.set(name, prior.get(name).clone());
        }
        planned.set(MANAGERS, managers);
        self.decision(planned, Some(target), false, diagnostics)
    }

    fn managers_change(&self, prior: &Object, maps: &Maps) -> bool {
        let before = projection::texts(prior.get(MANAGERS)).unwrap_or_default();
        let differs =
            |(path, manager): (&String, &String)| before.get(path).is_some_and(|was| was != manager);
        prior.get("ignore_fields") != self.planned.get("ignore_fields") || maps.managers.iter().any(differs)
    }

    pub(super) fn preview(&self, prior: &Object, desired: &Desired<'_>, answer: &DryRunResult) -> Preview {
        let written = write_only::stored_body(attributes::body(prior), &self.private).map(|body| body.value);
        let baseline = self.private.baseline(written.as_ref());
        let baseline = baseline.or_else(|| former_baseline(prior, &self.private));
        let prior = match (&written, &baseline) {
            _ if self.private.flag(IMPORTED) => Prior::Imported,
            (Some(written), Some(baseline)) => Prior::Applied { written, baseline },
            _ => Prior::Unrecorded,
        };
        let preview =
            Preview::new(desired, prior, answer.live.as_ref(), &answer.planned, &self.private.mask_key());
        preview.with_hidden_changes(&answer.write_only.changed_outside, answer.write_only.row())
    }

    fn decision(
        &self,
        mut planned: Object,
        target: Option<&ObjectRef>,
        changes: bool,
        diagnostics: Diagnostics,
    ) -> Decision {
        let status = wait_for::planned_status(self.prior.as_ref(), &planned, &self.private, changes);
        planned.set("status", status);
        Decision { identity: target.map(identity::of), ..Decision::new(planned, diagnostics) }
    }
}

impl DryRunResult {
    fn show_write_only(&self, maps: &mut Maps, object: &Observed, desired: &Desired<'_>) {
        if let Some(marks) = &self.write_only.marks {
            write_only::show(&mut maps.values, marks, object, desired);
        }
    }
}

/// The baseline in a state of the Go provider: its projection and its first managers.
pub(super) fn former_baseline(state: &Object, private: &Private) -> Option<Baseline> {
    let former: BTreeMap<String, FormerManagers> = private.get_as(FORMER_BASELINE)?;
    if former.is_empty() {
        return None;
    }
    let (body, values) = (attributes::body(state)?, projection::texts(state.get(VALUES))?);
    let ignored = attributes::ignored(state);
    Some(Baseline::from_former(&body.value, &values, &former, &ignored, &private.mask_key()))
}

pub(crate) fn projection_failed(target: &ObjectRef, error: &ManagedFieldsError) -> Diagnostic {
    let mut detail = format!("The managedFields of {target} cannot be read: {error}");
    if let Some(cause) = std::error::Error::source(error) {
        detail = format!("{detail}: {cause}");
    }
    Diagnostic::error(codes::PROJECTION_FAILED, "Projection Failed")
        .detail(format!("{detail}."))
        .object(target.to_string())
}

#[cfg(test)]
mod tests;
