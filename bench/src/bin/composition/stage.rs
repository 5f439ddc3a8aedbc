//! Everything the benchmark needs around it: a sandbox, the operator, an XRD and a Composition.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cluster::{Check, Connection, Environment, Selection, Session, WaitOutcome, WatchEvent, Write};
use functions::certs::{IssueOptions, Issued, issue};
use jiff::Timestamp;
use manifest::{Namespace, ObjectRef};
use sandbox::{Layout, Lease, UpRequest, audit};
use serde_json::{Value, json};

use super::function::{self, Calls, NAME, Served};
use super::process::Operator;
use crate::Outcome;

/// How the operator calls itself towards the API server.
pub(crate) const AGENT: &str = "plimsoll-operator";
const GROUP: &str = "bench.example.org";
const SANDBOX: &str = "bench-composition";
const PATIENCE: Duration = Duration::from_secs(120);
/// Nothing has been called for this long: all is settled.
const QUIET: Duration = Duration::from_millis(1500);

/// What the benchmark plays on.
pub(crate) struct Stage {
    pub(crate) operator: Operator,
    session: Session,
    audit: audit::Reader,
    environment: sandbox::Environment,
    function: Option<Served>,
    certificates: Issued,
    _lease: Lease,
    _folder: tempfile::TempDir,
}

impl Stage {
    /// Starts everything.
    pub(crate) async fn set(calls: &Calls) -> Outcome<Self> {
        let environment = sandbox::Environment::from_process()?;
        let name: sandbox::Name = SANDBOX.parse()?;
        let mut request = UpRequest::new(name.clone(), plimsoll()?);
        request.audit = true;
        request.linger = Some(Duration::from_secs(5));
        let up = sandbox::up(&environment, &request, &mut |_| {})?;
        let layout = Layout::new(&environment, &name);
        let kubeconfig = layout.kubeconfig();
        let folder = tempfile::tempdir()?;
        let sans = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let made = issue(
            folder.path(),
            &IssueOptions { sans, days: 1, ..IssueOptions::new("fn") },
            Timestamp::now(),
        )?;
        let function = function::serve("127.0.0.1:0", &made.server, calls).await?;
        let connection = Connection { config_paths: vec![kubeconfig.clone()], ..Connection::default() };
        let session = Session::connect(&connection, &Environment::default(), "plimsoll-bench")?;
        for definition in operator::composition::crds::definitions() {
            apply(&session, &definition).await?;
        }
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let operator = Operator::start(&text(&kubeconfig), &text(&made.client), &function.endpoint)?;
        apply(&session, &composition()).await?;
        let xrd = apply(&session, &xrd()).await?;
        let offered = |xrd: &Value| is_true(xrd, "Offered") && is_true(xrd, "Established");
        until(&session, &reference(&xrd), "the XRD is offered", offered).await?;
        Ok(Self {
            operator,
            session,
            audit: audit::Reader::new(layout.audit_log()),
            environment,
            function: Some(function),
            certificates: made,
            _lease: up.lease,
            _folder: folder,
        })
    }

    /// The requests since this was last asked.
    pub(crate) fn requests(&mut self) -> Outcome<Vec<audit::Request>> {
        Ok(self.audit.read_new()?)
    }

    /// Creates a claim.
    pub(crate) async fn create(&self, name: &str) -> Outcome<ObjectRef> {
        let claim = claim(name, "small");
        self.session.create(&reference(&claim), &claim, Write::by("bench")).await?;
        Ok(reference(&claim))
    }

    /// Asks for something else, so that the function is called.
    pub(crate) async fn change(&self, name: &str) -> Outcome<()> {
        apply(&self.session, &claim(name, "large")).await?;
        Ok(())
    }

    /// Ends the function; where it was.
    pub(crate) async fn stop_function(&mut self) -> Outcome<String> {
        let function = self.function.take().ok_or("the function does not run")?;
        let endpoint = function.endpoint.clone();
        function.stop().await?;
        Ok(endpoint)
    }

    /// Serves the function where it was.
    pub(crate) async fn start_function(&mut self, endpoint: &str, calls: &Calls) -> Outcome<()> {
        self.function = Some(function::serve(endpoint, &self.certificates.server, calls).await?);
        Ok(())
    }

    /// Creates a claim; how long it takes until it shows its conditions.
    pub(crate) async fn claim(&self, name: &str) -> Outcome<Duration> {
        let began = Instant::now();
        let claim = self.create(name).await?;
        until(&self.session, &claim, "the claim is ready", is_ready).await?;
        Ok(began.elapsed())
    }

    /// Waits until `count` claims are ready.
    pub(crate) async fn ready(&self, count: usize) -> Outcome<()> {
        self.all(count, "ready", is_ready).await
    }

    /// Waits until of `count` claims it was seen that each `is_so`.
    pub(crate) async fn all(&self, count: usize, what: &str, is_so: impl Fn(&Value) -> bool) -> Outcome<()> {
        let gvk = format!("{GROUP}/v1/App").parse()?;
        let mut watch = self.session.watch(&gvk, Selection::default(), None).await?;
        let mut ready = BTreeSet::new();
        while ready.len() < count {
            let event = tokio::time::timeout(PATIENCE, watch.next()).await;
            let event = event.map_err(|_| format!("only {} of {count} claims are {what}", ready.len()))??;
            if let WatchEvent::Applied(claim) = event
                && is_so(&claim)
            {
                ready.insert(claim["metadata"]["name"].as_str().unwrap_or_default().to_owned());
            }
        }
        Ok(())
    }

