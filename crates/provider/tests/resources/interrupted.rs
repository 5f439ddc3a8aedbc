//! Interrupted applies: nothing is lost, and the next apply finds and names what is left.

use serde_json::{Value, json};
use testkit::proxy::{Fault, FaultProxy};
use testkit::terraform::Client;

use crate::case::Case;
use crate::config_map;
use crate::dependencies::custom;

const BODY: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\ndata: {k: v}";
const ADDRESS: &str = "k8sconnect_object.a";

/// How an apply is disturbed while the response to its write is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disturbance {
    /// Terraform is interrupted, and the response arrives.
    Interrupt,
    /// Terraform is interrupted, and the response never arrives.
    InterruptAndSilence,
    /// The provider is killed.
    Kill,
    /// The API server is down until the apply has given up.
    Outage,
    /// The API server goes down and comes back.
    Restart,
}

/// A namespace behind a proxy.
struct Disturbed {
    case: Case,
    proxy: FaultProxy,
}

impl Disturbed {
    async fn new(test: &str, client: Client) -> Self {
        let case = Case::new(test, client).await;
        let proxy = FaultProxy::start(case.namespace.client().clone()).await;
        let cluster = format!("host = {:?}, insecure = true, token = \"x\"", proxy.url());
        case.provider(&format!("cluster = {{ {cluster} }}"));
        Self { case, proxy }
    }

    /// Applies or destroys, and disturbs that at the next request that `is_meant`; returns whether it succeeded, and
    /// its output.
    async fn run(
        &self,
        destroy: bool,
        disturbance: Disturbance,
        is_meant: fn(&str, &str) -> bool,
    ) -> (bool, String) {
        let fault = match disturbance {
            Disturbance::Outage | Disturbance::Restart => Fault::Disconnect,
            _ => Fault::Hold,
        };
        self.proxy.inject(fault, is_meant);
        let command = if destroy { "destroy" } else { "apply" };
        let mut running = self.case.workspace.start(&[command, "-no-color", "-input=false", "-auto-approve"]);
        self.proxy.triggered().await;
        match disturbance {
            Disturbance::Interrupt => {
                running.interrupt();
                self.proxy.recover();
            }
            Disturbance::InterruptAndSilence => running.interrupt(),
            Disturbance::Kill => running.kill_providers(),
            Disturbance::Restart => self.proxy.recover(),
            Disturbance::Outage => {}
        }
        let run = running.wait();
        self.proxy.recover();
        (run.is_success(), run.text())
    }

    async fn live(&self, name: &str) -> Option<Value> {
        let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        self.case.namespace.get(&wanted).await
    }
}

/// Runs each of `disturbances` with each client.
fn with_all_clients<D: Clone>(disturbances: impl IntoIterator<Item = D>) -> Vec<(Client, D)> {
    let disturbances: Vec<D> = disturbances.into_iter().collect();
    let with = |client: Client| {
        disturbances.iter().map(move |each| (client.clone(), each.clone())).collect::<Vec<_>>()
    };
    Client::all().into_iter().flat_map(with).collect()
}

fn is_write(method: &str, uri: &str) -> bool {
    method == "PATCH" && !uri.contains("dryRun")
}

