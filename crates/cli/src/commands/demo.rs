//! `plimsoll demo`: a small application on a real Kubernetes, told step by step.
//!
//! Every statement is checked before it is made. What turns out not to be true ends the demo with exit status 1.

mod scene;

use std::process::Command;
use std::time::{Duration, Instant};

use cluster::{Connection, Readiness, Session, Write};
use diag::{Diagnostic, Source};
use futures::future::try_join_all;
use manifest::{Limits, ObjectRef};
use ownership::{Analysis, Baseline, Before, FieldManager, Outlook, Verbosity};
use sandbox::{Environment, Layout, Name, UpRequest};
use serde_json::Value;
use wait::{Cut, WrittenWait};

use super::sandbox::progress;
use crate::args::demo::Demo;
use crate::codes;
use crate::exit::{Exit, Failure, Outcome};
use crate::printer::{LITERAL, Printer};
use crate::process::{own_executable, runtime};
use scene::Scene;

const SHOP: &str = include_str!("../../../../examples/shop/shop.yaml");
/// In whose name the demo applies.
const US: &str = "plimsoll";

/// Plays the demo.
pub(super) fn run(args: &Demo, printer: &mut Printer) -> Outcome {
    printer.only_text("the demo is a story to read")?;
    let environment = Environment::from_process()?;
    let name: Name = "demo".parse().expect("a simple name");
    let request = UpRequest {
        // Without --keep the sandbox ends with this process, also when it is killed.
        linger: (!args.keep).then_some(Duration::ZERO),
        ..UpRequest::new(name, own_executable()?)
    };

    let mut scene = Scene::new(printer);
    scene.title("a real Kubernetes, on this machine, without containers");
    let up = progress::follow(scene.printer(), |on_event| sandbox::up(&environment, &request, on_event))?;
    let version = up.status.versions.get("kubernetes").map_or("", String::as_str);
    scene.line(format_args!("Kubernetes {version} is ready at {}", up.status.server));

    let kubeconfig = std::fs::read_to_string(&up.status.kubeconfig)?;
    let connection = Connection::from_kubeconfig(kubeconfig, up.status.contexts.first().cloned());
    let stage = Layout::new(&environment, &request.name);
    runtime()?.block_on(play(&connection, &stage, &mut scene))?;

    scene.title("what comes next");
    let next = if args.keep {
        [
            "eval \"$(plimsoll sandbox env --name demo)\"",
            "kubectl get all --namespace shop",
            "plimsoll sandbox down --name demo",
        ]
    } else {
        ["plimsoll demo --keep", "plimsoll sandbox up --detach", "plimsoll sandbox --help"]
    };
    for command in next {
        scene.line(format_args!("{LITERAL}{command}{LITERAL:#}"));
    }
    drop(up.lease);
    if up.started && !args.keep {
        sandbox::down(&environment, &request.name, &mut |_| {})?;
    }
    Ok(Exit::Success)
}

async fn play(connection: &Connection, stage: &Layout, scene: &mut Scene<'_>) -> Result<(), Failure> {
    let session = Session::connect(connection, &cluster::Environment::of_process(), "plimsoll-demo")
        .map_err(|error| error.diagnostic())?;
    let objects = shop()?;

    scene.title("an application in one go: a namespace and its content at the same time, no ordering");
    let began = Instant::now();
    let applied = try_join_all(objects.iter().map(|(target, body)| {
        let write = Write::by(US).force();
        let session = &session;
        async move { session.apply_when_possible(target, body, write).await }
    }))
    .await
    .map_err(|error| error.diagnostic("Apply"))?;
    for ((target, _), reply) in objects.iter().zip(&applied) {
        scene.line(format_args!("{target} {}", if reply.created() { "created" } else { "applied" }));
    }
    scene.line(format_args!("{} objects in {} ms", applied.len(), began.elapsed().as_millis()));

    scene.title("you get what you wait for, and nothing else");
    for (kind, name, what) in [
        ("Deployment", "web", "rollout"),
        ("Job", "migrate", "rollout"),
        ("PersistentVolumeClaim", "orders", "value=status.phase=Bound"),
        ("Service", "web", "field=status.loadBalancer.ingress[0].ip"),
    ] {
        let target = find(&objects, kind, name);
        let value = wait_for(&session, target, what).await?;
        let shown = value.map_or_else(String::new, |value| format!(" = {}", manifest::to_json(&value)));
        scene.line(format_args!("{target}  {what}{shown}"));
    }

    scene.title("somebody scales the Deployment by hand, and you see it before you apply");
    let target = find(&objects, "Deployment", "web");
    let position = objects.iter().position(|(object, _)| object == target).expect("it was found there");
    let (body, answer) = (&objects[position].1, &applied[position].object);
    kubectl(stage, &["--namespace=shop", "scale", "deployment/web", "--replicas=5"], scene)?;
    let live = session.read(target).await.map_err(|error| error.diagnostic("Read"))?;
    let live = live.ok_or_else(|| untrue(format!("{target} is gone")))?;
    let planned = session
        .apply(target, body, Write::by(US).force().dry_run())
        .await
        .map_err(|error| error.diagnostic("Plan"))?;
    let warnings = drift(target, body, answer, &live.object, &planned.object)?;
    for warning in &warnings {
        scene.diagnostic(warning);
    }
    if warnings.len() != 1 || !warnings[0].detail.contains("spec.replicas: 5 → 3") {
        return Err(untrue(format!(
            "one warning about spec.replicas was expected, and there are {}",
            warnings.len()
        )));
    }
    Ok(())
}

