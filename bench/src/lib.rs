//! Times one thing against another in the same run, since a time by itself says more about the machine.

pub mod bare;
pub mod control_plane;
mod run;
pub mod stage;

pub use run::{Figure, Role, Run, Unit};

use std::error::Error;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Takes turns at both, so that a busy machine slows both, and prints how much longer `subject` takes than `yardstick`, which is
/// the work of another: the ratio of their medians, with the bar it has to stay under.
pub fn compare<T, U>(
    run: &mut Run,
    name: &str,
    bar: f64,
    (other, role, mut yardstick): (&str, Role, impl FnMut() -> T),
    mut subject: impl FnMut() -> U,
) -> Outcome<()> {
    const ROUNDS: usize = 201;
    // What takes long varies less, so that fewer rounds tell as much.
    const ENOUGH_TIME: Duration = Duration::from_secs(5);
    const ENOUGH_ROUNDS: usize = 5;
    let start = Instant::now();
    let (mut left, mut right) = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    while left.len() < ENOUGH_ROUNDS || left.len() < ROUNDS && start.elapsed() < ENOUGH_TIME {
        left.push(time(&mut yardstick));
        right.push(time(&mut subject));
    }
    let (yardstick, subject) = (median(&mut left), median(&mut right));
    run.time(name, other, role, yardstick);
    run.time(name, OURS, Role::Ours, subject);
    say(format_args!("{name}: {subject:?}, {other}: {yardstick:?}"))?;
    run.at_most(&format!("{name}, against {other}"), subject.as_secs_f64() / yardstick.as_secs_f64(), bar)
}

/// Whose figures ours are.
pub const OURS: &str = "plimsoll";

/// Bytes as mebibytes.
#[expect(clippy::cast_precision_loss, reason = "a process has far less than 2^52 bytes")]
pub fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Prints a line.
pub fn say(line: std::fmt::Arguments<'_>) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

/// What the work returns is dropped outside the time taken.
fn time<T>(work: &mut impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    let result = std::hint::black_box(work());
    let elapsed = start.elapsed();
    drop(result);
    elapsed
}

pub fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
