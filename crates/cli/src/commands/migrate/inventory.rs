//! What Crossplane serves and runs in a cluster, and what would stand in the way of taking it over.

use std::collections::BTreeMap;

use cluster::{Error, Selection, Session};
use composition::composition::Composition;
use composition::definition::Definition;
use composition::protocol::Object;
use composition::{function, object, package};
use diag::Diagnostic;
use manifest::GroupVersionKind;
use operator::{Engine, Half, Rival};
use serde_json::{Value, json};

/// The Service behind Crossplane's webhooks.
const WEBHOOK_SERVICE: &str = "crossplane-webhooks";
const CROSSPLANE_LABELS: &str = "app in (crossplane,crossplane-rbac-manager)";
const PLIMSOLL_LABELS: &str = "app=plimsoll-operator";
const WEBHOOKS: [&str; 2] = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
/// Each with the versions that may be served; all of them list the same objects.
const USAGES: [&[&str]; 3] = [
    &["apiextensions.crossplane.io/v1beta1/Usage", "apiextensions.crossplane.io/v1alpha1/Usage"],
    &["protection.crossplane.io/v1beta1/Usage"],
    &["protection.crossplane.io/v1beta1/ClusterUsage"],
];

#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Crossplane, if it runs.
    pub(super) crossplane: Option<Rival>,
    /// Plimsoll's operator, if it runs.
    pub(super) plimsoll: Option<Rival>,
    pub(super) crossplane_deployments: Vec<Object>,
    pub(super) plimsoll_deployments: Vec<Object>,
    /// XRDs with the numbers of their XRs and claims.
    pub(super) xrds: Vec<(String, usize, usize)>,
    /// Functions with their endpoints.
    pub(super) functions: Vec<(String, Option<String>)>,
    /// Webhook configurations that need Crossplane to answer.
    pub(super) webhooks: Vec<Object>,
    pub(super) usages: usize,
    /// Packages that only Crossplane upgrades.
    pub(super) packages: Vec<String>,
    pub(super) obstacles: Vec<String>,
}

impl Survey {
    pub(super) async fn take(session: &Session) -> Result<Self, Error> {
        let deployments = |labels: &str| {
            let selection = Selection { labels: Some(labels.to_owned()), ..Selection::default() };
            async move { list(session, "apps/v1/Deployment", selection).await }
        };
        let all = |kind: &'static str| async move { list(session, kind, Selection::default()).await };
        let xrds = all("apiextensions.crossplane.io/v1/CompositeResourceDefinition").await?;
        let compositions = all("apiextensions.crossplane.io/v1/Composition").await?;
        let functions = all("pkg.crossplane.io/v1/Function").await?;
        let revisions = all("pkg.crossplane.io/v1/FunctionRevision").await?;
        let mut survey = Self {
            crossplane: Engine::rival_of(Half::Composition).find(session).await?,
            plimsoll: Engine::OURS.find(session).await?,
            crossplane_deployments: deployments(CROSSPLANE_LABELS).await?,
            plimsoll_deployments: deployments(PLIMSOLL_LABELS).await?,
            functions: locate(&functions, &revisions),
            obstacles: obstacles(&xrds, &compositions, &functions, &revisions),
            ..Self::default()
        };
        for xrd in &xrds {
            let Ok((definition, _)) = Definition::read(xrd) else { continue };
            let count = |kind: Option<GroupVersionKind>| async move {
                match kind {
                    Some(kind) => Ok(list_kind(session, &kind, Selection::default()).await?.len()),
                    None => Ok::<_, Error>(0),
                }
            };
            let name = object::name(xrd).unwrap_or_default().to_owned();
            let (xrs, claims) = (count(Some(definition.composite)).await?, count(definition.claim).await?);
            survey.xrds.push((name, xrs, claims));
        }
        for kind in WEBHOOKS {
            let kind = format!("admissionregistration.k8s.io/v1/{kind}");
            let found = list(session, &kind, Selection::default()).await?;
            survey.webhooks.extend(found.into_iter().filter(needs_crossplane));
        }
        for versions in USAGES {
            for kind in versions {
                let found = all(kind).await?.len();
                survey.usages += found;
                if found > 0 {
                    break;
                }
            }
        }
        for kind in ["Provider", "Configuration"] {
            let found = list(session, &format!("pkg.crossplane.io/v1/{kind}"), Selection::default()).await?;
            let named = found.iter().filter_map(object::name);
            survey.packages.extend(named.map(|name| format!("{kind} {name}")));
        }
        Ok(survey)
    }

    pub(super) fn xrs(&self) -> usize {
        self.xrds.iter().map(|(_, xrs, _)| xrs).sum()
    }

    pub(super) fn claims(&self) -> usize {
        self.xrds.iter().map(|(_, _, claims)| claims).sum()
    }

