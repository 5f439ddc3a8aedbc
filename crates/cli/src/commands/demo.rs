//! `plimsoll demo`: the main features on a real Kubernetes, step by step.
//!
//! The demo checks every statement before it prints it; a false one ends it with exit status 1.

mod client;
mod events;
mod examples;
mod plimsoll;
mod processes;
mod terraform;
mod transcript;

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

use super::sandbox::view::shell_quoted;
use crate::args::demo::Demo;
use crate::codes;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{DIM, LITERAL, Printer};
use crate::support::process::{own_executable, runtime};
use crate::support::sandbox_progress;
use client::Client;
use events::DemoEvent;
use processes::Processes;
use transcript::Transcript;

const DEFINITION: &str = include_str!("../../../../examples/demo/definition.yaml");
const COMPOSITION: &str = include_str!("../../../../examples/demo/composition.yaml");
const CLAIM: &str = include_str!("../../../../examples/demo/claim.yaml");
const FRONT: &str = include_str!("../../../../examples/demo/front.yaml");
const CATALOGUE: &str = include_str!("../../../../examples/demo/catalogue.yaml");
/// The image that is missing from the catalogue at first.
const IMAGE: &str = "nginx:1.27";
/// How long the claim reports its image as missing before the demo adds it.
const PAUSE_BEFORE_FIX: Duration = Duration::from_secs(3);

pub(super) fn run(args: &Demo, printer: &mut Printer) -> Outcome {
    printer.only_text("the demo is for people")?;
    let environment = Environment::from_process()?;
    let name: Name = "demo".parse().expect("a simple name");
    let request = UpRequest {
        // Without --keep the sandbox ends with this process, even if it is killed.
        linger: (!args.keep).then_some(Duration::ZERO),
        ..UpRequest::new(name, own_executable()?)
    };
    let mut transcript = Transcript::new(printer, args.pause);
    // A sandbox kept by an earlier run is no longer needed.
    sandbox::down(&environment, &request.name, &mut |_| {})?;
    transcript.title("a real Kubernetes, on this machine, without containers");
    let up = sandbox_progress::follow(transcript.printer(), |on_event| {
        sandbox::up(&environment, &request, on_event)
    })?;
    let version = up.status.versions.get("kubernetes").map_or("", String::as_str);
    transcript.line(format_args!("Kubernetes {version} is ready at {}", up.status.server));

    let kubeconfig = std::fs::read_to_string(&up.status.kubeconfig)?;
    let connection = Connection::from_kubeconfig(kubeconfig, up.status.contexts.first().cloned());
    let layout = Layout::new(&environment, &request.name);
    let mut processes = Processes::start(&layout)?;
    let tool = (!args.no_terraform).then(|| terraform::Terraform::find(&environment)).flatten();
    let client = match tool {
        Some(tool) => Client::Terraform(terraform::Terraform::set_up(tool, &processes, &layout)?),
        None => Client::Plimsoll(plimsoll::Plimsoll::set_up(&processes, &layout)?),
    };
    runtime()?.block_on(play(&connection, &layout, &mut processes, &client, &mut transcript))?;

    next_steps(&mut transcript, args.keep.then_some(&client));
    if args.keep {
        processes.detach();
    } else {
        drop(processes);
        drop(up.lease);
        sandbox::down(&environment, &request.name, &mut |_| {})?;
    }
    Ok(Exit::Success)
}

/// Commands to try, in the place of the client if the demo is kept.
fn next_steps(transcript: &mut Transcript<'_>, kept: Option<&Client>) {
    transcript.title("next steps");
    let commands: Vec<String> = if let Some(client) = kept {
        let (folder, plan) = client.place();
        let folder = shell_quoted(&folder.display().to_string());
        let mut commands =
            vec!["eval \"$(plimsoll sandbox env --name demo)\"".to_owned(), format!("cd {folder}")];
        if let Client::Terraform(_) = client {
            commands.push(format!("export TF_CLI_CONFIG_FILE=terraform.rc; {plan}"));
        }
        let others = [
            "plimsoll tree app/orders --namespace shop",
            "plimsoll owners deploy/front --namespace shop",
            "plimsoll sandbox down --name demo",
        ];
        commands.extend(others.map(str::to_owned));
        commands
    } else {
        ["plimsoll demo --keep", "plimsoll sandbox up --detach", "plimsoll doctor"].map(str::to_owned).into()
    };
    for command in commands {
        transcript.line(format_args!("{LITERAL}{command}{LITERAL:#}"));
    }
}

