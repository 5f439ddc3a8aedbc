//! The write-only part of an object: `yaml_body_wo`, merged over `yaml_body`.

use tfplugin::diagnostics::Diagnostics;
use tfplugin::schema::Attribute;
use tfplugin::types::Type;

use crate::body::Body;
use crate::planned_change::PlannedChange;
use crate::private::WRITE_ONLY;
use crate::projection::MANAGERS;
use crate::write_only::{self, Attributes, Configured, WriteOnly};

pub(super) const NAMES: Attributes = Attributes { value: "yaml_body_wo", version: "yaml_body_wo_version" };

pub(super) fn schema() -> [Attribute; 2] {
    [
        Attribute::optional(NAMES.value, Type::String).write_only().description(
            "Fields to merge over `yaml_body`, as YAML or JSON, whose values are in no plan and no state. Mappings are merged \
             by key and keyed lists by their keys; other lists, and all lists of custom kinds, are replaced. It has no \
             `apiVersion`, `kind`, name or namespace. Needs Terraform or OpenTofu 1.11.",
        ),
        Attribute::optional(NAMES.version, Type::String).description(
            "When `yaml_body_wo` is sent: whenever this value changes. Without it, the values are compared with the live object \
             at every plan, which does not work for values that differ from run to run.",
        ),
    ]
}

/// The write-only part for `body`, which gets its marks.
pub(super) fn of(change: &PlannedChange, body: &mut Body) -> Result<Configured, Diagnostics> {
    let kind = (body.gvk.api_version().to_string(), body.gvk.kind().to_owned());
    let configured = WriteOnly::of(NAMES, change, (&kind.0, &kind.1))?;
    if let Configured::Known(write_only) = &configured {
        write_only::add_marks(body, &write_only.marks);
    }
    Ok(configured)
}

/// Whether an apply of this plan gives a write-only field another value, or stops hiding it.
pub(super) fn is_sent(change: &PlannedChange) -> bool {
    let is_write_only = !change.config.get(NAMES.value).is_null() || change.private.has(WRITE_ONLY);
    is_write_only && (change.changes([NAMES.version]) || change.planned.get(MANAGERS).is_unknown())
}
