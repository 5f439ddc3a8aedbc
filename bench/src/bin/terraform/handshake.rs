//! How soon a provider answers the client that has started it.

use std::error::Error;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bench::Run;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, PKCS_ECDSA_P521_SHA512};

use crate::peer::Peer;

const RUNS: usize = 50;
/// From exec to the line, for us.
const BAR: Duration = Duration::from_millis(10);

/// Starts the provider again and again as Terraform does, and prints how long its first line takes.
pub(crate) fn measure(run: &mut Run, peer: &Peer) -> Result<(), Box<dyn Error>> {
    let certificate = client_certificate()?;
    let mut times = (0..RUNS).map(|_| once(peer, &certificate)).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    let (median, late) = (times[RUNS / 2], times[RUNS * 9 / 10]);
    run.time("handshake", peer.name, peer.role, median);
    writeln!(
        io::stdout(),
        "{} shakes hands {median:.1?} after exec (p90 {late:.1?}, {RUNS} runs), bar {BAR:?}",
        peer.name
    )?;
    Ok(())
}

fn once(peer: &Peer, certificate: &str) -> Result<Duration, Box<dyn Error>> {
    let began = Instant::now();
    let mut provider = Command::new(&peer.program)
        .env("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
        .env("PLUGIN_PROTOCOL_VERSIONS", "5,6")
        .env("PLUGIN_CLIENT_CERT", certificate)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut line = String::new();
    let stdout = provider.stdout.take().ok_or("standard output is a pipe")?;
    let read = BufReader::new(stdout).read_line(&mut line);
    let time = began.elapsed();
    provider.kill()?;
    provider.wait()?;
    read?;
    if !line.starts_with(&format!("1|{}|", peer.protocol)) {
        return Err(format!("{} answers {line:?}", peer.name).into());
    }
    Ok(time)
}

/// A certificate as go-plugin makes them: self-signed, an authority, on the curve P-521.
fn client_certificate() -> Result<String, Box<dyn Error>> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512)?;
    let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ok(params.self_signed(&key)?.pem())
}
