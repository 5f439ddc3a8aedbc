//! The chapter about Crossplane, command by command, with what is true after each.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::blocks::{self, Block};
use crate::left_by_crossplane::{NAMESPACE, composed, composites, secrets};
use crate::{World, condition, is_true, named, reference};

const CHAPTER: &str = "../../book/src/migration/crossplane.md";

/// The commands of the chapter, in order.
fn commands() -> Vec<String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(CHAPTER)).unwrap();
    let commands = blocks::of(&page).into_iter().filter_map(|block| match block {
        Block::Commands(commands) => Some(commands),
        Block::File { .. } | Block::Transcript(_) => None,
    });
    commands.flatten().collect()
}

fn deployment(name: &str, namespace: &str) -> Value {
    named("apps/v1", "Deployment", Some(namespace), name)
}

fn operator() -> Value {
    deployment("plimsoll-operator", "plimsoll-system")
}

fn webhooks() -> Value {
    named("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", None, "crossplane-no-usages")
}

/// A claim or XR that Crossplane left.
fn left(kind: &str, name: &str) -> Value {
    let is_it = |object: &Value| object["kind"] == kind && object["metadata"]["name"] == name;
    composites().into_iter().find(is_it).unwrap()
}

/// Everything that a migration must not write to.
type Untouchable = BTreeMap<String, Value>;

impl World {
    /// What is composed, and the connection Secrets.
    fn untouchable(&self) -> Untouchable {
        let objects = composed().into_iter().chain(secrets());
        objects.map(|object| (reference(&object).to_string(), self.get(&object).unwrap())).collect()
    }

    /// All XRs and claims without what a migration may write to: managedFields and status.
    fn specs(&self) -> Untouchable {
        let kept = |object: &Value| {
            let mut found = self.get(object).unwrap();
            found.as_object_mut().unwrap().remove("status");
            let metadata = found["metadata"].as_object_mut().unwrap();
            metadata.retain(|key, _| key != "managedFields" && key != "resourceVersion");
            (reference(object).to_string(), found)
        };
        composites().iter().map(kept).collect()
    }

    fn replicas(&self, deployment: &Value) -> Value {
        self.get(deployment).unwrap()["spec"]["replicas"].clone()
    }

    fn policies(&self) -> Vec<Value> {
        let webhooks = self.get(&webhooks()).unwrap()["webhooks"].as_array().cloned().unwrap_or_default();
        webhooks.iter().map(|webhook| webhook["failurePolicy"].clone()).collect()
    }

    /// Runs a command of the chapter that must succeed; what it printed.
    fn follow(&self, command: &str) -> String {
        let words: Vec<&str> = command.split_whitespace().collect();
        let (succeeded, shown) = self.plimsoll(words.strip_prefix(&["plimsoll"]).unwrap());
        let log = || fs::read_to_string(self.folder.path().join("operator.log")).unwrap_or_default();
        assert!(succeeded, "{command}:\n{shown}\n{}", log());
        shown
    }
}

#[track_caller]
fn contains(shown: &str, lines: &[&str]) {
    for line in lines {
        assert!(shown.contains(line), "{line:?} is not in\n{shown}");
    }
}

