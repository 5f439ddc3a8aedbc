//! `plimsoll migrate crossplane`: the whole way there and back. No Pod of the sandbox runs Crossplane, so the test holds its lease.

use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::Sandbox;

const LEASE: [&str; 4] = ["lease", "crossplane-leader-election-core", "--namespace", "crossplane-system"];
const DEPLOYMENT: [&str; 4] = ["deployment", "crossplane", "--namespace", "crossplane-system"];
const WEBHOOKS: [&str; 2] = ["validatingwebhookconfiguration", "crossplane-no-usages"];
const CLAIM: [&str; 4] = ["apps.migrate.example.org", "web", "--namespace", "default"];

struct World(Sandbox);

impl World {
    fn plimsoll(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(arguments).env("KUBECONFIG", self.0.kubeconfig()).env("NO_COLOR", "1");
        command
    }

    fn run(&self, arguments: &[&str]) -> (bool, String) {
        said(&self.plimsoll(arguments).output().expect("plimsoll starts"))
    }

    fn apply(&self, object: &Value) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("object.json");
        std::fs::write(&file, object.to_string()).expect("a file");
        let applied =
            self.0.kubectl(&["apply", "--server-side", "--filename", file.to_str().expect("a path")]);
        assert!(applied.status.success(), "{applied:?}");
    }

    fn get(&self, what: &[&str]) -> Option<Value> {
        let output = self.0.kubectl(&[&["get", "--output=json", "--ignore-not-found"], what].concat());
        serde_json::from_slice(&output.stdout).ok()
    }

    fn until(&self, what: &[&str], is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match self.get(what) {
                Some(object) if is_so(&object) => return object,
                last => assert!(Instant::now() < deadline, "{what:?}: {last:?}"),
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Holds Crossplane's lease for an hour.
    fn hold_lease(&self) {
        self.apply(&json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": LEASE[1], "namespace": LEASE[3]},
            "spec": {
                "holderIdentity": "crossplane-0", "leaseDurationSeconds": 3600,
                "renewTime": format!("{:.6}", Timestamp::now()),
            },
        }));
    }

    fn operator(&self) -> Operator {
        let arguments = [
            "operator",
            "--controllers",
            "composition",
            "--namespace",
            "default",
            "--leader-elect",
            "--metrics-address",
            "off",
            "--health-address",
            "off",
        ];
        Operator(self.plimsoll(&arguments).stderr(Stdio::null()).spawn().expect("plimsoll starts"))
    }
}

struct Operator(Child);

impl Operator {
    /// Ends it as the kubelet does.
    fn stop(mut self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").arg(&pid).status().expect("kill starts").success());
        self.0.wait().expect("it ends");
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It has ended already if the test succeeded.
        let _ended = self.0.kill();
    }
}

fn said(output: &Output) -> (bool, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn is_healthy(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Healthy" && one["status"] == "True"))
}

/// What Crossplane leaves: an XRD with a Composition and a claim, its Deployment, and the webhook for Usages.
fn offer(world: &World) {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    world.apply(&json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xapps.migrate.example.org"},
        "spec": {
            "group": "migrate.example.org", "names": {"kind": "XApp", "plural": "xapps"},
            "claimNames": {"kind": "App", "plural": "apps"},
            "versions": [{
                "name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}},
            }],
        },
    }));
    world.apply(&json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "web"},
        "spec": {
            "compositeTypeRef": {"apiVersion": "migrate.example.org/v1", "kind": "XApp"}, "mode": "Pipeline",
            "pipeline": [{"step": "ready", "functionRef": {"name": "function-auto-ready"}}],
        },
    }));
    world.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "crossplane-system"}}));
    let labels = json!({"app": "crossplane"});
    world.apply(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": DEPLOYMENT[1], "namespace": DEPLOYMENT[3], "labels": labels},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "crossplane", "image": "crossplane"}]}},
        },
    }));
    let service = json!({"name": "crossplane-webhooks", "namespace": "crossplane-system", "path": "/validate-no-usages"});
    world.apply(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": WEBHOOKS[1]},
        "webhooks": [{
            "name": "nousages.protection.crossplane.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "clientConfig": {"service": service},
            "objectSelector": {"matchLabels": {"crossplane.io/in-use": "true"}},
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["DELETE"]}],
        }],
    }));
}

#[test]
fn compositions_move_to_plimsoll_and_back() {
    let world = World(Sandbox::dedicated("migrate"));
    assert!(world.run(&["crds", "--controllers", "composition", "--apply"]).0);
    offer(&world);
    let operator = world.operator();
    let claim = json!({
        "apiVersion": "migrate.example.org/v1", "kind": "App", "metadata": {"name": CLAIM[1], "namespace": CLAIM[3]},
        "spec": {"compositionRef": {"name": "web"}},
    });
    let offered = |xrd: &Value| xrd.to_string().contains("WatchingCompositeResourceClaim");
    world.until(&["xrd", "xapps.migrate.example.org"], offered);
    world.apply(&claim);
    world.until(&CLAIM, is_healthy);
    operator.stop();
    world.hold_lease();

    // What would happen.
    let (is_fine, shown) = world.run(&["migrate", "crossplane"]);
    assert!(is_fine, "{shown}");
    for line in [
        "CompositeResourceDefinition xapps.migrate.example.org: XRs: 1, claims: 1",
        "status and managedFields of XRs (1) and claims (1); nothing they are composed of",
        "Deployment crossplane-system/crossplane: scaled to zero",
        "ValidatingWebhookConfiguration crossplane-no-usages: failurePolicy Fail becomes Ignore",
        "Nothing was changed.",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert_eq!(world.get(&DEPLOYMENT).expect("it is there")["spec"]["replicas"], 2);

    // There. Crossplane ends when its Deployment is scaled down.
    let (is_done, shown, operator) = thread::scope(|scope| {
        let switched = scope.spawn(|| world.run(&["migrate", "crossplane", "--apply", "--timeout", "90s"]));
        world.until(&DEPLOYMENT, |deployment| deployment["spec"]["replicas"] == 0);
        world.0.kubectl(&[&["delete"], &LEASE[..]].concat());
        let operator = world.operator();
        let (is_done, shown) = switched.join().expect("the switch ends");
        (is_done, shown, operator)
    });
    assert!(is_done && shown.contains("done XRs (1) and claims (1) are served by Plimsoll"), "{shown}");
    assert_eq!(world.get(&WEBHOOKS).expect("it is there")["webhooks"][0]["failurePolicy"], "Ignore");
    world.until(&CLAIM, is_healthy);
    operator.stop();

    // And back.
    let (is_done, shown) = thread::scope(|scope| {
        let switched =
            scope.spawn(|| world.run(&["migrate", "crossplane", "--back", "--apply", "--timeout", "90s"]));
        world.until(&DEPLOYMENT, |deployment| deployment["spec"]["replicas"] == 2);
        world.hold_lease();
        switched.join().expect("the switch ends")
    });
    assert!(is_done && shown.contains("done removed the condition Healthy from 2 objects"), "{shown}");
    assert_eq!(world.get(&WEBHOOKS).expect("it is there")["webhooks"][0]["failurePolicy"], "Fail");
    let claim = world.get(&CLAIM).expect("it is there");
    assert!(!claim.to_string().contains("Healthy") && claim.to_string().contains("\"Ready\""), "{claim}");
}
