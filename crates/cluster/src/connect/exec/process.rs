//! Runs a program to its end within limits, and kills it with its children when it exceeds them.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

/// What a program printed, and how it ended.
pub(super) struct Output {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    /// The end of its standard error.
    pub(super) stderr: Vec<u8>,
}

/// Why there is no output.
pub(super) enum OutputError {
    Io(io::Error),
    /// It printed more than [`MAX_STDOUT`] bytes.
    TooMuch,
}

/// In bytes. Credentials are a few KiB.
pub(super) const MAX_STDOUT: usize = 1 << 20;
/// How many bytes of standard error are kept.
const MAX_STDERR: usize = 16 << 10;

/// Starts `command`. Dropping the returned value before the program has ended kills it and its children.
pub(super) fn start(command: &mut Command) -> io::Result<Running> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command.spawn().map(Running)
}

pub(super) struct Running(Child);

impl Running {
    /// Collects the program's output until it ends.
    pub(super) async fn finish(mut self) -> Result<Output, OutputError> {
        let (stdout, stderr) = (self.0.stdout.take(), self.0.stderr.take());
        // A program that prints without end is not waited for, whatever it still writes to standard error.
        let (stdout, stderr) = tokio::try_join!(all(stdout), async { Ok(end(stderr).await) })?;
        let status = self.0.wait().await.map_err(OutputError::Io)?;
        Ok(Output { status, stdout, stderr })
    }
}

/// Kills the program's children too, except those that left its process group; on Windows only the program itself.
impl Drop for Running {
    fn drop(&mut self) {
        // A program that has been waited for has no ID any more; until then, its ID cannot be reused.
        #[cfg(unix)]
        if let Some(leader) = self.0.id().and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?)) {
            // The only possible failure is that no process is left.
            let _gone = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

async fn all(pipe: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, OutputError> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(MAX_STDOUT as u64 + 1).read_to_end(&mut bytes).await.map_err(OutputError::Io)?;
    }
    if bytes.len() > MAX_STDOUT { Err(OutputError::TooMuch) } else { Ok(bytes) }
}

/// The end of a stream that may be endless; read errors are ignored.
async fn end(pipe: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = VecDeque::new();
    let Some(mut pipe) = pipe else { return Vec::new() };
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
        kept.extend(&buffer[..read]);
        kept.drain(..kept.len().saturating_sub(MAX_STDERR));
    }
    kept.into()
}
