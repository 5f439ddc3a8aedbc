use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn waits_double_up_to_the_limit_and_jitter_takes_off_a_tenth_at_most() {
    let backoff = Backoff::new(SECOND, SECOND * 30);
    let check = |failures, expected: u32| {
        let expected = SECOND * expected;
        for _ in 0..100 {
            let wait = backoff.after(failures);
            assert!(wait <= expected && wait >= expected.mul_f64(0.9), "{failures}: {wait:?}");
        }
    };
    check(0, 1);
    check(1, 1);
    check(2, 2);
    check(5, 16);
    check(6, 30);
    check(u32::MAX, 30);
}

#[test]
fn a_thousand_objects_that_failed_together_do_not_retry_together() {
    let backoff = Backoff::new(SECOND, SECOND * 30);
    for failures in [1, 4, 20] {
        let expected = backoff.max.min(SECOND * 2u32.pow(failures - 1));
        let mut tenths = [0; 10];
        for _ in 0..1000 {
            let early =
                expected.saturating_sub(backoff.after(failures)).as_secs_f64() / expected.as_secs_f64();
            let tenth = (0..9).find(|tenth| early < 0.01 * f64::from(tenth + 1)).unwrap_or(9);
            tenths[usize::try_from(tenth).unwrap()] += 1;
        }
        // A fair share is 100 of 1000; that one is below 40 by chance is less likely than one in a billion.
        assert!(tenths.iter().all(|count| *count >= 40), "{failures}: {tenths:?}");
    }
}
