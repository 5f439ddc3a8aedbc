//! A claim becomes a namespaced XR, and what it is composed of stays.

use serde_json::{Value, json};

use crate::left_by_crossplane::{composed, composites};
use crate::{World, is_true, named};

const GROUP: &str = "mig.example.org/v1alpha1";

/// What the platform offers instead of the claim: the same schema and pipeline, for a namespaced kind.
fn offer(world: &World) -> (Value, Value) {
    let read = |kind: &str, name: &str| {
        let api = "apiextensions.crossplane.io/v1";
        world.get(&named(api, kind, None, name)).unwrap()["spec"].clone()
    };
    let old = read("CompositeResourceDefinition", "xwebs.mig.example.org");
    let xrd = json!({
        "apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "webapps.mig.example.org"},
        "spec": {
            "group": old["group"], "scope": "Namespaced", "names": {"kind": "WebApp", "plural": "webapps"},
            "versions": old["versions"],
        },
    });
    let mut composition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "webapps"},
        "spec": read("Composition", "webs"),
    });
    composition["spec"]["compositeTypeRef"]["kind"] = "WebApp".into();
    composition["spec"].as_object_mut().unwrap().remove("writeConnectionSecretsToNamespace");
    (xrd, composition)
}

/// An object without what may change when it is handed over.
fn content(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    for key in ["labels", "managedFields", "ownerReferences", "resourceVersion"] {
        metadata.remove(key);
    }
    object
}

/// Adds the finalizer of another controller, or removes it.
fn hold(world: &World, object: &Value, is_held: bool) {
    const THEIRS: &str = "example.org/hold";
    let live = world.get(object).unwrap();
    let mut finalizers = live["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    finalizers.retain(|name| name != THEIRS);
    finalizers.extend(is_held.then(|| THEIRS.into()));
    world.patch(object, &json!({"metadata": {"finalizers": finalizers}}));
}

#[test]
fn a_claim_hands_over_to_a_namespaced_xr_and_nothing_is_deleted_or_recreated() {
    let world = World::new("claim");
    for command in [&["install", "--controllers=composition"][..], &["migrate", "crossplane", "--apply"]] {
        let (succeeded, shown) = world.plimsoll(command);
        assert!(succeeded, "{shown}");
    }
    let (claim, xr) =
        (named(GROUP, "Web", Some("default"), "shop"), named(GROUP, "XWeb", None, "shop-98txd"));
    let migrate = |arguments: &[&str]| {
        world.plimsoll(&[&["migrate", "claim", "web/shop", "-n", "default"], arguments].concat())
    };

    let (xrd, mut composition) = offer(&world);
    world.apply(&xrd);
    world.until(&xrd, "it is established", |xrd| is_true(xrd, "Established"));
    let pipeline = composition["spec"]["pipeline"].as_array().unwrap().clone();
    composition["spec"]["pipeline"] = pipeline[..1].into();
    world.apply(&composition);

    // What would happen, and what is in the way.
    let (succeeded, shown) = migrate(&[]);
    assert!(
        !succeeded && shown.contains("There are notes.mig.example.org, webapps.mig.example.org"),
        "{shown}"
    );
    let (succeeded, shown) = migrate(&["--to", "webapps"]);
    assert!(
        !succeeded && shown.contains("the pipelines of Composition webs and Composition webapps differ"),
        "{shown}"
    );
    composition["spec"]["pipeline"] = pipeline.into();
    world.apply(&composition);
    let (succeeded, shown) = migrate(&["--to", "webapps"]);
    assert!(succeeded, "{shown}");
    for line in [
        "Web default/shop hands over to WebApp default/shop",
        "  Deployment default/shop-98txd-e050038c6048",
        "WebApp default/shop: created, with Composition webapps",
        "Secret default/shop-conn: kept with its last values",
        "is deleted at the end\n  Web default/shop\n  XWeb shop-98txd",
        "Nothing was changed. To do it: plimsoll migrate claim web/shop --namespace default --to webapp.mig.example.org",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert_eq!(world.get(&named(GROUP, "WebApp", Some("default"), "shop")), None);
    let planned = ["migrate", "claim", "web/shop", "-n", "default", "--to", "webapps"];
    assert_eq!(world.printed("migrate-claim", &planned)["successor"]["kind"], "WebApp");

    let children: Vec<Value> = composed()
        .into_iter()
        .filter(|child| child["metadata"]["labels"]["crossplane.io/composite"] == "shop-98txd")
        .collect();
    let before: Vec<Value> = children.iter().map(|child| content(world.get(child).unwrap())).collect();
    let secret = named("v1", "Secret", Some("default"), "shop-conn");
    let details = world.get(&secret).unwrap()["data"].clone();
    // Another controller holds the claim, and the command is interrupted before its last step is done.
    hold(&world, &claim, true);
    let steps = ["migrate", "claim", "web/shop", "-n", "default", "--to", "webapps", "--apply"];
    let mut interrupted = world.command(&steps).spawn().unwrap();
    world.until_gone(&xr);
    interrupted.kill().unwrap();
    interrupted.wait().unwrap();
    let (succeeded, shown) = migrate(&["--to", "webapps"]);
    assert!(
        succeeded && shown.contains("Web default/shop has handed over to WebApp default/shop"),
        "{shown}"
    );
    assert!(shown.contains("is deleted at the end\n  Web default/shop\n"), "{shown}");
    assert_eq!(world.printed("migrate-claim", &planned)["composite"], Value::Null);
    let (succeeded, shown) = migrate(&["--to", "webapps", "--apply", "--timeout", "1s"]);
    assert!(!succeeded && shown.contains("Web default/shop: it is not gone in time"), "{shown}");
    hold(&world, &claim, false);
    world.until_gone(&claim);

    let successor = named(GROUP, "WebApp", Some("default"), "shop");
    let served = world.until(&successor, "it is ready", |it| is_true(it, "Ready") && is_true(it, "Healthy"));
    let was = composites().into_iter().find(|it| it["kind"] == "Web").unwrap();
    for key in ["image", "replicas", "tags"] {
        assert_eq!(served["spec"][key], was["spec"][key], "{key}");
    }
    assert_eq!((world.get(&claim), world.get(&xr)), (None, None));
    assert_eq!(children.len(), 3);
    for (child, before) in children.iter().zip(before) {
        let now = world.get(child).unwrap();
        let owner = &now["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["kind"], &owner["name"]), (&json!("WebApp"), &json!("shop")), "{now:#}");
        assert_eq!(now["metadata"]["labels"]["crossplane.io/composite"], "shop");
        let managers = now["metadata"]["managedFields"].to_string();
        assert!(!managers.contains("plimsoll-migrate") && !managers.contains("claim-name"), "{managers}");
        assert_eq!(managers.matches("apiextensions.crossplane.io/composed/").count(), 1, "{managers}");
        assert_eq!(content(now), before);
    }
    let kept = world.get(&secret).unwrap();
    assert_eq!((&kept["data"], &kept["metadata"]["ownerReferences"]), (&details, &Value::Null));

    // It goes on as any other XR.
    world.delete(&successor);
    world.until_gone(&successor);
    for child in &children {
        world.until_gone(child);
    }
}
