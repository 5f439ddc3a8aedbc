//! Write-only parts of a body: sent and held like the rest of it, while their values stay out of plan, state and messages.
//!
//! The body that everything else works with has [`MARK`] in place of each such value, and so have the objects that the API
//! server returns, as soon as they arrive. The values themselves are only in what is sent. Private state keeps the marked
//! fields, so that a refresh, which has no configuration, knows which values to hide.

mod redact;
mod text;

use std::borrow::Cow;
use std::collections::BTreeMap;

use diag::Diagnostic;
use fields::{FieldPath, FieldSet, ListKind, PathElement, Positions, Schema, Shape};
use ownership::{Desired, FieldManager, ManagedFieldsError, Observed, Row};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::value::{Object, Value};

use crate::body::Body;
use crate::codes;
use crate::planned_change::PlannedChange;
use crate::private::WRITE_ONLY;
use crate::projection::{MANAGERS, VALUES};

pub(crate) use redact::HiddenTexts;
pub(crate) use text::validate;
use text::{parse, stored_form};

/// What is shown in place of a value.
pub(crate) const MARK: &str = "(write-only)";

/// The attributes of a resource that has a write-only part.
#[derive(Clone, Copy)]
pub(crate) struct Attributes {
    pub(crate) value: &'static str,
    pub(crate) version: &'static str,
}

/// A write-only part as it is configured.
pub(crate) struct WriteOnly {
    /// Its fields, with [`MARK`] for every value but the keys of lists.
    pub(crate) marks: Json,
    /// Its fields with their values; `None` if they are not known yet.
    values: Option<Json>,
    when: When,
}

/// When values are sent.
#[derive(Clone, PartialEq, Eq)]
enum When {
    /// The version is another one.
    Now,
    /// There is no version: whenever a live value is another one.
    Different,
    /// The version is the same. Each field keeps its live value, unless it was not among these fields of the last apply, or
    /// another manager has taken it since.
    Kept(Json),
}

/// What a body to send has in place of its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revealed {
    Everything,
    /// Not all values are known yet; the body has those of the live object instead. That is enough for a dry run.
    LiveValues,
    /// The marks, because the values are not known and there is no live object.
    Nothing,
}

/// Whether a write-only part is known.
pub(crate) enum Configured {
    Absent,
    Unknown,
    Known(WriteOnly),
}

impl WriteOnly {
    /// Reads the write-only part for a body of this `api_version` and `kind`.
    pub(crate) fn of(
        names: Attributes,
        change: &PlannedChange,
        (api_version, kind): (&str, &str),
    ) -> Result<Configured, Diagnostics> {
        let configured = change.config.get(names.value);
        if configured.is_null() {
            return Ok(Configured::Absent);
        }
        let stored = stored(&change.private);
        let version = change.planned.get(names.version);
        let versioned = !version.is_null();
        let before = change.prior.as_ref().map(|prior| prior.get(names.version));
        let same_version = versioned && !version.is_unknown() && before == Some(version);
        let before = stored.filter(|_| same_version);
        let Some(text) = configured.as_str() else {
            // Ephemeral values may be unknown in a plan; with a version they do not matter.
            return Ok(match before {
                Some(marks) => {
                    Configured::Known(Self { marks: marks.clone(), values: None, when: When::Kept(marks) })
                }
                None => Configured::Unknown,
            });
        };
        let values = stored_form(parse(names.value, text)?, api_version, kind);
        let marks = marked(&values, Schema::of_kind(api_version, kind).root());
        change.hidden.add(&values, &marks);
        let when = match before {
            _ if !versioned => When::Different,
            Some(before) => When::Kept(before),
            None => When::Now,
        };
        Ok(Configured::Known(Self { marks, values: Some(values), when }))
    }

    /// Puts the values into `body`, which has marks in their place; `live` is the object it is applied to, whose values stand
    /// for those that are not known yet.
    pub(crate) fn reveal(&self, body: &mut Json, live: Option<&Observed>, desired: &Desired<'_>) -> Revealed {
        let schema = Schema::of(body);
        let Some((values, revealed)) = self.values_for(live, &schema, desired) else {
            return Revealed::Nothing;
        };
        // Only where the body has a mark: ignored fields are left to others.
        let present = plan::values_at(body, &self.marks, schema.root());
        plan::replace_present(body, &only_marked(&present, &values), schema.root());
        revealed
    }

