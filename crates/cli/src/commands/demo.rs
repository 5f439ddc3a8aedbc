//! `plimsoll demo`: the whole story on a real Kubernetes, step by step.
//!
//! Every statement is checked before it is printed. One that turns out to be false ends the demo with exit status 1.

mod objects;
mod player;
mod plimsoll;
mod scene;
mod stage;
mod story;
mod terraform;

use std::process::Command;
use std::time::{Duration, Instant};

use cluster::{Connection, Session, Write};
use diag::Diagnostic;
use futures::channel::mpsc;
use futures::future::{try_join_all, try_join3};
use futures::stream::StreamExt as _;
use manifest::ObjectRef;
use sandbox::{Environment, Layout, Name, UpRequest};
use serde_json::{Value, json};

use super::sandbox::progress;
use crate::args::demo::Demo;
use crate::codes;
use crate::exit::{Exit, Failure, Outcome};
use crate::printer::{DIM, LITERAL, Printer};
use crate::process::{own_executable, runtime};
use player::Player;
use scene::Scene;
use stage::Stage;
use story::Seen;

const DEFINITION: &str = include_str!("../../../../examples/demo/definition.yaml");
const COMPOSITION: &str = include_str!("../../../../examples/demo/composition.yaml");
const CLAIM: &str = include_str!("../../../../examples/demo/claim.yaml");
const FRONT: &str = include_str!("../../../../examples/demo/front.yaml");
const CATALOGUE: &str = include_str!("../../../../examples/demo/catalogue.yaml");
/// The image that is missing from the catalogue at first.
const IMAGE: &str = "nginx:1.27";
/// How long the claim reports its image as missing before the demo adds it.
const THINKING: Duration = Duration::from_secs(3);

pub(super) fn run(args: &Demo, printer: &mut Printer) -> Outcome {
    printer.only_text("the demo is a story to read")?;
    let environment = Environment::from_process()?;
    let name: Name = "demo".parse().expect("a simple name");
    let request = UpRequest {
        // Without --keep the sandbox ends with this process, even if it is killed.
        linger: (!args.keep).then_some(Duration::ZERO),
        ..UpRequest::new(name, own_executable()?)
    };
    let mut scene = Scene::new(printer, args.pause);
    // A sandbox kept by an earlier run is no longer needed.
    sandbox::down(&environment, &request.name, &mut |_| {})?;
    scene.title("a real Kubernetes, on this machine, without containers");
    let up = progress::follow(scene.printer(), |on_event| sandbox::up(&environment, &request, on_event))?;
    let version = up.status.versions.get("kubernetes").map_or("", String::as_str);
    scene.line(format_args!("Kubernetes {version} is ready at {}", up.status.server));

    let kubeconfig = std::fs::read_to_string(&up.status.kubeconfig)?;
    let connection = Connection::from_kubeconfig(kubeconfig, up.status.contexts.first().cloned());
    let layout = Layout::new(&environment, &request.name);
    let mut stage = Stage::build(&layout)?;
    let tool = (!args.no_terraform).then(|| terraform::Terraform::find(&environment)).flatten();
    let player = match tool {
        Some(tool) => Player::Terraform(terraform::Terraform::set_up(tool, &stage, &layout)?),
        None => Player::Plimsoll(plimsoll::Plimsoll::new(&stage.compartment)?),
    };
    runtime()?.block_on(play(&connection, &layout, &mut stage, &player, &mut scene))?;

    next(&mut scene, args.keep);
    if args.keep {
        stage.leave();
    } else {
        drop(stage);
        drop(up.lease);
        sandbox::down(&environment, &request.name, &mut |_| {})?;
    }
    Ok(Exit::Success)
}

fn next(scene: &mut Scene<'_>, kept: bool) {
    scene.title("what comes next");
    let commands: &[&str] = if kept {
        &[
            "eval \"$(plimsoll sandbox env --name demo)\"",
            "plimsoll tree app/orders --namespace shop",
            "plimsoll owners deploy/front --namespace shop",
            "plimsoll sandbox down --name demo",
        ]
    } else {
        &["plimsoll demo --keep", "plimsoll sandbox up --detach", "plimsoll doctor"]
    };
    for command in commands {
        scene.line(format_args!("{LITERAL}{command}{LITERAL:#}"));
    }
}

