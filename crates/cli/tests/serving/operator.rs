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
        let folder = tempfile::tempdir().unwrap();
        let namespace = Sandbox::shared().namespace(test).await;
        let kubeconfig = Sandbox::shared().operator_kubeconfig(&namespace, folder.path()).await;
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
    let keys = place.folder.path().join("keys");
    let mut cloud =
        Running::answering(plimsoll(&["oci-server", "--key-dir", keys.to_str().unwrap(), "--retry-after=1"]));
    let announced: Value = serde_json::from_str(&cloud.line()).unwrap();
    let mut operator =
        place.operator(&["--health-address=off", "--oci-endpoint", announced["url"].as_str().unwrap()]);
    operator.env("OCI_CONFIG_FILE_PATH", announced["configFile"].as_str().unwrap());
    let mut operator = Running::logging(operator);
    operator.until("the operator is ready");
    let queue = json!({
        "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue", "metadata": { "name": "orders" },
        "spec": { "displayName": "orders", "compartmentId": announced["compartment"] },
    });
    place.namespace.apply_as("another-manager", &queue).await;
    let kubectl = |arguments: &[&str]| place.namespace.kubectl(arguments);
    let ready =
        kubectl(&["wait", "--for=condition=Ready", "queues.queue.oracle.com/orders", "--timeout=60s"]);
    assert_eq!(ready.as_deref(), Ok("queue.queue.oracle.com/orders condition met\n"));
    let gone = kubectl(&["delete", "queues.queue.oracle.com/orders", "--wait", "--timeout=60s"]);
    assert!(gone.is_ok(), "{gone:?}");
    let (code, rest) = operator.end_by("-TERM");
    assert_eq!(code, Some(0), "{rest}");
    let warnings: Vec<&str> = rest.lines().filter(|line| line.contains(r#""level":"WARN""#)).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
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
