//! An answer with every header that matters, read in one place, so that none can be dropped on the way.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};
use jiff::{SignedDuration, Timestamp};
use operations::{Answer, Body};
use serde_json::Value;

use crate::error::{BadAnswer, Error, ErrorKind, Problem};
use crate::sign::parse_http_date;

/// What came back from a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Response<T> {
    /// The body.
    pub body: T,
    /// The HTTP status, which is one of success.
    pub status: u16,
    /// `opc-request-id`.
    pub request_id: Option<String>,
    /// `opc-work-request-id`.
    pub work_request_id: Option<String>,
    /// `etag`.
    pub etag: Option<String>,
    /// `retry-after`.
    pub retry_after: Option<Duration>,
    /// `opc-next-page`.
    pub next_page: Option<String>,
}

impl<T> Response<T> {
    /// The same headers with another body.
    pub(crate) fn with_body<U>(self, body: U) -> Response<U> {
        let Self { body: _, status, request_id, work_request_id, etag, retry_after, next_page } = self;
        Response { body, status, request_id, work_request_id, etag, retry_after, next_page }
    }

    /// The work request to follow; an error that keeps the request id when the answer names none.
    pub fn require_work_request_id(&self, operation: &'static str) -> Result<&str, Error> {
        self.work_request_id
            .as_deref()
            .ok_or_else(|| self.bad(operation, Problem::MissingHeader("opc-work-request-id")))
    }

    /// The version to name in a later change; an error that keeps the request id when the answer has none.
    pub fn require_etag(&self, operation: &'static str) -> Result<&str, Error> {
        self.etag.as_deref().ok_or_else(|| self.bad(operation, Problem::MissingHeader("etag")))
    }

    pub(crate) fn bad(&self, operation: &'static str, problem: Problem) -> Error {
        let answer = BadAnswer {
            status: self.status,
            request_id: self.request_id.clone(),
            retry_after: self.retry_after,
            problem,
        };
        Error { operation, kind: ErrorKind::Answer(Box::new(answer)) }
    }

    /// The answer in the words of `operations`.
    pub(crate) fn into_answer(self, body: impl FnOnce(T) -> Body) -> Answer {
        Answer {
            body: body(self.body),
            request_id: self.request_id,
            work_request_id: self.work_request_id,
            etag: self.etag,
            retry_after: self.retry_after,
        }
    }
}

/// A whole answer as it came, before anybody judged it.
pub(crate) struct Received {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Result<Bytes, Problem>,
}

impl Received {
    /// The answer if it is one of success; otherwise what is wrong.
    pub(crate) fn judge(self, operation: &'static str, now: Timestamp) -> Result<Response<Bytes>, Error> {
        let Self { status, headers, body } = self;
        let text = |name: &str| {
            let value = headers.get(name)?.to_str().ok()?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let response = Response {
            body: (),
            status: status.as_u16(),
            request_id: text("opc-request-id"),
            work_request_id: text("opc-work-request-id"),
            etag: text("etag"),
            retry_after: text(RETRY_AFTER.as_str()).and_then(|value| retry_after(&value, now)),
            next_page: text("opc-next-page"),
        };
        let content_type = text(CONTENT_TYPE.as_str());
        if status.is_success() {
            return match body {
                Ok(body) => Ok(response.with_body(body)),
                Err(problem) => Err(response.bad(operation, problem)),
            };
        }
        let date = text(DATE.as_str()).and_then(|value| parse_http_date(&value));
        let problem = body.map_or_else(
            |problem| problem,
            |body| refusal(status, &body, content_type.as_deref(), date.map(|date| now.duration_since(date))),
        );
        Err(response.bad(operation, problem))
    }
}

impl Response<Bytes> {
    /// The JSON of the body; nothing when it is empty.
    pub(crate) fn json(self, operation: &'static str) -> Result<Response<Option<Value>>, Error> {
        if self.body.iter().all(u8::is_ascii_whitespace) {
            return Ok(self.with_body(None));
        }
        match serde_json::from_slice(&self.body) {
            Ok(value) => Ok(self.with_body(Some(value))),
            Err(error) if error.is_eof() => Err(self.bad(operation, Problem::Truncated)),
            Err(_) => Err(self.bad(operation, not_json(&self.body, None))),
        }
    }

