//! `plimsoll operations` and `plimsoll doctor`

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};

use crate::program::{plimsoll, run, run_with, transcript};

/// A namespace with a kind that records operations, and one object of it.
pub(crate) async fn crates() -> (Namespace, Value) {
    let ns = Sandbox::shared().namespace("cli-operations").await;
    let group = format!("{}.oracle.com", ns.name());
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("crates.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": "Crate", "plural": "crates", "singular": "crate" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "status": {
                    "type": "object", "properties": { "status": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "async": any },
                    } },
                } } } },
            }],
        },
    });
    let current = json!({
        "source": "workrequest", "phase": "create", "normalizedClass": "pending", "percentComplete": 40,
        "workRequestId": "wr-1", "startedAt": jiff::Timestamp::now().to_string(),
    });
    let object = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Crate", "metadata": { "name": "orders" },
    });
    let applied = run_with(&ns, &["apply", "-f", "-"], &format!("{definition}\n---\n{object}"));
    assert!(applied.starts_with("exit 0"), "{applied}");
    let status = json!({ "status": { "opcRequestId": "req-1", "async": { "current": current } } });
    ns.merge_as("operator", &object, &json!({ "status": status })).await;
    (ns, object)
}

#[tokio::test]
async fn operations_are_listed_and_watched() {
    let (ns, object) = crates().await;
    let shown = run(&ns, &["operations"]);
    let line = shown.lines().nth(3).unwrap_or_default().split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        shown.lines().nth(2),
        Some("KIND    NAME     PHASE    CLASS     PERCENT   AGE   WORK REQUEST   REQUEST ID")
    );
    assert_eq!(
        (&line[..6], &line[7..]),
        (&["Crate", "orders", "create", "pending", "40", "%"][..], &["wr-1", "req-1"][..])
    );
    let transcript = run(&ns, &["operations", "-o", "json"]);
    assert!(
        transcript.contains("\"workRequest\": \"wr-1\"") && transcript.contains("\"percent\": 40"),
        "{transcript}"
    );
    let tree = run(&ns, &["tree", &format!("crates.{}.oracle.com/orders", ns.name())]);
    assert!(tree.contains("└─ create operation") && tree.contains("pending, 40 %"), "{tree}");

    let mut child =
        plimsoll(&ns, &["operations", "--watch", "-o", "name"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().expect("a line").expect("text").starts_with("crate.");
    assert!(next());
    ns.merge_as(
        "operator",
        &object,
        &json!({ "status": { "status": { "async": { "current": { "percentComplete": 80 } } } } }),
    )
    .await;
    assert!(next(), "it is shown again when it has changed");
    child.kill().unwrap();
    child.wait().unwrap();

    ns.merge_as("operator", &object, &json!({ "status": { "status": { "async": null } } })).await;
    insta::assert_snapshot!(run(&ns, &["operations"]), @r"
    exit 0
    --- stderr
    no operation is in progress
    ");
    // Which other kinds exist depends on what else runs in the sandbox.
    let unseen = run(&ns, &["operations", "--as", "guest"]);
    assert!(unseen.contains("cannot list: ") && unseen.contains("crates"), "{unseen}");
    assert!(unseen.ends_with("no other operation is in progress\n"), "{unseen}");
}

#[tokio::test]
async fn the_doctor_reports_what_is_present_and_what_is_missing() {
    let ns = Sandbox::shared().namespace("cli-doctor").await;
    let healthy = run(&ns, &["doctor"]);
    assert!(healthy.starts_with("exit 0"), "{healthy}");
    for line in [
        "ok     cluster       Kubernetes v1.36.3, ",
        "ok     control plane built in ",
        "ok     go            1.",
    ] {
        assert!(healthy.contains(line), "{healthy}");
    }

    let folder = tempfile::tempdir().unwrap();
    let mut bare = plimsoll(&ns, &["doctor"]);
    bare.env("PATH", "/none").env("XDG_STATE_HOME", folder.path()).env("XDG_CACHE_HOME", folder.path());
    bare.env("HOME", folder.path()).env_remove("KUBECONFIG");
    let bare = transcript(&bare.output().unwrap(), &ns).replace(&folder.path().display().to_string(), "HOME");
    insta::assert_snapshot!(bare, @r"
    exit 0
    --- stdout
    ok     plimsoll      0.2.0
    absent go            not on PATH
                         Without the archive of the control plane, the first start of a sandbox builds it with Go 1.26 or later.
    absent kubectl       not on PATH
                         A sandbox has its own; `--kustomize` uses kubectl if kustomize is missing.
    absent kustomize     not on PATH
                         `--kustomize` uses kubectl instead.
    absent terraform     not on PATH
                         The demo and the provider work with terraform or tofu.
    absent tofu          not on PATH
                         The demo and the provider work with terraform or tofu.
    absent control plane not built yet
                         `plimsoll sandbox up --detach` builds it in four to six minutes.
    ok     sandboxes     none
    absent cluster       no cluster is configured: HOME/.kube/config does not exist, and this process does not run in a pod
                         Choose a kubeconfig with --kubeconfig or KUBECONFIG, and a context with --context; `plimsoll sandbox up` starts a cluster on this machine.
    ");

    let refused = run(&ns, &["doctor", "--context", "production"]);
    assert!(refused.starts_with("exit 1") && refused.contains("broken cluster"), "{refused}");
}
