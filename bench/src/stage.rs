//! Everything a benchmark of the operator needs around it: a sandbox, the operator, an XRD, a Composition and its function.

pub mod function;
pub mod process;
pub mod requests;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cluster::{Check, Connection, Delete, Environment, Selection, Session, WaitOutcome, WatchEvent, Write};
use functions::certs::{IssueOptions, Issued, issue};
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use manifest::{Namespace, ObjectRef};
use sandbox::{Layout, Lease, UpRequest, audit};
use serde_json::{Value, json};

use crate::Outcome;
use function::{Calls, NAME, Served};
use process::Operator;
use requests::Requests;

/// How the operator calls itself towards the API server.
const AGENT: &str = "plimsoll-operator";
const GROUP: &str = "bench.example.org";
const PATIENCE: Duration = Duration::from_secs(120);
/// Nothing has been called for this long: all is settled.
const QUIET: Duration = Duration::from_millis(1500);

/// What the benchmark plays on.
pub struct Stage {
    pub operator: Operator,
    session: Session,
    audit: audit::Reader,
    environment: sandbox::Environment,
    name: sandbox::Name,
    start: Start,
    function: Option<Served>,
    certificates: Issued,
    _lease: Lease,
    folder: tempfile::TempDir,
}

/// How the operator is started, once and again.
#[derive(Clone, Default)]
pub struct Start {
    pub flags: Vec<String>,
    pub variables: Vec<(String, String)>,
}

impl Stage {
    /// Starts everything, on a sandbox called `name`.
    pub async fn set(name: &str, calls: &Calls, mut start: Start) -> Outcome<Self> {
        let environment = sandbox::Environment::from_process()?;
        let name: sandbox::Name = name.parse()?;
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
        start.flags.extend([
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--function-certs-dir={}", made.client.display()),
            format!("--function={NAME}={}", function.endpoint),
            "--install-crds".to_owned(),
            "--metrics-address=off".to_owned(),
            "--health-address=off".to_owned(),
        ]);
        let operator = Operator::start(&plimsoll()?, &start.flags, &start.variables)?;
        apply(&session, &composition("first")).await?;
        let xrd = apply(&session, &xrd()).await?;
        let offered = |xrd: &Value| is_true(xrd, "Offered") && is_true(xrd, "Established");
        until(&session, &reference(&xrd), "the XRD is offered", offered).await?;
        Ok(Self {
            operator,
            session,
            audit: audit::Reader::new(layout.audit_log()),
            environment,
            name,
            start,
            function: Some(function),
            certificates: made,
            _lease: up.lease,
            folder,
        })
    }

    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// Ends the operator at once, and starts it again.
    pub fn restart(&mut self) -> Outcome<()> {
        self.operator = Operator::start(&plimsoll()?, &self.start.flags, &self.start.variables)?;
        Ok(())
    }

    /// The operator's requests since this was last called.
    pub fn requests(&mut self) -> Outcome<Requests> {
        Ok(Requests::of_operator(self.audit.read_new()?))
    }

    /// A new revision of the Composition, for which every XR has to be composed again.
    pub async fn revise(&self, content: &str) -> Outcome<()> {
        apply(&self.session, &composition(content)).await?;
        Ok(())
    }

    /// Plans a Composition with other input in a process of its own; how long that takes. `edition` changes what is composed.
    pub fn plan(&self, content: &str, edition: Option<&str>) -> Outcome<(Duration, String)> {
        let mut composition = composition(content);
        if let Some(edition) = edition {
            composition["spec"]["pipeline"][0]["input"]["edition"] = edition.into();
        }
        let file = self.folder.path().join("changed.json");
        std::fs::write(&file, composition.to_string())?;
        let kubeconfig = Layout::new(&self.environment, &self.name).kubeconfig();
        let mut command = std::process::Command::new(plimsoll()?);
        command.args(["plan", "--force-conflicts", "-f"]).arg(&file).env("KUBECONFIG", kubeconfig);
        let began = Instant::now();
        let output = command.stdin(std::process::Stdio::null()).output()?;
        let took = began.elapsed();
        let shown = String::from_utf8_lossy(&output.stdout);
        if output.status.code() != Some(2) {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the plan ended with {}: {shown}{said}", output.status).into());
        }
        Ok((took, shown.lines().next().unwrap_or_default().to_owned()))
    }

