//! A namespace read as configuration, by Terraform 1.14.

use futures::future::join_all;
use serde_json::{Value, json};
use testkit::terraform::{Client, Run};

use crate::case::Case;

fn list(case: &Case, name: &str, api_version: &str, kind: &str, more: &str) -> String {
    let namespace = case.namespace.name();
    format!(
        "list \"k8sconnect_object\" {name:?} {{\n  provider = k8sconnect\n  config {{\n    api_version = {api_version:?}\n    \
         kind = {kind:?}\n    namespaces = [{namespace:?}]\n    {more}\n  }}\n}}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_is_adopted_without_a_change() {
    let case = Case::new("adopt", Client::terraform_1_14()).await;
    let manifests = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: shop}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx
        ports: [{containerPort: 80}]
        env: [{name: LEVEL, value: info}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: info}
";
    case.workspace.write("objects.yaml", manifests);
    let file = case.workspace.path("objects.yaml").display().to_string();
    case.namespace.kubectl(&["create", "-f", &file]).unwrap();
    let lists = [
        list(&case, "deployments", "apps/v1", "Deployment", "label_selector = \"team=shop\""),
        list(&case, "services", "v1", "Service", ""),
        list(&case, "maps", "v1", "ConfigMap", ""),
        list(&case, "sets", "apps/v1", "ReplicaSet", ""),
    ];
    case.workspace.write("all.tfquery.hcl", &lists.concat());
    let query = ["query", "-no-color", "-generate-config-out=generated.tf"];
    let queried = case.workspace.run(&query).expect_success();
    assert!(queried.text().contains("settings"), "{}", queried.output());
    let generated = std::fs::read_to_string(case.workspace.path("generated.tf")).unwrap();
    assert_eq!(generated.matches("\nimport {").count(), 3, "{generated}");
    for unwanted in [
        "status",
        "uid",
        "managedFields",
        "kube-root-ca",
        "ReplicaSet",
        "clusterIP",
        "revisionHistoryLimit",
        "terminationMessagePath",
        "dnsPolicy",
        "cluster =",
        "sessionAffinity",
        "imagePullPolicy",
        "Defaults Not Removed",
    ] {
        assert!(!generated.contains(unwanted), "{unwanted}: {generated}");
    }
    for wanted in ["replicas: 2", "image: nginx", "containerPort: 80", "targetPort: 8080", "level: info"] {
        assert!(generated.contains(wanted), "{wanted}: {generated}");
    }
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    let before = case.namespace.get(&web).await.unwrap();
    let applied = case.workspace.apply(&[]).expect_success().text();
    assert!(applied.contains("3 imported, 0 added"), "{applied}");
    let after = case.namespace.get(&web).await.unwrap();
    let content = |object: &Value| object["spec"].clone();
    assert_eq!(content(&before), content(&after));
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

/// A volume and a claim that is bound to it, as its controller leaves them.
async fn bound(case: &Case, name: &str, mode: &str, volume_name: &str, file: &str) {
    let namespace = case.namespace.name();
    let volume = format!("{namespace}-{name}");
    let written = if volume_name.is_empty() { String::new() } else { format!("  volumeName: {volume}\n") };
    let mode = if mode.is_empty() { String::new() } else { format!("  volumeMode: {mode}\n") };
    let manifests = format!(
        "apiVersion: v1
kind: PersistentVolume
metadata: {{name: {volume}}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteOnce]
  storageClassName: {volume}
  hostPath: {{path: /nowhere}}
{mode}---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: {volume}
  resources: {{requests: {{storage: 1Gi}}}}
{mode}{written}"
    );
    case.workspace.write(file, &manifests);
    let path = case.workspace.path(file).display().to_string();
    case.namespace.kubectl(&["apply", "-f", &path]).expect("an administrator may");
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}});
    let is_bound = |claim: Option<&Value>| claim.is_some_and(|claim| claim["status"]["phase"] == "Bound");
    case.namespace.until(&claim, "the claim is bound", is_bound).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_claim_is_adopted_without_a_change() {
    let case = Case::new("claims", Client::terraform_1_14()).await;
    for (name, mode, volume_name) in
        [("files", "Filesystem", ""), ("blocks", "Block", ""), ("default", "", ""), ("chosen", "", "chosen")]
    {
        bound(&case, name, mode, volume_name, &format!("{name}.yaml")).await;
    }
    let claims = list(&case, "claims", "v1", "PersistentVolumeClaim", "");
    case.workspace.write("all.tfquery.hcl", &claims);
    case.workspace.run(&["query", "-no-color", "-generate-config-out=generated.tf"]).expect_success();
    let generated = std::fs::read_to_string(case.workspace.path("generated.tf")).unwrap();
    assert_eq!(generated.matches("\nimport {").count(), 4, "{generated}");
    assert_eq!(generated.matches("volumeMode: Block").count(), 1, "{generated}");
    for unwanted in ["volumeMode: Filesystem", "pv.kubernetes.io", "finalizers", "Defaults Not Removed"] {
        assert!(!generated.contains(unwanted), "{unwanted}: {generated}");
    }
    assert_eq!(generated.matches("volumeName: ").count(), 1, "{generated}");
    let specs = async || {
        let claim = |name: &str| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}});
        let read = ["files", "blocks", "default", "chosen"].map(claim);
        join_all(read.iter().map(|claim| case.namespace.get(claim))).await
    };
    let content = |claims: Vec<Option<Value>>| -> Vec<Value> {
        claims.into_iter().map(|claim| claim.unwrap()["spec"].clone()).collect()
    };
    let before = content(specs().await);
    let applied = case.workspace.apply(&[]).expect_success().text();
    assert!(applied.contains("4 imported, 0 added, 4 changed, 0 destroyed"), "{applied}");
    assert_eq!(content(specs().await), before);
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_for_another_context_has_no_defaults_and_needs_its_cluster() {
    let sandbox = testkit::Sandbox::shared();
    let context = String::from_utf8(sandbox.kubectl(&["config", "current-context"]).stdout).unwrap();
    let case = Case::new("generate-context", Client::terraform_1_14()).await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    case.namespace.apply_as("team", &service).await;
    case.provider("");
    let id = format!("{}:{}:v1/Service:web", context.trim(), case.namespace.name());
    let import = format!("import {{\n  to = k8sconnect_object.web\n  id = {id:?}\n}}\n");
    case.workspace.write("import.tf", &import);
    let mut command = case.workspace.command();
    command.env("KUBECONFIG", sandbox.kubeconfig());
    command.args(["plan", "-no-color", "-input=false", "-generate-config-out=generated.tf"]);
    let planned = Run::from_output("plan", &command.output().unwrap()).expect_failure().text();
    // Terraform drops the warnings of a configuration that it generates, so the error has to say what to do.
    assert!(planned.contains("Missing Cluster Connection Configuration"), "{planned}");
    assert!(planned.contains("Set `cluster` here"), "{planned}");
    let generated = std::fs::read_to_string(case.workspace.path("generated.tf")).unwrap();
    assert!(generated.contains("port: 80") && !generated.contains("sessionAffinity"), "{generated}");
    assert!(!generated.contains("kubeconfig"), "{generated}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_objects_cost_one_request_per_page_and_no_page_too_many() {
    let mut case = Case::new("pages", Client::terraform_1_14()).await;
    let manager = "team";
    for hundred in 0..10 {
        let create = (0..100).map(|number| {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m-{hundred}{number:02}")}});
            let namespace = &case.namespace;
            async move { namespace.apply_as(manager, &map).await }
        });
        join_all(create).await;
    }
    // A page has 500 objects; the first one begins with an object of Kubernetes itself, which is left out.
    for (limit, pages) in [(1001, 3), (999, 2), (499, 1), (3, 1)] {
        let wanted = list(&case, "maps", "v1", "ConfigMap", "").replacen(
            "  config {",
            &format!("  include_resource = true\n  limit = {limit}\n  config {{"),
            1,
        );
        case.workspace.write("all.tfquery.hcl", &wanted);
        case.requests();
        let queried = case.workspace.run(&["query", "-no-color"]).expect_success();
        let found = queried.stdout().matches("name=m-").count();
        assert_eq!(found, limit.min(1000), "{}", queried.output());
        let requests = case.requests();
        assert_eq!(requests.len(), pages, "{requests:#?}");
        assert!(
            requests.iter().all(|request| request.starts_with("list ") && request.contains("limit=500")),
            "{requests:#?}"
        );
    }
}
