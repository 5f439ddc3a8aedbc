//! What an apply changes in an object: values, and who holds them. The same whether it has happened or is foreseen.

use std::collections::{BTreeMap, BTreeSet};

use diag::Diagnostic;
use fields::{FieldPath, FieldSet, Positions};
use manifest::{ObjectRef, secret, server_metadata};
use ownership::{Analysis, Before, FieldManager, ManagedFields, ManagedFieldsError, Outlook, Row, Verbosity};
use serde_json::Value;

/// What changes in one object. Values of Secrets are masked.
#[derive(Debug)]
pub(crate) struct Forecast {
    /// Whether the object is new.
    pub(crate) created: bool,
    pub(crate) changes: Vec<FieldChange>,
    /// Fields that the manager holds from now on, whose values stay as they are.
    pub(crate) takes: Vec<String>,
    /// Fields that it no longer holds, whose values stay as they are.
    pub(crate) releases: Vec<String>,
    /// Who else is at work on the same fields.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// One field whose value changes.
#[derive(Debug)]
pub(crate) struct FieldChange {
    pub(crate) field: String,
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
    pub(crate) held_now: Vec<FieldManager>,
    pub(crate) held_after: Vec<FieldManager>,
    /// How holding the field changes, if it is written.
    pub(crate) row: Option<Row>,
}

impl Forecast {
    /// Compares `live` with `after`, the API server's answer to an apply of `written` by `manager`.
    pub(crate) fn of(
        target: &ObjectRef,
        written: &Value,
        live: Option<&Value>,
        after: &Value,
        manager: &FieldManager,
    ) -> Result<Self, ManagedFieldsError> {
        match live {
            Some(live) => Comparison::new(written, live, after, manager)?.forecast(target),
            None => created(written, after),
        }
    }

    /// An apply that leaves everything as it is.
    pub(crate) fn nothing() -> Self {
        Self {
            created: false,
            changes: Vec::new(),
            takes: Vec::new(),
            releases: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Whether any value differs, or the object is new.
    pub(crate) fn changes_values(&self) -> bool {
        self.created || !self.changes.is_empty()
    }

    /// Whether an apply leaves everything as it is, holders included.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.changes_values() && self.takes.is_empty() && self.releases.is_empty()
    }
}

/// A new object: every field that was written, with the value it gets.
fn created(written: &Value, after: &Value) -> Result<Forecast, ManagedFieldsError> {
    let managed = ManagedFields::of(after)?;
    let schema = managed.schema(after);
    let universe = fields::written(written, &schema).leaves().difference(&fields::identity());
    let positions = Positions::of(written, &schema);
    let values = fields::leaf_values(&secret::masked(after), &universe, &schema);
    let changes = values.into_iter().map(|(path, value)| FieldChange {
        field: positions.print(&path),
        old: None,
        new: Some(value),
        held_now: Vec::new(),
        held_after: managed.holders(&path).into_iter().cloned().collect(),
        row: None,
    });
    let changes = changes.collect();
    Ok(Forecast { created: true, changes, takes: Vec::new(), releases: Vec::new(), warnings: Vec::new() })
}

struct Comparison<'a> {
    written: &'a Value,
    live: &'a Value,
    after: &'a Value,
    manager: &'a FieldManager,
    live_managed: ManagedFields,
    after_managed: ManagedFields,
}

impl<'a> Comparison<'a> {
    fn new(
        written: &'a Value,
        live: &'a Value,
        after: &'a Value,
        manager: &'a FieldManager,
    ) -> Result<Self, ManagedFieldsError> {
        let (live_managed, after_managed) = (ManagedFields::of(live)?, ManagedFields::of(after)?);
        Ok(Self { written, live, after, manager, live_managed, after_managed })
    }

    fn forecast(&self, target: &ObjectRef) -> Result<Forecast, ManagedFieldsError> {
        let schema = self.after_managed.schema(self.after);
        let positions = Positions::of(self.written, &schema);
        let analysis = self.analysis()?;
        let rows: BTreeMap<&FieldPath, Row> =
            analysis.fields.iter().map(|field| (&field.path, field.row)).collect();
        let changed = fields::diff(&visible(self.live), &visible(self.after), &schema);
        let paths: BTreeSet<FieldPath> = changed.iter().map(|change| change.path.clone()).collect();
        let holders = |managed: &ManagedFields, path: &FieldPath| {
            managed.holders(path).into_iter().cloned().collect::<Vec<FieldManager>>()
        };
        let changes = changed.into_iter().map(|change| FieldChange {
            field: positions.print(&change.path),
            held_now: holders(&self.live_managed, &change.path),
            held_after: holders(&self.after_managed, &change.path),
            row: rows.get(&change.path).copied(),
            old: change.old,
            new: change.new,
        });
        let changes = changes.collect();
        let (before, after) = (
            self.live_managed.held_by(self.manager).leaves(),
            self.after_managed.held_by(self.manager).leaves(),
        );
        let only_held = |set: FieldSet| {
            let stays = |path: &FieldPath| !paths.iter().any(|changed| path.starts_with(changed));
            set.paths().iter().filter(|path| stays(path)).map(|path| positions.print(path)).collect()
        };
        Ok(Forecast {
            created: false,
            changes,
            takes: only_held(after.difference(&before)),
            releases: only_held(before.difference(&after)),
            warnings: analysis
                .warnings(&target.to_string(), Verbosity::Full)
                .into_iter()
                .map(advise)
                .collect(),
        })
    }

    fn analysis(&self) -> Result<Analysis, ManagedFieldsError> {
        let outlook = Outlook {
            manager: self.manager,
            before: Before::Untold,
            written: self.written,
            live: self.live,
            planned: self.after,
        };
        Analysis::of(&outlook, |_| false)
    }
}

/// What of an object is its author's business: no status, and nothing that the API server counts by itself.
fn visible(object: &Value) -> Value {
    let mut object = secret::masked(object);
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    server_metadata::remove(object.get_mut("metadata"), server_metadata::ALL);
    object
}

/// Files have no `ignore_fields`: leaving a field to others means not to write it.
fn advise(warning: Diagnostic) -> Diagnostic {
    if warning.hint.is_none() {
        return warning;
    }
    warning.hint("Take them out of the file to leave them to the other manager.")
}

#[cfg(test)]
mod tests;
