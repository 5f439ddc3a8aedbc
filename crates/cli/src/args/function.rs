//! `plimsoll function …`

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

/// Composition functions that come along.
#[derive(Debug, Subcommand)]
pub(crate) enum Function {
    /// Serve the function of the demo: a queue and a Deployment for each application whose image is in the catalogue
    #[command(after_help = "One line of JSON says where it is: address.

Examples:
  plimsoll function demo --listen 127.0.0.1:9443 --certs-dir certs/server
  plimsoll function demo --listen 127.0.0.1:0 --insecure")]
    Demo(Serve),
}

/// Where a function is served.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("transport").required(true).args(["certs_dir", "insecure"]))]
pub(crate) struct Serve {
    /// Where to listen; port 0 is any
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9443")]
    pub(crate) listen: String,
    /// The folder with the function's certificates, as `plimsoll certs` writes it
    #[arg(long, value_name = "DIR")]
    pub(crate) certs_dir: Option<PathBuf>,
    /// Serve in plaintext, without authentication, for development on this machine
    #[arg(long)]
    pub(crate) insecure: bool,
}
