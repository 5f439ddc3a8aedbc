//! When to try again: transient trouble only, a few times, for a limited time, and never unseen.

use std::time::Duration;

use http::StatusCode;

/// Waits before each repetition when the server does not say how long.
const WAITS: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
];
/// The most a call may take before it is not repeated any more. Terraform's users watch this clock.
const BUDGET: Duration = Duration::from_secs(30);

/// One repetition: what went wrong and how long was waited. Outcomes and errors carry these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// What went wrong.
    pub why: String,
    /// How long was waited before the call was repeated.
    pub waited: Duration,
}

/// What kind of trouble a failed attempt met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The server did nothing and says so; anything may be repeated.
    Refused,
    /// It is open whether the server did something; only what can be done twice may be repeated.
    Unclear,
    /// Repeating would not help.
    Lasting,
}

impl Trouble {
    /// What an answer with this code and text means.
    pub(crate) fn of_answer(code: StatusCode, message: &str) -> Self {
        match code {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Self::Refused,
            StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => {
                Self::Unclear
            }
            // Most errors of code 500 last, a misspelt field among them. The store's own troubles pass.
            StatusCode::INTERNAL_SERVER_ERROR if message.starts_with("etcdserver: ") => Self::Unclear,
            _ => Self::Lasting,
        }
    }
}

/// How long to wait before repetition number `retries + 1`, or `None` to give up.
pub(crate) fn wait(
    trouble: Trouble,
    repeatable: bool,
    retries: usize,
    elapsed: Duration,
    retry_after: Option<Duration>,
) -> Option<Duration> {
    match trouble {
        Trouble::Lasting => return None,
        Trouble::Unclear if !repeatable => return None,
        Trouble::Unclear | Trouble::Refused => {}
    }
    let usual = *WAITS.get(retries)?;
    let wait = retry_after.map_or(usual, |asked| asked.max(usual));
    (elapsed + wait <= BUDGET).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passing_trouble_is_repeated() {
        let check = |code: u16, message: &str, expected: Trouble| {
            assert_eq!(Trouble::of_answer(StatusCode::from_u16(code).unwrap(), message), expected, "{code}");
        };
        check(429, "", Trouble::Refused);
        check(503, "", Trouble::Refused);
        check(502, "", Trouble::Unclear);
        check(504, "", Trouble::Unclear);
        check(500, "etcdserver: leader changed", Trouble::Unclear);
        check(
            500,
            "failed to create typed patch object: .spec.x: field not declared in schema",
            Trouble::Lasting,
        );
        for code in [400, 401, 403, 404, 409, 422, 500] {
            check(code, "etcd", Trouble::Lasting);
        }
    }

    #[test]
    fn waits_grow_end_and_give_way_to_the_server() {
        let check = |repeatable, retries, elapsed: u64, asked: Option<u64>, expected: Option<u64>| {
            let found = wait(
                Trouble::Unclear,
                repeatable,
                retries,
                Duration::from_millis(elapsed),
                asked.map(Duration::from_secs),
            );
            assert_eq!(found, expected.map(Duration::from_millis), "{retries} {elapsed} {asked:?}");
        };
        check(true, 0, 0, None, Some(100));
        check(true, 4, 0, None, Some(1600));
        check(true, 5, 0, None, None);
        check(true, 0, 0, Some(3), Some(3000));
        check(true, 4, 0, Some(1), Some(1600));
        check(true, 0, 29_000, Some(3), None);
        check(true, 0, 0, Some(3600), None);
        check(false, 0, 0, None, None);
        assert!(wait(Trouble::Refused, false, 0, Duration::ZERO, None).is_some());
        assert!(wait(Trouble::Lasting, true, 0, Duration::ZERO, None).is_none());
    }
}
