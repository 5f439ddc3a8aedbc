//! The operator under test, the function that it calls, and platforms for tests.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use cluster::{Check, Connection, Environment, Selection, Session, WaitOutcome, WatchEvent, Write};
use composition::protocol::{Match, Ready, Resource, ResourceSelector, RunRequest, RunResponse};
use functions::{FunctionError, ServeOptions, Server, Transport, response};
use manifest::{Namespace as Name, ObjectRef};
use operator::runtime::events::Events;
use operator::runtime::metrics::Metrics;
use operator::{Context, FunctionOptions, Options, composition as composition_half};
use serde_json::{Value, json};
use testkit::{Namespace, Sandbox};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// How long a test waits for something that should happen; much longer than it takes, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The operator all tests share.
pub(crate) struct World {
    /// Where the function is served.
    pub(crate) endpoint: String,
    runtime: Runtime,
    _folder: tempfile::TempDir,
    _turn: File,
}

/// The world, made for the first test that needs it. XRDs have no namespaces, so two operators would conflict; other tests with an
/// operator wait until this one has ended.
pub(crate) fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    // On a thread of its own, since the first to need it is a test with a runtime.
    WORLD.get_or_init(|| std::thread::spawn(World::make).join().unwrap())
}

/// The name of the function in Compositions.
pub(crate) fn function_name() -> String {
    format!("function-platform-{}", std::process::id())
}

impl World {
    fn make() -> Self {
        let turn = File::create(Sandbox::shared().kubeconfig().with_extension("composition-lock")).unwrap();
        turn.lock().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let endpoint = runtime.block_on(serve());
        let kubeconfig = runtime.block_on(prepare(folder.path(), &endpoint));
        runtime.spawn(async move {
            let session = connect(&kubeconfig);
            let events = Events::start(session.client().clone(), "test", Metrics::new());
            let functions =
                FunctionOptions { timeout: Duration::from_secs(30), ..FunctionOptions::default() };
            let options = Options { functions, ..Options::on(Connection::default()) };
            let context = Context::new(session, events, Metrics::new(), options);
            composition_half::run(context, CancellationToken::new()).await;
        });
        Self { endpoint, runtime, _folder: folder, _turn: turn }
    }
}

impl World {
    /// Serves the function at one more address.
    pub(crate) fn serve(&self) -> String {
        // Blocking on another runtime from within a test's is not allowed, hence a thread.
        let handle = self.runtime.handle().clone();
        std::thread::spawn(move || handle.block_on(serve())).join().unwrap()
    }
}

/// Serves the function at a free port; its address.
pub(crate) async fn serve() -> String {
    let server = Server::bind(ServeOptions::new("127.0.0.1:0", Transport::Insecure)).await.unwrap();
    let endpoint = server.address().unwrap().to_string();
    tokio::spawn(server.run(answer, std::future::pending()));
    endpoint
}

