//! `plimsoll oci-server`

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// What the server understands.
#[derive(Args, Debug)]
#[command(
    after_help = "One line of JSON says where it is: url, configFile and compartment. The configuration file is for
OCI_CONFIG_FILE_PATH of the operator; the server checks the signatures made with its key.

Examples:
  plimsoll oci-server
  plimsoll oci-server --listen 127.0.0.1:8400 --key-dir keys --journal requests.jsonl
  plimsoll oci-server --script faults.json --retry-after 1"
)]
pub(crate) struct OciServer {
    /// Where to listen; an address of this machine, since there is no TLS
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// The folder of public keys to trust, where a key and a configuration file are made; without it one that goes with the server
    #[arg(long, value_name = "DIR")]
    pub(crate) key_dir: Option<PathBuf>,
    /// A file that says in JSON how operations go and what goes wrong
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// A file that gets a line of JSON for every request
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// What polls of operations are told to wait, in seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) retry_after: Option<u64>,
}
