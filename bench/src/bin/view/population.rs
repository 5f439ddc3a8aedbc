//! What is in the cluster: claims, their XRs, what those are composed of, and what has nothing to do with them.

use std::time::{Duration, Instant, SystemTime};

use bench::Outcome;
use cluster::{Check, Selection, Session, WatchEvent, Write};
use futures::{StreamExt as _, stream};
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};

const GROUP: &str = "bench.example.org";
/// The claim that is looked at.
pub(crate) const CLAIM: &str = "app-0";
pub(crate) const NAMESPACE: &str = "shop-0";
const NAMESPACES: usize = 10;
const IN_FLIGHT: usize = 40;
const PATIENCE: Duration = Duration::from_secs(60);
/// A claim, its XR, three ConfigMaps, a Secret, and two objects of others.
const EACH: usize = 8;

pub(crate) struct Population {
    session: Session,
}

impl Population {
    pub(crate) async fn create(session: &Session, objects: usize) -> Outcome<Self> {
        for (kind, plural, scope, category) in
            [("App", "apps", "Namespaced", "claim"), ("XApp", "xapps", "Cluster", "composite")]
        {
            apply(session, &definition(kind, plural, scope, category)).await?;
        }
        for number in 0..NAMESPACES {
            apply(session, &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": format!("shop-{number}") } })).await?;
        }
        let groups = stream::iter(0..objects / EACH).map(|number| group(session, number));
        groups
            .buffer_unordered(IN_FLIGHT)
            .collect::<Vec<_>>()
            .await
            .into_iter()
            .collect::<Outcome<Vec<_>>>()?;
        let deployment = reference(&deployment("0"));
        let is_ready = |object: Option<&Value>| match object.map(|object| &object["status"]["readyReplicas"])
        {
            Some(replicas) if *replicas == 2 => Check::Met(()),
            _ => Check::NotYet("its pods are not ready".to_owned()),
        };
        session.wait_until(&deployment, PATIENCE, is_ready).await?;
        Ok(Self { session: session.clone() })
    }

    /// Changes the claim that is looked at, so that its message is `text`; when a watch brought that, as milliseconds since 1970.
    pub(crate) async fn change(&self, text: &str) -> Outcome<f64> {
        let claim = claim(0, text);
        let selection = Selection {
            namespace: Namespace::new(NAMESPACE),
            fields: Some(format!("metadata.name={CLAIM}")),
            ..Selection::default()
        };
        let gvk = format!("{GROUP}/v1/App").parse()?;
        let mut watch = self.session.watch(&gvk, selection, None).await?;
        // The first event is the object as it is.
        watch.next().await?;
        let (session, body) = (self.session.clone(), claim.clone());
        let applied =
            tokio::spawn(async move { apply(&session, &body).await.map_err(|error| error.to_string()) });
        let began = Instant::now();
        loop {
            if let WatchEvent::Applied(object) = watch.next().await?
                && object["status"] == claim["status"]
            {
                let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
                applied.await??;
                return Ok(time.as_secs_f64() * 1000.0);
            }
            if began.elapsed() > PATIENCE {
                return Err("the change was not seen".into());
            }
        }
    }
}

/// A claim with what belongs to it, and two objects of others.
async fn group(session: &Session, number: usize) -> Outcome<()> {
    let namespace = format!("shop-{}", number % NAMESPACES);
    apply(session, &claim(number, "all is well")).await?;
    let composite = apply(session, &composite(number)).await?;
    let owner = json!([{
        "apiVersion": format!("{GROUP}/v1"), "kind": "XApp", "name": composite["metadata"]["name"],
        "uid": composite["metadata"]["uid"], "controller": true,
    }]);
    let settings = |part: usize| {
        let metadata = json!({ "name": format!("app-{number}-{part}"), "namespace": namespace, "ownerReferences": owner,
            "labels": { "app.kubernetes.io/name": "shop", "crossplane.io/composite": format!("app-{number}") } });
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
            "data": { "level": "info", "port": "8080", "text": "value ".repeat(50) } })
    };
    for part in 0..3 {
        apply(session, &settings(part)).await?;
    }
    let name = format!("app-{number}");
    apply(session, &json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": namespace, "ownerReferences": owner },
        "stringData": { "password": "secret" } })).await?;
    apply(session, &json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": format!("other-{number}"), "namespace": namespace } })).await?;
    apply(session, &json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": format!("other-{number}"), "namespace": namespace },
        "spec": { "ports": [{ "port": 80 }] } })).await?;
    if number == 0 {
        let mut deployment = deployment("0");
        deployment["metadata"]["ownerReferences"] = owner;
        apply(session, &deployment).await?;
    }
    Ok(())
}

fn claim(number: usize, message: &str) -> Value {
    let condition = json!({ "type": "Ready", "status": "False", "reason": "Waiting", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z" });
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "App",
        "metadata": { "name": format!("app-{number}"), "namespace": format!("shop-{}", number % NAMESPACES) },
        "spec": {
            "size": "small", "image": "nginx:1.27",
            "resourceRef": { "apiVersion": format!("{GROUP}/v1"), "kind": "XApp", "name": format!("app-{number}") },
        },
        "status": { "conditions": [condition] },
    })
}

fn composite(number: usize) -> Value {
    let namespace = format!("shop-{}", number % NAMESPACES);
    let refer = |kind: &str, name: String| json!({ "apiVersion": "v1", "kind": kind, "namespace": namespace, "name": name });
    let mut references: Vec<Value> =
        (0..3).map(|part| refer("ConfigMap", format!("app-{number}-{part}"))).collect();
    references.push(refer("Secret", format!("app-{number}")));
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "XApp", "metadata": { "name": format!("app-{number}") },
        "spec": {
            "size": "small", "resourceRefs": references,
            "claimRef": { "apiVersion": format!("{GROUP}/v1"), "kind": "App", "namespace": namespace, "name": format!("app-{number}") },
        },
        "status": { "conditions": [condition("Synced"), condition("Ready")] },
    })
}

fn deployment(name: &str) -> Value {
    let labels = json!({ "app": "web" });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": format!("web-{name}"), "namespace": NAMESPACE },
        "spec": {
            "replicas": 2, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } },
        },
    })
}

fn definition(kind: &str, plural: &str, scope: &str, category: &str) -> Value {
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "type": "object", "properties": { "spec": any, "status": any } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP, "scope": scope,
            "names": { "kind": kind, "plural": plural, "categories": [category] },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

async fn apply(session: &Session, object: &Value) -> Outcome<Value> {
    let applied = session.apply_when_possible(&reference(object), object, Write::by("bench").force()).await;
    Ok(applied?.object)
}

fn reference(object: &Value) -> ObjectRef {
    ObjectRef::of(object.as_object().expect("an object")).expect("the benchmark names its objects")
}
