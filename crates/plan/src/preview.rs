//! What an apply changes in an object: values, and who holds them. The same before an apply, from a dry run, and after it.

use std::collections::{BTreeMap, BTreeSet};

use diag::Diagnostic;
use fields::{Change, FieldPath, FieldSet, PathElement};
use manifest::secret::{self, MaskKey};
use manifest::server_metadata;
use ownership::{
    Analysis, Desired, FieldManager, Handover, Observed, Prior, Reporting, Row, client_side_appliers,
};
use serde_json::Value;

use crate::allocated::is_allocated;

/// What changes in one object. Values of Secrets are masked.
#[derive(Debug, Default)]
pub struct Preview {
    /// Whether the object is new.
    pub created: bool,
    pub changes: Vec<FieldChange>,
    /// Fields that the manager holds from now on, whose values stay as they are.
    pub takes: Vec<FieldPath>,
    /// Fields that it no longer holds, whose values stay as they are.
    pub releases: Vec<FieldPath>,
    /// The managers by whose names `kubectl apply` wrote the object, if the manager takes over what they hold.
    pub taken_over_from: Option<Vec<FieldManager>>,
    analysis: Analysis,
}

/// One field whose value changes.
#[derive(Clone, Debug, Default)]
pub struct FieldChange {
    pub path: FieldPath,
    pub old: Option<Value>,
    pub new: Option<Value>,
    pub held_now: Vec<FieldManager>,
    pub held_after: Vec<FieldManager>,
    /// Whether the API server chooses the value when the apply happens, so that a dry run only guesses it.
    pub is_allocated: bool,
    /// How holding the field changes, if it is written.
    pub row: Option<Row>,
}

impl Preview {
    /// Compares `live` with the API server's `answer` to an apply or a dry run of it. `key` masks the values of a
    /// Secret; if there is a baseline, it is the one that was recorded with it.
    pub fn new(
        desired: &Desired<'_>,
        prior: Prior<'_>,
        live: Option<&Observed>,
        answer: &Observed,
        key: &MaskKey,
    ) -> Self {
        match live {
            Some(live) => updated(desired, prior, live, answer, key),
            None => created(desired.written, answer, key),
        }
    }

    /// Changes of values that are known without the API server.
    pub fn of_changes(changes: Vec<FieldChange>) -> Self {
        Self { changes, ..Self::default() }
    }

    /// Only the differences in values.
    #[must_use]
    pub fn without_holders(self) -> Self {
        Self { takes: Vec::new(), releases: Vec::new(), taken_over_from: None, ..self }
    }

    /// Whether any value differs, or the object is new.
    pub fn changes_values(&self) -> bool {
        self.created || !self.changes.is_empty()
    }

    /// Whether everything stays as it is, holders included.
    pub fn is_empty(&self) -> bool {
        !self.changes_values()
            && self.takes.is_empty()
            && self.releases.is_empty()
            && self.taken_over_from.is_none()
    }

    /// The same for a dry run: values that the API server chooses anew at every apply are marked, and left out.
    #[must_use]
    pub fn of_dry_run(mut self, object: &Value) -> Self {
        for change in &mut self.changes {
            if change.held_after.is_empty() && is_allocated(object, &change.path) {
                (change.is_allocated, change.new) = (true, None);
            }
        }
        self
    }

    /// The same, where the fields at `paths`, whose values are hidden so that they look alike, have changed as `row` says.
    #[must_use]
    pub fn with_hidden_changes(mut self, paths: &FieldSet, row: Row) -> Self {
        self.analysis.set_hidden_changes(paths, row);
        self
    }

    /// What happens to every field that is written or was written last time.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// The warnings about other managers of the object called `identity`, each with `hint` as the way out, if it has any.
    pub fn warnings(&self, identity: &str, reporting: &Reporting<'_>, hint: Option<&str>) -> Vec<Diagnostic> {
        let advise = |warning: Diagnostic| match hint {
            Some(hint) if warning.hint.is_some() => warning.hint(hint),
            _ => warning,
        };
        self.analysis.warnings(identity, reporting).into_iter().map(advise).collect()
    }
}

/// A new object: every field that was written, with the value it gets.
fn created(written: &Value, answer: &Observed, key: &MaskKey) -> Preview {
    let schema = answer.schema();
    let universe = fields::written(written, schema).leaves().difference(&fields::identity());
    let values = fields::leaf_values(&secret::masked(answer.object(), key), &universe, schema);
    let changes = values.into_iter().map(|(path, value)| FieldChange {
        held_after: holders(answer, &path),
        path,
        new: Some(value),
        ..FieldChange::default()
    });
    Preview { created: true, changes: changes.collect(), ..Preview::default() }
}

