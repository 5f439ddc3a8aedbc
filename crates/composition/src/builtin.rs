//! Built-in functions, run in this process.

mod auto_ready;
mod status_transformer;

use std::time::Duration;

use crate::function::AUTO_READY_AS_DEPENDENCY;
use crate::protocol::{ResponseMeta, RunRequest, RunResponse};

/// The default TTL of every function SDK.
const DEFAULT_TTL: Duration = Duration::from_secs(60);

/// Runs the built-in function called `name`, if there is one.
pub fn run(name: &str, request: &RunRequest) -> Option<RunResponse> {
    match name {
        "function-auto-ready" | AUTO_READY_AS_DEPENDENCY => Some(auto_ready::run(request)),
        "function-status-transformer" => Some(status_transformer::run(request)),
        _ => None,
    }
}

/// A response that passes on the desired state and context of the request.
fn respond_to(request: &RunRequest) -> RunResponse {
    RunResponse {
        meta: ResponseMeta { tag: request.meta.tag.clone(), ttl: Some(DEFAULT_TTL) },
        desired: request.desired.clone(),
        context: request.context.clone(),
        ..RunResponse::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::BUILT_IN;

    #[test]
    fn every_built_in_function_runs_and_copies_the_tag() {
        let mut request = RunRequest::default();
        request.meta.tag = "tag".to_owned();
        for name in BUILT_IN.into_iter().chain([AUTO_READY_AS_DEPENDENCY]) {
            assert_eq!(run(name, &request).unwrap().meta.tag, "tag", "{name}");
        }
        assert_eq!(run("function-unknown", &request), None);
    }
}
