//! `plimsoll ui`

use std::net::SocketAddr;

use clap::Args;

use super::cluster::ClusterArgs;
use super::files::FileArgs;
use super::plan::WriterArgs;

#[derive(Args, Debug)]
#[command(
    after_help = "Prints the address to open, with a token that every browser needs. The page writes nothing to the cluster.

Exit status: 0 stopped, 1 error

Examples:
  plimsoll ui
  plimsoll ui -f manifests/
  plimsoll ui --listen 0.0.0.0:8080 --host ops.example.org"
)]
pub(crate) struct Ui {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) writer: WriterArgs,
    /// Address to listen on; there is no TLS, so choose one that only you can reach
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Host name under which browsers may open the page, besides localhost and addresses; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
