//! Makes the report on an XR from what the engine says would happen to it.

use cluster::Reply;
use composition::protocol::Object;
use diag::Diagnostic;
use manifest::ObjectRef;
use operator::composition::preview::{ComposedOutcome, ComposedPreview, XrPreview};
use ownership::{Desired, FieldManager, ListItems, Observed, Prior, Reporting};
use plan::Preview;
use serde_json::Value;

use crate::codes;
use crate::support::connect::unreadable_managers;
use crate::support::mask_key::MASK_KEY;
use crate::support::report::composites::{CompositeReport, Standing};
use crate::support::report::{ObjectReport, Whole};

/// Replaces the advice to use `ignore_fields`, which functions do not have.
const OMIT_FIELDS: &str =
    "To leave them to the other manager, have the function leave them out of what it desires.";

/// `None` for an XR that cannot be named.
pub(super) fn report(xr: &Object, preview: XrPreview, keeps_whole: bool) -> Option<CompositeReport> {
    let standing = if preview.failure.is_some() { Standing::Fails } else { Standing::Rendered };
    let mut report = CompositeReport::standing(xr, standing)?;
    let identity = report.target.to_string();
    if let Some(why) = &preview.failure {
        let title = format!("{identity} could not be composed");
        report.findings.push(
            Diagnostic::error(codes::COMPOSITE_FAILS, title)
                .object(identity.clone())
                .detail(format!("With the change, this happens: {why}")),
        );
    }
    if !preview.pruned.is_empty() {
        let title = format!("{identity} loses fields that its XRD no longer has");
        report.findings.push(
            Diagnostic::warning(codes::COMPOSITE_PRUNED, title)
                .object(identity.clone())
                .detail(preview.pruned.join(", ")),
        );
    }
    for finding in preview.findings.iter().filter(|finding| finding.severity == "Warning") {
        let title = format!("a function warns about {identity}");
        report.findings.push(
            Diagnostic::warning(codes::FUNCTION_RESULT, title)
                .object(identity.clone())
                .detail(finding.message.clone()),
        );
    }
    report.pruned = preview.pruned;
    let manager = FieldManager::new(preview.manager.as_str());
    let composed = preview.composed.into_iter();
    report.objects = composed.filter_map(|composed| object(composed, &manager, keeps_whole)).collect();
    Some(report)
}

fn object(composed: ComposedPreview, manager: &FieldManager, keeps_whole: bool) -> Option<ObjectReport> {
    let target = composed.object.target()?;
    Some(match composed.outcome {
        ComposedOutcome::Unchanged => ObjectReport::unchanged(&target),
        ComposedOutcome::Hidden => ObjectReport::hidden(&target),
        ComposedOutcome::Deleted { before, finalizers } => {
            let before = before.map(|before| plan::visible(&before, &MASK_KEY));
            let whole = keeps_whole.then_some(Whole { before, after: None });
            ObjectReport::deleted(&target, finalizers).with_whole(whole)
        }
        ComposedOutcome::Refused { summary, detail, hint } => {
            let why =
                Diagnostic::error(codes::COMPOSED_REFUSED, summary).detail(detail).object(target.to_string());
            ObjectReport::refused(&target, hint.into_iter().fold(why, Diagnostic::hint))
        }
        ComposedOutcome::Applied { intent, before, after, warnings } => {
            let sides =
                before.map(Observed::new).transpose().and_then(|live| Ok((live, Observed::new(after)?)));
            match sides {
                Ok((live, answer)) => {
                    applied(&target, &intent, manager, live.as_ref(), &answer, &warnings, keeps_whole)
                }
                Err(error) => ObjectReport::refused(&target, unreadable_managers(&target, &error)),
            }
        }
    })
}

fn applied(
    target: &ObjectRef,
    intent: &Value,
    manager: &FieldManager,
    live: Option<&Observed>,
    answer: &Observed,
    warnings: &[String],
    keeps_whole: bool,
) -> ObjectReport {
    let desired = Desired::new(manager, intent);
    let preview = Preview::new(&desired, Prior::Unrecorded, live, answer, &MASK_KEY).of_dry_run(intent);
    let reporting = Reporting { list_items: ListItems::ByKey, ..Reporting::default() };
    let mut findings = preview.warnings(&target.to_string(), &reporting, Some(OMIT_FIELDS));
    let reply = Reply { code: 200, object: Value::Null, warnings: warnings.to_vec(), retries: Vec::new() };
    findings.extend(reply.diagnostics(target));
    let whole = keeps_whole.then(|| {
        let visible = |object: &Observed| plan::visible(object.object(), &MASK_KEY);
        Whole { before: live.map(visible), after: Some(visible(answer)) }
    });
    ObjectReport::known(target, preview, findings).with_whole(whole)
}
