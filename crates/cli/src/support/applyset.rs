//! A set of objects in the cluster: its parent, its members, what may be pruned, and what the last apply left.

pub(crate) mod prune;
pub(crate) mod record;

use std::collections::BTreeSet;

use cluster::{Error, Resource, Selection, Session, Write};
use diag::{Diagnostic, Severity};
use futures::stream::{self, StreamExt as _};
use manifest::{Namespace, ObjectRef};
use plan::SetRecord;
use plan::applyset::{self, Contents, Parent};
use serde_json::Value;

use self::prune::Prune;
use self::record::{Found, Place};
use super::batch::resolve::ResolvedObject;
use super::concurrency::MAX_CONCURRENT;
use super::connect::Cluster;
use super::exit::Failure;
use super::kinds;
use super::owner_tree::reference_of;
use crate::args::applyset::{ParentName, SetArgs};
use crate::codes;

/// Writes parents, and nothing else.
const MANAGER: &str = "plimsoll-applyset";

/// A set, as it is before an apply.
pub(crate) struct ApplySet {
    pub(crate) parent: ObjectRef,
    pub(crate) id: String,
    /// `None` if the parent does not exist.
    found: Option<Parent>,
    members: Vec<(ObjectRef, Value)>,
    /// What the last apply left.
    record: Found,
    /// Members that could not be listed. Nothing may be concluded from their absence.
    pub(crate) unlisted: Vec<Diagnostic>,
}

/// What an apply does with a set besides applying its objects.
pub(crate) struct SetPlan {
    pub(crate) set: ApplySet,
    pub(crate) prunes: Vec<Prune>,
    /// Whether the prunes are carried out.
    pub(crate) is_pruned: bool,
    /// Whether objects of other sets become members.
    pub(crate) takes_members: bool,
}

impl SetPlan {
    /// Makes the objects members of the set, if there is one.
    pub(crate) async fn make(
        cluster: &Cluster,
        args: &SetArgs,
        objects: &mut [ResolvedObject],
        problems: &mut Vec<Diagnostic>,
    ) -> Result<Option<Self>, Failure> {
        let Some(name) = &args.applyset else { return Ok(None) };
        let set = ApplySet::find(cluster, name, args.adopt_applyset).await?;
        problems.extend(set.label(objects));
        let prunes = set.prunes(&cluster.session, objects).await;
        Ok(Some(Self { set, prunes, is_pruned: args.prune, takes_members: args.adopt_applyset }))
    }

    /// Whether an apply changes the set itself or deletes a member.
    pub(crate) fn has_changes(&self) -> bool {
        !self.set.exists() || self.set.adopted_from().is_some() || self.deletes().next().is_some()
    }
}

impl ApplySet {
    /// Finds the set and its members. One that another tool manages is an error, unless it is to be taken over.
    pub(crate) async fn find(cluster: &Cluster, name: &ParentName, adopt: bool) -> Result<Self, Failure> {
        let session = &cluster.session;
        let parent = cluster.target(&name.0).await?;
        ensure_parent_kind(session, &parent).await?;
        let id = applyset::set_id(&parent);
        let live = session.read(&parent).await.map_err(|error| error.diagnostic("Set"))?;
        let found = match live {
            None => None,
            Some(live) => {
                let read = Parent::read(&live.object, &id);
                let found = read.map_err(|why| not_a_parent(&parent, &why.to_string()))?;
                if !found.is_ours() && !adopt {
                    return Err(foreign(&parent, &found.tooling).into());
                }
                Some(found)
            }
        };
        let place = Place::of(&id, &parent).filter(|_| found.is_some());
        let record = match &place {
            // Without it, an apply knows less.
            Some(place) => place.read(session).await.unwrap_or_default(),
            None => Found::default(),
        };
        let mut set = Self { parent, id, found, members: Vec::new(), record, unlisted: Vec::new() };
        set.list(session).await?;
        Ok(set)
    }

    /// What the last apply left.
    pub(crate) fn record(&self) -> Option<&SetRecord> {
        self.record.record.as_ref()
    }

    /// Keeps what this apply left; `owner` is the parent. A warning if that is not possible.
    pub(crate) async fn keep(
        &self,
        session: &Session,
        record: &SetRecord,
        owner: &Value,
    ) -> Option<Diagnostic> {
        let place = Place::of(&self.id, &self.parent)?;
        let error = place.write(session, record, &self.record, owner).await.err()?;
        let title = format!("cannot save the apply record in {}", self.parent);
        // A user without that right can do nothing about it.
        let severity = if error.is_unauthorized() { Severity::Note } else { Severity::Warning };
        Some(
            Diagnostic::new(severity, codes::APPLYSET_RECORD, title)
                .detail(format!("Cause: {}.", diag::error_chain(&error)))
                .hint("The objects are as they should be. Without a record, the next plan cannot tell drift from fields of other managers."),
        )
    }

