//! A report as a unified diff of whole objects, which `patch` applies: one file per object, named as `kubectl diff` names it.

use std::fmt::Write as _;

use fields::{FieldSet, Schema};
use manifest::{Namespace, ObjectRef};
use serde_json::Value;
use similar::TextDiff;

use super::{ObjectReport, ObjectState, Report};
use crate::support::mask_key::MASK_KEY;

const NO_FILE: &str = "/dev/null";

pub(super) fn diff(report: &Report) -> String {
    let mut text = String::new();
    if let Some(set) = &report.set {
        for prune in set.deletes() {
            let member = set.set.member(&prune.target).map(|member| plan::visible(member, &MASK_KEY));
            compare(&mut text, &prune.target, member.as_ref(), None);
        }
    }
    let composed = report.composites.iter().flat_map(|composites| &composites.items);
    for object in report.objects.iter().chain(composed.flat_map(|xr| &xr.objects)) {
        if let Some(whole) = &object.whole {
            let after = whole.after.as_ref().map(|after| without_allocated(object, after));
            compare(&mut text, &object.target, whole.before.as_ref(), after.as_ref());
        }
    }
    text
}

fn compare(text: &mut String, target: &ObjectRef, before: Option<&Value>, after: Option<&Value>) {
    let yaml = |object: Option<&Value>| object.map(manifest::to_yaml).unwrap_or_default();
    let (old, new) = (yaml(before), yaml(after));
    let name = file_name(target);
    let side = |prefix: &str, object: Option<&Value>| match object {
        Some(_) => format!("{prefix}/{name}"),
        None => NO_FILE.to_owned(),
    };
    let difference = TextDiff::from_lines(&old, &new);
    let mut difference = difference.unified_diff();
    let difference = difference.context_radius(3).header(&side("a", before), &side("b", after));
    let _infallible = write!(text, "{difference}");
}

/// What the API server would choose anew is not part of the outcome.
fn without_allocated(object: &ObjectReport, after: &Value) -> Value {
    let changes = match &object.state {
        ObjectState::Known(preview) => &preview.changes,
        ObjectState::Replaced(replacement) => &replacement.changes,
        _ => return after.clone(),
    };
    let allocated = changes.iter().filter(|change| change.is_allocated);
    let allocated: FieldSet = allocated.map(|change| change.path.clone()).collect();
    if allocated.is_empty() {
        return after.clone();
    }
    let schema = Schema::of(after);
    let kept = fields::written(after, &schema).leaves().recursive_difference(&allocated);
    fields::project(after, &kept, &schema)
}

/// As in `apps.v1.Deployment.shop.web`.
fn file_name(target: &ObjectRef) -> String {
    let group = if target.group().is_empty() { String::new() } else { format!("{}.", target.group()) };
    let namespace = target.namespace.as_ref().map_or("", Namespace::as_str);
    format!("{group}{}.{}.{namespace}.{}", target.gvk.version(), target.kind(), target.name)
}
