//! Compositions, XRDs and Functions as they are and as they would be, and which XRs the difference concerns.

mod relevance;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use diag::Diagnostic;
use jiff::Timestamp;
use manifest::{GroupVersionKind, ObjectRef};

pub use relevance::Relevance;
use state::State;

use crate::composite::{Composite, UpdatePolicy};
use crate::composition::Composition;
use crate::definition::Definition;
use crate::function::{self, ANNOTATION_ENDPOINT, Location};
use crate::protocol::Object;
use crate::runner::RunError;
use crate::selection::{NotSelected, Selected, select};
use crate::{codes, crd, object};

/// The group of Compositions, their revisions and XRDs.
pub const ENGINE: &str = "apiextensions.crossplane.io";
/// The group of Functions and their revisions.
pub const PACKAGES: &str = "pkg.crossplane.io";

/// True of objects whose change may concern XRs.
pub fn is_platform(target: &ObjectRef) -> bool {
    matches!(
        (target.group(), target.kind()),
        (ENGINE, "Composition" | "CompositeResourceDefinition") | (PACKAGES, "Function")
    )
}

/// The objects of a platform.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub definitions: Vec<Object>,
    pub compositions: Vec<Object>,
    pub revisions: Vec<Object>,
    pub functions: Vec<Object>,
    pub function_revisions: Vec<Object>,
}

/// A platform before and after a change.
#[derive(Debug)]
pub struct Platform {
    now: State,
    then: State,
    changed: Changed,
    /// Problems of the changed objects.
    problems: Vec<Diagnostic>,
    function_revisions: Vec<Object>,
}

/// The names of what changes.
#[derive(Debug, Default)]
struct Changed {
    compositions: BTreeSet<String>,
    definitions: BTreeSet<String>,
    functions: BTreeSet<String>,
}

/// How a change concerns an XR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    No,
    /// It would be composed again.
    Yes,
    /// It stays with its revision of a Composition that changes.
    Pinned,
    /// It would be composed again if it were not paused.
    Paused,
    /// It would be composed again if it were not being deleted.
    Going,
}

impl Platform {
    /// The platform that `objects` make, and what `changed` would make of it: Compositions, XRDs and Functions as the API
    /// server would store them. The functions `moved` are found elsewhere, too.
    pub fn new(objects: Objects, changed: &[Object], moved: BTreeSet<String>, now: Timestamp) -> Self {
        let state = State::new(&objects);
        let mut platform = Self {
            then: state.clone(),
            now: state,
            changed: Changed { functions: moved, ..Changed::default() },
            problems: Vec::new(),
            function_revisions: objects.function_revisions,
        };
        for object in changed {
            platform.change(object, now);
        }
        platform
    }

    fn change(&mut self, object: &Object, now: Timestamp) {
        let name = object::name(object).unwrap_or_default().to_owned();
        match object::text(object, &["kind"]).unwrap_or_default() {
            "Composition" => match Composition::read(object) {
                Ok(composition) => {
                    self.then.revise(composition, &self.function_revisions, now);
                    self.changed.compositions.insert(name);
                }
                Err(found) => self.problems.extend(found),
            },
            "CompositeResourceDefinition" => match Definition::read(object) {
                Ok((definition, _)) => {
                    self.then.definitions.insert(name.clone(), definition);
                    self.changed.definitions.insert(name);
                }
                Err(found) => self.problems.extend(found),
            },
            "Function" => {
                let before = self.now.functions.iter().find(|one| object::name(one) == Some(&name));
                let endpoint =
                    |function: &Object| object::annotation(function, ANNOTATION_ENDPOINT).map(str::to_owned);
                let package =
                    |function: &Object| object::text(function, &["spec", "package"]).map(str::to_owned);
                let is_moved = before.is_none_or(|before| endpoint(before) != endpoint(object));
                if endpoint(object).is_none()
                    && before.is_none_or(|before| package(before) != package(object))
                {
                    self.problems.push(not_running(&name));
                } else if is_moved {
                    self.changed.functions.insert(name.clone());
                }
                self.then.functions.retain(|function| object::name(function) != Some(&name));
                self.then.functions.push(object.clone());
            }
            _ => {}
        }
    }

