//! `plimsoll migrate` in a cluster that a real Crossplane left.

#![expect(clippy::unwrap_used, reason = "all of this is tests, also what has no #[test] of its own")]

mod back;
#[path = "../book/blocks.rs"]
mod blocks;
mod chapter;
mod claim;
mod functions;
mod kubelet;
mod left_by_crossplane;
#[path = "../cluster/schema.rs"]
mod schema;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use cluster::{Delete, Session};
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Sandbox;
use tokio::runtime::Runtime;

use kubelet::Kubelet;

/// How long a test waits for something that should happen; much longer than it takes, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// What `object` calls itself.
pub(crate) fn reference(object: &Value) -> ObjectRef {
    ObjectRef::of(object.as_object().unwrap()).unwrap()
}

/// A cluster with everything that Crossplane left, and with what its Deployments and Plimsoll's run.
pub(crate) struct World {
    // Ends first: it uses the others.
    _kubelet: Kubelet,
    pub(crate) sandbox: Sandbox,
    pub(crate) folder: TempDir,
    runtime: Runtime,
}

impl World {
    pub(crate) fn new(test: &str) -> Self {
        let (sandbox, folder) = (Sandbox::dedicated(test), tempfile::tempdir().unwrap());
        let runtime = Runtime::new().unwrap();
        let address = runtime.block_on(async {
            let session = Session::new(sandbox.client().await);
            left_by_crossplane::restore(&session, folder.path()).await;
            functions::serve(folder.path().join("server")).await
        });
        let kubelet = Kubelet::start(&sandbox, folder.path(), address);
        Self { _kubelet: kubelet, sandbox, folder, runtime }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(arguments)
            .env("KUBECONFIG", self.kubeconfig())
            .env("NO_COLOR", "1")
            .env("COLUMNS", "1000");
        command
    }

    /// Runs `plimsoll`, and returns whether it succeeded and what it printed.
    pub(crate) fn plimsoll(&self, arguments: &[&str]) -> (bool, String) {
        let output = self.command(arguments).output().unwrap();
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// The output of a command with `-o json`, by the schema `name`.
    pub(crate) fn printed(&self, name: &str, arguments: &[&str]) -> Value {
        let output = self.command(arguments).args(["-o", "json"]).output().unwrap();
        schema::check(name, &String::from_utf8_lossy(&output.stdout))
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.sandbox.kubeconfig()
    }

    pub(crate) fn get(&self, object: &Value) -> Option<Value> {
        self.runtime.block_on(async {
            let session = Session::new(self.sandbox.client().await);
            session.read(&reference(object)).await.unwrap().map(|reply| reply.object)
        })
    }

    /// Waits until an object is there and `is_so`.
    pub(crate) fn until(&self, object: &Value, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.get(object) {
                Some(found) if is_so(&found) => return found,
                last => assert!(Instant::now() < deadline, "{what}: {last:#?}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn until_gone(&self, object: &Value) {
        let deadline = Instant::now() + PATIENCE;
        while let Some(last) = self.get(object) {
            assert!(Instant::now() < deadline, "{last:#?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Applies an object, as a user.
    pub(crate) fn apply(&self, object: &Value) {
        self.runtime.block_on(async {
            let session = Session::new(self.sandbox.client().await);
            let write = cluster::Write::by("person").force();
            session.apply_when_possible(&reference(object), object, write).await.unwrap();
        });
    }

    /// Merges a patch into an object, as a user.
    pub(crate) fn patch(&self, object: &Value, patch: &Value) {
        self.runtime.block_on(async {
            let session = Session::new(self.sandbox.client().await);
            let write = cluster::Write::by("person");
            session.patch(&reference(object), cluster::PatchType::Merge, patch, write).await.unwrap();
        });
    }

    pub(crate) fn delete(&self, object: &Value) {
        self.runtime.block_on(async {
            let session = Session::new(self.sandbox.client().await);
            let how = Delete { timeout: Duration::ZERO, ..Delete::of(&reference(object)) };
            session.delete(&reference(object), &how).await.unwrap();
        });
    }
}

/// An object by its kind and name.
pub(crate) fn named(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if let Some(namespace) = namespace.and_then(Namespace::new) {
        object["metadata"]["namespace"] = namespace.as_str().into();
    }
    object
}

/// The condition of this type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}