    /// The values to send for the object that is `live`; `None` if nothing is known of them.
    fn values_for(
        &self,
        live: Option<&Observed>,
        schema: &Schema,
        desired: &Desired<'_>,
    ) -> Option<(Cow<'_, Json>, Revealed)> {
        let (When::Kept(before), Some(live)) = (&self.when, live) else {
            return self.values.as_ref().map(|values| (Cow::Borrowed(values), Revealed::Everything));
        };
        let sent = self.sent(before, live, desired);
        let kept = plan::values_at(live.object(), &self.marks, schema.root());
        if sent.is_empty() {
            return Some((Cow::Owned(kept), Revealed::Everything));
        }
        let Some(new) = &self.values else { return Some((Cow::Owned(kept), Revealed::LiveValues)) };
        let mixed = Mix { sent: &sent, kept: &kept, new };
        let mixed = mixed.at(&self.marks, &FieldPath::root(), schema.root());
        Some((Cow::Owned(mixed), Revealed::Everything))
    }

    /// The fields whose values are sent although the version is the same as for `before`.
    fn sent(&self, before: &Json, live: &Observed, desired: &Desired<'_>) -> FieldSet {
        let known: FieldSet = paths(before, live.schema()).into_iter().collect();
        let all = applied(&self.marks, live.schema(), desired).paths().into_iter();
        all.filter(|path| !known.contains(path) || !is_held(live, path, desired.manager)).collect()
    }

    /// Whether an apply sends other values than `live` has; `answer` is the API server's response to its dry run.
    pub(crate) fn is_due(&self, live: Option<&Observed>, answer: &Observed, desired: &Desired<'_>) -> bool {
        let Some(live) = live else { return true };
        match &self.when {
            When::Now => true,
            When::Kept(before) => !self.sent(before, live, desired).is_empty(),
            When::Different => {
                let is_other = |path: &FieldPath| {
                    let value =
                        |object: &Observed| fields::value_at(object.object(), path, answer.schema()).cloned();
                    !is_held(live, path, desired.manager) || value(live) != value(answer)
                };
                applied(&self.marks, live.schema(), desired).paths().iter().any(is_other)
            }
        }
    }

    /// Whether the last answer of the API server can stand for the next one.
    pub(crate) fn may_be_remembered(&self) -> bool {
        matches!(self.when, When::Kept(_))
    }
}

/// What an apply does to write-only fields.
#[derive(Default)]
pub(crate) struct Effect {
    /// The marks of those that it sends or keeps.
    pub(crate) marks: Option<Json>,
    /// Whether it changes one of them in a way that only Apply can tell, so that Terraform has to call it.
    pub(crate) is_due: bool,
    /// The fields of the last apply that are no longer write-only.
    dropped: FieldSet,
    /// Those that another manager has changed since the last apply.
    pub(crate) changed_outside: FieldSet,
    /// Whether new values were asked for, too.
    is_edited: bool,
}

impl Effect {
    /// Of `now`, after an apply with the marks `stored`. `live` is the object before, and `answer` the API server's response
    /// to a dry run, both with their values.
    pub(crate) fn of(
        now: Option<&WriteOnly>,
        stored: Option<&Json>,
        (live, answer): (Option<&Observed>, &Observed),
        desired: &Desired<'_>,
    ) -> Self {
        let schema = answer.schema();
        let paths_of = |marks: &Json| paths(marks, schema).into_iter().collect::<FieldSet>();
        let before = stored.map(paths_of).unwrap_or_default();
        let marks = now.map(|now| now.marks.clone());
        let after = marks.as_ref().map(paths_of).unwrap_or_default();
        let dropped = before.difference(&after);
        let is_due = !dropped.is_empty() || now.is_some_and(|now| now.is_due(live, answer, desired));
        let is_unknown = now.is_some_and(|now| now.values.is_none());
        let after = desired.without_ignored(after, schema);
        let changed_outside = live.map(|live| {
            let is_changed = |path: &FieldPath| {
                let value = |object: &Observed| fields::value_at(object.object(), path, schema).cloned();
                let before = value(live);
                // What took a field from our manager by the value that it had would have left it to both.
                let is_lost = !is_held(live, path, desired.manager);
                is_lost && before.is_some() && (is_unknown || before != value(answer))
            };
            after.paths().into_iter().filter(|path| before.contains(path) && is_changed(path)).collect()
        });
        let is_edited = now.is_some_and(|now| now.when == When::Now);
        Self { marks, is_due, dropped, changed_outside: changed_outside.unwrap_or_default(), is_edited }
    }

