//! Runs a property over generated cases and reports the smallest failing one together with the seed.

use std::env;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

const CASES: u32 = 2000;

/// Checks `law` for every case that `cases` makes.
#[expect(clippy::print_stdout, reason = "the test harness shows it when the law does not hold")]
#[track_caller]
pub(crate) fn property<S: Strategy>(name: &str, cases: S, law: impl Fn(S::Value) -> Result<(), String>) {
    let number = |variable: &str| env::var(variable).ok().map(|text| text.parse().expect("a number"));
    let seed: u32 = number("PLIMSOLL_SEED").unwrap_or(1);
    let config = Config {
        cases: number("PLIMSOLL_CASES").unwrap_or(CASES),
        failure_persistence: None,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    println!("{name}: {} cases, PLIMSOLL_SEED={seed}", config.cases);
    let outcome =
        TestRunner::new_with_rng(config, rng).run(&cases, |case| law(case).map_err(TestCaseError::fail));
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, _)) => panic!("{name} (PLIMSOLL_SEED={seed}): {}", reason.message()),
        Err(TestError::Abort(reason)) => panic!("{name} was aborted: {}", reason.message()),
    }
}
