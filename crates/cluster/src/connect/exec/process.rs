//! A program run to its end within limits. What does not keep to them is ended with everything it has started.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

/// What a program printed, and how it ended.
pub(super) struct Finished {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    /// The end of what it complained about.
    pub(super) stderr: Vec<u8>,
}

/// Why there is nothing to read.
pub(super) enum Unfinished {
    /// It could not be run.
    Io(io::Error),
    /// It printed more than [`MOST_PRINTED`].
    TooMuch,
}

/// Credentials are a few KiB.
pub(super) const MOST_PRINTED: usize = 1 << 20;
/// How much is kept of what it complains about.
const MOST_KEPT: usize = 16 << 10;

/// Starts `command`. When the returned value is dropped before the program has ended, the program is ended, and with
/// it whatever it has started.
pub(super) fn start(command: &mut Command) -> io::Result<Running> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let child = command.spawn()?;
    Ok(Running { group: Group::of(&child), child })
}

pub(super) struct Running {
    // Dropped before the child: as long as nobody has asked how the child ended, its number is nobody else's.
    group: Group,
    child: Child,
}

impl Running {
    /// Reads what the program prints, until it has ended.
    pub(super) async fn finish(mut self) -> Result<Finished, Unfinished> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        // Whoever prints without end is not waited for, whatever it still complains about.
        let (stdout, stderr) = tokio::try_join!(all(stdout), async { Ok(end(stderr).await) })?;
        let status = self.child.wait().await.map_err(Unfinished::Io)?;
        self.group.has_ended();
        Ok(Finished { status, stdout, stderr })
    }
}

async fn all(pipe: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, Unfinished> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(MOST_PRINTED as u64 + 1).read_to_end(&mut bytes).await.map_err(Unfinished::Io)?;
    }
    if bytes.len() > MOST_PRINTED { Err(Unfinished::TooMuch) } else { Ok(bytes) }
}

/// The end of a stream that may have none; what cannot be read is as good as not said.
async fn end(pipe: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = VecDeque::new();
    let Some(mut pipe) = pipe else { return Vec::new() };
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
        kept.extend(&buffer[..read]);
        kept.drain(..kept.len().saturating_sub(MOST_KEPT));
    }
    kept.into()
}

/// A program and what it has started, as far as that has not gone its own way.
#[cfg(unix)]
struct Group(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?)))
    }

    fn has_ended(&mut self) {
        self.0 = None;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // The only failure is that nobody is left.
            let _gone = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

/// Elsewhere only the program itself is ended.
#[cfg(not(unix))]
struct Group;

#[cfg(not(unix))]
impl Group {
    fn of(_: &Child) -> Self {
        Self
    }

    fn has_ended(&mut self) {}
}
