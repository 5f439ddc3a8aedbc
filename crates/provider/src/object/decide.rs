//! What a plan says, from what is written, what the state says and what the cluster says; nothing is asked here.

use diag::Diagnostic;
use fields::{FieldSet, IgnoreFields, Schema};
use manifest::ObjectRef;
use ownership::{Analysis, Baseline, Before, ManagedFieldsError, Verbosity};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::private::Private;
use tfplugin::provider::Identity;
use tfplugin::value::{Object, Value};

use super::{attributes, manager, stamp, wait_for};
use crate::body::Body;
use crate::private::{IMPORTED, Keys as _, STALE_READ};
use crate::projection::{self, Lens, Maps};
use crate::situation::Situation;
use crate::{codes, identity};

const VALUES: &str = "managed_state_projection";
const MANAGERS: &str = "managed_fields";
const REFERENCE: &str = "object_ref";

/// What the cluster says about it.
pub(super) enum Outlook {
    /// Nothing: what or where is not known yet, or the server cannot say. `target` as far as it is known.
    Blank { target: Option<ObjectRef>, diagnostics: Diagnostics },
    /// Only another object can be what is written; `paths` are the attributes that say so.
    Replace { paths: Vec<Path>, warning: Box<Diagnostic> },
    /// Nothing has moved since the last apply.
    Settled { target: ObjectRef, diagnostics: Diagnostics },
    /// This is what it will be.
    Answer(Box<Answer>),
}

impl Outlook {
    /// The same, where a replacement may come too late: Terraform refuses one that it has not planned, and does not say
    /// what to do.
    pub(super) fn perhaps_too_late(self) -> Self {
        match self {
            Self::Replace { paths, mut warning } => {
                warning.detail.push_str(
                    "\n\nIf Terraform says that the final plan is inconsistent: what is written was not known yet when this was \
                     planned. Apply again to replace the object.",
                );
                Self::Replace { paths, warning }
            }
            other => other,
        }
    }
}

/// What the API server would make of an apply.
pub(super) struct Answer {
    pub(super) target: ObjectRef,
    pub(super) body: Body,
    pub(super) ignored: IgnoreFields,
    /// The object as it is; none when it does not exist.
    pub(super) live: Option<Json>,
    /// The object as it will be.
    pub(super) planned: Json,
    /// What we let go of before the apply.
    pub(super) released: FieldSet,
    pub(super) diagnostics: Diagnostics,
}

/// A plan.
pub(super) struct Decision {
    pub(super) planned: Object,
    pub(super) requires_replace: Vec<Path>,
    pub(super) identity: Option<Identity>,
    pub(super) diagnostics: Diagnostics,
}

impl Decision {
    /// No plan.
    pub(super) fn failed(situation: &Situation, diagnostics: Diagnostics) -> Self {
        Self { planned: situation.planned.clone(), requires_replace: Vec::new(), identity: None, diagnostics }
    }
}

pub(super) fn decide(situation: &Situation, outlook: Outlook, verbosity: Verbosity) -> Decision {
    match outlook {
        Outlook::Blank { target, diagnostics } => situation.blank(target.as_ref(), diagnostics),
        Outlook::Replace { paths, warning } => {
            let mut decision = situation.blank(None, (*warning).into());
            decision.planned.set(REFERENCE, Value::unknown());
            decision.requires_replace = paths;
            decision
        }
        Outlook::Settled { target, diagnostics } => {
            let kept = situation.prior.as_ref().map_or_else(Object::new, Clone::clone);
            situation.keep(&kept, &target, kept.get(MANAGERS).clone(), diagnostics)
        }
        Outlook::Answer(answer) => match situation.answered(&answer, verbosity) {
            Ok(decision) => decision,
            Err(error) => Decision::failed(situation, projection_failed(&answer.target, &error).into()),
        },
    }
}

impl Situation {
    /// Whatever the cluster would have to say is known after the apply.
    fn blank(&self, target: Option<&ObjectRef>, diagnostics: Diagnostics) -> Decision {
        let mut planned = self.planned.clone();
        planned.set(VALUES, Value::unknown());
        planned.set(MANAGERS, Value::unknown());
        planned.set(REFERENCE, target.map_or_else(|| self.reference_so_far(), attributes::object_ref));
        self.decision(planned, target, true, diagnostics)
    }

