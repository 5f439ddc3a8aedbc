//! The tree is right on clusters that others manage: what Argo CD, Flux, kro and Helm record belongs to what it came from.

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::server::Server;

/// Defines a kind without a schema worth the name.
fn define(sandbox: &Sandbox, group: &str, version: &str, kind: &str, plural: &str) {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    define_with(sandbox, (group, version, kind, plural), &schema);
}

fn define_with(sandbox: &Sandbox, (group, version, kind, plural): (&str, &str, &str, &str), schema: &Value) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "kind": kind, "plural": plural },
            "versions": [{ "name": version, "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), definition.to_string()).unwrap();
    let name = format!("crd/{plural}.{group}");
    let file = file.path().to_str().unwrap();
    for arguments in
        [&["apply", "-f", file][..], &["wait", &name, "--for=condition=Established", "--timeout=60s"]]
    {
        let output = sandbox.kubectl(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Defines a kind that records operations.
fn define_cloud_kind(sandbox: &Sandbox) {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let object = |name: &str, below: Value| json!({ "type": "object", "properties": { name: below } });
    let schema = object("status", object("status", object("async", open)));
    define_with(sandbox, ("late.oracle.com", "v1", "Thing", "things"), &schema);
}

/// A ConfigMap with labels and annotations.
fn map(name: &str, labels: &Value, annotations: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "labels": labels, "annotations": annotations } })
}

/// The names below the root of a tree, each with its health.
fn children(server: &Server, ns: &Namespace, object: &str) -> Vec<String> {
    let tree = server.json(&format!("/api/tree/{}/{object}", ns.name()));
    let children = tree["children"].as_array().unwrap().iter();
    children
        .map(|child| format!("{} {}", child["name"].as_str().unwrap(), child["health"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn what_other_tools_deliver_belongs_to_what_it_came_from() {
    // The definitions would be seen by other tests.
    let sandbox = Sandbox::dedicated("inventories");
    let ns = sandbox.namespace("ui-inventories").await;
    for (group, version, kind, plural) in [
        ("argoproj.io", "v1alpha1", "Application", "applications"),
        ("kustomize.toolkit.fluxcd.io", "v1", "Kustomization", "kustomizations"),
        ("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases"),
    ] {
        define(&sandbox, group, version, kind, plural);
    }
    let none = json!({});
    let resource =
        |name: &str| json!({ "version": "v1", "kind": "ConfigMap", "namespace": ns.name(), "name": name });
    let application = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": { "name": "web" },
        "status": { "resources": [resource("listed"), resource("gone")] },
    });
    ns.apply_as("argocd", &application).await;
    ns.apply_as("argocd", &map("listed", &none, &none)).await;
    let tracking =
        json!({ "argocd.argoproj.io/tracking-id": format!("{}_web:/ConfigMap:x/tracked", ns.name()) });
    ns.apply_as("argocd", &map("tracked", &none, &tracking)).await;

    let entry = json!({ "id": format!("{}_in-inventory__ConfigMap", ns.name()), "v": "v1" });
    let kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": { "name": "apps" },
        "status": { "inventory": { "entries": [entry] } },
    });
    ns.apply_as("flux", &kustomization).await;
    let of_flux = json!({ "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": ns.name() });
    ns.apply_as("flux", &map("in-inventory", &of_flux, &none)).await;
    ns.apply_as("flux", &json!({ "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": { "name": "chart" } })).await;
    let of_release =
        json!({ "helm.toolkit.fluxcd.io/name": "chart", "helm.toolkit.fluxcd.io/namespace": ns.name() });
    ns.apply_as("helm", &map("in-chart", &of_release, &none)).await;

    let instance = json!({ "kro.run/resource-graph-definition-id": "graph" });
    let instance = ns.apply_as("kro", &map("instance", &instance, &none)).await;
    let of_instance = json!({ "kro.run/instance-id": instance["metadata"]["uid"] });
    ns.apply_as("kro", &map("of-instance", &of_instance, &none)).await;

    let release = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": { "name": "sh.helm.release.v1.shop.v1", "labels": { "name": "shop", "owner": "helm", "status": "deployed" } },
    });
    ns.apply_as("helm", &release).await;
    let of_helm = json!({ "meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": ns.name() });
    ns.apply_as("helm", &map("of-helm", &none, &of_helm)).await;

    let server = Server::on(&sandbox.kubeconfig(), &["--namespace", ns.name()]);
    let check =
        |object: &str, expected: &[&str]| assert_eq!(children(&server, &ns, object), expected, "{object}");
    check("application.argoproj.io/web", &["gone missing", "listed silent", "tracked silent"]);
    check("kustomization.kustomize.toolkit.fluxcd.io/apps", &["in-inventory silent"]);
    check("helmrelease.helm.toolkit.fluxcd.io/chart", &["in-chart silent"]);
    check("configmap/instance", &["of-instance silent"]);
    check("secret/sh.helm.release.v1.shop.v1", &["of-helm silent"]);

    // From a member, links lead up.
    for (member, parent) in [
        ("tracked", "application.argoproj.io/web"),
        ("in-inventory", "kustomization.kustomize.toolkit.fluxcd.io/apps"),
        ("in-chart", "helmrelease.helm.toolkit.fluxcd.io/chart"),
    ] {
        let page = server.get(&format!("/tree/{}/configmap/{member}", ns.name())).body;
        assert!(page.contains(&format!("href=\"/tree/{}/{parent}\"", ns.name())), "{member}: {page}");
    }
    let start = server.json("/api/search");
    let sections: Vec<&str> =
        start["objects"].as_array().unwrap().iter().filter_map(|it| it["section"].as_str()).collect();
    assert_eq!(sections, ["Deliveries"; 3]);
    // A name is found whatever kind has it, without the state that only a whole object tells.
    let found = server.json("/api/search?q=tracked");
    let names: Vec<&str> =
        found["objects"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["tracked"]);

    // A kind that is defined while the page is open is seen, too, in each view.
    let mut start = server.events("/live/");
    assert!(start.next().unwrap().contains("Deliveries"));
    let mut found = server.events("/live/?q=latecomer");
    assert!(found.next().is_some());
    let mut operations = server.events("/live/operations");
    assert!(operations.next().is_some());
    let root = ns.get(&map("listed", &none, &none)).await.unwrap();
    let mut pages = server.events(&format!("/live/tree/{}/configmap/listed", ns.name()));
    assert!(pages.next().unwrap().contains("listed"));
    define(&sandbox, "late.example.org", "v1", "Late", "lates");
    let owner =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "listed", "uid": root["metadata"]["uid"] });
    let late = json!({ "apiVersion": "late.example.org/v1", "kind": "Late", "metadata": { "name": "latecomer", "ownerReferences": [owner] } });
    ns.apply_as("platform-team", &late).await;
    assert!(pages.find(|view| view.contains("latecomer")).is_some());
    assert!(found.find(|view| view.contains("latecomer")).is_some());

    define_cloud_kind(&sandbox);
    let thing =
        json!({ "apiVersion": "late.oracle.com/v1", "kind": "Thing", "metadata": { "name": "made-late" } });
    let thing = ns.apply_as("platform-team", &thing).await;
    assert!(start.find(|view| view.contains("made-late")).is_some());
    let current = json!({
        "source": "workrequest", "phase": "create", "normalizedClass": "pending", "updatedAt": "2026-01-02T03:04:05Z",
    });
    let status = json!({ "status": { "status": { "async": { "current": current } } } });
    ns.merge_as("operator", &thing, &status).await;
    assert!(operations.find(|view| view.contains("made-late")).is_some());
}