#[test]
fn the_commands_of_the_chapter_move_what_crossplane_left_to_plimsoll_and_back() {
    let world = World::new("crossplane");
    let (blocked, shown) = world.plimsoll(&["migrate", "crossplane"]);
    assert!(!blocked, "{shown}");
    contains(
        &shown,
        &["blocks the migration\n  Plimsoll's operator is not installed. Install it with `plimsoll install`"],
    );
    let planned = world.printed("migrate-crossplane", &["migrate", "crossplane"]);
    assert!(!planned["obstacles"].as_array().unwrap().is_empty(), "{planned}");
    let (untouchable, specs) = (world.untouchable(), world.specs());
    let published = world.get(&left("Web", "shop")).unwrap()["status"]["connectionDetails"].clone();

    let mut commands = commands().into_iter();
    let mut next = |expected: &str| {
        let command = commands.next().unwrap();
        assert_eq!(command, expected);
        world.follow(&command)
    };

    // The operator is installed over Crossplane's CRDs, and waits.
    next("plimsoll install --controllers=composition --wait");
    let xrd =
        named("apiextensions.crossplane.io/v1", "CompositeResourceDefinition", None, "xwebs.mig.example.org");
    world.until(&xrd, "it says who serves it", |xrd| condition(xrd, "ServedByPlimsoll").is_some());

    let shown = next("plimsoll migrate crossplane");
    contains(
        &shown,
        &[
            "CompositeResourceDefinition xwebs.mig.example.org: XRs: 1, claims: 1",
            "CompositeResourceDefinition notes.mig.example.org: XRs: 1, claims: 0",
            "Function function-patch-and-transform, called at dns:///function-patch-and-transform.crossplane-system:9443",
            "status and managedFields of XRs (4) and claims (3)",
            "CustomResourceDefinition xwebs.mig.example.org: the schema of status.crossplane",
            "Deployment crossplane-system/crossplane: scaled to zero",
            "Deployment crossplane-system/crossplane-rbac-manager: scaled to zero",
            "ValidatingWebhookConfiguration crossplane-no-usages: failurePolicy Fail becomes Ignore",
            "composed resources that Crossplane applied (8)",
            "Nothing was changed.",
        ],
    );
    assert!(!shown.contains("current revision") && !shown.contains("blocks"), "{shown}");
    assert_eq!(world.replicas(&deployment("crossplane", NAMESPACE)), 2);

    let shown = next("plimsoll migrate crossplane --apply");
    contains(
        &shown,
        &[
            "done Crossplane has stopped",
            "done XRs (4) and claims (3) are served by Plimsoll",
            "Unhealthy: XApp refunds-9z7q8",
        ],
    );
    assert_eq!(world.policies(), ["Fail", "Ignore"], "the webhook of another service stays");
    for (kind, name) in [("Web", "shop"), ("XWeb", "shop-98txd"), ("App", "orders"), ("Note", "diary")] {
        let served = world.get(&left(kind, name)).unwrap();
        assert!(is_true(&served, "Healthy") && is_true(&served, "Ready"), "{served:#}");
    }
    assert_eq!(world.get(&left("Web", "shop")).unwrap()["status"]["connectionDetails"], published);
    assert_eq!(world.specs(), specs, "only managedFields and status may change");
    assert_eq!(world.untouchable(), untouchable, "nothing that is composed may be written to");

    work(&world);

    let shown = next("plimsoll migrate crossplane --back");
    contains(
        &shown,
        &["Deployment plimsoll-system/plimsoll-operator: scaled to zero", "crossplane: scaled up again"],
    );
    let shown = next("plimsoll migrate crossplane --back --apply");
    contains(
        &shown,
        &["done Plimsoll's operator has stopped", "done removed the condition Healthy from 5 objects"],
    );
    assert_eq!(world.replicas(&operator()), 0);
    assert_eq!(world.replicas(&deployment("crossplane", NAMESPACE)), 2);
    assert_eq!(world.replicas(&deployment("crossplane-rbac-manager", NAMESPACE)), 1);
    assert_eq!(world.policies(), ["Fail", "Fail"]);
    let shop = world.get(&left("Web", "shop")).unwrap();
    assert!(condition(&shop, "Healthy").is_none() && is_true(&shop, "Ready"), "{shop:#}");
    assert_eq!(shop["status"]["connectionDetails"], published);
    assert_eq!(commands.next(), None, "every command of the chapter is followed");

    // What was scaled down on the way back is scaled up again.
    let shown = world.follow("plimsoll migrate crossplane --apply");
    contains(&shown, &["done Deployment plimsoll-system/plimsoll-operator: scaled up"]);
    assert_eq!(world.replicas(&operator()), 2);
}

/// What is taken over can be changed and deleted as before.
fn work(world: &World) {
    let page = |number: &str| {
        let is_it = |object: &Value| object["metadata"]["labels"]["page"] == number;
        composed().into_iter().find(is_it).unwrap()
    };
    let first = world.get(&page("0")).unwrap();
    world.patch(&left("Note", "diary"), &json!({"spec": {"pages": 1}}));
    world.until_gone(&page("1"));
    world.until_gone(&page("2"));
    assert_eq!(world.get(&page("0")).unwrap()["metadata"]["uid"], first["metadata"]["uid"]);

    world.delete(&left("App", "orders"));
    world.until_gone(&left("XApp", "orders-j9bl7"));
    let of_orders = |object: &Value| object["metadata"]["labels"]["crossplane.io/claim-name"] == "orders";
    for object in composed().iter().filter(|object| of_orders(object)) {
        world.until_gone(object);
    }
}