    /// Waits until the function has not been called for a while.
    pub(crate) async fn settled(&self, calls: &Calls) -> Outcome<()> {
        loop {
            let before = calls.count();
            tokio::time::sleep(QUIET).await;
            if calls.count() == before {
                return Ok(());
            }
        }
    }

    /// Changes a child of a claim; how long it takes until that is undone.
    pub(crate) async fn revert(&self, claim: &str) -> Outcome<Duration> {
        let claim = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "App", "metadata": {"name": claim, "namespace": "default"},
        });
        let claim = self.session.read(&reference(&claim)).await?.ok_or("the claim is gone")?.object;
        let xr = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "XApp",
            "metadata": {"name": claim["spec"]["resourceRef"]["name"]},
        });
        let xr = self.session.read(&reference(&xr)).await?.ok_or("the XR is gone")?.object;
        let child = &xr["spec"]["resourceRefs"][0];
        let child = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": child["name"], "namespace": "default"}, "data": {"number": "changed"},
        });
        let watched = self.session.clone();
        let target = reference(&child);
        let reverted = tokio::spawn(async move {
            let changed = std::sync::atomic::AtomicBool::new(false);
            let done = |map: &Value| {
                let is_changed = map["data"]["number"] == "changed";
                let was = changed.fetch_or(is_changed, std::sync::atomic::Ordering::Relaxed);
                was && !is_changed
            };
            until(&watched, &target, "the child is as it was", done)
                .await
                .map(|_| ())
                .map_err(|error| error.to_string())
        });
        // The watch has to be there before the change.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let began = Instant::now();
        self.session.apply(&reference(&child), &child, Write::by("intruder").force()).await?;
        reverted.await??;
        Ok(began.elapsed())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be ended now ends by itself, when its lease is gone.
        if let Ok(name) = SANDBOX.parse() {
            let _ended = sandbox::down(&self.environment, &name, &mut |_| {});
        }
    }
}

/// The `plimsoll` beside this program, which supervises the sandbox.
fn plimsoll() -> Outcome<PathBuf> {
    let folder = std::env::current_exe()?.parent().ok_or("a program is in a folder")?.to_owned();
    let candidates = [folder.join("plimsoll"), folder.join("../debug/plimsoll")];
    let found = candidates.into_iter().find(|path| path.exists());
    Ok(found.ok_or("there is no plimsoll beside this program: cargo build --release -p cli")?)
}

fn claim(name: &str, size: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "App",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": size},
    })
}

/// Whether the claim says that something is wrong.
pub(crate) fn is_unwell(claim: &Value) -> bool {
    has(claim, "Healthy", "False")
}

/// Whether the claim is what was asked for, and nothing is wrong.
pub(crate) fn is_well(claim: &Value) -> bool {
    is_ready(claim) && is_true(claim, "Healthy")
}

fn is_ready(claim: &Value) -> bool {
    ["Ready", "DatabaseReady", "AppReady"].iter().all(|kind| is_true(claim, kind))
}

fn is_true(object: &Value, kind: &str) -> bool {
    has(object, kind, "True")
}

fn has(object: &Value, kind: &str, status: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let is = |condition: &Value| condition["type"] == kind && condition["status"] == status;
    conditions.is_some_and(|conditions| conditions.iter().any(is))
}

async fn apply(session: &Session, object: &Value) -> Outcome<Value> {
    let applied = session.apply_when_possible(&reference(object), object, Write::by("bench").force()).await;
    Ok(applied?.object)
}

async fn until(
    session: &Session,
    target: &ObjectRef,
    what: &str,
    is_so: impl Fn(&Value) -> bool,
) -> Outcome<Value> {
    let check = |object: Option<&Value>| match object {
        Some(object) if is_so(object) => Check::Met(()),
        _ => Check::NotYet(what.to_owned()),
    };
    match session.wait_until(target, PATIENCE, check).await? {
        WaitOutcome::Met { object: Some(object), .. } => Ok(object),
        other => Err(format!("waiting until {what}: {other:?}").into()),
    }
}

fn reference(object: &Value) -> ObjectRef {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let gvk =
        format!("{}/{}", text("/apiVersion"), text("/kind")).parse().expect("the benchmark names kinds");
    ObjectRef::new(gvk, Namespace::new(text("/metadata/namespace")), text("/metadata/name"))
}

fn xrd() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "string"}}},
    }});
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("xapps.{GROUP}")},
        "spec": {
            "group": GROUP, "names": {"kind": "XApp", "plural": "xapps"},
            "claimNames": {"kind": "App", "plural": "apps"},
            "versions": [{
                "name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

fn composition() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": "bench"},
        "spec": {
            "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "XApp"},
            "pipeline": [{"step": "maps", "functionRef": {"name": NAME}}],
        },
    })
}
