//! Compositions, XRDs and Functions as they are and as they would be, and which XRs the difference concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::{Error, Selection, Session};
use composition::RunError;
use composition::composite::{Composite, UpdatePolicy};
use composition::composition::Composition;
use composition::condition::Conditions;
use composition::definition::Definition;
use composition::function::{self, ANNOTATION_ENDPOINT, Location};
use composition::object;
use composition::protocol::Object;
use composition::revision::{self, Step};
use diag::Diagnostic;
use jiff::Timestamp;
use manifest::{GroupVersionKind, ObjectRef};
use serde_json::Value;

use crate::composition::catalogue::Catalogue;
use crate::composition::composite::selection::{NotSelected, Selected, select};
use crate::composition::kinds::Kind;
use crate::runtime::store::{Change, Key};

const ENGINE: &str = "apiextensions.crossplane.io";
const PACKAGES: &str = "pkg.crossplane.io";

/// Whether a change of such an object may concern XRs.
pub fn is_platform(target: &ObjectRef) -> bool {
    matches!(
        (target.group(), target.kind()),
        (ENGINE, "Composition" | "CompositeResourceDefinition") | (PACKAGES, "Function")
    )
}

/// A platform before and after a change.
pub struct Platform {
    now: State,
    then: State,
    changed: Changed,
    /// What is wrong with the changed objects.
    problems: Vec<Diagnostic>,
}

struct State {
    catalogue: Catalogue,
    /// By the name of the XRD.
    kinds: BTreeMap<String, Kind>,
    functions: Vec<Object>,
    function_revisions: Arc<Vec<Object>>,
}

/// The names of what changes.
#[derive(Default)]
struct Changed {
    compositions: BTreeSet<String>,
    definitions: BTreeSet<String>,
    functions: BTreeSet<String>,
}

