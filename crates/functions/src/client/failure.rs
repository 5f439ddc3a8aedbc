//! What went wrong with a call, in words for the operator of the composition.
//!
//! gRPC's own errors read as in the reference: `rpc error: code = Unavailable desc = …`.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use composition::{RunError, RunErrorClass};
use tonic::{Code, Status};

use super::link::causes;
use crate::endpoint::Endpoint;

/// What a call ends with when its time is over.
pub(super) fn timeout() -> Status {
    Status::deadline_exceeded("context deadline exceeded")
}

/// Why a call over an open connection failed.
pub(super) fn classify(status: &Status, after: Duration, limit: usize) -> RunError {
    if let Some(error) = transport(status) {
        let what = format!("the connection was lost before the function had answered: {}", causes(error));
        return rpc(RunErrorClass::Unavailable, Code::Unavailable, &what);
    }
    let text = status.message();
    match status.code() {
        Code::DeadlineExceeded | Code::Cancelled => {
            let what = format!("the function did not answer within {}", seconds(after));
            rpc(RunErrorClass::TimedOut, Code::DeadlineExceeded, &what)
        }
        Code::Unavailable => rpc(RunErrorClass::Unavailable, Code::Unavailable, text),
        Code::Unimplemented => {
            let what = format!("the function serves neither fn v1 nor v1beta1: {text}");
            rpc(RunErrorClass::Failed, Code::Unimplemented, &what)
        }
        // tonic's own words, here or in the function.
        Code::OutOfRange if text.contains("message length too large") => too_large(text, limit),
        // Those of grpc-go and of gRPC's C core.
        Code::ResourceExhausted if text.contains("larger than max") => too_large(text, limit),
        // What tonic makes of bytes that are not gRPC.
        Code::Internal | Code::Unknown if is_garbled(text) => {
            RunError::new(RunErrorClass::BadAnswer, bad_answer(text))
        }
        code => rpc(RunErrorClass::Failed, code, text),
    }
}

fn is_garbled(text: &str) -> bool {
    ["protocol error", "Missing response message", "grpc-status header missing", "Unexpected EOF"]
        .iter()
        .any(|words| text.contains(words))
}

fn too_large(text: &str, limit: usize) -> RunError {
    let what = format!(
        "a message is too large: {text}. The engine takes up to {} MiB; a function has a limit of its own, usually 4 MiB, \
         which most raise with --max-recv-message-size",
        limit >> 20
    );
    rpc(RunErrorClass::TooLarge, Code::ResourceExhausted, &what)
}

/// A request that is not even sent.
pub(super) fn request_too_large(len: usize, limit: usize) -> RunError {
    let what = format!(
        "the request has {len} bytes and the limit is {limit}: observed and desired state are too large to be sent to the \
         function"
    );
    rpc(RunErrorClass::TooLarge, Code::ResourceExhausted, &what)
}

/// The function has more calls than it answers.
pub(super) fn no_turn(after: Duration, concurrency: usize) -> RunError {
    let what = format!(
        "for {} the function was busy with as many calls as are made at a time ({concurrency})",
        seconds(after)
    );
    rpc(RunErrorClass::TimedOut, Code::DeadlineExceeded, &what)
}

/// Connecting takes longer than a call may.
pub(super) fn no_connection(endpoint: &Endpoint, after: Duration) -> RunError {
    let what = format!("no connection to {endpoint} within {}", seconds(after));
    rpc(RunErrorClass::TimedOut, Code::DeadlineExceeded, &what)
}

/// Nobody is there.
pub(super) fn down(endpoint: &Endpoint, cause: &str) -> RunError {
    let what = format!("the function cannot be reached at {endpoint}: {cause}");
    rpc(RunErrorClass::Unavailable, Code::Unavailable, &what)
}

/// Nobody looks for the function any more.
pub(super) fn given_up(endpoint: &Endpoint) -> RunError {
    let what = format!("the connections to {endpoint} were given up, as when the engine ends");
    rpc(RunErrorClass::Unavailable, Code::Unavailable, &what)
}

/// The words for an answer that cannot be read.
pub(super) fn bad_answer(what: &str) -> String {
    format!("the function's answer cannot be read: {what}")
}

/// Whether the time of the call was over.
pub(super) fn is_timeout(status: &Status) -> bool {
    status.code() == Code::DeadlineExceeded
}

/// Whether the connection broke under the call.
pub(super) fn is_lost(status: &Status) -> bool {
    transport(status).is_some()
}

/// Whether the request has not left this process, so that sending it over another connection cannot run it twice.
pub(super) fn was_never_sent(status: &Status) -> bool {
    transport(status).is_some_and(|error| error.is_canceled() || error.is_closed())
}

/// The connection's own error, if the status did not come from the function.
fn transport(status: &Status) -> Option<&hyper::Error> {
    let mut source = status.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            return Some(error);
        }
        source = error.source();
    }
    None
}

fn rpc(class: RunErrorClass, code: Code, what: &str) -> RunError {
    RunError::new(class, format!("rpc error: code = {} desc = {what}", GoName(code)))
}

fn seconds(duration: Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("{} s", duration.as_secs()),
        _ => format!("{} ms", duration.as_millis()),
    }
}

/// A code as Go spells it.
struct GoName(Code);

impl fmt::Display for GoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Code::Ok => f.write_str("OK"),
            Code::Cancelled => f.write_str("Canceled"),
            code => write!(f, "{code:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_read_as_in_the_reference_and_say_what_to_do() {
        let check = |status: Status, class: RunErrorClass, expected: &str| {
            let error = classify(&status, Duration::from_secs(20), 64 << 20);
            assert_eq!((error.class, error.message.as_str()), (class, expected));
        };
        check(
            timeout(),
            RunErrorClass::TimedOut,
            "rpc error: code = DeadlineExceeded desc = the function did not answer within 20 s",
        );
        check(
            Status::unavailable("upstream is gone"),
            RunErrorClass::Unavailable,
            "rpc error: code = Unavailable desc = upstream is gone",
        );
        check(
            Status::invalid_argument("no"),
            RunErrorClass::Failed,
            "rpc error: code = InvalidArgument desc = no",
        );
        check(
            Status::resource_exhausted("grpc: received message larger than max (5000000 vs. 4194304)"),
            RunErrorClass::TooLarge,
            "rpc error: code = ResourceExhausted desc = a message is too large: grpc: received message larger than max \
             (5000000 vs. 4194304). The engine takes up to 64 MiB; a function has a limit of its own, usually 4 MiB, which \
             most raise with --max-recv-message-size",
        );
        check(
            Status::resource_exhausted("quota"),
            RunErrorClass::Failed,
            "rpc error: code = ResourceExhausted desc = quota",
        );
        assert_eq!(
            no_turn(Duration::from_millis(1500), 32).message,
            "rpc error: code = DeadlineExceeded desc = for 1500 ms the function was busy with as many calls as are made at \
             a time (32)"
        );
    }
}
