//! Runs a property over generated cases and reports the smallest failing one together with the seed.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use testkit::seed;

const CASES: u32 = 2000;

/// Checks `law` for every case that `cases` makes.
#[track_caller]
pub(crate) fn property<S: Strategy>(name: &str, cases: S, law: impl Fn(S::Value) -> Result<(), String>) {
    let seed = seed::usual(name);
    let config = Config { cases: seed::cases(CASES), failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let outcome =
        TestRunner::new_with_rng(config, rng).run(&cases, |case| law(case).map_err(TestCaseError::fail));
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, _)) => panic!("{name} (PLIMSOLL_SEED={seed}): {}", reason.message()),
        Err(TestError::Abort(reason)) => panic!("{name} was aborted: {}", reason.message()),
    }
}
