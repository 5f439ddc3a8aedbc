//! `plimsoll internal …`

use std::time::Duration;

use clap::{Args, Subcommand};

use super::values::duration;

#[derive(Debug, Subcommand)]
pub(crate) enum Internal {
    /// Render for Crossplane's CLI: reads a RenderRequest from standard input, writes a RenderResponse
    #[command(
        after_help = "Both are messages of crossplane.render.v1alpha1. Exit status 3 means that a function stopped the
pipeline; the response is still written and has the functions' requirements.

Example:
  crossplane composition render xr.yaml composition.yaml functions.yaml --crossplane-binary $(command -v plimsoll)"
    )]
    Render(Engine),
}

#[derive(Args, Debug)]
pub(crate) struct Engine {
    /// Time limit for all functions together
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: Duration,
}