    pub(super) fn to_json(&self) -> Value {
        let name = |object: &Object| {
            let name = object::name(object).unwrap_or_default();
            object::namespace(object)
                .map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
        };
        let names = |objects: &[Object]| objects.iter().map(name).collect::<Vec<_>>();
        let running = |engine: &Option<Rival>| engine.as_ref().map(|engine| engine.holder.clone());
        json!({
            "crossplane": {"holder": running(&self.crossplane), "deployments": names(&self.crossplane_deployments)},
            "plimsoll": {"holder": running(&self.plimsoll), "deployments": names(&self.plimsoll_deployments)},
            "definitions": self.xrds.iter().map(|(name, xrs, claims)| {
                json!({"name": name, "composites": xrs, "claims": claims})
            }).collect::<Vec<_>>(),
            "functions": self.functions.iter().map(|(name, endpoint)| {
                json!({"name": name, "endpoint": endpoint})
            }).collect::<Vec<_>>(),
            "webhooks": names(&self.webhooks),
            "usages": self.usages,
            "packages": self.packages,
            "obstacles": self.obstacles,
        })
    }
}

/// All objects of a kind; none if it is not served.
async fn list(session: &Session, kind: &str, selection: Selection) -> Result<Vec<Object>, Error> {
    list_kind(session, &kind.parse().expect("a fixed kind"), selection).await
}

async fn list_kind(
    session: &Session,
    kind: &GroupVersionKind,
    selection: Selection,
) -> Result<Vec<Object>, Error> {
    match session.list(kind, &selection).await {
        Ok(listing) => Ok(listing.items.into_iter().map(object::from_value).collect()),
        Err(error) if error.is_kind_absent() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn locate(functions: &[Object], revisions: &[Object]) -> Vec<(String, Option<String>)> {
    let located = functions.iter().filter_map(object::name).map(|name| {
        let is_active = |revision: &&Object| package::is_of(revision, name) && package::is_active(revision);
        let endpoint = revisions.iter().filter(is_active).find_map(package::endpoint);
        (name.to_owned(), endpoint.map(str::to_owned))
    });
    located.collect()
}

/// Whether the API server asks Crossplane, and refuses without its answer.
fn needs_crossplane(webhooks: &Object) -> bool {
    object::list(webhooks, &["webhooks"]).any(|webhook| {
        let service = webhook.pointer("/clientConfig/service/name").and_then(Value::as_str);
        service == Some(WEBHOOK_SERVICE) && webhook["failurePolicy"] != "Ignore"
    })
}

/// What Plimsoll could not serve.
fn obstacles(
    xrds: &[Object],
    compositions: &[Object],
    functions: &[Object],
    revisions: &[Object],
) -> Vec<String> {
    let mut obstacles = Vec::new();
    for xrd in xrds {
        if let Err(found) = Definition::read(xrd) {
            let why = in_words(&found);
            let name = object::name(xrd).unwrap_or_default();
            obstacles.push(format!("CompositeResourceDefinition {name} is not valid here: {why}"));
        }
    }
    for composition in compositions {
        let name = object::name(composition).unwrap_or_default();
        if object::text(composition, &["spec", "mode"]).is_some_and(|mode| mode != "Pipeline") {
            obstacles.push(format!(
                "Composition {name} has no pipeline. Convert it with `crossplane composition convert pipeline-composition`"
            ));
            continue;
        }
        match Composition::read(composition) {
            Err(found) => {
                let why = in_words(&found);
                obstacles.push(format!("Composition {name} is not valid here: {why}"));
            }
            Ok(read) => {
                for step in &read.spec.pipeline {
                    let called = &step.function_ref.name;
                    if function::find(called, &BTreeMap::new(), revisions, functions).is_err() {
                        obstacles.push(format!(
                            "Composition {name} calls {called}, which has no endpoint. Install it, or start the operator with --function {called}=ENDPOINT"
                        ));
                    }
                }
            }
        }
    }
    obstacles
}

fn in_words(found: &[Diagnostic]) -> String {
    found.iter().map(|found| found.summary.as_str()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_plimsoll_cannot_serve_stands_in_the_way() {
        let composition = |name: &str, spec: Value| {
            object::from_value(json!({
                "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": name},
                "spec": spec,
            }))
        };
        let of = json!({"apiVersion": "e.org/v1", "kind": "X"});
        let pipeline = |function: &str| json!({"compositeTypeRef": of, "mode": "Pipeline", "pipeline": [{"step": "s", "functionRef": {"name": function}}]});
        let compositions = [
            composition("old", json!({"compositeTypeRef": of, "mode": "Resources", "resources": []})),
            composition("fine", pipeline("function-auto-ready")),
            composition("lacking", pipeline("function-gone")),
        ];
        let found = obstacles(&[], &compositions, &[], &[]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("Composition old has no pipeline"), "{found:?}");
        assert!(found[1].starts_with("Composition lacking calls function-gone"), "{found:?}");
    }

    #[test]
    fn a_webhook_needs_crossplane_unless_it_is_ignored() {
        let check = |service: &str, policy: &str, expected: bool| {
            let webhooks = object::from_value(json!({"webhooks": [
                {"clientConfig": {"service": {"name": service}}, "failurePolicy": policy},
            ]}));
            assert_eq!(needs_crossplane(&webhooks), expected, "{service} {policy}");
        };
        check("crossplane-webhooks", "Fail", true);
        check("crossplane-webhooks", "Ignore", false);
        check("other", "Fail", false);
    }
}
