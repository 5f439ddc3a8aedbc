use cluster::{Class, Write};
use serde_json::json;

use super::*;

/// Applies `object`, changes it, and returns the class of the server's rejection.
async fn refused(object: Value, change: impl FnOnce(&mut Value)) -> (Class, Option<Vec<String>>) {
    let session = session();
    let target = reference(&object);
    let live = session.apply(&target, &object, Write::by("us")).await.unwrap().object;
    let mut sent = object;
    change(&mut sent);
    let error = session.apply(&target, &sent, Write::by("us").force().dry_run()).await.unwrap_err();
    (error.class(), error.immutable_fields(&sent, &live))
}

fn immutable(fields: &[&str]) -> (Class, Option<Vec<String>>) {
    (Class::Immutable, Some(fields.iter().map(|field| (*field).to_owned()).collect()))
}

#[tokio::test]
async fn immutable_fields_are_recognised() {
    let namespace = Sandbox::shared().namespace("immutable").await;
    let named = |api_version: &str, kind: &str, rest: Value| {
        let mut object = rest;
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"] = json!({ "name": "x", "namespace": namespace.name() });
        object
    };
    let found = refused(deployment(&namespace, "web", 1), |object| {
        object["spec"]["selector"]["matchLabels"] = json!({ "app": "other" });
        object["spec"]["template"]["metadata"]["labels"] = json!({ "app": "other" });
    })
    .await;
    assert_eq!(found, immutable(&["spec.selector"]));

    let frozen = named("v1", "ConfigMap", json!({ "immutable": true, "data": { "k": "v" } }));
    let found = refused(frozen, |object| object["data"]["k"] = json!("w")).await;
    assert_eq!(found, immutable(&["data"]));

    let service = named("v1", "Service", json!({ "spec": { "ports": [{ "port": 80 }] } }));
    let found = refused(service, |object| object["spec"]["clusterIP"] = json!("10.0.99.99")).await;
    assert_eq!(found, immutable(&["spec.clusterIPs[0]"]));

    let binding = named(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        json!({
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
        }),
    );
    let found = refused(binding, |object| object["roleRef"]["name"] = json!("edit")).await;
    assert_eq!(found, immutable(&["roleRef"]));

    let template = json!({
        "metadata": { "labels": { "app": "x" } },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "registry.example.com/a:1" }] },
    });
    let job = named("batch/v1", "Job", json!({ "spec": { "template": template } }));
    let found = refused(job, |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example.com/a:2");
    })
    .await;
    assert_eq!(found, immutable(&["spec.template"]));

    let set = named(
        "apps/v1",
        "StatefulSet",
        json!({ "spec": {
        "serviceName": "a", "selector": { "matchLabels": { "app": "x" } },
        "template": {
            "metadata": { "labels": { "app": "x" } },
            "spec": { "containers": [{ "name": "main", "image": "registry.example.com/a:1" }] },
        },
    } }),
    );
    let found = refused(set, |object| object["spec"]["serviceName"] = json!("b")).await;
    assert_eq!(found, immutable(&["spec"]));

    let claim = named(
        "v1",
        "PersistentVolumeClaim",
        json!({ "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
    } }),
    );
    let found = refused(claim, |object| object["spec"]["accessModes"] = json!(["ReadWriteMany"])).await;
    assert_eq!(found, immutable(&["spec"]));
}

#[tokio::test]
async fn a_forbidden_value_is_not_an_immutable_field() {
    let namespace = Sandbox::shared().namespace("not-allowed").await;
    let metadata = json!({ "name": "x", "namespace": namespace.name() });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": { "ports": [{ "port": 80 }] },
    });
    // For instance "Forbidden: may only be set when `type` is 'LoadBalancer'".
    for change in [
        json!({ "ports": [{ "port": 80 }], "loadBalancerSourceRanges": ["10.0.0.0/8"] }),
        json!({ "ports": [{ "port": 80, "nodePort": 30_000 }], "type": "ClusterIP" }),
        json!({ "ports": [{ "port": 70_000 }] }),
        json!({ "ports": [{ "port": 80, "protocol": "HTTP" }] }),
    ] {
        let (class, fields) = refused(service.clone(), |object| object["spec"] = change).await;
        assert_ne!(class, Class::Immutable);
        assert_eq!(fields, None);
    }
    let (class, _) = refused(deployment(&namespace, "web", 1), |object| {
        object["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = json!("Sometimes");
    })
    .await;
    assert_eq!(class, Class::FieldValidation);
}

