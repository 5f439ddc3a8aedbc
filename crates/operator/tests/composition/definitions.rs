//! XRDs come, change and go, and their kinds with them.

use std::collections::BTreeMap;

use cluster::Session;
use functions::{RunRequest, response};
use serde_json::{Value, json};
use testkit::Sandbox;

use crate::fixture::{
    apply, condition, condition_line, delete, get, group, is_true, legacy_xrd, modern_xrd, reference,
    session, until, until_gone, until_recorded, version, world,
};
use crate::operators::{Operator, alone};
use crate::platform::{Platform, children, desire, map};

fn crd(name: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
    })
}

#[tokio::test]
async fn users_can_use_what_an_xrd_offers() {
    world();
    let (session, group) = (session(), group("users"));
    let xrd = apply(&session, &legacy_xrd(&group)).await;
    for role in ["edit", "view", "browse"] {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": format!("users-{role}"), "namespace": "default"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": format!("crossplane-{role}")},
            "subjects": [{"kind": "User", "name": format!("user-{role}")}],
        });
        apply(&session, &binding).await;
    }
    until(&session, &xrd, "it is offered", |xrd| is_true(xrd, "Offered")).await;
    let aggregated = |role: &Value| {
        let of_group = |rule: &Value| rule["apiGroups"] == json!([group]);
        role["rules"].as_array().is_some_and(|rules| rules.iter().any(of_group))
    };
    for role in ["edit", "view", "browse"] {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": format!("crossplane-{role}")},
        });
        until(&session, &role, "the rules of the XRD are aggregated", aggregated).await;
    }
    let may = |user: &str, verb: &str, plural: &str| {
        let (user, resource) = (format!("--as=user-{user}"), format!("{plural}.{group}"));
        let asked = ["auth", "can-i", "--namespace=default", &user, verb, &resource];
        Sandbox::shared().kubectl(&asked).status.success()
    };
    let allowed = ["edit", "view", "browse"].map(|user| {
        let asked = [("create", "apps"), ("get", "apps"), ("get", "xapps"), ("delete", "xapps")];
        asked.map(|(verb, plural)| may(user, verb, plural))
    });
    let (edit, view, browse) = ([true; 4], [false, true, true, false], [false, false, true, false]);
    assert_eq!(allowed, [edit, view, browse]);
    delete(&session, &xrd).await;
}

#[tokio::test]
async fn a_legacy_xrd_defines_an_xr_and_offers_a_claim() {
    world();
    let (session, group) = (session(), group("legacy"));
    let xrd = apply(&session, &legacy_xrd(&group)).await;
    let watched = |xrd: &Value| is_true(xrd, "Established") && is_true(xrd, "Offered");
    let offered = until(&session, &xrd, "it is established and offered", watched).await;
    assert_eq!(condition_line(&offered, "Established"), "Established=True WatchingCompositeResource");
    assert_eq!(condition_line(&offered, "Offered"), "Offered=True WatchingCompositeResourceClaim");
    let api_version = format!("{group}/v1");
    assert_eq!(
        offered["status"]["controllers"],
        json!({
            "compositeResourceType": {"apiVersion": api_version, "kind": "XApp"},
            "compositeResourceClaimType": {"apiVersion": api_version, "kind": "App"},
        })
    );
    assert_eq!(
        offered["metadata"]["finalizers"],
        json!(["defined.apiextensions.crossplane.io", "offered.apiextensions.crossplane.io"])
    );
    let composite = get(&session, &crd(&format!("xapps.{group}"))).await.unwrap();
    assert_eq!(composite["spec"]["scope"], "Cluster");
    assert_eq!(composite["metadata"]["ownerReferences"][0]["uid"], offered["metadata"]["uid"]);
    assert_eq!(composite["metadata"]["ownerReferences"][0]["controller"], true);
    let claim = get(&session, &crd(&format!("apps.{group}"))).await.unwrap();
    assert_eq!(claim["spec"]["scope"], "Namespaced");
    for event in [
        format!(
            "Normal EstablishComposite: Applied composite resource CustomResourceDefinition: xapps.{group}"
        ),
        format!("Normal OfferClaim: Applied composite resource claim CustomResourceDefinition: apps.{group}"),
    ] {
        until_recorded(&session, &offered, &event).await;
    }
}

