//! What an apply changes in an object: values, and who holds them. The same before an apply, from a dry run, and after it.

use std::collections::{BTreeMap, BTreeSet};

use diag::Diagnostic;
use fields::{FieldPath, FieldSet, Positions};
use manifest::{secret, server_metadata};
use ownership::{Analysis, Desired, FieldManager, Observed, Prior, Row, Verbosity};
use serde_json::Value;

/// What changes in one object. Values of Secrets are masked.
#[derive(Debug, Default)]
pub struct Preview {
    /// Whether the object is new.
    pub created: bool,
    pub changes: Vec<FieldChange>,
    /// Fields that the manager holds from now on, whose values stay as they are.
    pub takes: Vec<String>,
    /// Fields that it no longer holds, whose values stay as they are.
    pub releases: Vec<String>,
    analysis: Analysis,
}

/// One field whose value changes.
#[derive(Debug)]
pub struct FieldChange {
    pub field: String,
    pub old: Option<Value>,
    pub new: Option<Value>,
    pub held_now: Vec<FieldManager>,
    pub held_after: Vec<FieldManager>,
    /// How holding the field changes, if it is written.
    pub row: Option<Row>,
}

impl Preview {
    /// Compares `live` with the API server's `answer` to an apply or a dry run of it.
    pub fn new(desired: &Desired<'_>, prior: Prior<'_>, live: Option<&Observed>, answer: &Observed) -> Self {
        match live {
            Some(live) => updated(desired, prior, live, answer),
            None => created(desired.written, answer),
        }
    }

    /// Only the differences in values.
    #[must_use]
    pub fn without_holders(self) -> Self {
        Self { takes: Vec::new(), releases: Vec::new(), ..self }
    }

    /// Whether any value differs, or the object is new.
    pub fn changes_values(&self) -> bool {
        self.created || !self.changes.is_empty()
    }

    /// Whether everything stays as it is, holders included.
    pub fn is_empty(&self) -> bool {
        !self.changes_values() && self.takes.is_empty() && self.releases.is_empty()
    }

    /// What happens to every field that is written or was written last time.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// The warnings about other managers of the object called `identity`, each with `hint` as the way out, if it has any.
    pub fn warnings(&self, identity: &str, verbosity: Verbosity, hint: Option<&str>) -> Vec<Diagnostic> {
        let advise = |warning: Diagnostic| match hint {
            Some(hint) if warning.hint.is_some() => warning.hint(hint),
            _ => warning,
        };
        self.analysis.warnings(identity, verbosity).into_iter().map(advise).collect()
    }
}

/// A new object: every field that was written, with the value it gets.
fn created(written: &Value, answer: &Observed) -> Preview {
    let schema = answer.schema();
    let universe = fields::written(written, schema).leaves().difference(&fields::identity());
    let positions = Positions::of(written, schema);
    let values = fields::leaf_values(&secret::masked(answer.object()), &universe, schema);
    let changes = values.into_iter().map(|(path, value)| FieldChange {
        field: positions.print(&path),
        old: None,
        new: Some(value),
        held_now: Vec::new(),
        held_after: holders(answer, &path),
        row: None,
    });
    Preview { created: true, changes: changes.collect(), ..Preview::default() }
}

fn updated(desired: &Desired<'_>, prior: Prior<'_>, live: &Observed, answer: &Observed) -> Preview {
    let positions = Positions::of(desired.written, answer.schema());
    let analysis = Analysis::new(desired, prior, live, answer);
    let rows: BTreeMap<&FieldPath, Row> =
        analysis.fields.iter().map(|field| (&field.path, field.row)).collect();
    let changed = fields::diff(&visible(live.object()), &visible(answer.object()), answer.schema());
    let paths: BTreeSet<FieldPath> = changed.iter().map(|change| change.path.clone()).collect();
    let changes = changed.into_iter().map(|change| FieldChange {
        field: positions.print(&change.path),
        held_now: holders(live, &change.path),
        held_after: holders(answer, &change.path),
        row: rows.get(&change.path).copied(),
        old: change.old,
        new: change.new,
    });
    let changes = changes.collect();
    let held = |object: &Observed| object.held_by(desired.manager).leaves();
    let (before, after) = (held(live), held(answer));
    let only_held = |set: FieldSet| {
        let stays = |path: &FieldPath| !paths.iter().any(|changed| path.starts_with(changed));
        set.paths().iter().filter(|path| stays(path)).map(|path| positions.print(path)).collect()
    };
    Preview {
        created: false,
        changes,
        takes: only_held(after.difference(&before)),
        releases: only_held(before.difference(&after)),
        analysis,
    }
}

fn holders(object: &Observed, path: &FieldPath) -> Vec<FieldManager> {
    object.managed().holders(path).into_iter().cloned().collect()
}

/// The part of an object that its author decides: no status, and nothing that the API server sets by itself.
fn visible(object: &Value) -> Value {
    let mut object = secret::masked(object);
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    server_metadata::remove(object.get_mut("metadata"), server_metadata::ALL);
    object
}

#[cfg(test)]
mod tests;