    /// The JSON of a body that has to be there.
    pub(crate) fn required_json(self, operation: &'static str) -> Result<Response<Value>, Error> {
        let mut response = self.json(operation)?;
        match response.body.take() {
            Some(value) => Ok(response.with_body(value)),
            None => Err(response.bad(operation, Problem::Truncated)),
        }
    }
}

/// The furthest our clock may be from the server's for a signature to count.
const ALLOWED_SKEW: SignedDuration = SignedDuration::from_mins(5);

fn refusal(
    status: StatusCode,
    body: &[u8],
    content_type: Option<&str>,
    ahead: Option<SignedDuration>,
) -> Problem {
    let Some(Value::Object(value)) = serde_json::from_slice(body).ok() else {
        return not_json(body, content_type);
    };
    let field = |name: &str| value.get(name).and_then(Value::as_str).map(readable).unwrap_or_default();
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
        excerpt: readable(&text).chars().take(80).collect(),
    }
}

/// Text from outside on one line, without control characters, and not longer than a condition can bear.
pub(crate) fn readable(text: &str) -> String {
    const LONGEST: usize = 1024;
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(LONGEST).collect()
}

/// Seconds, or a time. A time that has passed means now.
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
        let response =
            receive(202, &headers, "").judge("CreateQueue", NOW).unwrap().json("CreateQueue").unwrap();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            response,
            Response {
                body: None,
                status: 202,
                request_id: text("A/B/C"),
                work_request_id: text("wr-1"),
                etag: text("v1"),
                retry_after: Some(Duration::from_secs(3)),
                next_page: text("p2"),
            }
        );
    }

    #[test]
    fn a_missing_header_is_an_error_that_names_it_when_it_is_needed() {
        let response =
            receive(202, &[("opc-request-id", "A"), ("etag", "  ")], "").judge("CreateQueue", NOW).unwrap();
        let message = |result: Result<&str, Error>| result.unwrap_err().to_string();
        assert_eq!(
            message(response.require_work_request_id("CreateQueue")),
            "CreateQueue: 202 the answer has no header opc-work-request-id (request A)"
        );
        assert_eq!(
            message(response.require_etag("CreateQueue")),
            "CreateQueue: 202 the answer has no header etag (request A)"
        );
    }

    #[test]
    fn an_answer_that_is_not_what_was_asked_for_says_so() {
        let check = |received: Received, expected: &str| {
            let result =
                received.judge("GetQueue", NOW).and_then(|response| response.required_json("GetQueue"));
            assert_eq!(result.unwrap_err().to_string(), format!("GetQueue: {expected}"));
        };
        check(receive(200, &[], r#"{"id": "#), "200 the answer ends before its end");
        check(receive(200, &[], " "), "200 the answer ends before its end");
        check(
            receive(200, &[], "<html>\n<b>hi"),
            "200 the answer is text/html and no JSON; it begins `<html> <b>hi`",
        );
        check(
            receive(200, &[], "{\"percentComplete\": NaN}"),
            "200 the answer is text and no JSON; it begins `{\"percentComplete\": NaN}`",
        );
        check(
            receive(502, &[("content-type", "text/html")], "<html>\u{7}Bad gateway</html>"),
            "502 the answer is text/html and no JSON; it begins `<html> Bad gateway</html>`",
        );
        check(receive(404, &[], r#"{"code":"NotFound","message":"no\nroute"}"#), "404 NotFound: no route");
        check(receive(500, &[], "{}"), "500 the answer is JSON, but not an error with code and message");
        check(
            Received { status: StatusCode::OK, headers: HeaderMap::new(), body: Err(Problem::Truncated) },
            "200 the answer ends before its end",
        );
    }

    #[test]
    fn only_a_refused_signature_is_blamed_on_the_clock() {
        let problem = |status: u16, date: &str| {
            let received = receive(status, &[("date", date)], r#"{"code":"C","message":"m"}"#);
            let error = received.judge("GetQueue", NOW).unwrap_err();
            error.answer().unwrap().problem.clone()
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
    fn a_pause_is_seconds_or_a_time() {
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