#[tokio::test]
async fn modern_scopes_define_xrs_without_claims() {
    world();
    let session = session();
    for (scope, crd_scope) in [("Namespaced", "Namespaced"), ("Cluster", "Cluster")] {
        let group = group("modern");
        let xrd = apply(&session, &modern_xrd(&group, scope)).await;
        let established = until(&session, &xrd, "it is established", |xrd| is_true(xrd, "Established")).await;
        assert!(condition(&established, "Offered").is_none());
        assert_eq!(established["metadata"]["finalizers"], json!(["defined.apiextensions.crossplane.io"]));
        let crd = get(&session, &crd(&format!("xapps.{group}"))).await.unwrap();
        assert_eq!(crd["spec"]["scope"], crd_scope, "{scope}");
    }
}

#[tokio::test]
async fn a_changed_xrd_changes_its_kinds() {
    world();
    let (session, group) = (session(), group("changed"));
    let mut wanted = legacy_xrd(&group);
    let xrd = apply(&session, &wanted).await;
    until(&session, &xrd, "it is offered", |xrd| is_true(xrd, "Offered")).await;
    // Another version becomes the one Compositions are written for, and another label goes to the CRDs.
    wanted["spec"]["versions"] = json!([version("v1", false), version("v2", true)]);
    wanted["spec"]["metadata"] = json!({"labels": {"team": "platform"}});
    apply(&session, &wanted).await;
    let wants = |crd: &Value| {
        crd["metadata"]["labels"]["team"] == "platform" && crd["spec"]["versions"][1]["storage"] == true
    };
    for plural in ["xapps", "apps"] {
        until(&session, &crd(&format!("{plural}.{group}")), "it has changed", wants).await;
    }
    let moved = until(&session, &xrd, "the other version is watched", |xrd| {
        xrd["status"]["controllers"]["compositeResourceType"]["apiVersion"] == format!("{group}/v2")
    })
    .await;
    assert_eq!(
        condition(&moved, "Established").unwrap()["observedGeneration"],
        moved["metadata"]["generation"]
    );
    // A CRD is changed by hand.
    let mut tampered = crd(&format!("xapps.{group}"));
    tampered["metadata"]["labels"] = json!({"team": "changed"});
    apply(&session, &tampered).await;
    until(&session, &tampered, "it is put right", |crd| crd["metadata"]["labels"]["team"] == "platform")
        .await;
}

#[tokio::test]
async fn a_crd_of_another_controller_is_never_touched() {
    world();
    let (session, group) = (session(), group("foreign"));
    let mut foreign = crd(&format!("xapps.{group}"));
    foreign["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "other-owner", "uid": "not-ours", "controller": true,
    }]);
    foreign["spec"] = json!({
        "group": group, "scope": "Cluster", "names": {"kind": "XApp", "plural": "xapps"},
        "versions": [{"name": "v1", "served": true, "storage": true,
                      "schema": {"openAPIV3Schema": {"type": "object"}}}],
    });
    let before = apply(&session, &foreign).await;
    let xrd = apply(&session, &modern_xrd(&group, "Cluster")).await;
    let refused = until(&session, &xrd, "it says why", |xrd| condition(xrd, "Established").is_some()).await;
    assert_eq!(condition_line(&refused, "Established"), "Established=False EstablishComposite");
    let message = condition(&refused, "Established").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("existing object is not controlled by UID"), "{message}");
    let after = get(&session, &foreign).await.unwrap();
    assert_eq!(before["spec"]["versions"], after["spec"]["versions"]);
    // It goes, and leaves what is not its own.
    delete(&session, &xrd).await;
    until_gone(&session, &xrd).await;
    assert!(get(&session, &foreign).await.is_some());
}

/// The role that an XRD grants the operator.
fn role(xrd: &str) -> Value {
    role_for(xrd, "crossplane")
}

/// The role by which an XRD grants its kinds to these users.
fn role_for(xrd: &str, audience: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": format!("crossplane:composite:{xrd}:aggregate-to-{audience}")},
    })
}

