//! The definition of the command line. Types only: `commands` has the behaviour.

pub(crate) mod applyset;
pub(crate) mod certs;
pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod crds;
pub(crate) mod create;
pub(crate) mod delete;
#[cfg(has_sandbox)]
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod files;
pub(crate) mod function;
pub(crate) mod inspect;
pub(crate) mod install;
pub(crate) mod internal;
pub(crate) mod kubectl;
mod leading_options;
pub(crate) mod migrate;
pub(crate) mod objects;
pub(crate) mod oci_server;
pub(crate) mod operations;
pub(crate) mod operator;
pub(crate) mod owners;
pub(crate) mod plan;
pub(crate) mod reference;
pub(crate) mod render;
#[cfg(has_sandbox)]
pub(crate) mod sandbox;
pub(crate) mod terraform;
pub(crate) mod tree;
pub(crate) mod ui;
mod values;
pub(crate) mod wait;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

/// Plan, apply and explain Kubernetes objects, and run the operator behind them
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// kubectl accepts these before the command, too.
    #[command(flatten)]
    pub(crate) leading: cluster::ClusterArgs,
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const GLOBAL: &str = "Global options";

/// The options of every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// Output format
    #[arg(short, long, global = true, help_heading = GLOBAL, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
    /// When to use colour; `auto` uses it on a terminal unless NO_COLOR is set
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    /// Print only errors, and data that was asked for
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
}

/// The format of the data on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    Json,
    Yaml,
    /// Names only, one per line, as in `deployment.apps/web`
    Name,
    /// Unified diff of whole objects, for `patch`; only of plan, apply and drift
    Diff,
    /// For a pull request, with collapsed details; only of plan, apply and drift
    Markdown,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what an apply would change, field by field, and who holds each field before and after
    Plan(plan::Plan),
    /// Apply objects together with the kinds and namespaces they need
    Apply(plan::Apply),
    /// Check whether the cluster matches the files; made for CI
    Drift(plan::Drift),
    /// Create objects, including those whose names the API server generates; fails if one exists
    Create(create::Create),
    /// Delete objects, wait until they are gone, and report what blocks the rest
    Delete(delete::Delete),
    /// List the sets of objects that are applied and pruned together, and the tool that manages each
    #[command(name = "applysets")]
    ApplySets(applyset::ApplySets),
    /// Wait for a condition, a field or a rollout, and print the value waited for
    Wait(wait::Wait),
    /// Show an object with the manager of each field in the margin
    Owners(owners::Owners),
    /// Show an object, everything it owns, and the health of each
    Tree(tree::Tree),
    /// Explain in one sentence why an object is not ready, and show the chain to the cause
    Why(tree::Why),
    /// Show all of this in a browser, live, without writing anything
    Ui(ui::Ui),
    /// Show what a composite resource would be composed of, without a cluster
    Render(render::Render),
    /// Show the next reconcile of a composite resource step by step: what its functions were given, what they returned, what was written
    Inspect(inspect::Inspect),
    /// List the cloud operations in progress for objects of the cluster
    Operations(operations::Operations),
    /// Explain a diagnostic code, or list all codes
    Explain(explain::Explain),
    /// Check this machine and the cluster: versions, missing programs and CRDs, other engines
    Doctor(doctor::Doctor),
    /// Install the operator in a cluster, or update it, with its CRDs and roles
    Install(install::Install),
    /// Remove the operator from a cluster; CRDs and their objects stay
    Uninstall(install::Uninstall),
    /// Install the Terraform provider, or remove it
    #[command(
        subcommand,
        after_help = "Examples:
  plimsoll terraform install
  plimsoll terraform uninstall"
    )]
    Terraform(terraform::Terraform),
    /// Run the controllers for compositions, claims and cloud resources
    Operator(Box<operator::Operator>),
    /// Move what another system serves to Plimsoll, or back
    #[command(
        subcommand,
        after_help = "Examples:
  plimsoll migrate crossplane"
    )]
    Migrate(migrate::Migrate),
    /// Print or install the CRDs of the kinds that the operator reconciles
    Crds(crds::Crds),
    /// Issue the certificates with which the operator and its functions authenticate each other
    Certs(certs::Certs),
    /// Run an Oracle Cloud emulator for development, with checked signatures and scripted faults
    OciServer(oci_server::OciServer),
    /// Walk through the main features on a real Kubernetes, step by step; needs no cluster
    #[cfg(has_sandbox)]
    Demo(demo::Demo),
    /// Start, use and stop a real Kubernetes control plane on this machine, without containers
    #[cfg(has_sandbox)]
    #[command(
        subcommand,
        after_help = "Examples:
  plimsoll sandbox up --detach
  plimsoll sandbox exec -- kubectl get nodes
  plimsoll sandbox down"
    )]
    Sandbox(sandbox::Command),
    /// Serve a composition function that is part of plimsoll
    #[command(
        subcommand,
        after_help = "Examples:
  plimsoll function demo --certs-dir certs/server"
    )]
    Function(function::Function),
    /// Commands for other programs
    #[command(subcommand, hide = true)]
    Internal(internal::Internal),
    /// Print a page of the book's reference
    #[command(hide = true)]
    Reference(reference::Reference),
    /// Print a completion script for a shell
    Completions(completions::Completions),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        super::Cli::command().debug_assert();
    }
}