async fn play(
    connection: &Connection,
    layout: &Layout,
    stage: &mut Stage,
    player: &Player,
    scene: &mut Scene<'_>,
) -> Result<(), Failure> {
    let session = Session::connect(connection, &cluster::Environment::of_process(), "plimsoll-demo")
        .map_err(|error| error.diagnostic())?;
    scene.title(
        "a platform on it: the operator, a composition function behind mutual TLS, and a cloud to play with",
    );
    unless_one_ends(stage, async {
        for crd in [
            "compositeresourcedefinitions.apiextensions.crossplane.io",
            "compositions.apiextensions.crossplane.io",
            "queues.queue.oracle.com",
        ] {
            story::served(&session, crd).await?;
        }
        let objects = objects::of("examples/demo/catalogue.yaml", CATALOGUE)?;
        let apply = |(target, body): &(ObjectRef, Value)| {
            let (session, target, body) = (session.clone(), target.clone(), body.clone());
            async move { session.apply_when_possible(&target, &body, Write::by("platform-team").force()).await }
        };
        try_join_all(objects.iter().map(apply)).await.map_err(|error| error.diagnostic("Apply"))?;
        Ok(())
    })
    .await?;
    scene.line("the operator serves CompositeResourceDefinition, Composition and Queue");
    scene.line(format_args!("the catalogue of images in namespace shop does not have {IMAGE}"));

    scene.title("one apply: a definition, its composition, a claim that needs both, and a Deployment");
    let queue = Box::pin(apply(&session, layout, stage, player, scene)).await?;

    scene.title("you get what you waited for, and nothing else");
    let endpoint = queue["status"]["messagesEndpoint"].as_str().unwrap_or_default().to_owned();
    let (value, status) = player.value(&session).await?;
    expect(value == endpoint, || format!("the value is {value}, and the queue says {endpoint}"))?;
    expect(status == json!({ "endpoint": endpoint }), || format!("more came along: {status}"))?;
    scene.line(format_args!("status.endpoint = {endpoint}"));

    scene.title("what hangs on the claim");
    tree(layout, stage, scene)?;

    scene.title("somebody scales the Deployment by hand, and you see it before you apply");
    kubectl(layout, &["--namespace=shop", "scale", "deployment/front", "--replicas=5"], scene)?;
    scene.typed(player.plans());
    let warnings = player.drift(&session).await?;
    let [warning] = &warnings[..] else {
        return Err(untrue(format!("one warning was expected, and there are {}", warnings.len())));
    };
    expect(warning.contains("spec.replicas: 5 → 3 (modified by: kubectl)"), || {
        format!("the warning says {warning}")
    })?;
    // Omits the provider's advice and links, which are for users with a real conflict.
    for line in warning.split("\n\nIf ").next().unwrap_or(warning).lines() {
        scene.line(line);
    }
    Ok(())
}

/// Applies, reports progress, and adds the missing image; returns the final state of the queue.
async fn apply(
    session: &Session,
    layout: &Layout,
    stage: &mut Stage,
    player: &Player,
    scene: &mut Scene<'_>,
) -> Result<Value, Failure> {
    scene.typed(player.applies());
    let began = Instant::now();
    let reference = |gvk: &str| {
        let namespace = manifest::Namespace::new("shop");
        ObjectRef::new(gvk.parse().expect("a sound kind"), namespace, "orders")
    };
    let (queue, claim) = (reference("queue.oracle.com/v1beta1/Queue"), reference("demo.plimsoll.dev/v1/App"));
    let (tell, mut told) = mpsc::unbounded();
    let work = try_join3(
        player.apply(session),
        story::follow_queue(session, &queue, tell.clone()),
        story::follow_claim(session, &claim, tell),
    );
    let mut work = std::pin::pin!(unless_one_ends(stage, work));
    let mut seen: Vec<Seen> = Vec::new();
    let mut missing_since: Option<tokio::time::Instant> = None;
    let (summary, queue, _) = loop {
        let due = missing_since.map(|since| since + THINKING);
        tokio::select! {
            biased;
            Some(event) = told.next() => {
                show(scene, &event);
                if matches!(&event, Seen::Condition { reason, .. } if reason == "NotFound") {
                    missing_since = Some(tokio::time::Instant::now());
                }
                seen.push(event);
            }
            () = tokio::time::sleep_until(due.unwrap_or_else(tokio::time::Instant::now)), if due.is_some() => {
                missing_since = None;
                let catalogue = json!({ "data": { "catalogue": format!("nginx:1.26\n{IMAGE}\n") } }).to_string();
                let arguments = ["--namespace=shop", "patch", "configmap/images", "--type=merge", "--patch", &catalogue];
                kubectl(layout, &arguments, scene)?;
            }
            done = &mut work => break done?,
        }
    };
    while let Ok(event) = told.try_recv() {
        show(scene, &event);
        seen.push(event);
    }
    in_order(&seen)?;
    scene.line(summary);
    scene.line(format_args!("{DIM}after {} s{DIM:#}", began.elapsed().as_secs()));
    Ok(queue)
}

