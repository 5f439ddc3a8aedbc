//! Ages in their largest unit, as kubectl shows them.

use jiff::Timestamp;

/// The age at `now` of `then`, a timestamp from the API server: `3d`, `12m`, `5s`. Empty if it does not parse.
pub(crate) fn age(then: &str, now: Timestamp) -> String {
    then.parse().map_or_else(|_| String::new(), |then| between(then, now))
}

/// The time from `then` to `now` in its largest unit.
pub(crate) fn between(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_shown_in_their_largest_unit() {
        let now = "2026-01-10T00:00:00Z".parse().unwrap();
        let check = |then: &str, expected: &str| assert_eq!(age(then, now), expected);
        check("2026-01-09T23:59:55Z", "5s");
        check("2026-01-09T23:50:00Z", "10m");
        check("2026-01-09T20:00:00Z", "4h");
        check("2026-01-01T00:00:00Z", "9d");
        check("2027-01-01T00:00:00Z", "0s");
        check("soon", "");
    }
}
