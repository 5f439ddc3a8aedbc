//! What replaces a claim, and what blocks that, read before anything is changed.

use std::collections::BTreeMap;

use cluster::{Selection, Session, Write};
use composition::claim::successor::{ANNOTATION_REPLACES, obstacles, other_pipeline, successor};
use composition::claim::{composite_name, is_bound};
use composition::composite::{Composite, Layout};
use composition::composition::Composition;
use composition::definition::{Definition, Scope};
use composition::object;
use composition::protocol::Object;
use diag::Diagnostic;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use operator::{Engine, Half};

use super::steps::WRITER;
use crate::args::migrate::MigrateClaim;
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::exit::Failure;
use crate::support::kinds;

/// What is left to do.
pub(super) enum Task {
    HandOver(Box<Plan>),
    /// An earlier run has done all but its last step.
    DeleteClaim(Box<Finished>),
}

/// A claim that has handed everything over. Its XR is gone.
pub(super) struct Finished {
    pub(super) claim: ObjectRef,
    pub(super) successor: Object,
    pub(super) target: ObjectRef,
}

pub(super) struct Plan {
    pub(super) claim: Object,
    /// The XR of the claim.
    pub(super) xr: Object,
    /// The XR that replaces both.
    pub(super) successor: Object,
    pub(super) target: ObjectRef,
    pub(super) composition: String,
    /// What is handed over.
    pub(super) composed: BTreeMap<ObjectRef, Object>,
    /// The Secret with the connection details of the claim, and that of its XR.
    pub(super) secret: Option<ObjectRef>,
    pub(super) xr_secret: Option<ObjectRef>,
    pub(super) obstacles: Vec<String>,
}

