//! The two maps that show an object in a plan: the values of the fields we hold, and the manager of each field.
//!
//! Paths and texts are the Go provider's, so its states read as unchanged. List positions follow the written body,
//! whichever object the values come from, so that plan, apply and read agree.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use fields::{FieldPath, FieldSet, PathElement, Positions, Schema};
use manifest::secret::{self, MaskKey};
use ownership::{Desired, FieldManager, Observed};
use serde_json::Value;
use tfplugin::private::Private;
use tfplugin::value::{Object, Value as Attribute};

use crate::private::{Keys as _, MASK_KEY};

pub(crate) const VALUES: &str = "managed_state_projection";
pub(crate) const MANAGERS: &str = "managed_fields";

/// The maps, path → text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Maps {
    /// The values of the fields we hold. Values of Secrets are masked.
    pub(crate) values: BTreeMap<String, String>,
    /// The manager of each field.
    pub(crate) managers: BTreeMap<String, String>,
    /// Which of the values are strings: `"80"`, not 80.
    texts: BTreeSet<FieldPath>,
}

impl Maps {
    /// The maps of `object`, given the `desired` state; `key` masks the values of a Secret.
    pub(crate) fn of(object: &Observed, desired: &Desired<'_>, key: &MaskKey) -> Self {
        Self::after_release(object, desired, &FieldSet::new(), key)
    }

    /// The maps of `object` after our manager has released `released`.
    pub(crate) fn after_release(
        object: &Observed,
        desired: &Desired<'_>,
        released: &FieldSet,
        key: &MaskKey,
    ) -> Self {
        let schema = object.schema();
        let positions = Positions::of(desired.written, schema);
        let held = object.managed().entries().iter().map(|entry| {
            let ours = entry.manager == *desired.manager && !released.is_empty();
            let fields =
                if ours { entry.fields.recursive_difference(released) } else { entry.fields.clone() };
            (entry.manager.as_str(), fields)
        });
        let held: Vec<(&str, FieldSet)> = held.collect();
        let projected = projected_fields(&held, desired, schema);
        let values = fields::leaf_values(&masked(object.object(), key), &projected, schema);
        let texts = values.iter().filter(|(_, value)| value.is_string()).map(|(path, _)| path.clone());
        Self {
            texts: texts.collect(),
            values: fields::flat_values(&values, &positions),
            managers: fields::flat_managers(
                held.iter().map(|(manager, set)| (*manager, set)),
                desired.manager.as_str(),
                &positions,
            ),
        }
    }

    /// The maps of a patch: only what `manager` holds, whose name is shown without the id. List positions follow
    /// `written`.
    pub(crate) fn of_patch(
        object: &Observed,
        manager: &FieldManager,
        written: &Value,
        key: &MaskKey,
    ) -> Self {
        const SHOWN: &str = "k8sconnect-patch";
        let held = object.held_by(manager);
        let positions = Positions::of(written, object.schema());
        let managers = fields::flat_managers([(SHOWN, &held)], SHOWN, &positions);
        let values = fields::leaf_values(&masked(object.object(), key), &held.leaves(), object.schema());
        Self { values: fields::flat_values(&values, &positions), managers, texts: BTreeSet::new() }
    }

    /// The values as a plan shows them. The key of new masks is made at apply, because Terraform repeats the plan then
    /// and does not accept other masks; until then masks without a key stand for them.
    pub(crate) fn planned_values(&self, renews_masks: bool) -> Attribute {
        let value = |text: &str| {
            if renews_masks && secret::is_mask(text) { Attribute::unknown() } else { Attribute::from(text) }
        };
        Attribute::Object(self.values.iter().map(|(path, text)| (path.as_str(), value(text))).collect())
    }

    /// Sets both attributes.
    pub(crate) fn set_on(&self, state: &mut Object) {
        state.set(VALUES, attribute(&self.values));
        state.set(MANAGERS, attribute(&self.managers));
    }

    /// Whether a value has another type than in `other`, which its text does not show.
    pub(crate) fn differ_in_type(&self, other: &Self) -> bool {
        self.texts != other.texts
    }
}

/// A map as a Terraform value.
pub(crate) fn attribute(map: &BTreeMap<String, String>) -> Attribute {
    Attribute::Object(map.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect())
}

/// The entries of a Terraform map; `None` if it is null or unknown.
pub(crate) fn texts(attribute: &Attribute) -> Option<BTreeMap<String, String>> {
    let entries = attribute.as_object()?.iter();
    Some(entries.filter_map(|(path, text)| Some((path.to_owned(), text.as_str()?.to_owned()))).collect())
}

/// `planned` with the values of `found` where it is unknown.
pub(crate) fn filled(planned: &Attribute, found: &BTreeMap<String, String>) -> Attribute {
    let Some(entries) = planned.as_object().filter(|_| !planned.is_wholly_known()) else {
        return if planned.is_unknown() { attribute(found) } else { planned.clone() };
    };
    let fill = |path: &str, value: &Attribute| {
        if !value.is_unknown() {
            return value.clone();
        }
        found.get(path).map_or(Attribute::Null, |text| Attribute::from(text.as_str()))
    };
    Attribute::Object(entries.iter().map(|(path, value)| (path, fill(path, value))).collect())
}

/// Stores a new key of masks for an apply of a Secret, unless the plan already shows masks: those of the state for an
/// update, whose key stays.
pub(crate) fn renew_masks(private: &mut Private, object: &Value, planned: &Attribute, is_create: bool) {
    let shown = texts(planned).unwrap_or_default();
    let is_kept = private.has(MASK_KEY) || shown.values().any(|text| secret::is_former_mask(text));
    if secret::is_secret(object) && (is_create || !is_kept) {
        private.renew_mask_key();
    }
}

/// The fields whose values are in the projection: those we hold, except ignored ones, and the object's identity. While
/// we hold nothing, as after an import, the written fields.
fn projected_fields(held: &[(&str, FieldSet)], desired: &Desired<'_>, schema: &Schema) -> FieldSet {
    let ours = held.iter().filter(|(manager, _)| *manager == desired.manager.as_str());
    let ours = ours.fold(FieldSet::new(), |all, (_, set)| all.union(set));
    let ours = if ours.is_empty() { fields::written(desired.written, schema) } else { ours };
    let ours = desired.without_ignored(ours.leaves(), schema);
    let in_body = |path: &FieldPath| has_items_of(path, desired.written, schema);
    let projected: FieldSet = ours.paths().into_iter().filter(in_body).collect();
    projected.union(&fields::identity())
}

/// Whether the list items on the way to a field are in the body. Items that a webhook adds in our name were not
/// written.
fn has_items_of(path: &FieldPath, body: &Value, schema: &Schema) -> bool {
    let elements = path.elements();
    let items = elements.iter().enumerate().filter(|(_, element)| !matches!(element, PathElement::Field(_)));
    let mut prefixes = items.map(|(index, _)| elements[..=index].iter().cloned().collect::<FieldPath>());
    prefixes.all(|prefix| fields::value_at(body, &prefix, schema).is_some())
}

/// The object with the values of a Secret masked, in their stored form.
fn masked<'a>(object: &'a Value, key: &MaskKey) -> Cow<'a, Value> {
    if !secret::is_secret(object) {
        return Cow::Borrowed(object);
    }
    let mut stored = object.clone();
    secret::normalise(&mut stored);
    Cow::Owned(secret::masked(&stored, key))
}

#[cfg(test)]
mod tests;
