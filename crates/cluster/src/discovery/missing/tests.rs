use kube::core::discovery::v2::APIGroupDiscovery;

use super::super::catalog::GroupVersion;
use super::*;
use crate::test_server::kinds;

type Kinds<'a> = &'a [(&'a str, &'a str, &'a [(&'a str, &'a str, bool)])];

fn missing_from(served: Kinds<'_>, gvk: &str) -> MissingKind {
    let groups: Vec<APIGroupDiscovery> = serde_json::from_value(kinds(served)["items"].clone()).unwrap();
    let catalog: Catalog = groups.into_iter().flat_map(GroupVersion::aggregated).collect();
    MissingKind::new(&gvk.parse().unwrap(), &catalog)
}

fn missing(gvk: &str) -> MissingKind {
    let served: Kinds<'_> = &[
        ("", "v1", &[("configmaps", "ConfigMap", true), ("pods", "Pod", true)]),
        ("apps", "v1", &[("deployments", "Deployment", true), ("statefulsets", "StatefulSet", true)]),
        ("example.com", "v1beta1", &[("widgets", "Widget", true)]),
        ("example.org", "v1", &[("widgets", "Widget", true)]),
    ];
    missing_from(served, gvk)
}

#[test]
fn only_similar_names_are_suggested() {
    let check = |gvk: &str, expected: &[&str]| {
        let found: Vec<String> = missing(gvk).did_you_mean.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{gvk}");
    };
    check("apps/v1/Deploymnet", &["apps/v1/Deployment"]);
    check("v1/Configmap", &["v1/ConfigMap"]);
    check("app/v1/Deployment", &["apps/v1/Deployment"]);
    check("example.com/v1/Widget", &["example.com/v1beta1/Widget", "example.org/v1/Widget"]);
    check("example.net/v1/Widget", &["example.org/v1/Widget", "example.com/v1beta1/Widget"]);
    check("cert-manager.io/v1/Certificate", &[]);
}

#[test]
fn versions_that_are_served_come_best_first() {
    let versions = ["v1alpha1", "v1", "v2beta1", "v10", "v2", "v2beta2", "vnext"];
    let widgets = versions.map(|version| ("example.com", version, &[("widgets", "Widget", true)][..]));
    let missing = missing_from(&widgets, "example.com/v3/Widget");
    let served: Vec<&str> = missing.served.iter().map(GroupVersionKind::version).collect();
    assert_eq!(served, ["v10", "v2", "v1", "v2beta2", "v2beta1", "v1alpha1", "vnext"]);
    assert!(self::missing("cert-manager.io/v1/Certificate").served.is_empty());
}

#[test]
fn a_missing_kind_is_explained() {
    let explain = |gvk: &str, waited: u64| {
        let missing = missing(gvk);
        let explained = missing.explain(Some("x"), Duration::from_millis(waited));
        format!("{explained}\n\n{}", missing.advise())
    };
    insta::assert_snapshot!(explain("cert-manager.io/v1/Certificate", 28_600), @r#"
    CRD for Certificate/x not found after 30s: no matches for kind "Certificate" in "cert-manager.io/v1".

    The cluster does not serve the group cert-manager.io.

    Install the CRD, for instance in the same apply, or correct apiVersion and kind.
    "#);
    insta::assert_snapshot!(explain("example.com/v1/Widget", 0), @r#"
    CRD for Widget/x not found: no matches for kind "Widget" in "example.com/v1".

    The cluster serves the group example.com, but only in version v1beta1.

    Did you mean example.com/v1beta1 Widget or example.org/v1 Widget?

    Correct apiVersion and kind (apiVersion: example.com/v1beta1, kind: Widget), or install the CRD.
    "#);
    insta::assert_snapshot!(explain("example.com/v1beta1/Sprocket", 0), @r#"
    CRD for Sprocket/x not found: no matches for kind "Sprocket" in "example.com/v1beta1".

    The cluster serves the group example.com in version v1beta1, but not this kind.

    Install the CRD, for instance in the same apply, or correct apiVersion and kind.
    "#);
    insta::assert_snapshot!(explain("extensions/v1beta1/Deployment", 0), @r"
    There is no Deployment in extensions/v1beta1: Deployment is in apps/v1.

    Write apiVersion: apps/v1.
    ");
}