/// Desires what its input says, with `{size}` and `{name}` of the XR filled in.
async fn answer(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    let input = Value::Object(request.input.clone().unwrap_or_default());
    let xr = &request.observed.composite.object;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (name, size) = (text(&xr["metadata"]["name"]), text(&xr["spec"]["size"]));
    if input["waitFor"] == name.as_str() {
        tokio::time::sleep(Duration::from_secs(8)).await;
    }
    if input["failFor"] == name.as_str() {
        response::fatal(&mut rsp, format!("there is no room for {name}"));
        return Ok(rsp);
    }
    if input["warnFor"] == name.as_str() {
        response::warning(&mut rsp, format!("{name} is almost full"));
    }
    if let Some(required) = input["requires"].as_object() {
        for (key, wanted) in required {
            let selector = ResourceSelector {
                api_version: text(&wanted["apiVersion"]),
                kind: text(&wanted["kind"]),
                matching: Match::Name(text(&wanted["name"])),
                namespace: wanted["namespace"].as_str().map(str::to_owned),
            };
            rsp.requirements.resources.insert(key.clone(), selector);
        }
    }
    if let Some(context) = input["context"].as_object() {
        rsp.context = Some(context.clone());
    }
    for (key, wanted) in input["resources"].as_object().into_iter().flatten() {
        if wanted.get("onlyFor").is_some_and(|only| *only != size.as_str()) {
            continue;
        }
        let filled = wanted["object"].to_string().replace("{size}", &size).replace("{name}", &name);
        let resource =
            Resource { ready: Ready::True, ..Resource::of(serde_json::from_str(&filled).unwrap()) };
        rsp.desired.resources.insert(key.clone(), resource);
    }
    if let Some(bytes) = input["bytes"].as_u64() {
        // Text that cannot be compressed.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut noise = String::new();
        while noise.len() < usize::try_from(bytes).unwrap() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            write!(noise, "{state:016x}").unwrap();
        }
        let large = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"noise": noise}});
        rsp.desired
            .resources
            .insert("large".to_owned(), Resource { ready: Ready::True, ..Resource::of(large) });
    }
    response::condition_true(&mut rsp, "DatabaseReady", "Available");
    Ok(rsp)
}

/// Kinds and rights as people install them, what the tests compose granted, and the function; the kubeconfig of the operator.
async fn prepare(folder: &Path, endpoint: &str) -> PathBuf {
    let namespace = Sandbox::shared().namespace("platform").await;
    let kubeconfig = Sandbox::shared().operator_kubeconfig(&namespace, folder).await;
    let session = session();
    let composed = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": "plimsoll-platform-test",
            "labels": {"rbac.crossplane.io/aggregate-to-crossplane": "true"},
        },
        "rules": [{"apiGroups": ["", "apps"], "resources": ["configmaps", "deployments", "secrets"], "verbs": ["*"]}],
    });
    apply(&session, &composed).await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "plimsoll-composed"},
    });
    let grants =
        |role: &Value| role["rules"].as_array().is_some_and(|rules| rules.contains(&composed["rules"][0]));
    until(&session, &role, "its rules are aggregated", grants).await;
    let function = json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "Function",
        "metadata": {"name": function_name(), "annotations": {"plimsoll.dev/endpoint": endpoint}},
        "spec": {"package": "xpkg.example.org/test/function:v1"},
    });
    apply(&session, &function).await;
    kubeconfig
}

/// A session with every right, for the runtime of the calling test.
pub(crate) fn session() -> Session {
    connect(&Sandbox::shared().kubeconfig())
}

pub(crate) fn connect(kubeconfig: &Path) -> Session {
    let connection = Connection { config_paths: vec![kubeconfig.to_owned()], ..Connection::default() };
    Session::connect(&connection, &Environment::default(), "plimsoll-tests").unwrap()
}

pub(crate) fn reference(object: &Value) -> ObjectRef {
    ObjectRef::of(object.as_object().unwrap()).unwrap()
}

/// Applies `object` as a person does, waiting for its kind if need be.
pub(crate) async fn apply(session: &Session, object: &Value) -> Value {
    let applied =
        session.apply_when_possible(&reference(object), object, Write::by("plimsoll").force()).await;
    applied.unwrap_or_else(|error| panic!("{error:?}")).object
}

pub(crate) async fn get(session: &Session, object: &Value) -> Option<Value> {
    session.read(&reference(object)).await.unwrap().map(|reply| reply.object)
}

/// Waits until the object that `object` names is there and `is_so`, and returns it.
pub(crate) async fn until(
    session: &Session,
    object: &Value,
    what: &str,
    is_so: impl Fn(&Value) -> bool,
) -> Value {
    let check = |object: Option<&Value>| match object {
        Some(object) if is_so(object) => Check::Met(()),
        _ => Check::NotYet(what.to_owned()),
    };
    match session.wait_until(&reference(object), PATIENCE, check).await {
        Ok(WaitOutcome::Met { object: Some(object), .. }) => object,
        other => {
            let last = get(session, object).await.map(|last| manifest::to_yaml(&last));
            panic!("waiting until {what}: {other:?}\n{}", last.unwrap_or_default())
        }
    }
}

