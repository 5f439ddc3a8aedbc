//! The fixture of the tests: a folder with files, and functions that are served while it exists.

use std::process::Command;

use functions::{RunRequest, ServeOptions, Server, Transport, response};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with the inputs, and a function that is served while it exists.
pub(crate) struct Fixture {
    folder: TempDir,
    runtime: tokio::runtime::Runtime,
}

pub(crate) const XR: &str = "
apiVersion: example.org/v1
kind: XApp
metadata:
  name: shop
spec:
  size: 3
";

impl Fixture {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let fixture = Self { folder: tempfile::tempdir().unwrap(), runtime: runtime.unwrap() };
        fixture.write("xr.yaml", XR);
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A Composition that runs these functions, merged with `change`.
    pub(crate) fn composition(&self, functions: &[&str], change: impl FnOnce(&mut Value)) {
        let step =
            |function: &&str| json!({"step": format!("run-{function}"), "functionRef": {"name": function}});
        let mut composition = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "app"},
            "spec": {
                "compositeTypeRef": {"apiVersion": "example.org/v1", "kind": "XApp"},
                "mode": "Pipeline", "pipeline": functions.iter().map(step).collect::<Vec<_>>(),
            },
        });
        change(&mut composition);
        self.write("composition.yaml", &manifest::to_yaml(&composition));
    }

    /// Functions: `main` in development at `endpoint`, the others built in.
    pub(crate) fn functions(&self, endpoint: &str) {
        self.write(
            "functions.yaml",
            &format!(
                "
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: main
  annotations:
    render.crossplane.io/runtime: Development
    render.crossplane.io/runtime-development-target: {endpoint}
spec:
  package: xpkg.example.org/test/main:v1
---
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-auto-ready
spec:
  package: xpkg.example.org/test/function-auto-ready:v1
"
            ),
        );
    }

    /// Serves `main` on loopback, without TLS.
    pub(crate) fn serve(&self, function: impl functions::Function) {
        self.functions(&self.endpoint(function));
    }

    /// The address where `function` is served while the fixture exists.
    pub(crate) fn endpoint(&self, function: impl functions::Function) -> String {
        self.runtime.block_on(async {
            let address = "127.0.0.1:0".to_owned();
            let server = Server::bind(ServeOptions::new(address, Transport::Insecure)).await.unwrap();
            let endpoint = server.address().unwrap().to_string();
            tokio::spawn(server.run(function, std::future::pending()));
            endpoint
        })
    }

    /// The output and the exit status.
    pub(crate) fn render(&self, arguments: &[&str]) -> String {
        let files = ["xr.yaml", "composition.yaml", "functions.yaml"].map(|name| self.path(name));
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.arg("render").args(files).args(arguments).env("COLUMNS", "100").env("NO_COLOR", "1");
        let output = command.output().expect("plimsoll starts");
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&self.folder.path().display().to_string(), "DIR")
        };
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let mut transcript = format!("exit {}\n{}", output.status.code().unwrap(), stdout);
        if !stderr.is_empty() {
            transcript.push_str("--- stderr\n");
            transcript.push_str(&stderr);
        }
        transcript
    }
}

/// Composes a ConfigMap of the XR's size, reports it, and adds to the context.
pub(crate) async fn config_map(
    request: RunRequest,
) -> Result<functions::RunResponse, functions::FunctionError> {
    let mut answer = response::to(&request);
    let size = &request.observed.composite.object["spec"]["size"];
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"size": size.to_string()}});
    answer.desired.resources.insert("map".to_owned(), composition::protocol::Resource::of(map));
    answer.desired.composite.object.insert("status".to_owned(), json!({"size": size}));
    response::normal(&mut answer, "composed a map").with_reason("Composed");
    response::condition_true(&mut answer, "MapReady", "Available");
    answer.context.get_or_insert_default().insert("seen".to_owned(), true.into());
    Ok(answer)
}
