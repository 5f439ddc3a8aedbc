//! `plimsoll operator`, with the service account from `deploy/`.

use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Namespace, Sandbox};

use crate::program::{Running, plimsoll, transcript};

/// A namespace, and an account for an operator in it.
struct Place {
    namespace: Namespace,
    kubeconfig: String,
    folder: TempDir,
}

impl Place {
    async fn new(test: &str) -> Self {
        Self::on(Sandbox::shared(), test).await
    }

    async fn on(sandbox: &Sandbox, test: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let namespace = sandbox.namespace(test).await;
        let kubeconfig = sandbox.operator_kubeconfig(&namespace, folder.path()).await;
        let kubeconfig = kubeconfig.to_str().unwrap().to_owned();
        Self { namespace, kubeconfig, folder }
    }

    fn operator(&self, arguments: &[&str]) -> Command {
        let mut command =
            plimsoll(&["operator", "--take-over", "--metrics-address=off", "--controllers=oci"]);
        command.args(["--kubeconfig", &self.kubeconfig, "--namespace", self.namespace.name()]);
        command.args(arguments);
        command
    }

    /// An object becomes ready and goes again, with kubectl alone, while a server and an operator run with these options.
    async fn lives(&self, server: &[&str], operator: &[&str], object: &Value, named: &str) {
        let keys = self.folder.path().join("keys");
        let mut cloud = plimsoll(&["oci-server", "--key-dir", keys.to_str().unwrap(), "--retry-after=1"]);
        cloud.args(server);
        let mut cloud = Running::answering(cloud);
        let announced: Value = serde_json::from_str(&cloud.line()).unwrap();
        let mut command =
            self.operator(&["--health-address=off", "--oci-endpoint", announced["url"].as_str().unwrap()]);
        command.args(operator).env("OCI_CONFIG_FILE_PATH", announced["configFile"].as_str().unwrap());
        let mut operator = Running::logging(command);
        operator.until("the operator is ready");
        let mut object = object.clone();
        if object["spec"]["compartmentId"].is_string() {
            object["spec"]["compartmentId"] = announced["compartment"].clone();
        }
        self.namespace.apply_as("another-manager", &object).await;
        let kubectl = |arguments: &[&str]| self.namespace.kubectl(arguments);
        let ready = kubectl(&["wait", "--for=condition=Ready", named, "--timeout=60s"]);
        assert!(ready.as_ref().is_ok_and(|it| it.ends_with(" condition met\n")), "{ready:?}");
        let gone = kubectl(&["delete", named, "--wait", "--timeout=60s"]);
        assert!(gone.is_ok(), "{gone:?}");
        let (code, rest) = operator.end_by("-TERM");
        assert_eq!(code, Some(0), "{rest}");
        let warnings: Vec<&str> = rest.lines().filter(|line| line.contains(r#""level":"WARN""#)).collect();
        assert!(warnings.is_empty(), "{warnings:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_shuts_it_down_and_logs_are_json() {
    let place = Place::new("signals").await;
    for signal in ["-INT", "-TERM"] {
        let mut operator = Running::logging(place.operator(&[
            "--health-address=127.0.0.1:0",
            "--leader-elect",
            "--lease-duration=6s",
        ]));
        let listening: Value = serde_json::from_str(&operator.until("listening")).unwrap();
        assert_eq!(listening["fields"]["purpose"], "health");
        operator.until("the operator is ready");
        operator.until("acquired the lease; starting controllers");
        let (code, rest) = operator.end_by(signal);
        assert_eq!(code, Some(0), "{rest}");
        let lines: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let messages: Vec<&str> =
            lines.iter().filter_map(|line| line["fields"]["message"].as_str()).collect();
        assert!(messages.contains(&"released the lease"), "{messages:?}");
        assert_eq!(messages.last(), Some(&"the operator has stopped"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_created_and_deleted_with_kubectl_alone() {
    let place = Place::new("queue").await;
    let queue = json!({
        "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue", "metadata": { "name": "orders" },
        "spec": { "displayName": "orders", "compartmentId": "the server's" },
    });
    place.lives(&[], &[], &queue, "queues.queue.oracle.com/orders").await;
}

/// Descriptions of a third party, and no code.
const TOPICS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../operator/tests/operations/topic.json");

#[tokio::test(flavor = "multi_thread")]
async fn a_third_party_adds_a_kind_with_a_file() {
    let place = Place::new("third-party").await;
    let mut install = plimsoll(&["crds", "--controllers=oci", "--kinds", TOPICS, "--apply"]);
    let installed = install.env("KUBECONFIG", Sandbox::shared().kubeconfig()).output().unwrap();
    assert!(installed.status.success(), "{}", transcript(&installed));
    let topic = json!({
        "apiVersion": "thirdparty.oracle.com/v1beta1", "kind": "Topic", "metadata": { "name": "news" },
        "spec": { "forumId": "f1", "title": "News" },
    });
    place
        .lives(&["--kinds", TOPICS], &["--oci-kinds", TOPICS], &topic, "topics.thirdparty.oracle.com/news")
        .await;
}

/// One that is embedded and not installed by default. The definitions would be seen by other tests.
#[tokio::test(flavor = "multi_thread")]
async fn a_derived_kind_is_served_once_it_is_installed() {
    let sandbox = Sandbox::dedicated("derived");
    let place = Place::on(&sandbox, "derived").await;
    let kind = "capacitymanagement/OccCapacityRequest";
    let mut install = plimsoll(&["crds", "--controllers=oci", "--kinds", kind, "--apply"]);
    let installed = install.env("KUBECONFIG", sandbox.kubeconfig()).output().unwrap();
    insta::assert_snapshot!(transcript(&installed), @r"
    exit 0
    served occcapacityrequests.capacitymanagement.oracle.com
    ");
    let request = json!({
        "apiVersion": "capacitymanagement.oracle.com/v1beta1", "kind": "OccCapacityRequest",
        "metadata": { "name": "more" },
        "spec": {
            "displayName": "more", "compartmentId": "the server's", "namespace": "COMPUTE", "region": "us-phoenix-1",
            "dateExpectedCapacityHandover": "2027-01-02T03:04:05Z",
            "details": [{ "demandQuantity": 1, "resourceName": "a", "resourceType": "b", "workloadType": "GENERIC" }],
        },
    });
    let named = "occcapacityrequests.capacitymanagement.oracle.com/more";
    place.lives(&["--kinds", kind], &[], &request, named).await;
}

#[test]
fn errors_at_startup_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let check = |arguments: &[&str]| {
        let mut command = plimsoll(&["operator", "--metrics-address=off", "--health-address=off"]);
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        transcript(&output).replace(&address, "ADDRESS")
    };
    insta::assert_snapshot!(check(&["--oci-endpoint", "ftp://example.com"]), @"
    exit 1
    error[option-unusable]: --oci-endpoint ftp://example.com cannot be used: `ftp://example.com` is not
                            an address such as https://host or http://127.0.0.1:8080

    hint: Write URL or SERVICE=URL, for instance queue=https://messaging.example.com; http:// is allowed
          only for this machine.
    ");
    insta::assert_snapshot!(check(&["--kubeconfig", "none"]), @"
    exit 1
    error[connection-invalid]: Invalid Connection Configuration

      cannot read the kubeconfig none: No such file or directory (os error 2)

    hint: Choose a kubeconfig with --kubeconfig or KUBECONFIG, and a context with --context; `plimsoll
          sandbox up` starts a cluster on this machine.
    ");
    insta::assert_snapshot!(check(&["--lease-duration", "1s"]), @r"
    exit 1
    error: invalid value '1s' for '--lease-duration <DURATION>': it must be 3s or more

    For more information, try '--help'.
    ");
    let unknown = check(&["--controllers", "oci,aws"]);
    assert!(
        unknown.starts_with("exit 1\nerror: invalid value 'aws' for '--controllers <NAME>'\n"),
        "{unknown}"
    );
    let mut command = plimsoll(&["operator", "--metrics-address=off", "--health-address", &address]);
    let port = transcript(&command.output().unwrap()).replace(&address, "ADDRESS");
    insta::assert_snapshot!(port, @r"
    exit 1
    error[operator-listen]: cannot listen on ADDRESS for health

      Address already in use (os error 98)

    hint: Choose another port with --health-address, or turn it off with `--health-address off`.
    ");
}
