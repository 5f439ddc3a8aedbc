//! Builds responses, named as in Crossplane's function SDKs.
//!
//! A result can set a condition with the same message for the same audience:
//!
//! ```
//! use functions::{RunRequest, response};
//!
//! let request = RunRequest::default();
//! let mut rsp = response::to(&request);
//! response::fatal(&mut rsp, "The image provided does not exist or you are not authorized to use it.")
//!     .condition_false("ImageReady", "NotFound")
//!     .target_composite_and_claim();
//! ```

use std::fmt::Display;
use std::time::Duration;

use composition::protocol::{
    ConditionStatus, FunctionCondition, FunctionResult, ResponseMeta, RunRequest, RunResponse, Severity,
    Target,
};

/// How long a response is valid by default, as in all SDKs.
pub const DEFAULT_TTL: Duration = Duration::from_secs(60);

/// A response that passes on the request's desired state and context.
pub fn to(request: &RunRequest) -> RunResponse {
    RunResponse {
        meta: ResponseMeta { tag: request.meta.tag.clone(), ttl: Some(DEFAULT_TTL) },
        desired: request.desired.clone(),
        context: request.context.clone(),
        ..RunResponse::default()
    }
}

/// Stops the pipeline: nothing is applied, nothing is deleted.
pub fn fatal(response: &mut RunResponse, message: impl Display) -> ResponseOptions<'_> {
    ResponseOptions::result(response, Severity::Fatal, &message)
}

/// Warns; the pipeline goes on.
pub fn warning(response: &mut RunResponse, message: impl Display) -> ResponseOptions<'_> {
    ResponseOptions::result(response, Severity::Warning, &message)
}

/// Reports normal progress.
pub fn normal(response: &mut RunResponse, message: impl Display) -> ResponseOptions<'_> {
    ResponseOptions::result(response, Severity::Normal, &message)
}

/// Sets a condition to `True`.
pub fn condition_true<'a>(response: &'a mut RunResponse, kind: &str, reason: &str) -> ResponseOptions<'a> {
    ResponseOptions::condition(response, kind, ConditionStatus::True, reason)
}

/// Sets a condition to `False`.
pub fn condition_false<'a>(response: &'a mut RunResponse, kind: &str, reason: &str) -> ResponseOptions<'a> {
    ResponseOptions::condition(response, kind, ConditionStatus::False, reason)
}

/// Sets a condition to `Unknown`.
pub fn condition_unknown<'a>(response: &'a mut RunResponse, kind: &str, reason: &str) -> ResponseOptions<'a> {
    ResponseOptions::condition(response, kind, ConditionStatus::Unknown, reason)
}

/// The result and conditions just added, for further options. Target and message apply to all of them, in any order.
#[derive(Debug)]
pub struct ResponseOptions<'a> {
    response: &'a mut RunResponse,
    /// The index of the result, if one was added.
    result: Option<usize>,
    /// The index of the first condition; it and all after it were added.
    first_condition: usize,
    message: Option<String>,
    target: Target,
}

#[expect(clippy::return_self_not_must_use, reason = "the result is already added; options are optional")]
impl<'a> ResponseOptions<'a> {
    fn result(response: &'a mut RunResponse, severity: Severity, message: &dyn Display) -> Self {
        let message = message.to_string();
        let result = FunctionResult { severity, message: message.clone(), ..FunctionResult::default() };
        response.results.push(result);
        Self {
            result: Some(response.results.len() - 1),
            first_condition: response.conditions.len(),
            message: Some(message),
            target: Target::Composite,
            response,
        }
    }

    fn condition(response: &'a mut RunResponse, kind: &str, status: ConditionStatus, reason: &str) -> Self {
        let first_condition = response.conditions.len();
        let options =
            Self { result: None, first_condition, message: None, target: Target::Composite, response };
        options.with_condition(kind, status, reason)
    }

    /// Sets a condition to `True` as well.
    pub fn condition_true(self, kind: &str, reason: &str) -> Self {
        self.with_condition(kind, ConditionStatus::True, reason)
    }

    /// Sets a condition to `False` as well.
    pub fn condition_false(self, kind: &str, reason: &str) -> Self {
        self.with_condition(kind, ConditionStatus::False, reason)
    }