    /// The object stays the one it is, as far as the body is known and names the same one.
    fn reference_so_far(&self) -> Value {
        let Some(prior) = &self.prior else { return Value::unknown() };
        match (attributes::body(prior), attributes::body(&self.planned)) {
            (Some(before), Some(now)) if before.gvk == now.gvk => prior.get(REFERENCE).clone(),
            _ => Value::unknown(),
        }
    }

    fn answered(&self, answer: &Answer, verbosity: Verbosity) -> Result<Decision, ManagedFieldsError> {
        let manager = manager();
        let lens = Lens { manager: &manager, written: &answer.body.value, ignored: &answer.ignored };
        let maps = Maps::after_release(&answer.planned, lens, &answer.released)?;
        let mut diagnostics = answer.diagnostics.clone();
        let Some(prior) = &self.prior else {
            let mut planned = self.planned.clone();
            planned.set(VALUES, projection::attribute(&maps.values));
            planned.set(MANAGERS, Value::unknown());
            planned.set(REFERENCE, attributes::object_ref(&answer.target));
            return Ok(self.decision(planned, Some(&answer.target), true, diagnostics));
        };
        if let Some(live) = &answer.live {
            let analysis = self.analyse(prior, answer, live)?;
            diagnostics.add(analysis.warnings(&answer.target.to_string(), verbosity));
        }
        let stamped = answer.live.as_ref().is_some_and(|live| stamp::id_of(live) == prior.text("id"));
        let unstamped = self.private.flag(IMPORTED) && !stamped;
        let managers = projection::attribute(&maps.managers);
        let live = answer.live.as_ref().map(|live| Maps::of(live, lens)).transpose()?;
        let retyped =
            live.as_ref().is_some_and(|live| live.values == maps.values && live.differ_in_type(&maps));
        let before = match live {
            // The state is older than the cluster when it could not be read.
            Some(live) if self.private.flag(STALE_READ) => Some(live.values),
            _ => projection::texts(prior.get(VALUES)),
        };
        if before.as_ref() == Some(&maps.values) && !unstamped && !retyped {
            let managers =
                if self.managers_change(prior, &maps) { managers } else { prior.get(MANAGERS).clone() };
            return Ok(self.keep(prior, &answer.target, managers, diagnostics));
        }
        let mut planned = self.planned.clone();
        planned.set(VALUES, projection::attribute(&maps.values));
        // An import without any other change is still to be stamped, and only a difference makes Terraform apply. The same
        // goes for a value of another type with the same text.
        let same_body = planned.get("yaml_body") == prior.get("yaml_body");
        let same = (unstamped || (retyped && same_body)) && managers == *prior.get(MANAGERS);
        planned.set(MANAGERS, if same { Value::unknown() } else { managers });
        planned.set(REFERENCE, attributes::object_ref(&answer.target));
        Ok(self.decision(planned, Some(&answer.target), true, diagnostics))
    }

    /// The object stays as it is: a body that only reads differently is no change.
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

    fn analyse(&self, prior: &Object, answer: &Answer, live: &Json) -> Result<Analysis, ManagedFieldsError> {
        let written = attributes::body(prior).map(|body| body.value);
        let baseline = self.private.baseline(written.as_ref());
        let baseline = baseline.or_else(|| former_baseline(prior, &self.private));
        let before = match (&written, &baseline) {
            _ if self.private.flag(IMPORTED) => Before::Imported,
            (Some(written), Some(baseline)) => Before::Applied { written, baseline },
            _ => Before::Untold,
        };
        let manager = manager();
        let outlook = ownership::Outlook {
            manager: &manager,
            before,
            written: &answer.body.value,
            live,
            planned: &answer.planned,
        };
        let schema = ownership::ManagedFields::of(live)?.schema(live);
        let ignored = answer.ignored.on(&answer.body.value, &schema);
        Analysis::of(&outlook, |path| ignored.contains(path))
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
        Decision { planned, requires_replace: Vec::new(), identity: target.map(identity::of), diagnostics }
    }
}

/// The baseline that the Go provider's state gives: the projection in it and its own first managers.
pub(super) fn former_baseline(state: &Object, private: &Private) -> Option<Baseline> {
    let former = private.former_baseline();
    if former.is_empty() {
        return None;
    }
    let (body, values) = (attributes::body(state)?, projection::texts(state.get(VALUES))?);
    let schema = Schema::of(&body.value);
    let ignored = attributes::ignored(state);
    let ignored = ignored.on(&body.value, &schema);
    Some(Baseline::from_former(&body.value, &values, &former, |path| ignored.contains(path)))
}

pub(super) fn projection_failed(target: &ObjectRef, error: &ManagedFieldsError) -> Diagnostic {
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