fn is_delete(method: &str, _: &str) -> bool {
    method == "DELETE"
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_create_is_recorded_or_reported_by_the_next_apply() {
    // Whether the response arrives, so that the object is in the state.
    for (client, (disturbance, recorded)) in with_all_clients([
        (Disturbance::Interrupt, true),
        (Disturbance::Restart, true),
        (Disturbance::InterruptAndSilence, false),
        (Disturbance::Kill, false),
        (Disturbance::Outage, false),
    ]) {
        let here = Disturbed::new("create", client).await;
        let case = &here.case;
        case.object("a", BODY, "");
        let (_, output) = here.run(false, disturbance, is_write).await;
        assert!(here.live("a").await.is_some(), "{disturbance:?}: {output}");
        assert_eq!(!case.workspace.attributes(ADDRESS).is_null(), recorded, "{disturbance:?}: {output}");
        if !recorded {
            let id = format!(":{}:v1/ConfigMap:a", case.namespace.name());
            let found = case.workspace.apply(&[]).expect_failure().text();
            assert!(found.contains("Error: Resource Already Managed"), "{disturbance:?}: {found}");
            assert!(found.contains(&format!("'{id}'")), "{disturbance:?}: {found}");
            case.workspace.import(ADDRESS, &id).expect_success();
            case.workspace.apply(&[]).expect_success();
        }
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_comes_between_the_check_and_the_create_is_not_overwritten() {
    let annotations = json!({"k8sconnect.terraform.io/terraform-id": "ffffffffffff"});
    let theirs = |annotations: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": annotations}, "data": {"k": "theirs"}});
    for (manager, annotations, title) in [
        ("argocd", json!({}), "Error: Resource Already Exists"),
        // The same manager in another state: the API server sees no conflict.
        ("k8sconnect", annotations, "Error: Resource Already Managed"),
    ] {
        let here = Disturbed::new("race", Client::any()).await;
        let case = &here.case;
        case.object("a", BODY, "");
        case.workspace.plan(&["-out=kept"]).expect_success();
        here.proxy.inject(Fault::Hold, |method, uri| method == "PATCH" && uri.contains("dryRun"));
        let running = case.workspace.start(&["apply", "-no-color", "kept"]);
        here.proxy.triggered().await;
        let before = case.namespace.apply_as(manager, &theirs(&annotations)).await;
        here.proxy.recover();
        let refused = running.wait().expect_failure().text();
        assert!(refused.contains(title), "{refused}");
        let after = here.live("a").await.unwrap();
        assert_eq!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"], "{after}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_updates_and_deletes_are_finished_by_the_next_apply() {
    for (client, disturbance) in with_all_clients([
        Disturbance::Interrupt,
        Disturbance::Kill,
        Disturbance::Outage,
        Disturbance::Restart,
    ]) {
        let here = Disturbed::new("update", client).await;
        let case = &here.case;
        case.object("a", BODY, "");
        case.workspace.apply(&[]).expect_success();
        let id = case.workspace.attributes(ADDRESS)["id"].clone();
        case.object("a", &BODY.replace("k: v", "k: w"), "");
        let (_, output) = here.run(false, disturbance, is_write).await;
        assert_eq!(case.workspace.attributes(ADDRESS)["id"], id, "{disturbance:?}: {output}");
        case.workspace.apply(&[]).expect_success();
        assert_eq!(here.live("a").await.unwrap()["data"], json!({"k": "w"}), "{disturbance:?}: {output}");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();

        let (_, output) = here.run(true, disturbance, is_delete).await;
        case.workspace.destroy().expect_success();
        assert_eq!(here.live("a").await, None, "{disturbance:?}: {output}");
        assert_eq!(case.workspace.attributes(ADDRESS), json!(null), "{disturbance:?}: {output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_patch_is_recorded_or_reported_by_the_next_apply() {
    let address = "k8sconnect_patch.settings";
    let wanted = || json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"level": "info"}});
    for (client, (disturbance, recorded)) in with_all_clients([
        (Disturbance::Interrupt, true),
        (Disturbance::Restart, true),
        (Disturbance::Kill, false),
        (Disturbance::Outage, false),
    ]) {
        let here = Disturbed::new("patch", client).await;
        let case = &here.case;
        case.namespace.apply_as("other-manager", &wanted()).await;
        config_map::patch(case, "settings", "patch = \"data: {level: debug}\"");
        let (_, output) = here.run(false, disturbance, is_write).await;
        assert_eq!(
            here.live("settings").await.unwrap()["data"]["level"],
            "debug",
            "{disturbance:?}: {output}"
        );
        assert_eq!(!case.workspace.attributes(address).is_null(), recorded, "{disturbance:?}: {output}");
        let next = case.workspace.apply(&[]).expect_success().text();
        let named = next.contains("Patch Conflicts with Existing Patch")
            && next.contains("data.level (held by: k8sconnect-patch-");
        assert_eq!(named, !recorded, "{disturbance:?}: {next}");
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();

        let is_release: fn(&str, &str) -> bool = |method, uri| method == "PATCH" && uri.contains("settings");
        let (_, output) = here.run(true, disturbance, is_release).await;
        case.workspace.destroy().expect_success();
        assert_eq!(case.workspace.attributes(address), json!(null), "{disturbance:?}: {output}");
        assert_eq!(
            here.live("settings").await.unwrap()["data"]["level"],
            "debug",
            "{disturbance:?}: {output}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_wait_resumes_or_starts_again() {
    let address = "k8sconnect_wait.settings";
    let settings = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data});
    let is_look: fn(&str, &str) -> bool = |method, uri| method == "GET" && uri.contains("settings");
    for (client, disturbance) in
        with_all_clients([Disturbance::InterruptAndSilence, Disturbance::Kill, Disturbance::Restart])
    {
        let here = Disturbed::new("wait", client).await;
        let case = &here.case;
        case.namespace.apply_as("other-manager", &settings(json!({"phase": "done"}))).await;
        config_map::wait(case, "settings", "field = \"data.phase\"");
        let (succeeded, output) = here.run(false, disturbance, is_look).await;
        let goes_on = disturbance == Disturbance::Restart;
        assert_eq!(succeeded, goes_on, "{disturbance:?}: {output}");
        assert_eq!(!case.workspace.attributes(address).is_null(), goes_on, "{disturbance:?}: {output}");
        if disturbance == Disturbance::InterruptAndSilence {
            assert!(output.contains("Wait Operation Failed"), "{output}");
        }
        case.workspace.apply(&[]).expect_success();
        assert_eq!(case.workspace.attributes(address)["result"], json!({"data": {"phase": "done"}}));
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_waits_for_an_answer_ends_when_it_is_interrupted() {
    for client in Client::all() {
        let here = Disturbed::new("plan", client).await;
        here.case.object("a", BODY, "");
        here.proxy.inject(Fault::Hold, |method, uri| method == "PATCH" && uri.contains("dryRun"));
        let mut planning = here.case.workspace.start(&["plan", "-no-color", "-input=false"]);
        here.proxy.triggered().await;
        planning.interrupt();
        let output = planning.wait().expect_failure().text();
        assert!(output.contains("Error: Interrupted"), "{output}");
        assert_eq!(here.live("a").await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_waits_for_a_namespace_ends_when_it_is_interrupted() {
    for client in Client::all() {
        let here = Disturbed::new("dependency", client).await;
        here.case.object("a", &BODY.replace("namespace: NS", "namespace: NS-never"), "");
        let (succeeded, output) = here.run(false, Disturbance::Interrupt, is_write).await;
        assert!(!succeeded && output.contains("Create: Interrupted"), "{output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_and_a_wait_that_wait_for_a_kind_end_when_they_are_interrupted() {
    let is_watch: fn(&str, &str) -> bool = |_, uri| uri.contains("customresourcedefinitions");
    for (client, (resource, attributes, title)) in with_all_clients([
        ("k8sconnect_patch", "patch = \"spec: {size: 2}\"", "Apply Patch: Interrupted"),
        ("k8sconnect_wait", "wait_for = { field = \"spec.size\" }", "Wait Operation Failed"),
    ]) {
        let here = Disturbed::new("kind", client).await;
        custom(&here.case, resource, "a", attributes);
        let (succeeded, output) = here.run(false, Disturbance::Interrupt, is_watch).await;
        assert!(!succeeded && output.contains(title), "{output}");
        assert_eq!(here.case.workspace.attributes(&format!("{resource}.a")), json!(null), "{output}");
    }
}