/// Waits until a request in the namespace has this state.
pub(crate) async fn until_request_is(session: &Session, namespace: &str, state: &str) {
    let kind = "plimsoll.dev/v1alpha1/Request".parse().unwrap();
    let selection = Selection { namespace: Name::new(namespace), ..Selection::default() };
    let mut watch = session.watch(&kind, selection, None).await.unwrap();
    let seen = async {
        loop {
            if let WatchEvent::Applied(request) = watch.next().await.unwrap()
                && request["status"]["state"] == state
            {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("no request is {state}"));
}

/// The requests in a namespace.
pub(crate) async fn requests(session: &Session, namespace: &str) -> usize {
    let kind = "plimsoll.dev/v1alpha1/Request".parse().unwrap();
    let selection = Selection { namespace: Name::new(namespace), ..Selection::default() };
    session.list(&kind, &selection).await.unwrap().items.len()
}

pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == kind && one["status"] == "True"))
}

/// An XRD, a Composition and a namespace of a test's own.
pub(crate) struct Platform {
    pub(crate) ns: Namespace,
    pub(crate) group: String,
    pub(crate) session: Session,
}

impl Platform {
    /// A platform whose Composition has this input.
    pub(crate) async fn new(test: &str, input: &Value) -> Self {
        Self::with(test, input, "Namespaced").await
    }

    /// The same with XRs of another scope.
    pub(crate) async fn with(test: &str, input: &Value, scope: &str) -> Self {
        world();
        let ns = Sandbox::shared().namespace(test).await;
        let platform = Self { group: format!("{}.example.org", ns.name()), ns, session: session() };
        apply(&platform.session, &platform.xrd(scope)).await;
        apply(&platform.session, &platform.composition("main", input)).await;
        platform
    }

