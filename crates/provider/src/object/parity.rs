//! The plan of an update as plain values, for the test that compares it with the CLI's plan of the same update.

use std::collections::BTreeMap;

use diag::Diagnostic;
use fields::{FieldSet, IgnoreFields};
use ownership::{Desired, Observed, Verbosity};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::value::{Object, Value};

use super::decide::{DryRunResult, Outcome, decide};
use super::manager;
use crate::body::Body;
use crate::planned_change::PlannedChange;
use crate::projection::{self, MANAGERS, Maps, VALUES};

/// The parts of a plan that Terraform shows.
pub struct PlannedUpdate {
    /// `managed_state_projection` before and after.
    pub before: BTreeMap<String, String>,
    pub after: BTreeMap<String, String>,
    /// `managed_fields`, if known.
    pub managers: Option<BTreeMap<String, String>>,
    /// Whether there is nothing to apply.
    pub unchanged: bool,
    pub warnings: Vec<Diagnostic>,
}

/// The plan of applying `yaml` to `live`, without a stored baseline, if the API server responds to the dry run with
/// `answer`.
pub fn planned_update(yaml: &str, live: Json, answer: Json) -> PlannedUpdate {
    let observed = |object: Json| Observed::new(object).expect("managedFields of the test");
    let (body, manager) = (Body::parse(yaml).expect("a body of the test"), manager());
    let (live, planned) = (observed(live), observed(answer));
    let before = Maps::of(&live, &Desired::new(&manager, &body.value));
    let mut prior = Object::new().with("yaml_body", yaml);
    before.set_on(&mut prior);
    let unknown = prior.clone().with(VALUES, Value::unknown()).with(MANAGERS, Value::unknown());
    let change = PlannedChange { prior: Some(prior.clone()), planned: unknown, private: Private::default() };
    let answer = DryRunResult {
        target: body.target(true),
        body,
        ignored: IgnoreFields::default(),
        live: Some(live),
        planned,
        released: FieldSet::new(),
        diagnostics: Diagnostics::new(),
    };
    let decision = decide(&change, Outcome::Answered(Box::new(answer)), Verbosity::Full);
    PlannedUpdate {
        before: before.values,
        after: projection::texts(decision.planned.get(VALUES)).expect("values are known after a dry run"),
        managers: projection::texts(decision.planned.get(MANAGERS)),
        unchanged: [VALUES, MANAGERS].iter().all(|name| decision.planned.get(name) == prior.get(name)),
        warnings: decision.diagnostics.iter().map(|(_, diagnostic)| diagnostic.clone()).collect(),
    }
}