    /// Sets a condition to `Unknown` as well.
    pub fn condition_unknown(self, kind: &str, reason: &str) -> Self {
        self.with_condition(kind, ConditionStatus::Unknown, reason)
    }

    fn with_condition(self, kind: &str, status: ConditionStatus, reason: &str) -> Self {
        self.response.conditions.push(FunctionCondition {
            kind: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: self.message.clone(),
            target: self.target,
        });
        self
    }

    /// Sets the result's reason; conditions have their own.
    pub fn with_reason(self, reason: &str) -> Self {
        if let Some(result) = self.result {
            self.response.results[result].reason = Some(reason.to_owned());
        }
        self
    }

    /// Gives the conditions another message than the result.
    pub fn with_message(mut self, message: impl Display) -> Self {
        let message = message.to_string();
        for condition in &mut self.response.conditions[self.first_condition..] {
            condition.message = Some(message.clone());
        }
        self.message = Some(message);
        self
    }

    /// Shows it on the XR only, which is the default.
    pub fn target_composite(self) -> Self {
        self.with_target(Target::Composite)
    }

    /// Shows it on the XR and its claim.
    pub fn target_composite_and_claim(self) -> Self {
        self.with_target(Target::CompositeAndClaim)
    }

    fn with_target(mut self, target: Target) -> Self {
        if let Some(result) = self.result {
            self.response.results[result].target = target;
        }
        for condition in &mut self.response.conditions[self.first_condition..] {
            condition.target = target;
        }
        self.target = target;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOT_FOUND: &str = "The image provided does not exist or you are not authorized to use it.";

    fn check(build: impl Fn(&mut RunResponse), results: &[FunctionResult], conditions: &[FunctionCondition]) {
        let mut response = to(&RunRequest::default());
        build(&mut response);
        assert_eq!(response.results, results);
        assert_eq!(response.conditions, conditions);
    }

    fn image_not_found(target: Target) -> ([FunctionResult; 1], [FunctionCondition; 1]) {
        let result =
            FunctionResult { severity: Severity::Fatal, message: NOT_FOUND.to_owned(), reason: None, target };
        let condition = FunctionCondition {
            kind: "ImageReady".to_owned(),
            status: ConditionStatus::False,
            reason: "NotFound".to_owned(),
            message: Some(NOT_FOUND.to_owned()),
            target,
        };
        ([result], [condition])
    }

    #[test]
    fn target_and_condition_apply_in_any_order() {
        let (results, conditions) = image_not_found(Target::CompositeAndClaim);
        let as_written = |rsp: &mut RunResponse| {
            fatal(rsp, NOT_FOUND).condition_false("ImageReady", "NotFound").target_composite_and_claim();
        };
        check(as_written, &results, &conditions);
        let target_first = |rsp: &mut RunResponse| {
            fatal(rsp, NOT_FOUND).target_composite_and_claim().condition_false("ImageReady", "NotFound");
        };
        check(target_first, &results, &conditions);
        let (results, conditions) = image_not_found(Target::Composite);
        let for_operators = |rsp: &mut RunResponse| {
            fatal(rsp, NOT_FOUND).condition_false("ImageReady", "NotFound");
        };
        check(for_operators, &results, &conditions);
    }

    #[test]
    fn options_do_not_change_what_was_added_before() {
        let build = |rsp: &mut RunResponse| {
            condition_true(rsp, "DatabaseReady", "Available").target_composite_and_claim();
            warning(rsp, "slow")
                .with_reason("Slow")
                .condition_unknown("AppReady", "Slow")
                .with_message("wait");
            normal(rsp, "done").target_composite_and_claim().target_composite();
        };
        let condition = |kind: &str, status, reason: &str, message: Option<&str>, target| FunctionCondition {
            kind: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.map(str::to_owned),
            target,
        };
        let result = |severity, message: &str, reason: Option<&str>| FunctionResult {
            severity,
            message: message.to_owned(),
            reason: reason.map(str::to_owned),
            target: Target::Composite,
        };
        check(
            build,
            &[result(Severity::Warning, "slow", Some("Slow")), result(Severity::Normal, "done", None)],
            &[
                condition(
                    "DatabaseReady",
                    ConditionStatus::True,
                    "Available",
                    None,
                    Target::CompositeAndClaim,
                ),
                condition("AppReady", ConditionStatus::Unknown, "Slow", Some("wait"), Target::Composite),
            ],
        );
    }
}
