//! Decides when to retry: only transient failures, a few times, for a limited time, and always reported.

use std::time::Duration;

use backoff::{Backoff, Jitter};
use http::StatusCode;

/// If the server does not send `Retry-After`.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(1600));
const MAX_RETRIES: u32 = 5;
/// How long a call may take before it is no longer retried. Terraform's users wait for it.
const BUDGET: Duration = Duration::from_secs(30);

/// One retry: what went wrong and how long we waited. Results and errors carry these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    pub why: String,
    pub waited: Duration,
}

/// Whether a failed attempt may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retryable {
    /// The server did nothing and says so; any call may be retried.
    Always,
    /// The call may have taken effect; only idempotent calls may be retried.
    IfIdempotent,
    /// A retry would not help.
    Never,
}

impl Retryable {
    /// Classifies a response by its code and message.
    pub(crate) fn of_response(code: StatusCode, message: &str) -> Self {
        match code {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Self::Always,
            StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => {
                Self::IfIdempotent
            }
            // Most 500s are permanent, a misspelt field among them. Errors from etcd are transient.
            StatusCode::INTERNAL_SERVER_ERROR if message.starts_with("etcdserver: ") => Self::IfIdempotent,
            _ => Self::Never,
        }
    }
}

/// How long to wait before retry number `retries + 1`, or `None` to give up.
///
/// A `Retry-After` from the server is a lower bound.
pub(crate) fn wait(
    retryable: Retryable,
    idempotent: bool,
    retries: usize,
    elapsed: Duration,
    retry_after: Option<Duration>,
    jitter: Jitter,
) -> Option<Duration> {
    match retryable {
        Retryable::Never => return None,
        Retryable::IfIdempotent if !idempotent => return None,
        Retryable::IfIdempotent | Retryable::Always => {}
    }
    let retries = u32::try_from(retries).ok().filter(|retries| *retries < MAX_RETRIES)?;
    let usual = BACKOFF.after(retries + 1, jitter);
    let wait = retry_after.map_or(usual, |asked| jitter.later(asked).max(usual));
    (elapsed + wait <= BUDGET).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_transient_failures_are_retried() {
        let check = |code: u16, message: &str, expected: Retryable| {
            assert_eq!(
                Retryable::of_response(StatusCode::from_u16(code).unwrap(), message),
                expected,
                "{code}"
            );
        };
        check(429, "", Retryable::Always);
        check(503, "", Retryable::Always);
        check(502, "", Retryable::IfIdempotent);
        check(504, "", Retryable::IfIdempotent);
        check(500, "etcdserver: leader changed", Retryable::IfIdempotent);
        check(
            500,
            "failed to create typed patch object: .spec.x: field not declared in schema",
            Retryable::Never,
        );
        for code in [400, 401, 403, 404, 409, 422, 500] {
            check(code, "etcd", Retryable::Never);
        }
    }

    #[test]
    fn waits_grow_and_end_and_honour_retry_after() {
        let check = |idempotent, retries, elapsed: u64, asked: Option<u64>, expected: Option<u64>| {
            let found = wait(
                Retryable::IfIdempotent,
                idempotent,
                retries,
                Duration::from_millis(elapsed),
                asked.map(Duration::from_secs),
                Jitter::default(),
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
        assert!(wait(Retryable::Always, false, 0, Duration::ZERO, None, Jitter::default()).is_some());
        assert!(wait(Retryable::Never, true, 0, Duration::ZERO, None, Jitter::default()).is_none());
    }

    #[test]
    fn jitter_spreads_retries_and_never_precedes_retry_after() {
        let check = |asked: Option<u64>, jitter: f64, expected: u64| {
            let asked = asked.map(Duration::from_secs);
            let found = wait(Retryable::Always, true, 0, Duration::ZERO, asked, Jitter::new(jitter));
            assert_eq!(found, Some(Duration::from_millis(expected)), "{asked:?} {jitter}");
        };
        check(None, 0.0, 100);
        check(None, 1.0, 90);
        check(Some(2), 0.0, 2000);
        check(Some(2), 1.0, 2200);
    }
}