#[tokio::test]
async fn a_crd_that_no_xrd_defined_is_not_taken_over() {
    world();
    let (session, group) = (session(), group("users-own"));
    let mut users = crd(&format!("xapps.{group}"));
    users["spec"] = json!({
        "group": group, "scope": "Cluster", "names": {"kind": "XApp", "plural": "xapps"},
        "versions": [{"name": "v1", "served": true, "storage": true,
                      "schema": {"openAPIV3Schema": {"type": "object"}}}],
    });
    apply(&session, &users).await;
    let before = until(&session, &users, "it is established", |crd| is_true(crd, "Established")).await;
    let object =
        json!({"apiVersion": format!("{group}/v1"), "kind": "XApp", "metadata": {"name": "precious"}});
    apply(&session, &object).await;
    let xrd = apply(&session, &modern_xrd(&group, "Cluster")).await;
    let refused = until(&session, &xrd, "it says why", |xrd| condition(xrd, "Established").is_some()).await;
    assert_eq!(condition_line(&refused, "Established"), "Established=False EstablishComposite");
    let message = condition(&refused, "Established").unwrap()["message"].as_str().unwrap();
    assert!(message.contains(&format!("CustomResourceDefinition xapps.{group} exists")), "{message}");
    until_recorded(&session, &refused, "Warning EstablishComposite: ").await;
    delete(&session, &xrd).await;
    until_gone(&session, &xrd).await;
    let after = get(&session, &users).await.unwrap();
    assert_eq!(before["spec"], after["spec"]);
    assert_eq!(before["metadata"].get("ownerReferences"), after["metadata"].get("ownerReferences"));
    assert_eq!(get(&session, &role(&format!("xapps.{group}"))).await, None);
    assert!(
        get(&session, &object)
            .await
            .is_some_and(|object| object["metadata"].get("deletionTimestamp").is_none())
    );
}

#[tokio::test]
async fn rights_on_a_kind_are_taken_back_when_another_owner_takes_its_crd() {
    world();
    let (session, group) = (session(), group("taken"));
    let xrd = apply(&session, &modern_xrd(&group, "Cluster")).await;
    until(&session, &xrd, "it is established", |xrd| is_true(xrd, "Established")).await;
    let crd = crd(&format!("xapps.{group}"));
    let owner = |uid: &Value| {
        json!({"metadata": {"ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": true,
        }]}})
    };
    let patch = async |change: Value| {
        let write = cluster::Write::by("person");
        session.patch(&reference(&crd), cluster::PatchType::Merge, &change, write).await.unwrap();
    };
    patch(owner(&json!("not-ours"))).await;
    until(&session, &xrd, "it is no longer established", |xrd| !is_true(xrd, "Established")).await;
    let roles = ["crossplane", "edit", "view", "browse"].map(|suffix| {
        let mut role = role(&format!("xapps.{group}"));
        role["metadata"]["name"] = format!("crossplane:composite:xapps.{group}:aggregate-to-{suffix}").into();
        role
    });
    for role in &roles {
        let is_empty = |role: &Value| role["rules"].as_array().is_none_or(Vec::is_empty);
        until(&session, role, "it grants nothing", is_empty).await;
    }
    // Without an owner it is the XRD's again, and so are the rights.
    patch(json!({"metadata": {"ownerReferences": null}})).await;
    let again = json!({"metadata": {"labels": {"look": "again"}}});
    let write = cluster::Write::by("person");
    session.patch(&reference(&xrd), cluster::PatchType::Merge, &again, write).await.unwrap();
    until(&session, &xrd, "it is established again", |xrd| is_true(xrd, "Established")).await;
    for role in &roles {
        let has_rules = |role: &Value| role["rules"].as_array().is_some_and(|rules| !rules.is_empty());
        until(&session, role, "it grants the kind", has_rules).await;
    }
    delete(&session, &xrd).await;
    until_gone(&session, &xrd).await;
}

/// As after a restore from a backup without owner references.
#[tokio::test]
async fn a_crd_of_the_xrd_that_lost_its_controller_is_taken_back() {
    world();
    let (session, group) = (session(), group("restored"));
    let xrd = apply(&session, &legacy_xrd(&group)).await;
    until(&session, &xrd, "it is offered", |xrd| is_true(xrd, "Offered")).await;
    for plural in ["xapps", "apps"] {
        let crd = crd(&format!("{plural}.{group}"));
        let patch = json!({"metadata": {"ownerReferences": null}});
        let write = cluster::Write::by("person");
        session.patch(&reference(&crd), cluster::PatchType::Merge, &patch, write).await.unwrap();
        let owned = |crd: &Value| crd["metadata"]["ownerReferences"][0]["uid"] == xrd["metadata"]["uid"];
        until(&session, &crd, "the XRD controls it again", owned).await;
    }
}

