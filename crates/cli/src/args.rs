//! The definition of the command line. Types only: `commands` has the behaviour.

mod before;
pub(crate) mod certs;
pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod crds;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod files;
pub(crate) mod function;
pub(crate) mod internal;
pub(crate) mod oci_server;
pub(crate) mod operations;
pub(crate) mod operator;
pub(crate) mod owners;
pub(crate) mod plan;
pub(crate) mod reference;
pub(crate) mod render;
pub(crate) mod sandbox;
pub(crate) mod tree;
pub(crate) mod wait;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// One system that tells the truth about a Kubernetes resource at every layer.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// As for kubectl, this may also stand before the command.
    #[command(flatten)]
    pub(crate) before: cluster::ClusterArgs,
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading of the options that every command understands.
const GLOBAL: &str = "Global options";

/// What every command understands.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// How data is written to standard output
    #[arg(short, long, global = true, help_heading = GLOBAL, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: Format,
    /// When to use colour; `auto` does on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// Say nothing but data and errors
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
}

/// How data is written: for a person or for a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a person
    #[default]
    Text,
    Json,
    Yaml,
    /// Names only, one a line, as `deployment.apps/web`
    Name,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    #[default]
    Auto,
    Always,
    Never,
}

/// The families of commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what an apply would change, field by field, and who holds the fields now and afterwards
    Plan(plan::Plan),
    /// Apply objects, their kinds and namespaces in one go
    Apply(plan::Apply),
    /// Say whether the cluster is as the files say, for build servers
    Drift(plan::Drift),
    /// Delete objects, see them go, and say what holds those that stay
    Delete(delete::Delete),
    /// Wait until an object is as it should be, and print the value that was waited for
    Wait(wait::Wait),
    /// Show an object with the manager of every field in the margin
    Owners(owners::Owners),
    /// Show an object with everything it owns, and how each of them stands
    Tree(tree::Tree),
    /// Say in one sentence why an object is not ready, and show the way to the cause
    Why(tree::Why),
    /// Show what a composite resource would be composed of, without a cluster
    Render(render::Render),
    /// Show what clouds are doing for the objects of a cluster
    Operations(operations::Operations),
    /// Explain the code of a message, or list every code
    Explain(explain::Explain),
    /// Say what is reachable, in which versions, what is missing, and who else is at work on the cluster
    Doctor(doctor::Doctor),
    /// Run the controllers: compositions with claims, and cloud resources with operations you can follow
    Operator(Box<operator::Operator>),
    /// Print or install the definitions of the kinds that the operator looks after
    Crds(crds::Crds),
    /// Make the certificates with which the operator and its functions know each other
    Certs(certs::Certs),
    /// Serve Oracle Cloud's API on this machine, for development: signatures checked, faults on order
    OciServer(oci_server::OciServer),
    /// Play the whole story on a real Kubernetes, step by step; needs no cluster
    Demo(demo::Demo),
    /// A real Kubernetes control plane on this machine, without containers
    #[command(subcommand)]
    Sandbox(sandbox::Command),
    /// Serve a composition function that comes along
    #[command(subcommand)]
    Function(function::Function),
    /// What other programs ask of this one
    #[command(subcommand, hide = true)]
    Internal(internal::Internal),
    /// Print a page of the book's reference
    #[command(hide = true)]
    Reference(reference::Reference),
    /// Print a script that completes commands and options in a shell
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