    pub(crate) fn exists(&self) -> bool {
        self.found.is_some()
    }

    /// The tool that the set is taken over from.
    pub(crate) fn adopted_from(&self) -> Option<&str> {
        self.found.as_ref().filter(|found| !found.is_ours()).map(|found| found.tooling.as_str())
    }

    /// A member as it is in the cluster.
    pub(crate) fn member(&self, target: &ObjectRef) -> Option<&Value> {
        self.members.iter().find(|(member, _)| member == target).map(|(_, object)| object)
    }

    /// Lists the members by the kinds and namespaces that the parent names.
    async fn list(&mut self, session: &Session) -> Result<(), Failure> {
        let Some(found) = &self.found else { return Ok(()) };
        let resources = session.resources().await.map_err(|error| error.diagnostic("Set"))?;
        let stale = session.stale_groups().await.map_err(|error| error.diagnostic("Set"))?;
        let Places { listable: places, unknown } = Places::of(&found.contents, &resources, &stale);
        self.unlisted.extend(unknown.iter().map(|kind| unresponsive(kind)));
        let labels = Some(format!("{}={}", applyset::PART_OF, self.id));
        let lists = places.into_iter().map(|(resource, namespace)| {
            let selection = Selection { namespace, labels: labels.clone(), ..Selection::default() };
            async move { (resource, session.list(&resource.gvk, &selection).await) }
        });
        let lists: Vec<(&Resource, Result<_, Error>)> =
            stream::iter(lists).buffered(MAX_CONCURRENT).collect().await;
        for (resource, listed) in lists {
            match listed {
                Ok(listing) => {
                    let members =
                        listing.items.into_iter().filter_map(|item| Some((reference_of(&item)?, item)));
                    self.members.extend(members);
                }
                Err(error) => self.unlisted.push(error.diagnostic("Set").hint(format!(
                    "No {} of the set is deleted until its members can be listed.",
                    resource.gvk.kind()
                ))),
            }
        }
        Ok(())
    }

    /// Makes the objects members.
    pub(crate) fn label(&self, objects: &mut [ResolvedObject]) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for object in objects {
            if !applyset::label_member(&mut object.body, &self.id) {
                let title = format!("{} has the label {}", object.target, applyset::PART_OF);
                problems.push(
                    Diagnostic::error(codes::APPLYSET_LABEL, title).hint(
                        "Remove the label from the file: apply sets it to the set named by --applyset.",
                    ),
                );
            }
        }
        problems
    }

    /// Announces everything that is about to be part of the set, before any of it is written. Returns the parent.
    pub(crate) async fn announce(
        &self,
        session: &Session,
        objects: &[ResolvedObject],
    ) -> Result<Value, Error> {
        let own = self.found.as_ref().map_or_else(Contents::default, |found| found.contents.clone());
        let coming = Contents::of(objects.iter().map(|object| &object.target));
        self.write(session, &own.union(&coming)).await
    }

    /// Forgets the kinds and namespaces that no member is left in.
    pub(crate) async fn settle(
        &self,
        session: &Session,
        objects: &[ResolvedObject],
        kept: &[&ObjectRef],
    ) -> Result<(), Error> {
        let left = objects.iter().map(|object| &object.target).chain(kept.iter().copied());
        self.write(session, &Contents::of(left)).await.map(drop)
    }

    async fn write(&self, session: &Session, contents: &Contents) -> Result<Value, Error> {
        let body = applyset::parent_body(&self.parent, contents, env!("CARGO_PKG_VERSION"));
        // These fields belong to the tool that owns the set. `find` refuses the set of another tool unless it is adopted.
        let reply = session.apply(&self.parent, &body, Write::by(MANAGER).force()).await?;
        Ok(reply.object)
    }
}

/// Where the members of a set may be.
struct Places<'r> {
    listable: Vec<(&'r Resource, Option<Namespace>)>,
    /// Kinds whose API server does not respond, as in `Widget.example.org`.
    unknown: Vec<String>,
}

impl<'r> Places<'r> {
    fn of(contents: &Contents, resources: &'r [Resource], stale: &BTreeSet<String>) -> Self {
        let mut places = Self { listable: Vec::new(), unknown: Vec::new() };
        for kind in &contents.kinds {
            let serving = resources.iter().filter(|resource| resource.gvk.group_kind() == *kind);
            let group = kind.split_once('.').map_or("", |(_, group)| group);
            match serving.max_by_key(|resource| resource.version_priority()) {
                // Its objects exist, although they cannot be seen at the moment.
                None if stale.contains(group) => places.unknown.push(kind.clone()),
                // A kind that is no longer served has no objects.
                None => {}
                Some(resource) if resource.namespaced => {
                    let namespaces = contents.namespaces.iter().cloned().filter_map(Namespace::new);
                    places.listable.extend(namespaces.map(|namespace| (resource, Some(namespace))));
                }
                Some(resource) => places.listable.push((resource, None)),
            }
        }
        places
    }
}

