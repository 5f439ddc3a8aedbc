//! `plimsoll install`: the operator with its CRDs and roles, by our own apply.

mod base;
pub(super) mod installed;
pub(super) mod objects;

use std::collections::HashSet;
use std::time::Duration;

use clap::Parser as _;
use diag::{Diagnostic, Source};
use manifest::ObjectRef;
use serde_json::{Value, json};

use self::installed::Installed;
use self::objects::Installation;
use super::{apply, delete};
use crate::args::applyset::SetArgs;
use crate::args::cluster::ClusterArgs;
use crate::args::files::FileArgs;
use crate::args::install::{Install, NAMESPACE};
use crate::args::plan::{
    Apply, BodyArgs, ChangeArgs, CompositeArgs, DryRun, LeaveArgs, ReplaceArgs, WriterArgs,
};
use crate::args::{Cli, Format};
use crate::codes;
use crate::support::ask::OpenRequests;
use crate::support::catalogue::catalogue;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::files;
use crate::support::owner_tree::reference_of;
use crate::support::printer::{DIM, LITERAL, Printer};
use crate::support::process::until_interrupted;

/// The managers of whatever else installs the CRDs of these kinds, all of which leave them behind: Crossplane, Helm with the chart,
/// and the operator with `--install-crds`.
const INSTALLERS: [&str; 3] = ["crossplane", "helm", "plimsoll-operator"];

pub(super) fn run(args: &Install, printer: &mut Printer) -> Outcome {
    check_operator_options(&args.operator)?;
    let installation = Installation::new(args, catalogue(&args.kinds)?);
    let objects = installation.objects();
    match printer.format() {
        Format::Json => printer
            .structured(&json!({ "apiVersion": "v1", "kind": "List", "items": objects }))
            .map(|()| Exit::Success)
            .map_err(Failure::from),
        Format::Yaml => {
            printer.raw(documents(&objects).as_bytes()).map(|()| Exit::Success).map_err(Failure::from)
        }
        _ => until_interrupted(install(args, &objects, printer)),
    }
}

async fn install(args: &Install, objects: &[Value], printer: &mut Printer) -> Outcome {
    let cluster = Cluster::connect(&args.cluster)?;
    let before = Installed::find(&cluster.session, namespace(&args.cluster)).await?;
    before.refuse_helm("upgrade")?;
    before.refuse_elsewhere()?;
    let wanted: HashSet<ObjectRef> = objects.iter().filter_map(reference_of).collect();
    let obsolete: Vec<ObjectRef> =
        before.objects.into_iter().filter(|object| !wanted.contains(object)).collect();
    if args.wait {
        printer.message(waits_for(args, objects));
    }
    let loaded = files::read_bodies(&Source::new("the manifests of plimsoll install", documents(objects)));
    // An installation changes no platform, so nothing is asked of the operator.
    let applied = apply::apply_all(loaded, &apply_args(args), &OpenRequests::default(), printer).await?;
    for object in obsolete.iter().filter(|_| args.dry_run) {
        printer.message(format_args!("{DIM}- {object} is no longer part of the installation{DIM:#}"));
    }
    if applied != Exit::Success || args.dry_run {
        return Ok(applied);
    }
    let mut exit = applied;
    if !obsolete.is_empty() {
        let removed = delete::delete_all(&cluster.session, obsolete, &cluster::Delete::of, printer).await?;
        exit = delete::finish(printer, &removed, false)?;
    }
    printer.message(format_args!(
        "{DIM}check it with{DIM:#} {LITERAL}plimsoll doctor{LITERAL:#}{DIM}, remove it with{DIM:#} {LITERAL}plimsoll uninstall{LITERAL:#}"
    ));
    Ok(exit)
}

/// The namespace of the operator, which the context does not change.
pub(super) fn namespace(args: &ClusterArgs) -> &str {
    args.namespace.as_deref().unwrap_or(NAMESPACE)
}

fn documents(objects: &[Value]) -> String {
    objects.iter().map(manifest::to_yaml).collect::<Vec<_>>().join("---\n")
}

/// Rejects what the operator would reject when it starts.
fn check_operator_options(options: &[String]) -> Result<(), Failure> {
    let words = ["plimsoll", "operator"].into_iter().chain(options.iter().map(String::as_str));
    let Err(error) = Cli::try_parse_from(words) else { return Ok(()) };
    let why = error.render().to_string();
    let why = why.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    Err(Diagnostic::error(codes::OPTION_UNUSABLE, "the operator does not accept these options")
        .detail(format!("{why}."))
        .hint("Run `plimsoll operator --help` for its options, and pass them after `--`.")
        .into())
}

/// What `--wait` waits for.
fn waits_for(args: &Install, objects: &[Value]) -> String {
    let of_kind = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
    let deployments = of_kind("Deployment").filter_map(reference_of);
    let deployments: Vec<String> = deployments.map(|deployment| deployment.to_string()).collect();
    format!(
        "waiting up to {} for {} CRDs to be served, and for {} replicas each of {}",
        args.timeout,
        of_kind("CustomResourceDefinition").count(),
        args.replicas,
        deployments.join(", ")
    )
}

/// The same apply as that of `plimsoll apply`.
fn apply_args(args: &Install) -> Apply {
    let writer = WriterArgs {
        field_manager: "plimsoll".to_owned(),
        force_conflicts: args.force_conflicts,
        take: Vec::new(),
        // The CRDs of its kinds, which the operator needs as they are here.
        take_from: INSTALLERS.map(str::to_owned).to_vec(),
        leave: LeaveArgs::default(),
    };
    Apply {
        plan: None,
        bodies: BodyArgs { files: FileArgs::default(), strip: false, full: false },
        change: ChangeArgs { writer, set: SetArgs::default(), replacement: ReplaceArgs::default() },
        composites: CompositeArgs {
            without_xrs: true,
            functions: Vec::new(),
            function_certs_dir: None,
            xr_timeout: Duration::ZERO,
        },
        confirm: false,
        dry_run: if args.dry_run { DryRun::Server } else { DryRun::None },
        wait: args.wait,
        timeout: args.timeout,
        // Every object names its namespace.
        cluster: ClusterArgs { namespace: None, ..args.cluster.clone() },
    }
}