async fn play(
    connection: &Connection,
    layout: &Layout,
    processes: &mut Processes,
    client: &Client,
    transcript: &mut Transcript<'_>,
) -> Result<(), Failure> {
    let session = Session::connect(connection, &cluster::Environment::of_process(), "plimsoll-demo")
        .map_err(|error| error.diagnostic())?;
    transcript.title(
        "a platform on top: the operator, a composition function with mutual TLS, and an emulated cloud",
    );
    while_all_run(processes, async {
        for crd in [
            "compositeresourcedefinitions.apiextensions.crossplane.io",
            "compositions.apiextensions.crossplane.io",
            "queues.queue.oracle.com",
        ] {
            events::served(&session, crd).await?;
        }
        let objects = examples::objects("examples/demo/catalogue.yaml", CATALOGUE)?;
        let apply = |(target, body): &(ObjectRef, Value)| {
            let (session, target, body) = (session.clone(), target.clone(), body.clone());
            async move { session.apply_when_possible(&target, &body, Write::by("platform-team").force()).await }
        };
        try_join_all(objects.iter().map(apply)).await.map_err(|error| error.diagnostic("Apply"))?;
        Ok(())
    })
    .await?;
    transcript.line("the operator has installed CompositeResourceDefinition, Composition and Queue");
    transcript.line(format_args!("the image catalogue in namespace shop does not list {IMAGE}"));

    transcript.title("one apply: a definition, its composition, a claim that needs both, and a Deployment");
    let queue = Box::pin(apply(&session, layout, processes, client, transcript)).await?;

    transcript.title("you get what you waited for, and nothing else");
    let endpoint = queue["status"]["messagesEndpoint"].as_str().unwrap_or_default().to_owned();
    let (value, status) = client.value(&session).await?;
    expect(value == endpoint, || {
        format!("the value is {value}, but the endpoint of the queue is {endpoint}")
    })?;
    expect(status == json!({ "endpoint": endpoint }), || {
        format!("the status has other fields, too: {status}")
    })?;
    transcript.line(format_args!("status.endpoint = {endpoint}"));

    transcript.title("everything that the claim owns");
    tree(layout, processes, transcript)?;

    transcript.title("a user scales the Deployment by hand, and the next plan shows it");
    kubectl(layout, &["--namespace=shop", "scale", "deployment/front", "--replicas=5"], transcript)?;
    transcript.typed(&client.command("plan"));
    let drift = client.drift().await?;
    expect(drift.contains("spec.replicas: 5 → 3"), || format!("the plan says {drift}"))?;
    for line in drift.lines() {
        transcript.line(line);
    }
    Ok(())
}

