//! `plimsoll oci-server`

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
#[command(
    after_help = "Prints one line of JSON with url, configFile and compartment. Point OCI_CONFIG_FILE_PATH of the
operator at configFile: the emulator accepts signatures made with its key.

Exit status: 0 stopped, 1 error

Examples:
  plimsoll oci-server
  plimsoll oci-server --listen 127.0.0.1:8400 --key-dir keys --journal requests.jsonl
  plimsoll oci-server --script faults.json --retry-after 1"
)]
pub(crate) struct OciServer {
    /// Address to listen on; must be local, because there is no TLS
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Folder of trusted public keys; a key pair and a configuration file are added. The default is temporary
    #[arg(long, value_name = "DIR")]
    pub(crate) key_dir: Option<PathBuf>,
    /// JSON file that scripts operations and faults
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Kinds to serve beside the usual ones: SERVICE/KIND, a pattern such as `database/*`, or a file of descriptions; can be
    /// repeated
    #[arg(long, value_name = "PATTERN|FILE", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,
    /// File to log every request to, one line of JSON each
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Retry-After of responses about operations, in seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) retry_after: Option<u64>,
}