/// Checks that the claim's conditions and the operation went through the expected states.
fn in_order(seen: &[Seen]) -> Result<(), Failure> {
    let mut words = seen.iter().filter_map(|it| match it {
        Seen::Condition { reason, .. } => Some(reason.as_str()),
        Seen::Operation { .. } => None,
    });
    for expected in ["NotFound", "Progressing", "Success"] {
        expect(words.any(|reason| reason == expected), || {
            format!("the claim was not told {expected} in its turn")
        })?;
    }
    let followed = seen.iter().any(|it| matches!(it, Seen::Operation { phase, .. } if phase == "create"));
    expect(followed, || "no operation of the cloud was seen".to_owned())
}

fn show(scene: &mut Scene<'_>, seen: &Seen) {
    match seen {
        Seen::Operation { phase, standing } => {
            scene.line(format_args!("Queue shop/orders  {phase} operation: {standing}"));
        }
        Seen::Condition { kind, status, reason, message } => {
            let message = if message.is_empty() { String::new() } else { format!(": {message}") };
            scene.line(format_args!("App shop/orders    {kind} is {status} ({reason}){message}"));
        }
    }
}

/// Runs `work`, unless one of the processes it depends on ends.
async fn unless_one_ends<T>(
    stage: &mut Stage,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let watch = async {
        loop {
            tokio::time::sleep(Duration::from_millis(250)).await;
            stage.check()?;
        }
    };
    tokio::select! {
        done = work => done,
        ended = watch => ended,
    }
}

/// The tree of the claim, from `plimsoll tree`.
fn tree(layout: &Layout, stage: &Stage, scene: &mut Scene<'_>) -> Result<(), Failure> {
    let arguments = ["tree", "app/orders", "--namespace", "shop"];
    scene.typed(&format!("plimsoll {}", arguments.join(" ")));
    let mut command = Command::new(stage.program());
    command.args(arguments).env("KUBECONFIG", layout.kubeconfig()).env("COLUMNS", "100").env("NO_COLOR", "1");
    let output = command.output()?;
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let parts = ["App orders", "XApp orders-", "Queue orders", "Deployment orders"];
    expect(parts.iter().all(|part| shown.contains(part)), || format!("the tree lacks something:\n{shown}"))?;
    for line in shown.lines() {
        scene.line(line);
    }
    Ok(())
}

/// Makes a manual change with the sandbox's own kubectl.
fn kubectl(layout: &Layout, arguments: &[&str], scene: &mut Scene<'_>) -> Result<(), Failure> {
    let shown: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
    scene.typed(&format!("kubectl {}", shown.join(" ")));
    let mut command = Command::new(layout.bin().join("kubectl"));
    let output = command.args(arguments).env("KUBECONFIG", layout.kubeconfig()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    expect(output.status.success(), || format!("kubectl says {}", said.trim()))
}

/// A word as typed in a shell.
fn quoted(word: &str) -> String {
    if word.contains(['{', ' ', '"']) { format!("'{word}'") } else { word.to_owned() }
}

fn expect(is_true: bool, otherwise: impl FnOnce() -> String) -> Result<(), Failure> {
    if is_true { Ok(()) } else { Err(untrue(otherwise())) }
}

fn untrue(what: impl Into<String>) -> Failure {
    let what = what.into();
    let (summary, detail) = what.split_once('\n').unwrap_or((&what, ""));
    Diagnostic::error(codes::DEMO_UNTRUE, summary)
        .detail(detail)
        .hint("Report it with this output, please: it is a bug in plimsoll.")
        .into()
}
