//! `plimsoll function …`

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Function {
    /// Serve the demo's function: a queue for each application, and a Deployment once its image is in the catalogue
    #[command(after_help = "Prints its address as one line of JSON: {\"address\": …}.

Exit status: 0 stopped, 1 error

Examples:
  plimsoll function demo --listen 127.0.0.1:9443 --certs-dir certs/server
  plimsoll function demo --listen 127.0.0.1:0 --insecure")]
    Demo(Serve),
}

/// Where a function is served.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("transport").required(true).args(["certs_dir", "insecure"]))]
pub(crate) struct Serve {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9443")]
    pub(crate) listen: String,
    /// Folder with the function's certificates, from `plimsoll certs`
    #[arg(long, value_name = "DIR")]
    pub(crate) certs_dir: Option<PathBuf>,
    /// Serve in plaintext, without authentication, for development on this machine
    #[arg(long)]
    pub(crate) insecure: bool,
}