    /// Creates a claim.
    pub async fn create(&self, name: &str) -> Outcome<ObjectRef> {
        let claim = claim(name, "small");
        self.session.create(&reference(&claim), &claim, Write::by("bench")).await?;
        Ok(reference(&claim))
    }

    /// Asks for something else, so that the function is called.
    pub async fn change(&self, name: &str) -> Outcome<()> {
        apply(&self.session, &claim(name, "large")).await?;
        Ok(())
    }

    /// Ends the function; where it was.
    pub async fn stop_function(&mut self) -> Outcome<String> {
        let function = self.function.take().ok_or("the function does not run")?;
        let endpoint = function.endpoint.clone();
        function.stop().await?;
        Ok(endpoint)
    }

    /// Serves the function where it was.
    pub async fn start_function(&mut self, endpoint: &str, calls: &Calls) -> Outcome<()> {
        self.function = Some(function::serve(endpoint, &self.certificates.server, calls).await?);
        Ok(())
    }

    /// Creates a claim; how long it takes until it shows its conditions.
    pub async fn claim(&self, name: &str) -> Outcome<Duration> {
        let began = Instant::now();
        let claim = self.create(name).await?;
        until(&self.session, &claim, "the claim is ready", is_ready).await?;
        Ok(began.elapsed())
    }

    /// Waits until `count` claims are ready.
    pub async fn ready(&self, count: usize) -> Outcome<()> {
        self.all(count, "ready", is_ready).await
    }

