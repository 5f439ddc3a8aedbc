//! `plimsoll certs`

use std::path::PathBuf;

use clap::Args;

/// What the certificates understand.
#[derive(Args, Debug)]
#[command(
    after_help = "Each of the folders DIR/ca, DIR/client and DIR/server gets tls.crt, tls.key and ca.crt. An authority that is there
already is kept, so that a further function gets certificates of the same one. The operator is given DIR/client
by --function-certs-dir.

Examples:
  plimsoll certs --out certs --name function-web --san 127.0.0.1
  plimsoll certs --out certs --name function-web.plimsoll-system
  plimsoll operator --function-certs-dir certs/client   # the engine's part of it"
)]
pub(crate) struct Certs {
    /// The folder to make them in
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// The Service of the function: NAME, or NAME.NAMESPACE for all names it has in a cluster
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// A further name or address it is called by; can be repeated
    #[arg(long = "san", value_name = "NAME")]
    pub(crate) sans: Vec<String>,
    /// For how many days they hold
    #[arg(long, value_name = "DAYS", default_value_t = 3650, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) days: u16,
}