/// Whether and how a change concerns an XR.
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
    /// The platform of a cluster, and what `changed` would make of it: Compositions, XRDs and Functions as the API server
    /// would store them. The functions `moved` are found elsewhere, too.
    pub async fn read(
        session: &Session,
        changed: &[Object],
        moved: impl IntoIterator<Item = String>,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let moved: BTreeSet<String> = moved.into_iter().collect();
        let relevance = Relevance::of(changed, &moved);
        let all = |_: &Value| true;
        let relevant = |object: &Value| relevance.concerns(object);
        let (definitions, compositions, revisions, functions, function_revisions) = futures::try_join!(
            list(session, ENGINE, "CompositeResourceDefinition", &all),
            list(session, ENGINE, "Composition", &relevant),
            list(session, ENGINE, "CompositionRevision", &relevant),
            list(session, PACKAGES, "Function", &all),
            list(session, PACKAGES, "FunctionRevision", &all),
        )?;
        let function_revisions = Arc::new(function_revisions);
        let read = || State::new(&definitions, &compositions, &revisions, &functions, &function_revisions);
        let mut platform =
            Self { now: read(), then: read(), changed: Changed::default(), problems: Vec::new() };
        platform.changed.functions = moved;
        for object in changed {
            platform.change(object, now);
        }
        Ok(platform)
    }

    fn change(&mut self, object: &Object, now: Timestamp) {
        let name = object::name(object).unwrap_or_default().to_owned();
        match object::text(object, &["kind"]).unwrap_or_default() {
            "Composition" => match Composition::read(object) {
                Ok(composition) => {
                    self.then.revise(&composition, now);
                    self.changed.compositions.insert(name);
                }
                Err(found) => self.problems.extend(found),
            },
            "CompositeResourceDefinition" => match Definition::read(object) {
                Ok((definition, _)) => {
                    self.then.kinds.insert(name.clone(), Kind::new(definition));
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

    /// What is wrong with the changed objects, or cannot be known about them.
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Whether anything changes that may concern an XR.
    pub fn is_changed(&self) -> bool {
        let Changed { compositions, definitions, functions } = &self.changed;
        !(compositions.is_empty() && definitions.is_empty() && functions.is_empty())
    }

    /// The kinds of XRs that the change may concern, as they are now.
    pub fn kinds(&self) -> Vec<GroupVersionKind> {
        let of_compositions = |state: &State| {
            let named = self.changed.compositions.iter().filter_map(|name| state.catalogue.composition(name));
            named.map(|composition| composition.spec.composite_type_ref).collect::<Vec<_>>()
        };
        let types: Vec<GroupVersionKind> =
            [&self.now, &self.then].into_iter().flat_map(of_compositions).collect();
        let concerned = |(name, kind): &(&String, &Kind)| {
            self.changed.definitions.contains(*name)
                || types.iter().any(|of| of.is_same_kind(&kind.composite))
                || self.then.uses(&kind.composite, &self.changed.functions)
        };
        self.now.kinds.iter().filter(concerned).map(|(_, kind)| kind.composite.clone()).collect()
    }

    /// Whether the change concerns an XR.
    pub fn concern(&self, xr: &Object) -> Concern {
        let Some((name, then)) = self.then.kind_of(xr) else { return Concern::No };
        let Some((_, now)) = self.now.kind_of(xr) else { return Concern::No };
        let composite = Composite::new(xr, then.definition.scope.layout());
        let before = select(Composite::new(xr, now.definition.scope.layout()), now, &self.now.catalogue);
        let after = select(composite, then, &self.then.catalogue);
        let is_concerned = self.changed.definitions.contains(name)
            || match (&before, &after) {
                (Ok(before), Ok(after)) => {
                    self.uses_changed(&after.revision) || !same_content(&before.revision, &after.revision)
                }
                // What fails now and then is not this change's concern.
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

    /// The kind of an XR as it would be, and whether its XRD changes.
    pub(super) fn kind_of(&self, xr: &Object) -> Option<(&Kind, bool)> {
        let (name, kind) = self.then.kind_of(xr)?;
        Some((kind, self.changed.definitions.contains(name)))
    }

    pub(super) fn select(&self, xr: Composite<'_>, kind: &Kind) -> Result<Selected, NotSelected> {
        select(xr, kind, &self.then.catalogue)
    }

    pub(super) fn composition(&self, name: &str) -> Option<Composition> {
        self.then.catalogue.composition(name)
    }

    /// Whether a function has another address than the engine knows.
    pub(crate) fn moves_functions(&self) -> bool {
        !self.changed.functions.is_empty()
    }

    /// Finds functions as the engine would; `flags` take precedence.
    pub fn locate(
        &self,
        flags: BTreeMap<String, String>,
    ) -> impl Fn(&str) -> Result<Location, RunError> + Send + Sync + 'static {
        let (functions, revisions) = (self.then.functions.clone(), Arc::clone(&self.then.function_revisions));
        move |name| function::find(name, &flags, &revisions, &functions)
    }
}

impl State {
    fn new(
        definitions: &[Object],
        compositions: &[Object],
        revisions: &[Object],
        functions: &[Object],
        function_revisions: &Arc<Vec<Object>>,
    ) -> Self {
        let catalogue = Catalogue::new();
        for composition in compositions {
            catalogue.composition_changed(&new(composition));
        }
        for revision in revisions {
            catalogue.revision_changed(&new(revision));
        }
        let kinds = definitions.iter().filter_map(|definition| {
            let (read, _) = Definition::read(definition).ok()?;
            Some((object::name(definition)?.to_owned(), Kind::new(read)))
        });
        Self {
            kinds: kinds.collect(),
            catalogue,
            functions: functions.to_vec(),
            function_revisions: Arc::clone(function_revisions),
        }
    }

    /// Puts a changed Composition in place, with the revision that it would get.
    fn revise(&self, composition: &Composition, now: Timestamp) {
        let name = object::name(&composition.object).unwrap_or_default();
        let revisions = self.catalogue.revisions(name);
        let revision = match revision::next(composition, &revisions) {
            Step::Nothing => None,
            Step::Renumber { name, number } => self.catalogue.revision(&name).map(|mut newest| {
                object::nested_mut(&mut newest.object, &["spec"])
                    .insert("revision".to_owned(), number.into());
                newest.object
            }),
            Step::Create(new) => Some(*new),
        };
        if let Some(revision) = revision
            && let Ok(read) = Composition::read_revision(&revision)
        {
            let mut conditions = Conditions::of(&revision);
            conditions.set(function::valid_pipeline(&read, &self.function_revisions, now));
            let mut revision = revision;
            object::nested_mut(&mut revision, &["status"])
                .insert("conditions".to_owned(), conditions.to_value());
            self.catalogue.revision_written(revision);
        }
        self.catalogue.composition_changed(&new(&composition.object));
    }

    fn kind_of(&self, xr: &Object) -> Option<(&String, &Kind)> {
        let gvk = GroupVersionKind::of(xr).ok()?;
        self.kinds.iter().find(|(_, kind)| kind.composite.is_same_kind(&gvk))
    }

    /// Whether a Composition for XRs of `kind` runs one of these functions.
    fn uses(&self, kind: &GroupVersionKind, functions: &BTreeSet<String>) -> bool {
        let revisions = functions.iter().flat_map(|function| self.catalogue.revisions_with(function));
        revisions
            .filter_map(|revision| self.catalogue.revision(&revision))
            .any(|revision| revision.spec.composite_type_ref.is_same_kind(kind))
    }
}

/// The change by which an object appears.
fn new(object: &Object) -> Change {
    let key = Key::cluster_scoped(object::name(object).unwrap_or_default());
    Change { key, before: None, after: Some(Arc::new(Value::Object(object.clone()))) }
}

/// Whether two revisions compose the same. Annotations count: one names who composes.
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

/// Which Compositions and revisions matter to a change. Clusters have many, and each is large.
struct Relevance {
    /// The group and kind of XRs.
    kinds: BTreeSet<(String, String)>,
    functions: BTreeSet<String>,
}

impl Relevance {
    fn of(changed: &[Object], moved: &BTreeSet<String>) -> Self {
        let mut relevance = Self { kinds: BTreeSet::new(), functions: moved.clone() };
        for object in changed {
            let text = |path: &[&str]| object::text(object, path).unwrap_or_default().to_owned();
            match object::text(object, &["kind"]).unwrap_or_default() {
                "Composition" => {
                    let version = text(&["spec", "compositeTypeRef", "apiVersion"]);
                    let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
                    relevance.kinds.insert((group, text(&["spec", "compositeTypeRef", "kind"])));
                }
                "CompositeResourceDefinition" => {
                    relevance.kinds.insert((text(&["spec", "group"]), text(&["spec", "names", "kind"])));
                }
                "Function" => {
                    relevance.functions.insert(text(&["metadata", "name"]));
                }
                _ => {}
            }
        }
        relevance
    }

    /// Whether a Composition, or a revision of one, matters.
    fn concerns(&self, composition: &Value) -> bool {
        let of = &composition["spec"]["compositeTypeRef"];
        let group =
            of["apiVersion"].as_str().and_then(|version| version.split_once('/')).map(|(group, _)| group);
        let kind = (group.unwrap_or_default().to_owned(), of["kind"].as_str().unwrap_or_default().to_owned());
        let steps = composition["spec"]["pipeline"].as_array();
        let mut functions =
            steps.into_iter().flatten().filter_map(|step| step["functionRef"]["name"].as_str());
        self.kinds.contains(&kind) || functions.any(|function| self.functions.contains(function))
    }
}

/// The objects of a kind that are relevant; none if there is no such kind. The others are dropped page by page.
async fn list(
    session: &Session,
    group: &str,
    kind: &str,
    is_relevant: &(dyn Fn(&Value) -> bool + Send + Sync),
) -> Result<Vec<Object>, Error> {
    let kind: GroupVersionKind = format!("{group}/v1/{kind}").parse().expect("a fixed kind");
    let keep = |mut object: Value| {
        let ownership = manifest::server_metadata::OWNERSHIP;
        is_relevant(&object).then(|| {
            manifest::server_metadata::remove(object.get_mut("metadata"), ownership);
            object::from_value(object)
        })
    };
    match session.list_kept(&kind, &Selection::default(), &keep).await {
        Err(error) if error.is_kind_absent() => Ok(Vec::new()),
        listed => Ok(listed?.items.into_iter().flatten().collect()),
    }
}

fn not_running(name: &str) -> Diagnostic {
    Diagnostic::warning(
        crate::codes::FUNCTION_NOT_RUNNING,
        format!("cannot preview the new package of Function {name}"),
    )
    .object(format!("Function {name}"))
    .detail("It runs only once the Function is applied. XRs are rendered with the package that runs now.")
    .hint(format!("Run the new version yourself, and pass --function {name}=HOST:PORT."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn compositions_of_the_same_xrs_or_with_the_same_functions_matter() {
        let composition = |version: &str, kind: &str, function: &str| {
            json!({
                "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "c"},
                "spec": {
                    "compositeTypeRef": {"apiVersion": version, "kind": kind},
                    "pipeline": [{"step": "a", "functionRef": {"name": function}}],
                },
            })
        };
        let function = json!({"kind": "Function", "metadata": {"name": "fn-b"}});
        let definition = json!({"kind": "CompositeResourceDefinition", "spec": {"group": "e.org", "names": {"kind": "XDb"}}});
        let changed = [composition("e.org/v1", "XApp", "fn-a"), function, definition].map(object::object);
        let relevance = Relevance::of(&changed, &["fn-c".to_owned()].into());
        let check = |version: &str, kind: &str, function: &str, expected: bool| {
            let found = relevance.concerns(&composition(version, kind, function));
            assert_eq!(found, expected, "{version} {kind} {function}");
        };
        check("e.org/v1", "XApp", "fn-x", true);
        check("e.org/v2", "XApp", "fn-x", true);
        check("e.org/v1", "XDb", "fn-x", true);
        check("o.org/v1", "XApp", "fn-x", false);
        check("o.org/v1", "XOther", "fn-b", true);
        check("o.org/v1", "XOther", "fn-c", true);
        // The function of a changed Composition is as it was.
        check("o.org/v1", "XOther", "fn-a", false);
    }
}