    /// What becomes of the fields that another manager has changed.
    pub(crate) fn row(&self) -> Row {
        if self.is_edited { Row::OverwriteConcurrent } else { Row::RevertDrift }
    }

    /// The planned `values` of a body, of which those that are no longer write-only are shown once they are applied.
    pub(crate) fn planned(&self, values: Value, written: &Json, schema: &Schema) -> Value {
        let Value::Object(mut values) = values else { return values };
        let positions = Positions::of(written, schema);
        for path in self.dropped.paths() {
            let name = positions.print(&path);
            if !values.get(&name).is_null() {
                values.set(&name, Value::unknown());
            }
        }
        Value::Object(values)
    }
}

/// Kept values of an object, with new ones for the fields that are `sent`. All have the structure of the marks.
#[derive(Clone, Copy)]
struct Mix<'a> {
    sent: &'a FieldSet,
    kept: &'a Json,
    new: &'a Json,
}

impl Mix<'_> {
    fn at(self, marks: &Json, path: &FieldPath, shape: Shape<'_>) -> Json {
        let Self { sent, kept, new } = self;
        if sent.contains(path) {
            return new.clone();
        }
        match marks {
            Json::Object(fields) => fields
                .iter()
                .map(|(name, mark)| {
                    let element = PathElement::field(name);
                    let below = Self { sent, kept: &kept[name], new: &new[name] };
                    (name.clone(), below.at(mark, &path.child(element), shape.field(name)))
                })
                .collect(),
            Json::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, mark)| {
                    let below = Self { sent, kept: &kept[index], new: &new[index] };
                    below.at(mark, &path.child(shape.item(index, mark)), shape.element())
                })
                .collect(),
            // Not a mark, but the key of an item.
            mark if *mark != MARK => mark.clone(),
            _ => kept.clone(),
        }
    }
}

/// Lays the marks over a body, so that positions, projections and baselines include the write-only fields.
pub(crate) fn add_marks(body: &mut Body, marks: &Json) {
    let schema = Schema::of(&body.value);
    plan::lay_over(&mut body.value, marks, schema.root());
}

/// Makes a planned update unknown as far as fields may be added to it that only the apply knows of.
pub(crate) fn await_values(names: Attributes, change: &PlannedChange, planned: &mut Object) {
    if change.config.get(names.value).is_unknown() && !change.is_prior(planned) {
        planned.set(VALUES, Value::unknown());
        planned.set(MANAGERS, Value::unknown());
    }
}

/// The warning that a plan cannot compare values that are not known yet. With a version, it does not have to.
pub(crate) fn compared_at_apply(names: Attributes, change: &PlannedChange) -> Option<Diagnostic> {
    let Attributes { value, version } = names;
    let is_compared = change.planned.get(version).is_null() && !change.is_create();
    is_compared.then(|| {
        Diagnostic::warning(codes::WRITE_ONLY_UNKNOWN, "Write-Only Values Not Known Yet")
            .detail(format!(
                "The values of {value} are known only at apply, so that this plan cannot tell whether the live object has them. The \
                 apply compares them, and changes the object if they differ."
            ))
            .field(value)
            .hint(format!("Set {version} to send them only when it changes."))
    })
}

/// The body of a state, with the marks of the last apply.
pub(crate) fn stored_body(body: Option<Body>, private: &tfplugin::private::Private) -> Option<Body> {
    let mut body = body?;
    if let Some(marks) = stored(private) {
        add_marks(&mut body, &marks);
    }
    Some(body)
}

pub(crate) fn stored(private: &tfplugin::private::Private) -> Option<Json> {
    private.get_as(WRITE_ONLY)
}

