//! What Crossplane serves and runs in a cluster, and what runs of Plimsoll.

use std::collections::{BTreeMap, BTreeSet};

use cluster::{Error, Selection, Session};
use composition::composite::Composite;
use composition::crd;
use composition::definition::Definition;
use composition::function;
use composition::object;
use composition::protocol::Object;
use diag::Diagnostic;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use operator::{Engine, Half, Rival, installed_by_crossplane};
use serde_json::Value;

use super::idle::Idle;
use super::installed::Operator;
use super::rights;
use crate::commands::install::installed::label_selector;

/// The Service behind Crossplane's webhooks.
const WEBHOOK_SERVICE: &str = "crossplane-webhooks";
const CROSSPLANE_LABELS: &str = "app in (crossplane,crossplane-rbac-manager)";
const WEBHOOKS: [&str; 2] = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
/// Each with the versions that may be served; all of them list the same objects.
const USAGES: [&[&str]; 3] = [
    &["apiextensions.crossplane.io/v1beta1/Usage", "apiextensions.crossplane.io/v1alpha1/Usage"],
    &["protection.crossplane.io/v1beta1/Usage"],
    &["protection.crossplane.io/v1beta1/ClusterUsage"],
];
/// The label on everything that is composed.
const COMPOSED: &str = "crossplane.io/composite";
/// The certificates by which functions know their caller, of Crossplane and of Plimsoll.
const CERTIFICATES: [&str; 2] = ["crossplane-tls-client", "plimsoll-tls-client"];

#[derive(Debug, Default)]
pub(super) struct Inventory {
    /// Crossplane, if it runs.
    pub(super) crossplane: Option<Rival>,
    pub(super) crossplane_deployments: Vec<Object>,
    /// Plimsoll's operators that run: one, and one for each shard.
    pub(super) running: Vec<Rival>,
    /// The Deployments of Plimsoll's operators.
    pub(super) operators: Vec<Operator>,
    pub(super) offers: Vec<Offer>,
    pub(super) compositions: Vec<Object>,
    pub(super) revisions: Vec<Object>,
    pub(super) functions: Vec<Object>,
    pub(super) function_revisions: Vec<Object>,
    /// What XRs refer to, as far as it exists.
    pub(super) composed: BTreeMap<ObjectRef, Object>,
    /// Namespaces with functions of Crossplane's whose certificate is missing.
    pub(super) without_certificate: Vec<String>,
    /// What the operator's account may not do; nothing if that could not be found out.
    pub(super) denied: Option<Vec<String>>,
    /// Webhook configurations that need Crossplane to answer.
    pub(super) webhooks: Vec<Object>,
    pub(super) usages: usize,
    /// Packages that only Crossplane upgrades.
    pub(super) packages: Vec<String>,
    /// What only Crossplane acts on.
    pub(super) idle: Vec<Idle>,
}

/// An XRD with everything that it defines.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) name: String,
    pub(super) definition: Result<Definition, Vec<Diagnostic>>,
    pub(super) xrs: Vec<Object>,
    pub(super) claims: Vec<Object>,
    /// The CRDs as they are, each with the one that Plimsoll applies.
    pub(super) crds: Vec<(Object, Object)>,
}

impl Inventory {
    pub(super) async fn read(session: &Session) -> Result<Self, Error> {
        let mut inventory = Self {
            crossplane: Engine::rival_of(Half::Composition).find(session).await?,
            crossplane_deployments: labelled(session, CROSSPLANE_LABELS).await?,
            running: Engine::find_ours(session).await?,
            operators: labelled(session, &label_selector()).await?.into_iter().map(Operator).collect(),
            compositions: list(session, "apiextensions.crossplane.io/v1/Composition").await?,
            revisions: list(session, "apiextensions.crossplane.io/v1/CompositionRevision").await?,
            functions: list(session, "pkg.crossplane.io/v1/Function").await?,
            function_revisions: list(session, "pkg.crossplane.io/v1/FunctionRevision").await?,
            ..Self::default()
        };
        for xrd in list(session, "apiextensions.crossplane.io/v1/CompositeResourceDefinition").await? {
            inventory.offers.push(Offer::read(session, &xrd).await?);
        }
        inventory.composed = inventory.read_composed(session).await?;
        inventory.without_certificate = inventory.without_certificate(session).await;
        inventory.denied = rights::denied(session, &inventory).await;
        for kind in WEBHOOKS {
            let found = list(session, &format!("admissionregistration.k8s.io/v1/{kind}")).await?;
            inventory.webhooks.extend(found.into_iter().filter(|it| needing_crossplane(it).next().is_some()));
        }
        for versions in USAGES {
            for kind in versions {
                let found = list(session, kind).await?.len();
                inventory.usages += found;
                if found > 0 {
                    break;
                }
            }
        }
        for kind in ["Provider", "Configuration"] {
            let found = list(session, &format!("pkg.crossplane.io/v1/{kind}")).await?;
            let named = found.iter().filter_map(object::name);
            inventory.packages.extend(named.map(|name| format!("{kind} {name}")));
        }
        inventory.idle = Idle::read(session).await?;
        Ok(inventory)
    }

    /// Whether Crossplane was ever installed here.
    pub(super) fn has_crossplane(&self) -> bool {
        self.crossplane.is_some() || !self.crossplane_deployments.is_empty()
    }

    pub(super) fn xrs(&self) -> usize {
        self.offers.iter().map(|offer| offer.xrs.len()).sum()
    }

    pub(super) fn claims(&self) -> usize {
        self.offers.iter().map(|offer| offer.claims.len()).sum()
    }