#[tokio::test]
async fn a_crd_s_rules_and_schema_are_distinguished() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("cel").await);
    let group = group_of(&namespace);
    let definition = crd(
        &group,
        "Widget",
        &json!({
            "type": "object",
            "properties": {
                "min": { "type": "integer", "maximum": 10 },
                "max": { "type": "integer" },
                "fixed": { "type": "string", "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": "Value is immutable" }] },
            },
            "x-kubernetes-validations": [
                { "rule": "self.min <= self.max" },
                { "rule": "self.max < 100", "message": "max is too large" },
            ],
        }),
    );
    session.apply(&reference(&definition), &definition, Write::by("us")).await.unwrap();
    let widget = |spec: Value| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "Widget",
            "metadata": { "name": "w", "namespace": namespace.name() }, "spec": spec,
        })
    };
    let sound = widget(json!({ "min": 1, "max": 2, "fixed": "a" }));
    let live = session.apply_when_possible(&reference(&sound), &sound, Write::by("us")).await.unwrap().object;
    let check = async |spec: Value, expected: Class, words: &str| {
        let object = widget(spec);
        let error = session.apply(&reference(&object), &object, Write::by("us")).await.unwrap_err();
        assert_eq!(error.class(), expected, "{error:?}");
        let detail = error.diagnostic("Update").detail;
        assert!(detail.contains(words), "{detail}");
        error.immutable_fields(&object, &live)
    };
    check(json!({ "min": 3, "max": 2, "fixed": "a" }), Class::Cel, "Rule: self.min <= self.max").await;
    check(json!({ "min": 3, "max": 200, "fixed": "a" }), Class::Cel, "max is too large").await;
    check(json!({ "min": 30, "max": 40, "fixed": "a" }), Class::FieldValidation, "spec.min").await;
    check(json!({ "min": 1, "max": "x", "fixed": "a" }), Class::FieldValidation, "Field: spec.max").await;
    let fields = check(json!({ "min": 1, "max": 2, "fixed": "b" }), Class::Immutable, "spec.fixed").await;
    assert_eq!(fields.as_deref(), Some(&["spec.fixed".to_owned()][..]));
}

#[tokio::test]
async fn invalid_quantities_and_exceeded_quotas_are_classified() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("quantity").await);
    let mut object = deployment(&namespace, "web", 1);
    object["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({ "limits": { "memory": "lots" } });
    let error = session.apply(&reference(&object), &object, Write::by("us")).await.unwrap_err();
    assert_eq!(error.class(), Class::FieldValidation, "{error:?}");
    assert_eq!(
        error.diagnostic("Plan").hint.as_deref(),
        Some("Write quantities as 500m, 0.5, 128Mi or 1Gi.")
    );

    let metadata = json!({ "name": "q", "namespace": namespace.name() });
    let quota = json!({ "apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": { "hard": { "count/secrets": "0" } } });
    session.apply(&reference(&quota), &quota, Write::by("us")).await.unwrap();
    let measured = |quota: Option<&Value>| quota.is_some_and(|quota| !quota["status"]["hard"].is_null());
    namespace.until(&quota, "the quota is measured", measured).await;
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": namespace.name() } });
    let error = session.apply(&reference(&secret), &secret, Write::by("us")).await.unwrap_err();
    assert_eq!(error.class(), Class::InsufficientPermissions);
    assert!(error.diagnostic("Create").detail.contains("exceeded quota"));
}
