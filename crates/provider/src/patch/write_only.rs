//! The write-only part of a patch: `patch_wo`, alone or merged over `patch`.

use diag::Diagnostic;
use fields::Schema;
use ownership::{Desired, FieldManager, Observed};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::schema::Attribute;
use tfplugin::types::Type;
use tfplugin::value::Object;

use super::content::Content;
use crate::planned_change::PlannedChange;
use crate::write_only::{self, Attributes, Configured, Revealed, WriteOnly};

pub(super) const NAMES: Attributes = Attributes { value: "patch_wo", version: "patch_wo_version" };

pub(super) fn schema() -> [Attribute; 2] {
    [
        Attribute::optional(NAMES.value, Type::String).write_only().description(
            "Fields to set and hold by server-side apply, alone or merged over `patch`, whose values are in no plan and no state. \
             Mappings are merged by key and keyed lists by their keys; other lists are replaced. Needs Terraform or OpenTofu 1.11.",
        ),
        Attribute::optional(NAMES.version, Type::String).description(
            "When `patch_wo` is sent: whenever this value changes. Without it, the values are compared with the live object at \
             every plan, which does not work for values that differ from run to run.",
        ),
    ]
}

pub(super) fn of(change: &PlannedChange) -> Result<Configured, Diagnostics> {
    let (api_version, kind) = target_kind(&change.planned);
    WriteOnly::of(NAMES, change, (api_version, kind))
}

/// The content of a patch with the marks of its write-only part.
pub(super) fn content(attributes: &Object, marks: Option<&Json>) -> Option<Result<Content, Box<Diagnostic>>> {
    let written = Content::of(attributes);
    let Some(marks) = marks else { return written };
    let mut fields = match written {
        None => Json::Object(serde_json::Map::new()),
        Some(Ok(Content::Apply(fields))) => Json::Object(fields),
        other => return other,
    };
    let (api_version, kind) = target_kind(attributes);
    plan::lay_over(&mut fields, marks, Schema::of_kind(api_version, kind).root());
    let Json::Object(fields) = fields else { return None };
    Some(Ok(Content::Apply(fields)))
}

/// A copy of the target with marks in place of write-only values; `None` if there are none.
pub(super) fn hidden(object: &Observed, marks: Option<&Json>) -> Option<Observed> {
    let copy = Observed::new(object.object().clone()).ok().filter(|_| marks.is_some())?;
    write_only::hidden(copy, marks).ok()
}

/// Puts the values into what is sent.
#[derive(Clone, Copy)]
pub(super) struct Reveal<'a> {
    pub(super) write_only: Option<&'a WriteOnly>,
    pub(super) live: &'a Observed,
    pub(super) manager: &'a FieldManager,
}

impl Reveal<'_> {
    pub(super) fn values(self, mut body: Json) -> (Json, Revealed) {
        let Some(write_only) = self.write_only else { return (body, Revealed::Everything) };
        let written = body.clone();
        let desired = Desired::new(self.manager, &written);
        let revealed = write_only.reveal(&mut body, Some(self.live), &desired);
        (body, revealed)
    }
}

fn target_kind(attributes: &Object) -> (&str, &str) {
    let text = |name: &str| attributes.get("target").as_object().and_then(|target| target.text(name));
    (text("api_version").unwrap_or_default(), text("kind").unwrap_or_default())
}
