//! What an apply would do to the ownership of every field it concerns, before it happens.

use std::iter::zip;

use fields::{FieldPath, FieldSet, Leaf, Positions, Schema, Shape};
use manifest::secret::{self, MaskKey};
use serde_json::Value;

use crate::baseline::{Baseline, BaselineField, Remembered, is_kept};
use crate::columns::places;
use crate::desired::{Desired, Prior};
use crate::holders::Holders;
use crate::managed::holding;
use crate::manager::FieldManager;
use crate::observed::Observed;
use crate::record;
use crate::row::{Level, Row, Transition, classify};
use crate::view::View;

/// What happens to every field that is written now or was written last time, in the order of their paths.
#[derive(Debug, Default)]
pub struct Analysis {
    pub fields: Vec<FieldTransition>,
    /// Of list items in what was written.
    pub(crate) positions: Positions,
    /// Whether nothing is known of an earlier apply, so that a manager that is active cannot be told from one that has set a
    /// field once.
    pub is_unrecorded: bool,
}

/// What happens to one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldTransition {
    pub path: FieldPath,
    pub row: Row,
    /// The managers that hold it now, apart from us.
    pub others: Vec<FieldManager>,
    /// When they last set any of their fields, as the API server wrote it.
    pub set_at: Option<String>,
    /// None if the value stays as it is.
    pub change: Option<ValueChange>,
}

/// A value before and after. Values of Secrets are masked.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueChange {
    /// After the last apply, if it was recorded.
    pub before: Option<Value>,
    pub live: Option<Value>,
    pub planned: Option<Value>,
    pub masked: bool,
}

impl FieldTransition {
    /// A value that is already as planned is not a reason to warn, whichever manager set it.
    pub fn level(&self) -> Level {
        match self.row.level() {
            Level::Warning if self.change.is_none() => Level::Silent,
            level => level,
        }
    }
}

impl Analysis {
    /// Compares what was applied last, the object as it is and `answer`, what the API server says it will be. `key` is
    /// the one that the baseline was recorded with; a record has its own.
    pub fn new(
        desired: &Desired<'_>,
        prior: Prior<'_>,
        live: &Observed,
        answer: &Observed,
        key: &MaskKey,
    ) -> Self {
        let key = if let Prior::Recorded(record) = prior { &record.key } else { key };
        // Lists that are absent afterwards are known by what is held of them now.
        let entries = live.managed().entries().iter();
        let schema =
            entries.fold(answer.schema().clone(), |schema, entry| schema.learning_from(&entry.fields));
        let masked = secret::is_secret(answer.object());
        let (live_view, planned_view) = (View::of(live.object(), key), View::of(answer.object(), key));
        let written = View::of(desired.written, key);
        let no_baseline = Baseline::default();
        let (former, baseline) = match prior {
            Prior::Applied { written, baseline } => (View::of(written, key), baseline),
            Prior::Recorded(record) => (View::of(&Value::Null, key), &record.baseline),
            Prior::Unrecorded | Prior::Imported => (View::of(&Value::Null, key), &no_baseline),
        };

        let mut universe = written.fields(&schema);
        universe.add_all(&baseline.paths);
        universe.add_all(desired.removed());
        let objects = [&written, &former, &live_view, &planned_view].map(|view| &*view.object);
        let values = fields::leaf_columns(objects, &universe, &schema);
        let known = places(&universe, &baseline.paths);
        let (live_holders, planned_holders) =
            (Holders::of(live.managed(), &universe), Holders::of(answer.managed(), &universe));
        let is_ignored = desired.ignored(&schema);
        let us = desired.manager;

        let fields = zip(universe.paths(), zip(values, known)).enumerate().map(
            |(index, (path, ([written, former, live, planned], known)))| {
                let baseline = known.and_then(|place| baseline.fields.get(place));
                let former = match prior {
                    Prior::Recorded(record) => {
                        Former::Hash(known.and_then(|place| record.written.get(place)))
                    }
                    _ => Former::Value(former),
                };
                let others: Vec<_> = live_holders.at(index).filter(|holder| *holder != us).cloned().collect();
                let set_at = live_holders.set_at(index, us);
                let is_removed = planned.is_none() && holding([desired.removed()].into_iter(), &path)[0];
                let is_kept = is_kept(written.as_deref(), planned.as_deref());
                let field = Field {
                    path: &path,
                    key,
                    shape: shape_at(&schema, &path),
                    ignored: is_ignored(&path),
                    written,
                    former,
                    baseline,
                    live,
                    planned,
                    held: live_holders.is_held_by(us, index),
                    will_be_held: is_removed || (is_kept && planned_holders.is_held_by(us, index)),
                    held_by_others: !others.is_empty(),
                };
                let row = classify(field.transition(us, prior));
                let is_masked = || masked && path.elements()[0].as_field() == Some("data");
                let change = field.change(is_masked);
                FieldTransition { path, row, others, set_at, change }
            },
        );
        let fields = fields.collect();
        Self {
            fields,
            positions: Positions::of(&written.object, &schema),
            is_unrecorded: matches!(prior, Prior::Unrecorded),
        }
    }

