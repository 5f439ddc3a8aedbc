//! A whole HTTP response, checked once: every header that matters is kept, and anything but a success is an error.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};
use jiff::{SignedDuration, Timestamp};
use operations::Response;
use serde_json::Value;

use crate::error::{BadResponse, Error, ErrorKind, Problem};
use crate::sign::parse_http_date;

/// How far our clock may be from the server's for a signature to be accepted.
const ALLOWED_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// A response as it was received, of any status.
pub(crate) struct Received {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Result<Bytes, Problem>,
}

/// The content of a successful response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Content {
    pub(crate) bytes: Bytes,
    /// `opc-next-page`.
    pub(crate) next_page: Option<String>,
}

impl Received {
    /// The response of a success; otherwise what is wrong with it.
    pub(crate) fn into_result(
        self,
        operation: &'static str,
        now: Timestamp,
    ) -> Result<Response<Content>, Error> {
        let text = |name: &str| {
            let value = self.headers.get(name)?.to_str().ok()?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let response = Response {
            body: (),
            status: self.status.as_u16(),
            request_id: text("opc-request-id"),
            work_request_id: text("opc-work-request-id"),
            etag: text("etag"),
            retry_after: text(RETRY_AFTER.as_str()).and_then(|value| retry_after(&value, now)),
        };
        match self.body {
            Ok(bytes) if self.status.is_success() => {
                Ok(response.with_body(Content { bytes, next_page: text("opc-next-page") }))
            }
            Ok(bytes) => {
                let date = text(DATE.as_str()).and_then(|value| parse_http_date(&value));
                let ahead = date.map(|date| now.duration_since(date));
                let content_type = text(CONTENT_TYPE.as_str());
                let problem = refusal(self.status, &bytes, content_type.as_deref(), ahead);
                Err(bad(&response, operation, problem))
            }
            Err(problem) => Err(bad(&response, operation, problem)),
        }
    }
}

/// The error for a response that came but is not the one asked for.
pub(crate) fn bad<T>(response: &Response<T>, operation: &'static str, problem: Problem) -> Error {
    let response = BadResponse {
        status: response.status,
        request_id: response.request_id.clone(),
        retry_after: response.retry_after,
        problem,
    };
    Error { operation, kind: ErrorKind::Response(Box::new(response)) }
}

/// The JSON of the body; none when it is empty.
pub(crate) fn json(
    response: Response<Content>,
    operation: &'static str,
) -> Result<Response<Option<Value>>, Error> {
    let bytes = &response.body.bytes;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(response.with_body(None));
    }
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(response.with_body(Some(value))),
        Err(error) if error.is_eof() => Err(bad(&response, operation, Problem::Truncated)),
        Err(_) => Err(bad(&response, operation, not_json(bytes, None))),
    }
}

/// The JSON of a body that must not be empty.
pub(crate) fn required_json(
    response: Response<Content>,
    operation: &'static str,
) -> Result<Response<Value>, Error> {
    let mut response = json(response, operation)?;
    match response.body.take() {
        Some(value) => Ok(response.with_body(value)),
        None => Err(bad(&response, operation, Problem::Truncated)),
    }
}

fn refusal(
    status: StatusCode,
    body: &[u8],
    content_type: Option<&str>,
    ahead: Option<SignedDuration>,
) -> Problem {
    let Some(Value::Object(value)) = serde_json::from_slice(body).ok() else {
        return not_json(body, content_type);
    };
    let field = |name: &str| value.get(name).and_then(Value::as_str).map(one_line).unwrap_or_default();
    let (code, message) = (field("code"), field("message"));
    if code.is_empty() && message.is_empty() {
        return Problem::Shape("an error with code and message");
    }
    match ahead {
        Some(ahead) if status == StatusCode::UNAUTHORIZED && ahead.abs() > ALLOWED_SKEW => {
            Problem::ClockSkew { ahead, message }
        }
        _ => Problem::Refused { code, message },
    }
}

fn not_json(body: &[u8], content_type: Option<&str>) -> Problem {
    let text = String::from_utf8_lossy(&body[..body.len().min(400)]);
    let looks_like_html = text.trim_start().starts_with('<');
    Problem::NotJson {
        content_type: content_type.unwrap_or(if looks_like_html { "text/html" } else { "text" }).to_owned(),
        excerpt: one_line(&text).chars().take(80).collect(),
    }
}