/// Applies, reports progress, and adds the missing image; returns the final state of the queue.
async fn apply(
    session: &Session,
    layout: &Layout,
    processes: &mut Processes,
    client: &Client,
    transcript: &mut Transcript<'_>,
) -> Result<Value, Failure> {
    transcript.typed(&client.command("apply"));
    let began = Instant::now();
    let reference = |gvk: &str| {
        let namespace = manifest::Namespace::new("shop");
        ObjectRef::new(gvk.parse().expect("a sound kind"), namespace, "orders")
    };
    let (queue, claim) = (reference("queue.oracle.com/v1beta1/Queue"), reference("demo.plimsoll.dev/v1/App"));
    let (sender, mut events) = mpsc::unbounded();
    let work = try_join3(
        client.apply(session),
        events::follow_queue(session, &queue, sender.clone()),
        events::follow_claim(session, &claim, sender),
    );
    let mut work = std::pin::pin!(while_all_run(processes, work));
    let mut seen: Vec<DemoEvent> = Vec::new();
    let mut missing_since: Option<tokio::time::Instant> = None;
    let (summary, queue, _) = loop {
        let due = missing_since.map(|since| since + PAUSE_BEFORE_FIX);
        tokio::select! {
            biased;
            Some(event) = events.next() => {
                transcript.line(&event.text);
                if event.reason == "NotFound" {
                    missing_since = Some(tokio::time::Instant::now());
                }
                seen.push(event);
            }
            () = tokio::time::sleep_until(due.unwrap_or_else(tokio::time::Instant::now)), if due.is_some() => {
                missing_since = None;
                let catalogue = json!({ "data": { "catalogue": format!("nginx:1.26\n{IMAGE}\n") } }).to_string();
                let arguments = ["--namespace=shop", "patch", "configmap/images", "--type=merge", "--patch", &catalogue];
                kubectl(layout, &arguments, transcript)?;
            }
            done = &mut work => break done?,
        }
    };
    while let Ok(event) = events.try_recv() {
        transcript.line(&event.text);
        seen.push(event);
    }
    in_order(&seen)?;
    transcript.line(summary);
    transcript.line(format_args!("{DIM}took {} s{DIM:#}", began.elapsed().as_secs()));
    Ok(queue)
}

/// Checks that the claim's conditions and the operation went through the expected states.
fn in_order(events: &[DemoEvent]) -> Result<(), Failure> {
    let mut reasons = events.iter().map(|event| event.reason.as_str());
    for expected in ["NotFound", "Progressing", "Success"] {
        expect(reasons.any(|reason| reason == expected), || {
            format!("the claim did not report {expected} in order")
        })?;
    }
    let followed = events.iter().any(|event| event.reason == "create");
    expect(followed, || "no cloud operation was observed".to_owned())
}

/// Runs `work`; fails if one of the processes it depends on ends.
async fn while_all_run<T>(
    processes: &mut Processes,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let watch = async {
        loop {
            tokio::time::sleep(Duration::from_millis(250)).await;
            processes.check()?;
        }
    };
    tokio::select! {
        done = work => done,
        ended = watch => ended,
    }
}

/// The tree of the claim, from `plimsoll tree`.
fn tree(layout: &Layout, processes: &Processes, transcript: &mut Transcript<'_>) -> Result<(), Failure> {
    let arguments = ["tree", "app/orders", "--namespace", "shop"];
    transcript.typed(&format!("plimsoll {}", arguments.join(" ")));
    let mut command = Command::new(processes.program());
    command.args(arguments).env("KUBECONFIG", layout.kubeconfig()).env("COLUMNS", "100").env("NO_COLOR", "1");
    let output = command.output()?;
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let parts = ["App orders", "XApp orders-", "Queue orders", "Deployment orders"];
    expect(parts.iter().all(|part| shown.contains(part)), || format!("the tree is incomplete:\n{shown}"))?;
    for line in shown.lines() {
        transcript.line(line);
    }
    Ok(())
}

/// Makes a manual change with the sandbox's own kubectl.
fn kubectl(layout: &Layout, arguments: &[&str], transcript: &mut Transcript<'_>) -> Result<(), Failure> {
    let shown: Vec<String> = arguments.iter().map(|word| shell_quoted(word)).collect();
    transcript.typed(&format!("kubectl {}", shown.join(" ")));
    let mut command = Command::new(layout.bin().join("kubectl"));
    let output = command.args(arguments).env("KUBECONFIG", layout.kubeconfig()).output()?;
    let message = String::from_utf8_lossy(&output.stderr);
    expect(output.status.success(), || format!("kubectl failed: {}", message.trim()))
}

fn expect(is_true: bool, otherwise: impl FnOnce() -> String) -> Result<(), Failure> {
    if is_true { Ok(()) } else { Err(untrue(otherwise())) }
}

fn untrue(what: impl Into<String>) -> Failure {
    let what = what.into();
    let (summary, detail) = what.split_once('\n').unwrap_or((&what, ""));
    Diagnostic::error(codes::DEMO_UNTRUE, summary)
        .detail(detail)
        .hint("Report this output, please: it is a bug in plimsoll.")
        .into()
}