fn unresponsive(kind: &str) -> Diagnostic {
    let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
    Diagnostic::error(cluster::codes::API_ERROR, format!("the members of kind {kind} cannot be listed"))
        .detail(format!("The API server of group {group} does not respond."))
        .hint(format!("No {kind} of the set is deleted until its members can be listed."))
}

/// Only Secrets, ConfigMaps and kinds whose CRDs say so may be parents.
async fn ensure_parent_kind(session: &Session, parent: &ObjectRef) -> Result<(), Failure> {
    if parent.group().is_empty() && ["Secret", "ConfigMap"].contains(&parent.kind()) {
        return Ok(());
    }
    let resource = session.resource(&parent.gvk).await.map_err(|error| error.diagnostic("Set"))?;
    let crd = ObjectRef::new(kinds::crd(), None, resource.crd_name());
    let found = session.read(&crd).await.map_err(|error| error.diagnostic("Set"))?;
    let is_allowed =
        found.is_some_and(|crd| !crd.object["metadata"]["labels"][applyset::PARENT_TYPE].is_null());
    if is_allowed {
        return Ok(());
    }
    Err(Diagnostic::error(
        codes::APPLYSET_PARENT,
        format!("a {} cannot be the parent of a set", parent.kind()),
    )
    .hint(format!(
        "Use a Secret or a ConfigMap, or a custom resource whose CRD has the label {}.",
        applyset::PARENT_TYPE
    ))
    .into())
}

fn not_a_parent(parent: &ObjectRef, why: &str) -> Diagnostic {
    Diagnostic::error(codes::APPLYSET_PARENT, format!("{parent} exists and is not the parent of a set"))
        .detail(format!("Read as a parent, {why}."))
        .hint("Choose another name for the set.")
}

fn foreign(parent: &ObjectRef, tooling: &str) -> Diagnostic {
    Diagnostic::error(codes::APPLYSET_FOREIGN, format!("another tool manages the set of {parent}"))
        .detail(format!(
            "The parent names the tool {tooling}. Two tools that prune one set delete each other's objects."
        ))
        .hint("Stop using the other tool for this set, then take it over with --adopt-applyset.")
}

#[cfg(test)]
impl SetPlan {
    /// A set of another tool, adopted, with these members that are not in the files.
    pub(crate) fn sample(prunes: Vec<Prune>) -> Self {
        let kind = "v1/Secret".parse().expect("a fixed kind");
        let parent = ObjectRef::new(kind, Namespace::new("shop"), "set");
        let found = Parent { tooling: "kubectl/v1.36.3".to_owned(), contents: Contents::default() };
        let set = ApplySet {
            id: applyset::set_id(&parent),
            parent,
            found: Some(found),
            members: Vec::new(),
            record: Found::default(),
            unlisted: Vec::new(),
        };
        Self { set, prunes, is_pruned: true, takes_members: true }
    }

    /// The same before its parent exists.
    pub(crate) fn unborn(mut self) -> Self {
        self.set.found = None;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::kinds::tests::resource;

    #[test]
    fn a_kind_is_gone_only_if_its_group_responds() {
        let resources = [resource("v1/ConfigMap", "configmaps", true), resource("v1/Node", "nodes", false)];
        let check = |kinds: &[&str], stale: &[&str], listable: &[&str], unknown: &[&str]| {
            let set = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect();
            let contents = Contents { kinds: set(kinds), namespaces: set(&["a", "b"]) };
            let found = Places::of(&contents, &resources, &set(stale));
            let shown = |(resource, namespace): &(&Resource, Option<Namespace>)| {
                format!("{} {}", resource.gvk.kind(), namespace.as_ref().map_or("", Namespace::as_str))
            };
            assert_eq!(found.listable.iter().map(shown).collect::<Vec<_>>(), listable, "{kinds:?}");
            assert_eq!(found.unknown, unknown, "{kinds:?}");
        };
        check(&["ConfigMap", "Node"], &[], &["ConfigMap a", "ConfigMap b", "Node "], &[]);
        check(&["Widget.example.org"], &[], &[], &[]);
        check(&["Widget.example.org"], &["example.org"], &[], &["Widget.example.org"]);
        check(&["Widget.example.org"], &["other.org"], &[], &[]);
    }
}