#[tokio::test]
async fn an_xrd_in_a_group_of_kubernetes_is_refused_and_grants_nothing() {
    world();
    let session = session();
    for (group, plural, kind) in [
        ("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"),
        ("apps", "deployments", "Deployment"),
        ("made-up.k8s.io", "xapps", "XApp"),
    ] {
        let mut wanted = modern_xrd(group, "Cluster");
        let name = format!("{plural}.{group}");
        wanted["metadata"]["name"] = name.clone().into();
        wanted["spec"]["names"] = json!({"kind": kind, "plural": plural});
        let xrd = apply(&session, &wanted).await;
        let refused =
            until(&session, &xrd, "it says why", |xrd| condition(xrd, "Established").is_some()).await;
        assert_eq!(condition_line(&refused, "Established"), "Established=False RenderCRD");
        let message = condition(&refused, "Established").unwrap()["message"].as_str().unwrap();
        assert!(message.contains(&format!("the group {group:?} belongs to Kubernetes")), "{message}");
        until_recorded(&session, &refused, &format!("the group {group:?} belongs to Kubernetes")).await;
        assert_eq!(get(&session, &role(&name)).await, None, "{name}");

        // What an earlier operator granted for it is taken back, from itself and from users.
        let granted = ["crossplane", "edit", "view", "browse"].map(|audience| {
            let mut granted = role_for(&name, audience);
            granted["metadata"]["ownerReferences"] = json!([{
                "apiVersion": xrd["apiVersion"], "kind": xrd["kind"], "name": name, "uid": xrd["metadata"]["uid"],
                "controller": true,
            }]);
            granted["rules"] = json!([{"apiGroups": [group], "resources": ["made-up"], "verbs": ["*"]}]);
            granted
        });
        for role in &granted {
            apply(&session, role).await;
        }
        wanted["metadata"]["labels"] = json!({"look": "again"});
        apply(&session, &wanted).await;
        let is_empty = |role: &Value| role["rules"].as_array().is_none_or(Vec::is_empty);
        for role in &granted {
            until(&session, role, "it grants nothing", is_empty).await;
        }
        delete(&session, &xrd).await;
        until_gone(&session, &xrd).await;
    }
}

/// As after `kubectl apply -k deploy`, without `roles-definitions.yaml`.
#[tokio::test]
async fn an_operator_that_may_not_grant_says_which_role_to_create() {
    const ACCOUNT: &str = "system:serviceaccount:plimsoll-system:plimsoll-operator";
    let (sandbox, _turn) = alone().await;
    let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
    let applied = sandbox.kubectl(&["apply", "--server-side", "--force-conflicts", "--kustomize", deploy]);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let session = Session::new(sandbox.client().await);
    let connect = async || Session::new(sandbox.client().await).acting_as(ACCOUNT).client().clone();
    let _operator = Operator::start_with(BTreeMap::new(), connect);
    let group = group("bare");
    let xrd = apply(&session, &legacy_xrd(&group)).await;
    let says = |xrd: &Value| condition(xrd, "Established").is_some() && condition(xrd, "Offered").is_some();
    let refused = until(&session, &xrd, "it says what is missing", says).await;
    assert_eq!(condition_line(&refused, "Established"), "Established=False EstablishComposite");
    let message = condition(&refused, "Established").unwrap()["message"].as_str().unwrap();
    let (text, rules) = message.split_once("these rules: ").unwrap();
    assert!(
        text.starts_with("the operator has no rights on this kind, and may not grant them itself: "),
        "{text}"
    );

    let mut granted = role(&format!("xapps.{group}"));
    granted["metadata"]["labels"] = json!({"rbac.crossplane.io/aggregate-to-crossplane": "true"});
    granted["rules"] = serde_json::from_str(rules).unwrap();
    apply(&session, &granted).await;
    let watched = |xrd: &Value| is_true(xrd, "Established") && is_true(xrd, "Offered");
    until(&session, &xrd, "it is established and offered", watched).await;
}