/// Untrusted text on one line, without control characters and short enough for a condition.
pub(crate) fn one_line(text: &str) -> String {
    const MAX_LENGTH: usize = 1024;
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(MAX_LENGTH).collect()
}

/// Seconds or a time. A time in the past means now.
fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let wait = parse_http_date(value)?.duration_since(now);
    Some(Duration::try_from(wait).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn receive(status: u16, headers: &[(&'static str, &str)], body: &str) -> Received {
        Received {
            status: StatusCode::from_u16(status).unwrap(),
            headers: headers
                .iter()
                .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
                .collect(),
            body: Ok(Bytes::from(body.to_owned())),
        }
    }

    #[test]
    fn every_header_is_kept() {
        let headers = [
            ("opc-request-id", "A/B/C"),
            ("opc-work-request-id", " wr-1 "),
            ("etag", "v1"),
            ("retry-after", "3"),
            ("opc-next-page", "p2"),
        ];
        let response = receive(202, &headers, "").into_result("CreateQueue", NOW).unwrap();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            response,
            Response {
                body: Content { bytes: Bytes::new(), next_page: text("p2") },
                status: 202,
                request_id: text("A/B/C"),
                work_request_id: text("wr-1"),
                etag: text("v1"),
                retry_after: Some(Duration::from_secs(3)),
            }
        );
        assert_eq!(json(response, "CreateQueue").unwrap().body, None);
        let blank = receive(202, &[("opc-request-id", "A"), ("etag", "  ")], "");
        assert_eq!(blank.into_result("CreateQueue", NOW).unwrap().etag, None);
    }

    #[test]
    fn a_bad_response_says_what_is_wrong() {
        let check = |received: Received, expected: &str| {
            let result = received.into_result("GetQueue", NOW);
            let result = result.and_then(|response| required_json(response, "GetQueue"));
            assert_eq!(result.unwrap_err().to_string(), format!("GetQueue: {expected}"));
        };
        check(receive(200, &[], r#"{"id": "#), "200 the response is truncated");
        check(receive(200, &[], " "), "200 the response is truncated");
        check(
            receive(200, &[], "<html>\n<b>hi"),
            "200 the response is text/html, not JSON; it begins with `<html> <b>hi`",
        );
        check(
            receive(200, &[], "{\"percentComplete\": NaN}"),
            "200 the response is text, not JSON; it begins with `{\"percentComplete\": NaN}`",
        );
        check(
            receive(502, &[("content-type", "text/html")], "<html>\u{7}Bad gateway</html>"),
            "502 the response is text/html, not JSON; it begins with `<html> Bad gateway</html>`",
        );
        check(receive(404, &[], r#"{"code":"NotFound","message":"no\nroute"}"#), "404 NotFound: no route");
        check(receive(500, &[], "{}"), "500 the response is JSON, but not an error with code and message");
        check(
            Received { status: StatusCode::OK, headers: HeaderMap::new(), body: Err(Problem::Truncated) },
            "200 the response is truncated",
        );
    }

    #[test]
    fn only_an_unauthorized_response_is_blamed_on_the_clock() {
        let problem = |status: u16, date: &str| {
            let received = receive(status, &[("date", date)], r#"{"code":"C","message":"m"}"#);
            let error = received.into_result("GetQueue", NOW).unwrap_err();
            error.response().unwrap().problem.clone()
        };
        let refused = Problem::Refused { code: "C".into(), message: "m".into() };
        let later = "Thu, 01 Jan 1970 00:06:00 GMT";
        let skewed = Problem::ClockSkew { ahead: SignedDuration::from_mins(-6), message: "m".into() };
        assert_eq!(problem(401, later), skewed);
        assert_eq!(problem(404, later), refused);
        assert_eq!(problem(401, "Thu, 01 Jan 1970 00:04:00 GMT"), refused);
        assert_eq!(problem(401, "nonsense"), refused);
    }

    #[test]
    fn retry_after_is_seconds_or_a_time() {
        let check = |value: &str, expected: Option<u64>| {
            assert_eq!(retry_after(value, NOW), expected.map(Duration::from_secs), "{value}");
        };
        check("0", Some(0));
        check("120", Some(120));
        check("-1", None);
        check("NaN", None);
        check("soon", None);
        check("Thu, 01 Jan 1970 00:01:00 GMT", Some(60));
        check("Wed, 31 Dec 1969 23:00:00 GMT", Some(0));
    }
}
