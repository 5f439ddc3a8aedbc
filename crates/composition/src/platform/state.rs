//! A platform at one time: what it defines, composes with and runs.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use manifest::GroupVersionKind;

use super::Objects;
use crate::catalogue::Catalogue;
use crate::composition::Composition;
use crate::condition::Conditions;
use crate::definition::Definition;
use crate::protocol::Object;
use crate::revision::{self, Step};
use crate::{function, object};

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) catalogue: Catalogue,
    /// By the name of the XRD.
    pub(super) definitions: BTreeMap<String, Definition>,
    pub(super) functions: Vec<Object>,
}

impl State {
    pub(super) fn new(objects: &Objects) -> Self {
        let name = |object: &Object| object::name(object).unwrap_or_default().to_owned();
        let mut catalogue = Catalogue::default();
        for composition in &objects.compositions {
            catalogue.put_composition(&name(composition), Composition::read(composition).ok());
        }
        for revision in &objects.revisions {
            catalogue.put_revision(&name(revision), Composition::read_revision(revision).ok());
        }
        let definitions = objects.definitions.iter().filter_map(|object| {
            let (definition, _) = Definition::read(object).ok()?;
            Some((name(object), definition))
        });
        Self { catalogue, definitions: definitions.collect(), functions: objects.functions.clone() }
    }

    /// Puts a changed Composition in place, with the revision that it would get.
    pub(super) fn revise(&mut self, composition: Composition, function_revisions: &[Object], now: Timestamp) {
        let name = object::name(&composition.object).unwrap_or_default().to_owned();
        let revision = match revision::next(&composition, self.catalogue.revisions(&name)) {
            Step::Nothing => None,
            Step::Renumber { name, number } => self.catalogue.revision(&name).map(|newest| {
                let mut newest = newest.object.clone();
                object::nested_mut(&mut newest, &["spec"]).insert("revision".to_owned(), number.into());
                newest
            }),
            Step::Create(new) => Some(*new),
        };
        if let Some(mut revision) = revision
            && let Ok(read) = Composition::read_revision(&revision)
        {
            let mut conditions = Conditions::of(&revision);
            conditions.set(function::valid_pipeline(&read, function_revisions, now));
            object::nested_mut(&mut revision, &["status"])
                .insert("conditions".to_owned(), conditions.to_value());
            let name = object::name(&revision).unwrap_or_default().to_owned();
            self.catalogue.put_revision(&name, Some(Composition { object: revision, ..read }));
        }
        self.catalogue.put_composition(&name, Some(composition));
    }

    /// The XRD of an XR, with its name.
    pub(super) fn definition_of(&self, xr: &Object) -> Option<(&String, &Definition)> {
        let gvk = GroupVersionKind::of(xr).ok()?;
        self.definitions.iter().find(|(_, definition)| definition.composite.is_same_kind(&gvk))
    }

    /// True if a Composition for XRs of `kind` runs one of these functions.
    pub(super) fn uses(&self, kind: &GroupVersionKind, functions: &BTreeSet<String>) -> bool {
        let mut revisions = functions.iter().flat_map(|function| self.catalogue.revisions_with(function));
        revisions.any(|(_, revision)| revision.spec.composite_type_ref.is_same_kind(kind))
    }
}