impl Task {
    pub(super) async fn read(args: &MigrateClaim, cluster: &Cluster) -> Result<Self, Failure> {
        let session = &cluster.session;
        let target = cluster.target(&args.claim).await?;
        let claim = object::from_value(cluster.read(&target, "Migrate").await?);
        let namespace = target.namespace.clone().unwrap_or_else(|| cluster.namespace.clone());
        let definitions = definitions(session).await?;
        let is_of = |kind: Option<&GroupVersionKind>| kind.is_some_and(|kind| kind.is_same_kind(&target.gvk));
        let Some(offer) = definitions.iter().find(|definition| is_of(definition.claim.as_ref())) else {
            let title = format!("{target} is not a claim");
            return Err(Diagnostic::error(codes::OPTION_UNUSABLE, title)
                .hint("Name a claim: a kind that an XRD has under spec.claimNames.")
                .into());
        };
        let kind = kind(args, cluster, &target, &definitions).await?;
        let name = args.name.clone().unwrap_or_else(|| target.name.clone());
        let successor_ref = ObjectRef::new(kind.composite.clone(), Some(namespace.clone()), name);
        let existing = session.read(&successor_ref).await.map_err(failed)?;
        let existing = existing.map(|reply| object::from_value(reply.object));
        let is_ours =
            |existing: &Object| object::annotation(existing, ANNOTATION_REPLACES) == object::uid(&claim);
        let xr = match (bound(session, &claim, offer).await?, &existing) {
            (Bound::To(xr), _) => xr,
            (Bound::Gone, Some(successor)) if is_ours(successor) => {
                let (claim, successor) = (target, successor.clone());
                return Ok(Self::DeleteClaim(Box::new(Finished { claim, successor, target: successor_ref })));
            }
            (Bound::Gone | Bound::Not, _) => return Err(unbound(&target)),
        };
        let compositions = compositions(session).await?;
        let new = composition(args, &kind, &compositions)?;
        let new_name = object::name(&new.object).unwrap_or_default().to_owned();
        let made = successor(&claim, &kind.composite, &successor_ref.name, &new_name);

        let mut found = Vec::new();
        if Engine::rival_of(Half::Composition).find(session).await.map_err(failed)?.is_none()
            && Engine::find_ours(session).await.map_err(failed)?.is_empty()
        {
            found.push("No engine is running. Start Plimsoll's operator or Crossplane".to_owned());
        }
        match &existing {
            Some(existing) if !is_ours(existing) => {
                found.push(format!(
                    "{successor_ref} exists, and does not replace this claim. Choose another name with --name"
                ));
            }
            Some(_) => {}
            None => found.extend(refusal(session, &successor_ref, &made).await),
        }
        let mut composed = BTreeMap::new();
        for reference in Composite::new(&xr, Layout::Legacy).resource_refs() {
            if let Some(reply) = session.read(&reference).await.map_err(failed)? {
                composed.insert(reference, object::from_value(reply.object));
            }
        }
        found
            .extend(obstacles(&xr, existing.as_ref(), &namespace, &composed).iter().map(ToString::to_string));
        let old = Composite::new(&xr, Layout::Legacy).composition_ref();
        let is_old = |it: &&Composition| object::name(&it.object) == old;
        if let (Some(old), false) = (compositions.iter().find(is_old), args.allow_other_pipeline)
            && let Some(other) = other_pipeline(old, new)
        {
            found.push(format!(
                "{other}. What is composed under another name would be deleted and created anew; pass --allow-other-pipeline if \
                 every resource keeps its name"
            ));
        }
        let secret = |namespace: &str, name: &str| {
            let kind = "v1/Secret".parse().expect("a fixed kind");
            ObjectRef::new(kind, Namespace::new(namespace), name)
        };
        let own_secret = object::text(&claim, &["spec", "writeConnectionSecretToRef", "name"]);
        Ok(Self::HandOver(Box::new(Plan {
            secret: own_secret.map(|name| secret(namespace.as_str(), name)),
            xr_secret: Composite::new(&xr, Layout::Legacy)
                .connection_secret()
                .map(|(namespace, name)| secret(namespace, name)),
            claim,
            xr,
            successor: made,
            target: successor_ref,
            composition: new_name,
            composed,
            obstacles: found,
        })))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
fn failed(error: cluster::Error) -> Failure {
    error.diagnostic("Migrate").into()
}

async fn definitions(session: &Session) -> Result<Vec<Definition>, Failure> {
    let kind = "apiextensions.crossplane.io/v1/CompositeResourceDefinition".parse().expect("a fixed kind");
    let listed = session.list(&kind, &Selection::default()).await.map_err(failed)?.items;
    let read = |xrd| Definition::read(&object::from_value(xrd)).ok();
    Ok(listed.into_iter().filter_map(read).map(|(definition, _)| definition).collect())
}

async fn compositions(session: &Session) -> Result<Vec<Composition>, Failure> {
    let kind = "apiextensions.crossplane.io/v1/Composition".parse().expect("a fixed kind");
    let listed = session.list(&kind, &Selection::default()).await.map_err(failed)?.items;
    Ok(listed.into_iter().filter_map(|it| Composition::read(&object::from_value(it)).ok()).collect())
}

/// The XR that serves a claim.
enum Bound {
    To(Object),
    /// The claim names it, and it is not there.
    Gone,
    Not,
}

async fn bound(session: &Session, claim: &Object, offer: &Definition) -> Result<Bound, Failure> {
    let Some(name) = composite_name(claim) else { return Ok(Bound::Not) };
    let read = session.read(&ObjectRef::new(offer.composite.clone(), None, name)).await.map_err(failed)?;
    Ok(match read.map(|reply| object::from_value(reply.object)) {
        None => Bound::Gone,
        Some(xr) if is_bound(claim, &xr) => Bound::To(xr),
        Some(_) => Bound::Not,
    })
}

fn unbound(claim: &ObjectRef) -> Failure {
    Diagnostic::error(codes::MIGRATION_BLOCKED, format!("{claim} is not bound to an XR"))
        .hint("Wait until the claim is synced; `plimsoll why` says what it is waiting for.")
        .into()
}

/// The XRD of the successor.
async fn kind(
    args: &MigrateClaim,
    cluster: &Cluster,
    claim: &ObjectRef,
    definitions: &[Definition],
) -> Result<Definition, Failure> {
    let namespaced: Vec<&Definition> =
        definitions.iter().filter(|it| it.scope == Scope::Namespaced).collect();
    if let Some(typed) = &args.to {
        let wanted = kinds::resolve(&cluster.session, typed).await?.gvk;
        let found = namespaced.iter().find(|it| it.composite.is_same_kind(&wanted));
        return found.map(|found| (*found).clone()).ok_or_else(|| {
            let title = format!("{} is not defined by an XRD of scope Namespaced", wanted.kind());
            Diagnostic::error(codes::OPTION_UNUSABLE, title)
                .hint("Apply a CompositeResourceDefinition of apiextensions.crossplane.io/v2 for it.")
                .into()
        });
    }
    let mut alike = namespaced.iter().filter(|it| it.composite.kind() == claim.kind());
    let found = alike.next().filter(|_| alike.next().is_none());
    found.map(|found| (*found).clone()).ok_or_else(|| {
        let title = format!("no XRD of scope Namespaced, or more than one, defines a {}", claim.kind());
        let kinds: Vec<String> =
            namespaced.iter().map(|it| format!("{}.{}", it.spec.names.plural, it.spec.group)).collect();
        let there_are = if kinds.is_empty() {
            "There are none.".to_owned()
        } else {
            format!("There are {}.", kinds.join(", "))
        };
        Diagnostic::error(codes::OPTION_UNUSABLE, title)
            .detail(there_are)
            .hint("Choose the kind of the new XR with --to; its XRD has to exist.")
            .into()
    })
}

/// The Composition of the successor.
fn composition<'c>(
    args: &MigrateClaim,
    kind: &Definition,
    compositions: &'c [Composition],
) -> Result<&'c Composition, Failure> {
    let enforced = kind.spec.enforced_composition_ref.as_ref();
    let default = enforced.or(kind.spec.default_composition_ref.as_ref()).map(|it| it.name.as_str());
    let fits = |it: &&Composition| it.spec.composite_type_ref == kind.composite;
    let mut fitting = compositions.iter().filter(fits);
    let found = if let Some(name) = args.composition.as_deref().or(default) {
        fitting.find(|it| object::name(&it.object) == Some(name))
    } else {
        fitting.next().filter(|_| fitting.next().is_none())
    };
    found.ok_or_else(|| {
        let title = format!("the Composition for {} is not clear", kind.composite.kind());
        Diagnostic::error(codes::OPTION_UNUSABLE, title)
            .hint("Choose one with --composition; its compositeTypeRef has to name the kind and its version.")
            .into()
    })
}

/// Why the API server would not accept the successor.
async fn refusal(session: &Session, target: &ObjectRef, successor: &Object) -> Option<String> {
    let body = serde_json::Value::Object(successor.clone());
    let error = session.apply(target, &body, Write::by(WRITER).dry_run()).await.err()?;
    let diagnostic = error.diagnostic("Create");
    Some(format!(
        "{target} would be refused: {}",
        diagnostic.detail.lines().next().unwrap_or(&diagnostic.summary)
    ))
}
