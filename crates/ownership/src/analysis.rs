//! What an apply would do to the ownership of every field it concerns, told before it happens.

use std::fmt;
use std::iter::zip;

use fields::{FieldPath, FieldSet, Leaf, Positions, Schema, Shape};
use serde_json::Value;

use crate::baseline::{Baseline, BaselineField, Remembered};
use crate::columns::{align, held};
use crate::holders::Holders;
use crate::managed::{ManagedFields, ManagedFieldsError};
use crate::manager::FieldManager;
use crate::row::{Level, Row, Transition, classify};
use crate::view::View;

/// An apply that has not happened yet, and what is known about its object.
#[derive(Clone, Copy)]
pub struct Outlook<'a> {
    /// Who applies.
    pub manager: &'a FieldManager,
    /// What was applied last.
    pub before: Before<'a>,
    /// What is to be applied.
    pub written: &'a Value,
    /// The object as it is.
    pub live: &'a Value,
    /// The object as the API server says it will be: the answer to a dry run.
    pub planned: &'a Value,
}

/// What is known about the last apply.
#[derive(Clone, Copy)]
pub enum Before<'a> {
    /// Nothing was kept; that our manager holds a field now is the only trace.
    Untold,
    /// The object was imported or moved here: we did not apply it, and all of it counts as newly written.
    Imported,
    /// We applied this body, and kept this record of the answer.
    Applied {
        /// The body.
        written: &'a Value,
        /// The record.
        baseline: &'a Baseline,
    },
}

/// Leaves the objects out, which may be Secrets.
impl fmt::Debug for Outlook<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { manager, before, .. } = self;
        f.debug_struct("Outlook").field("manager", manager).field("before", before).finish_non_exhaustive()
    }
}

/// Leaves the body out, which may be a Secret.
impl fmt::Debug for Before<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Untold => "Untold",
            Self::Imported => "Imported",
            Self::Applied { .. } => "Applied",
        })
    }
}

/// What happens to every field that is written now or was written last time, in the order of their paths.
#[derive(Debug)]
pub struct Analysis {
    /// The fields.
    pub fields: Vec<FieldTransition>,
    /// Where list items stand in what was written.
    pub(crate) positions: Positions,
}

/// What happens to one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldTransition {
    /// The field.
    pub path: FieldPath,
    /// The row it falls into.
    pub row: Row,
    /// Who holds it now, apart from us.
    pub others: Vec<FieldManager>,
    /// How its value changes; nothing when it stays as it is.
    pub change: Option<ValueChange>,
}

/// A value before and after. Values of Secrets are masked.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueChange {
    /// The value now.
    pub live: Option<Value>,
    /// The value afterwards.
    pub planned: Option<Value>,
    /// Whether the values are masks.
    pub masked: bool,
}

impl FieldTransition {
    /// What there is to say about it. A value that is already as planned is no reason to warn, whoever set it.
    pub fn level(&self) -> Level {
        match self.row.level() {
            Level::Warning if self.change.is_none() => Level::Silent,
            level => level,
        }
    }
}

impl Analysis {
    /// Compares what was, what is and what will be; `ignored` are the fields left to others now.
    pub fn of(
        outlook: &Outlook<'_>,
        ignored: impl Fn(&FieldPath) -> bool,
    ) -> Result<Self, ManagedFieldsError> {
        Self::with_removals(outlook, &FieldSet::new(), ignored)
    }