    /// Problems of the changed objects, and what cannot be known about them.
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// The kinds of XRs that the change may concern, as they are now.
    pub fn kinds(&self) -> Vec<GroupVersionKind> {
        let of_compositions = |state: &State| {
            let named = self.changed.compositions.iter().filter_map(|name| state.catalogue.composition(name));
            named.map(|composition| composition.spec.composite_type_ref.clone()).collect::<Vec<_>>()
        };
        let types: Vec<GroupVersionKind> =
            [&self.now, &self.then].into_iter().flat_map(of_compositions).collect();
        let concerned = |(name, definition): &(&String, &Definition)| {
            self.changed.definitions.contains(*name)
                || types.iter().any(|of| of.is_same_kind(&definition.composite))
                || self.then.uses(&definition.composite, &self.changed.functions)
        };
        let definitions = self.now.definitions.iter().filter(concerned);
        definitions.map(|(_, definition)| definition.composite.clone()).collect()
    }

    /// How the change concerns an XR.
    pub fn concern(&self, xr: &Object) -> Concern {
        let Some((name, then)) = self.then.definition_of(xr) else { return Concern::No };
        let Some((_, now)) = self.now.definition_of(xr) else { return Concern::No };
        let composite = Composite::new(xr, then.scope.layout());
        let before = select(Composite::new(xr, now.scope.layout()), now, &self.now.catalogue);
        let after = self.select(composite, then);
        let is_concerned = self.changed.definitions.contains(name)
            || match (&before, &after) {
                (Ok(before), Ok(after)) => {
                    self.uses_changed(&after.revision) || !same_content(&before.revision, &after.revision)
                }
                // A selection that fails before and after is not this change's concern.
                (Err(_), Err(_)) => false,
                _ => true,
            };
        let uses = composite.composition_ref();
        if !is_concerned {
            let is_pinned = composite.update_policy() == Some(UpdatePolicy::Manual)
                || composite.revision_selector().is_some();
            let changes = uses.is_some_and(|uses| self.changed.compositions.contains(uses));
            return if changes && is_pinned { Concern::Pinned } else { Concern::No };
        }
        if object::is_being_deleted(xr) {
            Concern::Going
        } else if composite.is_paused() {
            Concern::Paused
        } else {
            Concern::Yes
        }
    }

    fn uses_changed(&self, revision: &Composition) -> bool {
        revision.spec.pipeline.iter().any(|step| self.changed.functions.contains(&step.function_ref.name))
    }

    /// The XRD of an XR as it would be.
    pub fn definition_of(&self, xr: &Object) -> Option<&Definition> {
        self.then.definition_of(xr).map(|(_, definition)| definition)
    }

    /// Makes `xr` what the CRD of its XRD would serve, if the XRD changes; the fields that are lost.
    pub fn redefine(&self, xr: &mut Object) -> Vec<String> {
        let Some((_, definition)) =
            self.then.definition_of(xr).filter(|(name, _)| self.changed.definitions.contains(*name))
        else {
            return Vec::new();
        };
        let crd = crd::composite(definition);
        let version = definition.composite.api_version().to_string();
        xr.insert("apiVersion".to_owned(), version.into());
        let pruned = crd::prune(xr, &crd);
        crd::fill_defaults(xr, &crd);
        pruned
    }

    /// Selects the Composition and revision that an XR would use.
    pub fn select(&self, xr: Composite<'_>, definition: &Definition) -> Result<Selected, NotSelected> {
        select(xr, definition, &self.then.catalogue)
    }

    /// The Composition called `name` as it would be.
    pub fn composition(&self, name: &str) -> Option<&Composition> {
        self.then.catalogue.composition(name)
    }

    /// True if a function has another address than the engine knows.
    pub fn moves_functions(&self) -> bool {
        !self.changed.functions.is_empty()
    }

    /// Finds functions as the engine would; `flags` take precedence.
    pub fn locate(
        &self,
        flags: BTreeMap<String, String>,
    ) -> impl Fn(&str) -> Result<Location, RunError> + Send + Sync + 'static {
        let (functions, revisions) = (self.then.functions.clone(), self.function_revisions.clone());
        move |name| function::find(name, &flags, &revisions, &functions)
    }
}

/// True if two revisions compose the same. Annotations count: one names who composes.
fn same_content(one: &Composition, other: &Composition) -> bool {
    let spec = |revision: &Composition| {
        let mut spec = revision.spec.clone();
        spec.revision = 0;
        spec
    };
    let annotations =
        |revision: &Composition| object::nested(&revision.object, &["metadata", "annotations"]).cloned();
    spec(one) == spec(other) && annotations(one) == annotations(other)
}

fn not_running(name: &str) -> Diagnostic {
    Diagnostic::warning(
        codes::FUNCTION_NOT_RUNNING,
        format!("cannot preview the new package of Function {name}"),
    )
    .object(format!("Function {name}"))
    .detail("It runs only once the Function is applied. XRs are rendered with the package that runs now.")
    .hint(format!("Run the new version yourself, and pass --function {name}=HOST:PORT."))
}

#[cfg(test)]
mod tests;
