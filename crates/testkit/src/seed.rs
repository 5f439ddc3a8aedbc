//! Seeds: a test that chooses prints the seed it chooses by, and `PLIMSOLL_SEED` makes it choose the same again.

use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::ops::Range;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The seed that the environment gives.
pub fn given() -> Option<u64> {
    number("PLIMSOLL_SEED")
}

/// The seed of one run of `suite`: the one that is given, or else a new one.
pub fn choose(suite: &str) -> u64 {
    // Few digits, so that it is easily typed.
    announce(suite, given().unwrap_or_else(|| RandomState::new().hash_one(suite) % 1_000_000_000))
}

/// The seed of every run of `suite`, unless another one is given: a failure is then caused by the change under test.
pub fn usual(suite: &str) -> u64 {
    announce(suite, given().unwrap_or(1))
}

/// The seeds of a run of `suite` that plays histories, each from a seed of its own: the same ones in every run, so that a
/// failure is caused by the change under test; others when all there is is tried. A given seed is played alone, unless
/// `PLIMSOLL_CASES` asks for more.
pub fn histories(suite: &str, usual: u64) -> Range<u64> {
    let first = if is_whole() { choose(suite) } else { self::usual(suite) };
    first..first.saturating_add(cases(if given().is_some() { 1 } else { usual }))
}

/// Plays what each seed yields on all cores, until one of them `fails`: which.
pub fn first_failing(seeds: Range<u64>, fails: impl Fn(u64) -> bool + Sync) -> Option<u64> {
    let (next, failed) = (AtomicU64::new(seeds.start), AtomicU64::new(u64::MAX));
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while failed.load(Ordering::Relaxed) == u64::MAX {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    if fails(seed) {
                        failed.fetch_min(seed, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    Some(failed.into_inner()).filter(|seed| *seed != u64::MAX)
}

/// How many cases to try; `PLIMSOLL_CASES` asks for more, or fewer.
pub fn cases<T: FromStr>(usual: T) -> T {
    number("PLIMSOLL_CASES").unwrap_or(usual)
}

/// Whether to try all there is instead of a sample, as `cargo xtask full` does.
pub fn is_whole() -> bool {
    std::env::var_os("PLIMSOLL_WHOLE").is_some()
}

fn announce(suite: &str, seed: u64) -> u64 {
    // Past the test harness, which hides what a passing test prints.
    let _printed = writeln!(std::io::stderr(), "{suite}: PLIMSOLL_SEED={seed}");
    seed
}

/// # Panics
///
/// If the variable is set to something else than a number.
fn number<T: FromStr>(variable: &str) -> Option<T> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}, which is not a number")))
}
