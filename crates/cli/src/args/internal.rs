//! `plimsoll internal …`

use clap::{Args, Subcommand};
use manifest::GoDuration;

use super::cluster::duration;

/// What other programs, and not people, ask of this one.
#[derive(Debug, Subcommand)]
pub(crate) enum Internal {
    /// Render for Crossplane's command line: a RenderRequest on standard input, a RenderResponse on standard output
    #[command(
        after_help = "Both are messages of crossplane.render.v1alpha1. The exit status is 3 if a function stopped the
pipeline: the response is there then, too, and says what functions asked for.

Example:
  crossplane composition render xr.yaml composition.yaml functions.yaml --crossplane-binary $(command -v plimsoll)"
    )]
    Render(Engine),
}

/// How an engine renders.
#[derive(Args, Debug)]
pub(crate) struct Engine {
    /// How long all functions together may take
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: GoDuration,
}