    /// XRs have a `size`, and in a legacy scope claims.
    pub(crate) fn xrd(&self, scope: &str) -> Value {
        let is_legacy = scope == "LegacyCluster";
        let mut xrd = json!({
            "apiVersion": format!("apiextensions.crossplane.io/{}", if is_legacy { "v1" } else { "v2" }),
            "kind": "CompositeResourceDefinition",
            "metadata": {"name": format!("xapps.{}", self.group)},
            "spec": {
                "group": self.group, "scope": scope,
                "names": {"kind": "XApp", "plural": "xapps"},
                "versions": [{
                    "name": "v1", "served": true, "referenceable": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {
                            "size": {"type": "string"}, "note": {"type": "string"},
                        }},
                    }}},
                }],
            },
        });
        if is_legacy {
            xrd["spec"]["claimNames"] = json!({"kind": "App", "plural": "apps"});
        }
        xrd
    }

    /// A Composition of one step; its name begins with the group's.
    pub(crate) fn composition(&self, name: &str, input: &Value) -> Value {
        let mut input = input.clone();
        input["apiVersion"] = "test.example.org/v1".into();
        input["kind"] = "Input".into();
        json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
            "metadata": {"name": format!("{name}.{}", self.group), "labels": {"of": name}},
            "spec": {
                "compositeTypeRef": {"apiVersion": format!("{}/v1", self.group), "kind": "XApp"},
                "mode": "Pipeline",
                "pipeline": [{"step": "render", "functionRef": {"name": function_name()}, "input": input}],
            },
        })
    }

    pub(crate) fn xr(&self, name: &str, size: &str) -> Value {
        json!({
            "apiVersion": format!("{}/v1", self.group), "kind": "XApp",
            "metadata": {"name": name, "namespace": self.ns.name()},
            "spec": {"size": size, "crossplane": {"compositionRef": {"name": format!("main.{}", self.group)}}},
        })
    }

    /// Creates an XR, and waits until it is composed.
    pub(crate) async fn composed(&self, name: &str, size: &str) -> Value {
        self.settled(&self.xr(name, size)).await
    }

    pub(crate) async fn settled(&self, xr: &Value) -> Value {
        apply(&self.session, xr).await;
        until(&self.session, xr, "it is ready", |xr| is_true(xr, "Ready") && is_true(xr, "Synced")).await
    }

    /// The type of its XRs, as people type it.
    pub(crate) fn kind(&self) -> String {
        format!("xapps.{}", self.group)
    }

    /// Runs `plimsoll` with something on standard input.
    pub(crate) fn run(&self, arguments: &[&str], input: &[&Value]) -> Output {
        let text: Vec<String> = input.iter().map(ToString::to_string).collect();
        with_input(self.plimsoll(arguments), &text.join("\n---\n"))
    }

    pub(crate) fn plimsoll(&self, arguments: &[&str]) -> Command {
        // Tests that run in the background may have SIGINT ignored, and child processes inherit that.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=INT", env!("CARGO_BIN_EXE_plimsoll")])
            .args(arguments)
            .args(["--namespace", self.ns.name()])
            .env("KUBECONFIG", Sandbox::shared().kubeconfig())
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1");
        command
    }

    /// Exit status, output and messages, without what differs between runs.
    pub(crate) fn transcript(&self, output: &Output) -> String {
        let code = output.status.code().map_or("a signal".to_owned(), |code| code.to_string());
        let mut transcript = format!("exit {code}\n");
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let text = self.steady(&String::from_utf8_lossy(bytes));
            if !text.is_empty() {
                transcript.extend(["--- ", name, "\n", text.trim_end(), "\n"]);
            }
        }
        transcript
    }

    /// A text with fixed values for the namespace, the function and generated names.
    pub(crate) fn steady(&self, text: &str) -> String {
        let text = text.replace(self.ns.name(), "NS").replace(&function_name(), "FUNCTION");
        let is_part = |character: char| character.is_ascii_alphanumeric() || "-.:/".contains(character);
        let mut steady = String::new();
        let mut rest = text.as_str();
        while let Some(start) = rest.find(is_part) {
            let length = rest[start..].find(|character| !is_part(character));
            let end = length.map_or(rest.len(), |length| start + length);
            steady.push_str(&rest[..start]);
            steady.push_str(&word(&rest[start..end]));
            rest = &rest[end..];
        }
        steady + rest
    }
}

/// Composed resources end in twelve hexadecimal digits, managers in sixty-four.
fn word(word: &str) -> String {
    let hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (head, tail) = word.rsplit_once(['-', '/']).unwrap_or(("", word));
    let separator = &word[head.len()..word.len() - tail.len()];
    match tail.len() {
        12 if hex(tail) && !head.is_empty() => format!("{head}{separator}HASH"),
        64 if hex(tail) => format!("{head}{separator}HASH"),
        7 if hex(tail) && !head.is_empty() && tail.bytes().any(|byte| byte.is_ascii_digit()) => {
            format!("{head}{separator}HASH")
        }
        _ => word.to_owned(),
    }
}

pub(crate) fn with_input(mut command: Command, input: &str) -> Output {
    use std::io::Write as _;

    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that refuses its arguments does not read its input.
    let _ignored = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// The text on one line, for comparisons regardless of line breaks.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A Deployment to be composed.
pub(crate) fn deployment(replicas: u32) -> Value {
    json!({"object": {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"labels": {"app": "{name}"}},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "{name}"}},
            "template": {
                "metadata": {"labels": {"app": "{name}"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    }})
}

/// A ConfigMap to be composed.
pub(crate) fn map(data: &Value) -> Value {
    json!({"object": {"apiVersion": "v1", "kind": "ConfigMap", "data": data}})
}
