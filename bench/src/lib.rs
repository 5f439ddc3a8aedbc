//! Times one thing against another in the same run, since a time by itself says more about the machine.

pub mod bare;
pub mod stage;

use std::error::Error;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Takes turns at both, so that a busy machine slows both, and prints how much longer `subject` takes than `yardstick`:
/// the ratio of their medians, with the bar it has to stay under.
pub fn compare<T, U>(
    name: &str,
    bar: f64,
    mut yardstick: impl FnMut() -> T,
    mut subject: impl FnMut() -> U,
) -> io::Result<()> {
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
    let ratio = subject.as_secs_f64() / yardstick.as_secs_f64();
    say(format_args!("{name}: {ratio:.2} × ({subject:?} against {yardstick:?}), bar {bar}"))
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
