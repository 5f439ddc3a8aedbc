//! What can be typed. Types only: what it does is in `commands`.

pub(crate) mod demo;
pub(crate) mod sandbox;

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
    #[default]
    Text,
    Json,
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
    /// A small application on a real Kubernetes, told step by step; needs no cluster
    Demo(demo::Demo),
    /// A real Kubernetes control plane on this machine, without containers
    #[command(subcommand)]
    Sandbox(sandbox::Command),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        super::Cli::command().debug_assert();
    }
}
