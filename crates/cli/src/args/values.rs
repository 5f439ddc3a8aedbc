//! Values that the options of several commands share: durations and pairs.

use std::time::Duration;

use manifest::GoDuration;

/// A positive duration in Go's notation.
pub(super) fn go_duration(text: &str) -> Result<GoDuration, String> {
    match text.parse::<GoDuration>() {
        Ok(duration) if duration > GoDuration::default() => Ok(duration),
        Ok(_) => Err("it must be positive".to_owned()),
        Err(error) => Err(format!("{error}; write it like 30s, 5m or 1h30m")),
    }
}

/// The same, and zero, also without a unit.
pub(super) fn go_duration_or_zero(text: &str) -> Result<GoDuration, String> {
    let is_zero = text.parse::<GoDuration>().is_ok_and(|duration| duration == GoDuration::default());
    if is_zero { Ok(GoDuration::default()) } else { go_duration(text) }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    go_duration(text).map(|duration| duration.to_std().expect("it is positive"))
}

/// `KEY=VALUE`; the value may be empty.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write a key, an equals sign and a value".to_owned()),
    }
}

/// `NAME=ENDPOINT`
pub(super) fn endpoint(text: &str) -> Result<(String, String), String> {
    let named = pair(text).ok().filter(|(_, endpoint)| !endpoint.is_empty());
    named.ok_or_else(|| "write NAME=ENDPOINT, for instance function-web=127.0.0.1:9443".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_positive() {
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("60s"), Ok(Duration::from_secs(60)));
        for invalid in ["0", "-1s", "60", "soon"] {
            assert!(duration(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn some_durations_may_be_zero() {
        for zero in ["0", "0s"] {
            assert_eq!(go_duration_or_zero(zero), Ok(GoDuration::default()), "{zero}");
        }
        assert_eq!(go_duration_or_zero("1m"), go_duration("1m"));
        assert!(go_duration_or_zero("-1s").is_err());
    }

    #[test]
    fn a_pair_has_a_key() {
        assert_eq!(pair("event-ttl=1h=x"), Ok(("event-ttl".to_owned(), "1h=x".to_owned())));
        for invalid in ["event-ttl", "=1", ""] {
            assert!(pair(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn an_endpoint_has_a_name() {
        let expected = ("function-web".to_owned(), "dns:///web:9443".to_owned());
        assert_eq!(endpoint("function-web=dns:///web:9443"), Ok(expected));
        for invalid in ["function-web", "=127.0.0.1:1", "function-web="] {
            assert!(endpoint(invalid).is_err(), "{invalid}");
        }
    }
}
