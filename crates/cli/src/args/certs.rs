//! `plimsoll certs`

use std::path::PathBuf;

use clap::Args;

/// What making certificates understands.
#[derive(Args, Debug)]
#[command(after_help = "The folder gets three folders, each with tls.crt, tls.key and ca.crt:
  ca        the authority; it is kept when it is there, for further functions
  client    for the operator: --function-certs-dir, or the Secret plimsoll-tls-client
  server    for the function: --tls-certs-dir, or TLS_SERVER_CERTS_DIR

Examples:
  plimsoll certs --out certs --name function-network.crossplane-system
  plimsoll certs --out certs --name function-dev --san localhost --san 127.0.0.1")]
pub(crate) struct Certs {
    /// The folder to write to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// The Service of the function, with its namespace
    #[arg(long, value_name = "SERVICE[.NAMESPACE]")]
    pub(crate) name: String,
    /// Another name or address the function is called by; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) san: Vec<String>,
    /// How many days the certificates are valid
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) days: u16,
}
