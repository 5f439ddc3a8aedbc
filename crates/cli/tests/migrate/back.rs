//! The way back to Crossplane, where Plimsoll's operator also works for Oracle Cloud, and where nothing is left to go back to.

use serde_json::{Value, json};

use crate::left_by_crossplane::{NAMESPACE, composites};
use crate::{World, condition, is_true, named};

fn deployment(name: &str, namespace: &str) -> Value {
    named("apps/v1", "Deployment", Some(namespace), name)
}

#[test]
fn an_operator_with_work_of_its_own_runs_on_and_an_absent_crossplane_stops_nothing() {
    let world = World::new("back");
    let done = |arguments: &[&str]| {
        let (succeeded, shown) = world.plimsoll(arguments);
        assert!(succeeded, "{arguments:?}: {shown}");
        shown
    };
    // Both halves, as by default.
    done(&["install"]);
    let image = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "imageconfigs.pkg.crossplane.io"},
        "spec": {
            "group": "pkg.crossplane.io", "scope": "Cluster",
            "names": {"kind": "ImageConfig", "plural": "imageconfigs"},
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    world.apply(&image);
    world.until(&image, "it is served", |crd| is_true(crd, "Established"));
    world.apply(&named("pkg.crossplane.io/v1beta1", "ImageConfig", None, "mirror"));
    let shown = done(&["migrate", "crossplane"]);
    let idle = "ImageConfig (1): has no effect on the packages of functions while Crossplane is stopped";
    assert!(shown.contains(idle), "{shown}");
    done(&["migrate", "crossplane", "--apply"]);

    let operator = deployment("plimsoll-operator", "plimsoll-system");
    let replicas = |deployment: &Value| world.get(deployment).unwrap()["spec"]["replicas"].clone();
    let shown = done(&["migrate", "crossplane", "--back"]);
    let kept = "Deployment plimsoll-system/plimsoll-operator: runs on for Oracle Cloud";
    assert!(shown.contains(kept) && !shown.contains("operator: scaled to zero"), "{shown}");
    let shown = done(&["migrate", "crossplane", "--back", "--apply"]);
    assert!(shown.contains("done Plimsoll's operator leaves compositions to Crossplane"), "{shown}");
    assert_eq!((replicas(&operator), replicas(&deployment("crossplane", NAMESPACE))), (json!(2), json!(2)));
    for composite in composites() {
        assert!(condition(&world.get(&composite).unwrap(), "Healthy").is_none());
    }
    let api = "apiextensions.crossplane.io/v1";
    let xrd = world.get(&named(api, "CompositeResourceDefinition", None, "xwebs.mig.example.org")).unwrap();
    assert_eq!(condition(&xrd, "ServedByPlimsoll").unwrap()["status"], "False");

    // And to Plimsoll again, for good.
    done(&["migrate", "crossplane", "--apply"]);
    for name in ["crossplane", "crossplane-rbac-manager"] {
        world.delete(&deployment(name, NAMESPACE));
        world.until_gone(&deployment(name, NAMESPACE));
    }
    for arguments in
        [&["migrate", "crossplane", "--back"][..], &["migrate", "crossplane", "--back", "--apply"]]
    {
        let (succeeded, shown) = world.plimsoll(arguments);
        assert!(!succeeded && shown.contains("Crossplane is not installed"), "{shown}");
    }
    assert_eq!(replicas(&operator), 2);
}
