//! Turns a failed call into an error for the operator of the composition.
//!
//! The texts read as Crossplane's, which are grpc-go's: `rpc error: code = Unavailable desc = …`.

use std::error::Error;
use std::time::Duration;

use composition::{RunError, RunErrorClass};
use diag::error_chain;
use tonic::{Code, Status};

use super::Options;
use crate::endpoint::Endpoint;

/// Why there is no response to read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("the connection failed")]
    Transport(#[source] hyper::Error),
    #[error("there is no memory for the response")]
    NoMemory,
}

/// Why a call over an open connection failed.
pub(super) fn to_run_error(status: &Status, options: &Options) -> RunError {
    if let Some(error) = transport(status) {
        let text = format!("the connection was lost before the function responded: {}", error_chain(error));
        return rpc(RunErrorClass::Unavailable, Code::Unavailable, &text);
    }
    let text = status.message();
    match status.code() {
        Code::DeadlineExceeded | Code::Cancelled => {
            let text = format!("the function did not respond within {}", seconds(options.timeout));
            rpc(RunErrorClass::TimedOut, Code::DeadlineExceeded, &text)
        }
        Code::Unavailable => rpc(RunErrorClass::Unavailable, Code::Unavailable, text),
        Code::Unimplemented => {
            let text = format!("the function serves neither fn v1 nor v1beta1: {text}");
            rpc(RunErrorClass::Failed, Code::Unimplemented, &text)
        }
        // tonic's words, on this side or in the function.
        Code::OutOfRange if text.contains("message length too large") => too_large(text, options.max_message),
        // The words of grpc-go and of gRPC's C core.
        Code::ResourceExhausted if text.contains("larger than max") => too_large(text, options.max_message),
        // What tonic reports for bytes that are not gRPC.
        Code::Internal | Code::Unknown if is_garbled(text) => {
            RunError::new(RunErrorClass::BadAnswer, unreadable(text))
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
    let text = format!(
        "a message is too large: {text}. The engine accepts up to {} MiB; a function has its own limit, usually 4 MiB, \
         which most functions raise with --max-recv-message-size",
        limit >> 20
    );
    rpc(RunErrorClass::TooLarge, Code::ResourceExhausted, &text)
}

pub(super) fn request_too_large(len: usize, limit: usize) -> RunError {
    let text = format!(
        "the request has {len} bytes and the limit is {limit}: observed and desired state are too large to send to the \
         function"
    );
    rpc(RunErrorClass::TooLarge, Code::ResourceExhausted, &text)
}

/// A call that was never made, because its turn did not come.
pub(super) fn no_turn(after: Duration, limit: usize, waiting: usize) -> RunError {
    let text = format!(
        "the function was not called: it was at its limit of {limit} concurrent calls for {}, and {waiting} more calls \
         wait for it. Run more replicas of it, or raise --function-concurrency",
        seconds(after)
    );
    rpc(RunErrorClass::Overloaded, Code::ResourceExhausted, &text)
}

/// A call that was never made, because too many wait for their turn.
pub(super) fn too_many_waiting(limit: usize, waiting: usize) -> RunError {
    let text = format!(
        "the function was not called: it is at its limit of {limit} concurrent calls, and {waiting} more calls wait for \
         it. Run more replicas of it, or raise --function-concurrency"
    );
    rpc(RunErrorClass::Overloaded, Code::ResourceExhausted, &text)
}

/// A response that is not kept, because there is no memory for it.
pub(super) fn no_memory(share: usize, all: usize) -> RunError {
    let text = format!(
        "there is no memory for the function's response: one function may use {} MiB, and all together {} MiB. Compose \
         fewer or smaller resources, or raise --function-max-memory",
        share >> 20,
        all >> 20
    );
    rpc(RunErrorClass::Overloaded, Code::ResourceExhausted, &text)
}

/// Stands for [`no_memory`] on its way through tonic.
pub(super) fn without_memory() -> Status {
    Status::from_error(Box::new(SendError::NoMemory))
}

pub(super) fn lacks_memory(status: &Status) -> bool {
    let error = status.source().and_then(|source| source.downcast_ref::<SendError>());
    matches!(error, Some(SendError::NoMemory))
}

pub(super) fn no_connection(endpoint: &Endpoint, after: Duration) -> RunError {
    let text = format!("no connection to {endpoint} within {}", seconds(after));
    rpc(RunErrorClass::TimedOut, Code::DeadlineExceeded, &text)
}

pub(super) fn unreachable(endpoint: &Endpoint, cause: &str) -> RunError {
    let text = format!("cannot reach the function at {endpoint}: {cause}");
    rpc(RunErrorClass::Unavailable, Code::Unavailable, &text)
}

pub(super) fn shut_down(endpoint: &Endpoint) -> RunError {
    let text = format!("the connections to {endpoint} were closed because the engine is shutting down");
    rpc(RunErrorClass::Unavailable, Code::Unavailable, &text)
}

pub(super) fn unreadable(why: &str) -> String {
    format!("cannot read the function's response: {why}")
}

/// Whether the connection broke during the call.
pub(super) fn is_lost(status: &Status) -> bool {
    transport(status).is_some()
}

/// Whether the request never left this process, so that sending it again cannot run it twice.
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

fn rpc(class: RunErrorClass, code: Code, text: &str) -> RunError {
    // Go spells these two its own way.
    let code = match code {
        Code::Ok => "OK".to_owned(),
        Code::Cancelled => "Canceled".to_owned(),
        code => format!("{code:?}"),
    };
    RunError::new(class, format!("rpc error: code = {code} desc = {text}"))
}

fn seconds(duration: Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("{} s", duration.as_secs()),
        _ => format!("{} ms", duration.as_millis()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_in_crossplane_and_say_what_to_do() {
        let check = |status: Status, class: RunErrorClass, expected: &str| {
            let error = to_run_error(&status, &Options::default());
            assert_eq!((error.class, error.message.as_str()), (class, expected));
        };
        check(
            Status::deadline_exceeded("context deadline exceeded"),
            RunErrorClass::TimedOut,
            "rpc error: code = DeadlineExceeded desc = the function did not respond within 20 s",
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
             (5000000 vs. 4194304). The engine accepts up to 8 MiB; a function has its own limit, usually 4 MiB, which \
             most functions raise with --max-recv-message-size",
        );
        check(
            Status::resource_exhausted("quota"),
            RunErrorClass::Failed,
            "rpc error: code = ResourceExhausted desc = quota",
        );
        assert_eq!(
            no_turn(Duration::from_millis(1500), 32, 7).message,
            "rpc error: code = ResourceExhausted desc = the function was not called: it was at its limit of 32 concurrent \
             calls for 1500 ms, and 7 more calls wait for it. Run more replicas of it, or raise --function-concurrency"
        );
    }
}
