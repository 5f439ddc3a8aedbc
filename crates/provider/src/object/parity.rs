//! Plans as plain values, for the test that compares them with the CLI's plans of the same objects.

use std::collections::BTreeMap;

use diag::Diagnostic;
use fields::{FieldSet, IgnoreFields};
use manifest::secret::MaskKey;
use ownership::{Baseline, Desired, Observed, Reporting};
use plan::{LastAnswer, Preview, Question};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::value::{Object, Value};

use super::decide::{DryRunResult, Outcome, decide};
use super::{dry_run, manager};
use crate::body::Body;
use crate::planned_change::PlannedChange;
use crate::private::{Keys as _, MASK_KEY};
use crate::projection::{self, MANAGERS, Maps, VALUES};
use crate::write_only::Effect;

/// Terraform's words for the mask of a Secret whose key is made at apply.
pub const KNOWN_AFTER_APPLY: &str = "(known after apply)";

/// The last apply: what was written, and the API server's response.
pub struct LastApply {
    pub yaml: String,
    pub response: Json,
}

/// A plan, and the parts of it that Terraform shows.
pub struct Planned {
    /// What the plan is rendered from; `None` for a create.
    pub preview: Option<Preview>,
    /// `managed_state_projection` before and after.
    pub before: BTreeMap<String, String>,
    pub after: BTreeMap<String, String>,
    /// `managed_fields`, if known.
    pub managers: Option<BTreeMap<String, String>>,
    /// Whether there is nothing to apply.
    pub unchanged: bool,
    pub warnings: Vec<Diagnostic>,
}

pub fn question(last_answer: LastAnswer) -> Question {
    dry_run::question(last_answer)
}

/// The memory of a state with the response to the last apply, if `yaml` is to be applied to `live`.
pub fn last_answer(last: &LastApply, yaml: &str, live: Json) -> LastAnswer {
    let fingerprint = |yaml: &str, object: Json| {
        let body = Body::parse(yaml).expect("a body of the test").value;
        plan::fingerprint(&body, &[], &manager(), &Observed::new(object).expect("managedFields of the test"))
    };
    let remembered = fingerprint(&last.yaml, last.response.clone());
    LastAnswer::compare(Some(&remembered), Some(&fingerprint(yaml, live)))
}

/// The plan of applying `yaml` to `live`, if the API server responds to the dry run with `response`. Without `live` it is
/// a create.
pub fn planned(
    yaml: &str,
    last: Option<&LastApply>,
    live: Option<Json>,
    response: Json,
    key: &MaskKey,
) -> Planned {
    let observed = |object: Json| Observed::new(object).expect("managedFields of the test");
    let (body, manager) = (Body::parse(yaml).expect("a body of the test"), manager());
    let (live, planned) = (live.map(observed), observed(response));
    let mut private = Private::default();
    private.set(MASK_KEY, &key.random().map(|random| format!("{random:032x}")));
    let before = live.as_ref().map(|live| Maps::of(live, &Desired::new(&manager, &body.value), key));
    if let Some(last) = last {
        let written = Body::parse(&last.yaml).expect("a body of the test").value;
        let desired = Desired::new(&manager, &written);
        let recorded = Baseline::record(&observed(last.response.clone()), &desired, key);
        private.set_baseline(&recorded, &written);
    }
    let prior = before.as_ref().map(|before| {
        let mut prior = Object::new().with("yaml_body", last.map_or(yaml, |last| &last.yaml));
        before.set_on(&mut prior);
        prior
    });
    let state = prior.clone().unwrap_or_else(Object::new).with("yaml_body", yaml);
    let unknown = state.with(VALUES, Value::unknown()).with(MANAGERS, Value::unknown());
    let change =
        PlannedChange { prior: prior.clone(), planned: unknown, private, ..PlannedChange::default() };
    let result = DryRunResult {
        target: body.target(true),
        body,
        ignored: IgnoreFields::default(),
        live,
        planned,
        released: FieldSet::new(),
        write_only: Effect::default(),
        autoscaler: None,
        diagnostics: Diagnostics::new(),
    };
    let preview = prior
        .as_ref()
        .map(|prior| change.preview(prior, &Desired::new(&manager, &result.body.value), &result));
    let decision = decide(&change, Outcome::Answered(Box::new(result)), Reporting::default());
    let is_kept =
        |prior: &Object| [VALUES, MANAGERS].iter().all(|name| decision.planned.get(name) == prior.get(name));
    Planned {
        preview,
        before: before.map(|before| before.values).unwrap_or_default(),
        after: shown(decision.planned.get(VALUES)),
        managers: projection::texts(decision.planned.get(MANAGERS)),
        unchanged: prior.as_ref().is_some_and(is_kept),
        warnings: decision.diagnostics.iter().map(|(_, diagnostic)| diagnostic.clone()).collect(),
    }
}

/// The values as Terraform prints them.
fn shown(values: &Value) -> BTreeMap<String, String> {
    let entries = values.as_object().expect("values are known after a dry run").iter();
    let text = |value: &Value| value.as_str().unwrap_or(KNOWN_AFTER_APPLY).to_owned();
    entries.map(|(path, value)| (path.to_owned(), text(value))).collect()
}