    /// The same for a patch that also takes fields away. Nobody can hold a field that is not there; whoever sees to it
    /// that it is not there decides its value all the same, so that it counts as held.
    pub fn with_removals(
        outlook: &Outlook<'_>,
        removed: &FieldSet,
        ignored: impl Fn(&FieldPath) -> bool,
    ) -> Result<Self, ManagedFieldsError> {
        let live_managers = ManagedFields::of(outlook.live)?;
        let planned_managers = ManagedFields::of(outlook.planned)?;
        // Lists that are gone afterwards are known by what is held of them now.
        let schema =
            live_managers.entries().iter().fold(planned_managers.schema(outlook.planned), |schema, entry| {
                schema.learning_from(&entry.fields)
            });
        let written = View::of(outlook.written);
        let masked = manifest::secret::is_secret(outlook.planned);
        let (live, planned) = (View::of(outlook.live), View::of(outlook.planned));

        let mut universe = written.fields(&schema);
        let nothing = Baseline::default();
        let (former, baseline) = match outlook.before {
            Before::Applied { written, baseline } => (View::of(written), baseline),
            Before::Untold | Before::Imported => (View::of(&Value::Null), &nothing),
        };
        universe.add_all(&baseline.paths);
        universe.add_all(removed);
        let columns = zip(
            zip(
                zip(written.column(&universe, &schema), former.column(&universe, &schema)),
                align(&universe, &baseline.paths, &baseline.fields),
            ),
            zip(live.column(&universe, &schema), planned.column(&universe, &schema)),
        );
        let (live_holders, planned_holders) =
            (Holders::of(&live_managers, &universe), Holders::of(&planned_managers, &universe));
        let removed = held(&universe, [removed].into_iter()).swap_remove(0);
        let us = outlook.manager;

        let fields = zip(universe.paths(), columns).enumerate().map(
            |(index, (path, (((written, former), baseline), (live, planned))))| {
                let others: Vec<_> = live_holders.at(index).filter(|holder| *holder != us).cloned().collect();
                let is_removed = removed[index] && planned.is_none();
                let field = Field {
                    shape: shape_at(&schema, &path),
                    ignored: ignored(&path),
                    written,
                    former,
                    baseline,
                    live,
                    planned,
                    held: live_holders.is_held_by(us, index),
                    will_be_held: is_removed || planned_holders.is_held_by(us, index),
                    held_by_others: !others.is_empty(),
                };
                let row = classify(field.transition(outlook));
                let is_masked = || masked && path.elements()[0].as_field() == Some("data");
                let change = field.change(is_masked);
                FieldTransition { path, row, others, change }
            },
        );
        let fields = fields.collect();
        Ok(Self { fields, positions: Positions::of(&written.object, &schema) })
    }

    /// A field as people find it in what they wrote.
    pub fn shown(&self, field: &FieldTransition) -> String {
        self.positions.print(&field.path)
    }
}

/// Everything the four questions are answered from.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about one field, none of which follows from another"
)]
struct Field<'a> {
    shape: Shape<'a>,
    ignored: bool,
    written: Option<Leaf<'a>>,
    former: Option<Leaf<'a>>,
    baseline: Option<&'a BaselineField>,
    live: Option<Leaf<'a>>,
    planned: Option<Leaf<'a>>,
    /// By us, now.
    held: bool,
    /// By us, afterwards.
    will_be_held: bool,
    /// By others, now.
    held_by_others: bool,
}

impl Field<'_> {
    fn transition(&self, outlook: &Outlook<'_>) -> Transition {
        let us = outlook.manager;
        let (prev_owned, config_changed) = match outlook.before {
            Before::Untold => (
                self.held && !self.ignored,
                !self.held || !self.same(self.written.as_deref(), self.live.as_deref()),
            ),
            Before::Imported => (false, true),
            Before::Applied { .. } => {
                let ignored_before = self.baseline.is_some_and(|field| field.ignored);
                let held_before = self.baseline.is_some_and(|field| {
                    field.managers.contains(us) || (field.is_former() && self.will_be_held)
                });
                let edited = !self.same(self.written.as_deref(), self.former.as_deref());
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
            Some(Remembered::Absent) => self.live.is_some(),
            Some(Remembered::Text(text)) => {
                self.live.as_deref().is_none_or(|live| manifest::display(live) != *text)
            }
            Some(Remembered::Unknown) => false,
            // A field that is not there is held by nobody, whoever holds something around it.
            None => {
                self.live.is_some()
                    && self.held_by_others
                    && !self.same(self.live.as_deref(), self.written.as_deref())
            }
        }
    }

    /// How the value changes, if it does.
    fn change(self, is_masked: impl FnOnce() -> bool) -> Option<ValueChange> {
        if self.same(self.live.as_deref(), self.planned.as_deref()) {
            return None;
        }
        let [live, planned] = [self.live, self.planned].map(|value| value.map(Leaf::into_owned));
        Some(ValueChange { live, planned, masked: is_masked() })
    }

    /// Whether two values mean the same to Kubernetes; a field that is not there equals only another such.
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