    /// Waits until of `count` claims it was seen that each `is_so`.
    pub async fn all(&self, count: usize, what: &str, is_so: impl Fn(&Value) -> bool) -> Outcome<()> {
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
    pub async fn settled(&self, calls: &Calls) -> Outcome<()> {
        loop {
            let before = calls.count();
            tokio::time::sleep(QUIET).await;
            if calls.count() == before {
                return Ok(());
            }
        }
    }

    /// Changes a child of a claim; how long it takes until that is undone.
    pub async fn revert(&self, claim: &str) -> Outcome<Duration> {
        let child = self.child(claim).await?;
        let target = reference(&child);
        let changed = AtomicBool::new(false);
        let reverted = move |map: &Value| {
            let is_changed = map["data"]["number"] == "changed";
            changed.fetch_or(is_changed, Ordering::Relaxed) && !is_changed
        };
        let mut body = child;
        body["data"] = json!({"number": "changed"});
        let write = Write::by("intruder").force();
        self.time(&target, reverted, self.session.apply(&target, &body, write)).await
    }

    /// Has a user change a claim; how long it takes until its child shows it.
    pub async fn take_up(&self, name: &str, size: &str) -> Outcome<Duration> {
        let target = reference(&self.child(name).await?);
        let wanted = size.to_owned();
        let shows = move |map: &Value| map["data"]["size"] == wanted;
        let body = claim(name, size);
        let claim = reference(&body);
        self.time(&target, shows, self.session.apply(&claim, &body, Write::by("bench").force())).await
    }

    /// The first child of a claim, as far as it has a name.
    async fn child(&self, claim: &str) -> Outcome<Value> {
        let claim = self.session.read(&reference(&self::claim(claim, ""))).await?;
        let claim = claim.ok_or("the claim is gone")?.object;
        let xr = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "XApp",
            "metadata": {"name": claim["spec"]["resourceRef"]["name"]},
        });
        let xr = self.session.read(&reference(&xr)).await?.ok_or("the XR is gone")?.object;
        let child = &xr["spec"]["resourceRefs"][0];
        Ok(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": child["name"], "namespace": "default"},
        }))
    }

    /// How long it takes from `change` until `is_so` of `target`.
    async fn time<T>(
        &self,
        target: &ObjectRef,
        is_so: impl Fn(&Value) -> bool + Send + Sync + 'static,
        change: impl Future<Output = Result<T, cluster::Error>>,
    ) -> Outcome<Duration> {
        let (session, target) = (self.session.clone(), target.clone());
        let seen = tokio::spawn(async move {
            let seen = until(&session, &target, "the child is as expected", is_so).await;
            seen.map(|_| Instant::now()).map_err(|error| error.to_string())
        });
        // The watch has to be there before the change.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let began = Instant::now();
        change.await?;
        Ok(seen.await??.saturating_duration_since(began))
    }

    /// Deletes claims, so that `kept` are left; how long it takes until claims, XRs and children are gone.
    pub async fn delete(&self, names: &[String], kept: usize, in_flight: usize) -> Outcome<Deleted> {
        let began = Instant::now();
        let delete = |name: &String| {
            let target = reference(&claim(name, ""));
            async move {
                let how = Delete { timeout: Duration::ZERO, ..Delete::of(&target) };
                self.session.delete(&target, &how).await
            }
        };
        let deleted: Vec<_> = stream::iter(names).map(delete).buffer_unordered(in_flight).collect().await;
        deleted.into_iter().collect::<Result<Vec<_>, _>>()?;
        let requested = began.elapsed();
        let composed =
            Selection { labels: Some("crossplane.io/composite".to_owned()), ..Selection::default() };
        let claims = self.until_left(format!("{GROUP}/v1/App"), Selection::default(), kept);
        let xrs = self.until_left(format!("{GROUP}/v1/XApp"), Selection::default(), kept);
        let children = self.until_left("v1/ConfigMap".to_owned(), composed, kept * function::CHILDREN);
        let (claims, xrs, children) = futures::try_join!(claims, xrs, children)?;
        let after = |moment: Instant| moment.saturating_duration_since(began);
        Ok(Deleted { requested, claims: after(claims), xrs: after(xrs), children: after(children) })
    }

    /// Waits until no more than `kept` of these objects are left; when that was.
    async fn until_left(&self, kind: String, selection: Selection, kept: usize) -> Outcome<Instant> {
        let gvk = kind.parse()?;
        let listing = self.session.list(&gvk, &selection).await?;
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let mut left: BTreeSet<String> = listing.items.iter().map(name).collect();
        let mut watch = self.session.watch(&gvk, selection, Some(listing.resource_version)).await?;
        while left.len() > kept {
            let event = tokio::time::timeout(PATIENCE, watch.next()).await;
            match event.map_err(|_| format!("{} of kind {kind} are left", left.len()))?? {
                WatchEvent::Deleted(object) => left.remove(&name(&object)),
                WatchEvent::Applied(_) => false,
                WatchEvent::Expired => return Err("the watch has expired".into()),
            };
        }
        Ok(Instant::now())
    }
}

/// How long it took until what was deleted was gone.
pub struct Deleted {
    /// Until all deletions were requested.
    pub requested: Duration,
    pub claims: Duration,
    pub xrs: Duration,
    pub children: Duration,
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be ended now ends by itself, when its lease is gone.
        let _ended = sandbox::down(&self.environment, &self.name, &mut |_| {});
    }
}

/// The `plimsoll` beside this program: it supervises the sandbox, and it is what is measured.
pub fn plimsoll() -> Outcome<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("plimsoll");
    if !path.exists() {
        return Err("there is no plimsoll beside this program: cargo build --profile dist -p cli".into());
    }
    Ok(path)
}

fn claim(name: &str, size: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "App",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": size},
    })
}

/// Whether the claim says that something is wrong.
pub fn is_unwell(claim: &Value) -> bool {
    has(claim, "Healthy", "False")
}

/// Whether the claim is what was asked for, and nothing is wrong.
pub fn is_well(claim: &Value) -> bool {
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

fn composition(content: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": "bench"},
        "spec": {
            "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "XApp"},
            "pipeline": [{
                "step": "maps", "functionRef": {"name": NAME},
                "input": {"apiVersion": format!("{GROUP}/v1"), "kind": "Input", "content": content},
            }],
        },
    })
}