fn updated(
    desired: &Desired<'_>,
    prior: Prior<'_>,
    live: &Observed,
    answer: &Observed,
    key: &MaskKey,
) -> Preview {
    let appliers = client_side_appliers(live);
    let is_takeover = !appliers.is_empty() && client_side_appliers(answer).is_empty();
    // What is taken over is taken from no active manager.
    let taken_over =
        is_takeover.then(|| Handover::of(live).take_over_client_side(desired.manager).observed());
    let former = taken_over.as_ref().unwrap_or(live);
    let analysis = Analysis::new(desired, prior, former, answer, key);
    let is_known = |row: Row| !(analysis.is_unrecorded && row == Row::TakeFromActive);
    let rows = analysis.fields.iter().filter(|field| is_known(field.row));
    let rows: BTreeMap<&FieldPath, Row> = rows.map(|field| (&field.path, field.row)).collect();
    let after = visible(answer.object(), key);
    let changed = fields::diff(&visible(live.object(), key), &after, answer.schema());
    let changed = changed.into_iter().filter(|change| !is_takeover || !is_kubectls_copy(change));
    let changed: Vec<Change> = changed.flat_map(|change| apart(change, &after, answer)).collect();
    let copy = is_takeover.then(|| FieldPath::of_fields(ownership::LAST_APPLIED));
    let paths: BTreeSet<FieldPath> = changed.iter().map(|change| change.path.clone()).chain(copy).collect();
    let changes = changed.into_iter().map(|change| FieldChange {
        held_now: holders(live, &change.path),
        held_after: holders(answer, &change.path),
        is_allocated: false,
        row: rows.get(&change.path).copied(),
        path: change.path,
        old: change.old,
        new: change.new,
    });
    let changes = changes.collect();
    let held = |object: &Observed| object.held_by(desired.manager).leaves();
    // A dry run still sends what an apply gives up.
    let (before, after) = (held(former), desired.without_ignored(held(answer), answer.schema()));
    let only_held = |set: FieldSet| {
        let stays = |path: &FieldPath| !paths.iter().any(|changed| path.starts_with(changed));
        set.paths().into_iter().filter(stays).collect()
    };
    Preview {
        created: false,
        changes,
        takes: only_held(after.difference(&before)),
        releases: only_held(before.difference(&after)),
        taken_over_from: is_takeover.then_some(appliers),
        analysis,
    }
}

/// Whether all that goes is the copy of the manifest that kubectl keeps, which is in no file.
fn is_kubectls_copy(change: &Change) -> bool {
    let [parent @ .., copy] = &ownership::LAST_APPLIED[..] else { return false };
    let only_copy = |old: &Value| old.as_object().is_some_and(|old| old.keys().eq([copy]));
    change.new.is_none()
        && (change.path == FieldPath::of_fields(ownership::LAST_APPLIED)
            || (change.path == FieldPath::of_fields(parent.iter().copied())
                && change.old.as_ref().is_some_and(only_copy)))
}

/// An added item of a list, field by field: the API server adds fields of its own to it, which no manager holds.
pub(crate) fn apart(change: Change, after: &Value, answer: &Observed) -> Vec<Change> {
    let is_item = matches!(change.path.elements().last(), Some(PathElement::Key(_)));
    if change.old.is_some() || !is_item {
        return vec![change];
    }
    let everything = fields::written(after, answer.schema()).leaves();
    let below = everything.paths().into_iter().filter(|path| path.starts_with(&change.path)).collect();
    let values = fields::leaf_values(after, &below, answer.schema());
    values.into_iter().map(|(path, value)| Change { path, old: None, new: Some(value) }).collect()
}

pub(crate) fn holders(object: &Observed, path: &FieldPath) -> Vec<FieldManager> {
    object.managed().holders(path).into_iter().cloned().collect()
}

/// The part of an object that its author decides: no status, and nothing that the API server sets by itself. Values of
/// Secrets are masked.
pub fn visible(object: &Value, key: &MaskKey) -> Value {
    let mut object = secret::masked(object, key);
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    server_metadata::remove(object.get_mut("metadata"), server_metadata::ALL);
    object
}

#[cfg(test)]
mod tests;