#[tokio::test]
async fn an_invalid_xrd_reports_why_until_it_is_fixed() {
    world();
    let (session, group) = (session(), group("broken"));
    let mut wanted = modern_xrd(&group, "Cluster");
    wanted["spec"]["versions"] = json!([version("v1", true), version("v2", true)]);
    let xrd = apply(&session, &wanted).await;
    let refused = until(&session, &xrd, "it says why", |xrd| condition(xrd, "Established").is_some()).await;
    assert_eq!(condition_line(&refused, "Established"), "Established=False RenderCRD");
    let message = condition(&refused, "Established").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("exactly one version must be referenceable, found 2"), "{message}");
    assert!(get(&session, &crd(&format!("xapps.{group}"))).await.is_none());
    wanted["spec"]["versions"] = json!([version("v1", true), version("v2", false)]);
    apply(&session, &wanted).await;
    until(&session, &xrd, "it is established", |xrd| is_true(xrd, "Established")).await;
}

/// Crossplane rejects such an XRD when it is written, by a webhook.
#[tokio::test]
async fn an_xrd_whose_crd_is_rejected_reports_why_until_it_is_fixed() {
    world();
    let (session, group) = (session(), group("refused-crd"));
    let mut wanted = legacy_xrd(&group);
    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/coolerField/type";
    *wanted.pointer_mut(schema).unwrap() = "bogus".into();
    let xrd = apply(&session, &wanted).await;
    let both = |xrd: &Value| condition(xrd, "Established").is_some() && condition(xrd, "Offered").is_some();
    let refused = until(&session, &xrd, "it says why", both).await;
    assert_eq!(condition_line(&refused, "Established"), "Established=False EstablishComposite");
    assert_eq!(condition_line(&refused, "Offered"), "Offered=False OfferClaim");
    let message = condition(&refused, "Established").unwrap()["message"].as_str().unwrap();
    assert!(message.contains("Unsupported value: \"bogus\""), "{message}");
    assert_eq!(
        get(&session, &role(&format!("xapps.{group}"))).await,
        None,
        "nothing is granted before it exists"
    );
    apply(&session, &legacy_xrd(&group)).await;
    let offered = |xrd: &Value| is_true(xrd, "Established") && is_true(xrd, "Offered");
    until(&session, &xrd, "it is offered", offered).await;
    assert!(get(&session, &role(&format!("xapps.{group}"))).await.is_some());
}

#[tokio::test]
async fn an_xrd_is_deleted_after_its_kinds_and_can_be_created_again() {
    world();
    let (session, group) = (session(), group("gone"));
    for round in 0..2 {
        let xrd = apply(&session, &legacy_xrd(&group)).await;
        until(&session, &xrd, "it is offered", |xrd| is_true(xrd, "Offered")).await;
        delete(&session, &xrd).await;
        until_gone(&session, &xrd).await;
        for plural in ["xapps", "apps"] {
            assert!(get(&session, &crd(&format!("{plural}.{group}"))).await.is_none(), "{round}: {plural}");
        }
    }
}

#[tokio::test]
async fn claims_and_xrs_are_deleted_before_their_kinds() {
    let compose = |request: RunRequest| async move {
        let mut rsp = response::to(&request);
        desire(&mut rsp, "map", map(&json!({})));
        Ok(rsp)
    };
    let platform = Platform::new("swept", compose).await;
    let session = session();
    let claim = apply(&session, &platform.claim("swept", json!({}))).await;
    let alone = platform.object("XApp", "alone", None, &json!({"compositionRef": {"name": platform.group}}));
    apply(&session, &alone).await;
    until(&session, &claim, "it is ready", |claim| is_true(claim, "Ready")).await;
    until(&session, &alone, "it is ready", |xr| is_true(xr, "Ready")).await;
    let xr = platform.xr(&claim, "it has a child", |xr| xr.pointer("/spec/resourceRefs/0").is_some()).await;
    let composed = children(&xr).await.remove(0);
    let xrd = legacy_xrd(&platform.group);
    delete(&session, &xrd).await;
    let terminating =
        until(&session, &xrd, "it says so", |xrd| condition_line(xrd, "Offered").contains("Terminating"))
            .await;
    assert_eq!(condition_line(&terminating, "Established"), "Established=False TerminatingCompositeResource");
    assert_eq!(condition_line(&terminating, "Offered"), "Offered=False TerminatingCompositeResourceClaim");
    until_gone(&session, &xrd).await;
    for gone in [&claim, &xr, &alone] {
        until_gone(&session, gone).await;
    }
    // Kubernetes collects what it was composed of only while the kind of its owner is there.
    let left = get(&session, &composed).await;
    assert!(left.is_none_or(|left| left.pointer("/metadata/deletionTimestamp").is_some()));
}
