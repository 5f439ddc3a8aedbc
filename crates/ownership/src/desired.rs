//! What an apply is to achieve, and what is known about the apply before it.

use fields::{FieldPath, FieldSet, IgnoreFields, Schema};
use serde_json::Value;

use crate::baseline::Baseline;
use crate::manager::FieldManager;
use crate::observed::Observed;
use crate::record::Record;

/// What is to be applied, and in whose name.
#[derive(Clone, Copy)]
pub struct Desired<'a> {
    pub manager: &'a FieldManager,
    /// The body as it was written, Secrets in their stored form.
    pub written: &'a Value,
    ignored: Option<&'a IgnoreFields>,
    removed: Option<&'a FieldSet>,
}

/// What is known about the last apply.
#[derive(Clone, Copy)]
pub enum Prior<'a> {
    /// Nothing was recorded; the only trace is that our manager holds a field now.
    Unrecorded,
    /// The object was imported or moved here. We did not apply it, so all of it counts as newly written.
    Imported,
    /// We applied this body and recorded what came of it.
    Applied { written: &'a Value, baseline: &'a Baseline },
    /// We recorded what we wrote and what came of it, both as hashes.
    Recorded(&'a Record),
}

impl<'a> Prior<'a> {
    /// As far as `record` describes the last apply by `manager` of the object as it is: not if that was the apply of another
    /// manager, or if ours has applied the object again since.
    pub fn recorded(record: Option<&'a Record>, manager: &FieldManager, live: Option<&Observed>) -> Self {
        let is_ours =
            |(record, live): &(&Record, &Observed)| record.manager() == manager && record.is_current(live);
        record.zip(live).filter(is_ours).map_or(Self::Unrecorded, |(record, _)| Self::Recorded(record))
    }
}

impl<'a> Desired<'a> {
    pub fn new(manager: &'a FieldManager, written: &'a Value) -> Self {
        Self { manager, written, ignored: None, removed: None }
    }

    /// The same, with fields that are left to other managers.
    #[must_use]
    pub fn ignoring(self, ignored: &'a IgnoreFields) -> Self {
        Self { ignored: Some(ignored), ..self }
    }

    /// The same for a patch that also takes fields away. A field that is absent has no holder, but the manager that
    /// keeps it absent decides its value all the same, so it counts as held by that manager.
    #[must_use]
    pub fn removing(self, removed: &'a FieldSet) -> Self {
        Self { removed: Some(removed), ..self }
    }

    pub fn removed(&self) -> &'a FieldSet {
        const NOTHING: &FieldSet = &FieldSet::new();
        self.removed.unwrap_or(NOTHING)
    }

    /// What `ignore_fields` covers in the body.
    pub fn ignored(&self, schema: &'a Schema) -> impl Fn(&FieldPath) -> bool + use<'a> {
        let ignored = self.ignored.map(|ignored| ignored.on(self.written, schema));
        move |path| ignored.as_ref().is_some_and(|ignored| ignored.contains(path))
    }

    /// `set` without the fields that are left to others.
    pub fn without_ignored(&self, set: FieldSet, schema: &Schema) -> FieldSet {
        match self.ignored {
            Some(ignored) => ignored.on(self.written, schema).remove_from_set(&set),
            None => set,
        }
    }

    /// The body without the fields that are left to others.
    pub fn body_without_ignored(&self, schema: &Schema) -> Value {
        match self.ignored {
            Some(ignored) => ignored.on(self.written, schema).body_without(),
            None => self.written.clone(),
        }
    }
}