    /// Counts the fields at `paths` as changed in the way of `row`. Their values are hidden, so that they look alike.
    pub fn set_hidden_changes(&mut self, paths: &FieldSet, row: Row) {
        let hidden = self.fields.iter_mut().filter(|field| paths.contains(&field.path));
        for field in hidden.filter(|field| field.change.is_none()) {
            field.row = row;
            field.change = Some(ValueChange { before: None, live: None, planned: None, masked: true });
        }
    }

    /// A field as it is called in what was written, list items by position.
    pub fn print(&self, field: &FieldTransition) -> String {
        self.positions.print(&field.path)
    }
}

/// What was written last time.
enum Former<'a> {
    Value(Option<Leaf<'a>>),
    /// Only a hash of it is known.
    Hash(Option<&'a u64>),
}

/// Everything the four questions are answered from.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about one field, none of which follows from another"
)]
struct Field<'a> {
    path: &'a FieldPath,
    key: &'a MaskKey,
    shape: Shape<'a>,
    ignored: bool,
    written: Option<Leaf<'a>>,
    former: Former<'a>,
    baseline: Option<&'a BaselineField>,
    live: Option<Leaf<'a>>,
    planned: Option<Leaf<'a>>,
    /// By us, now.
    held: bool,
    /// By us, afterwards.
    will_be_held: bool,
    held_by_others: bool,
}

impl Field<'_> {
    fn transition(&self, us: &FieldManager, prior: Prior<'_>) -> Transition {
        let (prev_owned, config_changed) = match prior {
            Prior::Unrecorded => (
                self.held && !self.ignored,
                !self.held || !self.same(self.written.as_deref(), self.live.as_deref()),
            ),
            Prior::Imported => (false, true),
            Prior::Applied { .. } | Prior::Recorded(_) => {
                let ignored_before = self.baseline.is_some_and(|field| field.ignored);
                let held_before = self.baseline.is_some_and(|field| {
                    field.managers.contains(us) || (field.is_former() && self.will_be_held)
                });
                let edited = match &self.former {
                    Former::Value(former) => !self.same(self.written.as_deref(), former.as_deref()),
                    Former::Hash(former) => self.hash(self.written.as_deref()) != former.copied(),
                };
                (held_before && !ignored_before, edited || ignored_before != self.ignored)
            }
        };
        Transition {
            prev_owned,
            now_owned: self.will_be_held && !self.ignored,
            config_changed,
            external_changed: self.external_changed(),
        }
    }

    fn external_changed(&self) -> bool {
        match self.baseline.map(|field| &field.value) {
            Some(Remembered::Value(value)) => !self.same(Some(value), self.live.as_deref()),
            Some(Remembered::Hash(hash)) => self.hash(self.live.as_deref()) != Some(*hash),
            Some(Remembered::Absent) => self.live.is_some(),
            Some(Remembered::Text(text)) => {
                self.live.as_deref().is_none_or(|live| manifest::display(live) != *text)
            }
            Some(Remembered::Unknown) => false,
            // An absent field has no holder, even if a manager holds something around it.
            None => {
                self.live.is_some()
                    && self.held_by_others
                    && !self.same(self.live.as_deref(), self.written.as_deref())
            }
        }
    }

    fn change(self, is_masked: impl FnOnce() -> bool) -> Option<ValueChange> {
        if self.same(self.live.as_deref(), self.planned.as_deref()) {
            return None;
        }
        let before = match self.baseline.map(|field| &field.value) {
            Some(Remembered::Value(value)) => Some(value.clone()),
            _ => None,
        };
        let [live, planned] = [self.live, self.planned].map(|value| value.map(Leaf::into_owned));
        Some(ValueChange { before, live, planned, masked: is_masked() })
    }

    fn hash(&self, value: Option<&Value>) -> Option<u64> {
        value.map(|value| record::hash(self.key, self.path, value, self.shape))
    }

    /// Whether two values mean the same to Kubernetes; an absent field equals only another absent one.
    fn same(&self, left: Option<&Value>, right: Option<&Value>) -> bool {
        match (left, right) {
            (Some(left), Some(right)) => fields::equal(left, right, self.shape),
            (None, None) => true,
            _ => false,
        }
    }
}

fn shape_at<'s>(schema: &'s Schema, path: &FieldPath) -> Shape<'s> {
    path.elements().iter().fold(schema.root(), Shape::step)
}

#[cfg(test)]
mod tests;