/// The objects of the example, in the order they are written.
fn shop() -> Result<Vec<(ObjectRef, Value)>, Failure> {
    let source = Source::new("examples/shop/shop.yaml", SHOP);
    let documents = manifest::read(&source, &Limits::default()).all().map_err(first)?;
    let mut objects = Vec::new();
    for document in &documents {
        for object in manifest::objects(document).map_err(first)? {
            let target = object.reference().expect("the example names its objects");
            objects.push((target, object.value.clone()));
        }
    }
    Ok(objects)
}

fn first(mut diagnostics: Vec<Diagnostic>) -> Failure {
    diagnostics.swap_remove(0).into()
}

fn find<'a>(objects: &'a [(ObjectRef, Value)], kind: &str, name: &str) -> &'a ObjectRef {
    let found = objects.iter().find(|(target, _)| target.kind() == kind && target.name == name);
    &found.expect("the demo names objects of its example").0
}

/// Waits as `what` says (`rollout`, `field=…`); the value that yields.
async fn wait_for(session: &Session, target: &ObjectRef, what: &str) -> Result<Option<Value>, Failure> {
    let written: WrittenWait = what.parse().expect("the demo writes its waits well");
    let wait = written.parse(None, Cut::Status).wait.expect("the demo writes its waits well");
    match session.wait_for(target, &wait, |_| {}).await.map_err(|error| error.diagnostic("Wait"))? {
        Readiness::Met { value, .. } => Ok(value),
        Readiness::Unmet { diagnosis, .. } => Err(Failure::Diagnostic(diagnosis)),
    }
}

/// Does by hand what people do by hand: with the sandbox's own kubectl.
fn kubectl(stage: &Layout, arguments: &[&str], scene: &mut Scene<'_>) -> Result<(), Failure> {
    scene.line(format_args!("{LITERAL}kubectl {}{LITERAL:#}", arguments.join(" ")));
    let mut command = Command::new(stage.bin().join("kubectl"));
    let output = command.args(arguments).env("KUBECONFIG", stage.kubeconfig()).output()?;
    if !output.status.success() {
        return Err(untrue(format!("kubectl says {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    Ok(())
}

/// What would be said before applying `body` again.
fn drift(
    target: &ObjectRef,
    body: &Value,
    answer: &Value,
    live: &Value,
    planned: &Value,
) -> Result<Vec<Diagnostic>, Failure> {
    let unreadable = |error: ownership::ManagedFieldsError| untrue(error.to_string());
    let baseline = Baseline::record(answer, body, |_| false).map_err(unreadable)?;
    let manager = FieldManager::new(US);
    let before = Before::Applied { written: body, baseline: &baseline };
    let outlook = Outlook { manager: &manager, before, written: body, live, planned };
    let analysis = Analysis::of(&outlook, |_| false).map_err(unreadable)?;
    Ok(analysis.warnings(&target.to_string(), Verbosity::Full))
}

fn untrue(what: impl Into<String>) -> Failure {
    Diagnostic::error(codes::DEMO_UNTRUE, what)
        .hint("Report it with this output, please: it is a bug in plimsoll.")
        .into()
}