/// The marks of this apply and of the last one: what is no longer write-only is not shown before it is applied.
pub(crate) fn all_marks(now: Option<&WriteOnly>, stored: Option<Json>, schema: &Schema) -> Option<Json> {
    match (now, stored) {
        (Some(now), Some(mut all)) => {
            plan::lay_over(&mut all, &now.marks, schema.root());
            Some(all)
        }
        (now, stored) => now.map(|now| now.marks.clone()).or(stored),
    }
}

/// The object with marks in place of write-only values.
pub(crate) fn hidden(object: Observed, marks: Option<&Json>) -> Result<Observed, ManagedFieldsError> {
    let Some(marks) = marks else { return Ok(object) };
    let schema = object.schema().clone();
    let mut object = object.into_object();
    plan::replace_present(&mut object, marks, schema.root());
    Observed::new(object)
}

/// Adds the write-only fields to the projection of `object`: as marks, or as changed by another manager.
pub(crate) fn show(
    projection: &mut BTreeMap<String, String>,
    marks: &Json,
    object: &Observed,
    desired: &Desired<'_>,
) {
    let text = |path: &FieldPath| -> Json {
        if is_held(object, path, desired.manager) {
            return MARK.into();
        }
        match object.managed().holders(path).first() {
            Some(manager) => format!("(write-only, changed outside by {manager})").into(),
            None => "(write-only, removed outside)".into(),
        }
    };
    let schema = object.schema();
    let shown = applied(marks, schema, desired).paths().into_iter();
    let shown = shown.map(|path| (path.clone(), text(&path))).collect();
    projection.extend(fields::flat_values(&shown, &Positions::of(desired.written, schema)));
}

fn is_held(object: &Observed, path: &FieldPath, manager: &FieldManager) -> bool {
    object.managed().holders(path).contains(manager)
}

/// Where the marks are, apart from the fields that are left to others.
fn applied(marks: &Json, schema: &Schema, desired: &Desired<'_>) -> FieldSet {
    desired.without_ignored(paths(marks, schema).into_iter().collect(), schema)
}

/// Where the marks are. An item that is held as a whole counts as one.
fn paths(marks: &Json, schema: &Schema) -> Vec<FieldPath> {
    let leaves = fields::written(marks, schema).leaves().paths();
    let is_marked = |path: &FieldPath| fields::value_at(marks, path, schema).is_some_and(has_mark);
    leaves.into_iter().filter(is_marked).collect()
}

fn has_mark(value: &Json) -> bool {
    match value {
        Json::Object(fields) => fields.values().any(has_mark),
        Json::Array(items) => items.iter().any(has_mark),
        value => *value == MARK,
    }
}

/// `values` where `present` has a mark; elsewhere what `present` has.
fn only_marked(present: &Json, values: &Json) -> Json {
    match (present, values) {
        (Json::Object(present), Json::Object(values)) => {
            let field = |(name, value): (&String, &Json)| {
                (name.clone(), values.get(name).map_or_else(|| value.clone(), |new| only_marked(value, new)))
            };
            present.iter().map(field).collect()
        }
        (Json::Array(present), Json::Array(values)) if present.len() == values.len() => {
            present.iter().zip(values).map(|(present, values)| only_marked(present, values)).collect()
        }
        (present, values) if *present == MARK => values.clone(),
        (present, _) => present.clone(),
    }
}

/// The fields with a mark for every value but the keys of lists.
fn marked(value: &Json, shape: Shape<'_>) -> Json {
    match value {
        Json::Null => Json::Null,
        Json::Object(fields) if !shape.is_atomic() => {
            fields.iter().map(|(name, field)| (name.clone(), marked(field, shape.field(name)))).collect()
        }
        Json::Array(items) if let ListKind::Keyed(keys) = shape.list_kind() => {
            let is_key = |name: &str| keys.iter().any(|key| *key.name == *name);
            let field = |(name, value): (&String, &Json)| {
                let marked = match value {
                    key if is_key(name) => key.clone(),
                    _ if shape.element().is_atomic() => MARK.into(),
                    value => marked(value, shape.element().field(name)),
                };
                (name.clone(), marked)
            };
            let item = |item: &Json| -> Json {
                match item {
                    Json::Object(fields) => fields.iter().map(field).collect(),
                    _ => MARK.into(),
                }
            };
            items.iter().map(item).collect()
        }
        _ => MARK.into(),
    }
}

#[cfg(test)]
mod tests;