    /// The functions that the operator is given by flags.
    pub(super) fn function_flags(&self) -> BTreeMap<String, String> {
        self.operators.iter().flat_map(Operator::functions).collect()
    }

    /// Where Plimsoll's operator will call a function.
    pub(super) fn locate(&self, function: &str) -> Result<function::Location, composition::RunError> {
        function::find(function, &self.function_flags(), &self.function_revisions, &self.functions)
    }

    /// What is composed, by the kinds that XRs refer to.
    async fn read_composed(&self, session: &Session) -> Result<BTreeMap<ObjectRef, Object>, Error> {
        let referred: BTreeSet<ObjectRef> =
            self.offers.iter().flat_map(Offer::references).map(|(_, reference)| reference).collect();
        let kinds: BTreeSet<&GroupVersionKind> = referred.iter().map(|reference| &reference.gvk).collect();
        let mut composed = BTreeMap::new();
        for kind in kinds {
            let selection = Selection { labels: Some(COMPOSED.to_owned()), ..Selection::default() };
            for found in list_kind(session, kind, &selection).await? {
                if let Ok(reference) = ObjectRef::of(&found)
                    && referred.contains(&reference)
                {
                    composed.insert(reference, found);
                }
            }
        }
        Ok(composed)
    }

    /// The namespaces whose functions could not be called, because they know only the certificate that is missing.
    async fn without_certificate(&self, session: &Session) -> Vec<String> {
        let exists = async |namespace: &str, name: &str| {
            let secret = "v1/Secret".parse().expect("a fixed kind");
            let read = session.read(&ObjectRef::new(secret, Namespace::new(namespace), name)).await;
            // One that may not be read here can be read by the operator.
            !matches!(read, Ok(None))
        };
        for operator in &self.operators {
            if exists(operator.namespace(), CERTIFICATES[1]).await {
                return Vec::new();
            }
        }
        let flags = self.function_flags();
        let called = self.function_revisions.iter().filter(|revision| {
            let package = object::label(revision, composition::package::LABEL_PACKAGE);
            package.is_none_or(|package| !flags.contains_key(package))
        });
        let namespaces: BTreeSet<String> = called.filter_map(installed_by_crossplane).collect();
        let mut missing = Vec::new();
        for namespace in namespaces {
            if !exists(&namespace, CERTIFICATES[0]).await {
                missing.push(namespace);
            }
        }
        missing
    }
}

impl Offer {
    async fn read(session: &Session, xrd: &Object) -> Result<Self, Error> {
        let name = object::name(xrd).unwrap_or_default().to_owned();
        let definition = Definition::read(xrd).map(|(definition, _)| definition);
        let mut offer = Self { name, definition, xrs: Vec::new(), claims: Vec::new(), crds: Vec::new() };
        let Ok(definition) = &offer.definition else { return Ok(offer) };
        let all = Selection::default();
        offer.xrs = list_kind(session, &definition.composite, &all).await?;
        if let Some(claim) = &definition.claim {
            offer.claims = list_kind(session, claim, &all).await?;
        }
        for wanted in std::iter::once(crd::composite(definition)).chain(crd::claim(definition)) {
            let Ok(target) = ObjectRef::of(&wanted) else { continue };
            if let Some(found) = session.read(&target).await? {
                offer.crds.push((object::from_value(found.object), wanted));
            }
        }
        Ok(offer)
    }

    /// What its XRs refer to, each with the XR.
    pub(super) fn references(&self) -> impl Iterator<Item = (&Object, ObjectRef)> {
        let layout = self.definition.as_ref().ok().map(|definition| definition.scope.layout());
        self.xrs.iter().flat_map(move |xr| {
            let references = layout.map(|layout| Composite::new(xr, layout).resource_refs());
            references.into_iter().flatten().map(move |reference| (xr, reference))
        })
    }
}

async fn labelled(session: &Session, labels: &str) -> Result<Vec<Object>, Error> {
    let selection = Selection { labels: Some(labels.to_owned()), ..Selection::default() };
    list_kind(session, &"apps/v1/Deployment".parse().expect("a fixed kind"), &selection).await
}

/// All objects of a kind; none if it is not served.
async fn list(session: &Session, kind: &str) -> Result<Vec<Object>, Error> {
    list_kind(session, &kind.parse().expect("a fixed kind"), &Selection::default()).await
}

async fn list_kind(
    session: &Session,
    kind: &GroupVersionKind,
    selection: &Selection,
) -> Result<Vec<Object>, Error> {
    match session.list(kind, selection).await {
        Ok(listing) => Ok(listing.items.into_iter().map(object::from_value).collect()),
        Err(error) if error.is_kind_absent() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The webhooks that the API server asks Crossplane for, and without whose answer it refuses; each with its position.
pub(super) fn needing_crossplane(configuration: &Object) -> impl Iterator<Item = (usize, &Value)> {
    object::list(configuration, &["webhooks"]).enumerate().filter(|(_, webhook)| {
        let service = webhook.pointer("/clientConfig/service/name").and_then(Value::as_str);
        service == Some(WEBHOOK_SERVICE) && webhook["failurePolicy"] != "Ignore"
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_webhook_needs_crossplane_unless_it_is_ignored() {
        let check = |service: &str, policy: &str, expected: bool| {
            let configuration = object::from_value(json!({"webhooks": [
                {"clientConfig": {"service": {"name": service}}, "failurePolicy": policy},
            ]}));
            assert_eq!(needing_crossplane(&configuration).next().is_some(), expected, "{service} {policy}");
        };
        check("crossplane-webhooks", "Fail", true);
        check("crossplane-webhooks", "Ignore", false);
        check("other", "Fail", false);
    }
}
