//! `plimsoll certs`

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
#[command(after_help = "Creates three folders, each with tls.crt, tls.key and ca.crt:
  ca        the certificate authority; an existing one is reused, so you can add functions later
  client    for the operator: --function-certs-dir, or the Secret plimsoll-tls-client
  server    for the function: --tls-certs-dir, or TLS_SERVER_CERTS_DIR

Exit status: 0 done, 1 error

Examples:
  plimsoll certs --out certs --name function-network.crossplane-system
  plimsoll certs --out certs --name function-dev --san localhost --san 127.0.0.1")]
pub(crate) struct Certs {
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Service of the function, with its namespace
    #[arg(long, value_name = "SERVICE[.NAMESPACE]")]
    pub(crate) name: String,
    /// Another name or address of the function; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) san: Vec<String>,
    /// Validity in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) days: u16,
}
