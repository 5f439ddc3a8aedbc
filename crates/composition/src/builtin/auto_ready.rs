//! `function-auto-ready`: marks composed resources ready, by the rules of its input, else by the same rules as a wait or
//! `plimsoll tree`, except for [`LIKE_UPSTREAM`].

mod cel;
mod input;

use manifest::GroupVersionKind;
use readiness::Health;
use serde_json::Value;

use self::input::Input;
use super::respond_to;
use crate::object;
use crate::protocol::{FunctionResult, Object, Ready, RunRequest, RunResponse, Severity};

/// Marks desired resources ready whose observed state is. A decision of an earlier function stands.
pub(super) fn run(request: &RunRequest) -> RunResponse {
    let mut response = respond_to(request);
    let input = match Input::read(request.input.as_ref(), request.context.as_ref()) {
        Ok(input) => input,
        Err(message) => {
            response.results.push(result(Severity::Fatal, message));
            return response;
        }
    };
    response.meta.ttl = input.ttl.or(response.meta.ttl);
    let undecided =
        response.desired.resources.iter_mut().filter(|(_, resource)| resource.ready == Ready::Unspecified);
    for (key, resource) in undecided {
        let Some(observed) = request.observed.resources.get(key) else { continue };
        resource.ready = match by_rule(&input, &observed.object) {
            Some(Ok(verdict)) => {
                if verdict {
                    Ready::True
                } else {
                    Ready::False
                }
            }
            by_rule => {
                if let Some(Err(why)) = by_rule {
                    let message = format!("composed resource {key:?} is judged without its rule: {why}");
                    response.results.push(result(Severity::Warning, message));
                }
                if is_ready(&observed.object) { Ready::True } else { Ready::Unspecified }
            }
        };
    }
    response
}

fn result(severity: Severity, message: String) -> FunctionResult {
    FunctionResult { severity, message, ..FunctionResult::default() }
}

/// What a rule of the input says about an object of this kind, if there is one.
fn by_rule(input: &Input, object: &Object) -> Option<Result<bool, String>> {
    let gvk = GroupVersionKind::of(object).ok()?;
    let rule = input.rules.get(&format!("{}_{}_{}", gvk.group(), gvk.version(), gvk.kind()))?;
    Some(cel::is_true(rule, object))
}

fn is_ready(object: &Object) -> bool {
    let gvk = GroupVersionKind::of(object);
    let (group, kind) = gvk.as_ref().map_or(("", ""), |gvk| (gvk.group(), gvk.kind()));
    match LIKE_UPSTREAM.iter().find(|difference| (difference.applies)(group, kind)) {
        Some(difference) => (difference.is_ready)(object),
        None => matches!(Health::of(object, false), Health::Ready | Health::NoStatus),
    }
}

/// Kinds for which Crossplane's function-auto-ready is followed although `readiness` has another answer.
struct Difference {
    applies: fn(group: &str, kind: &str) -> bool,
    is_ready: fn(&Object) -> bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "says why; a test demands it"))]
    reason: &'static str,
}

/// The first entry that applies counts.
const LIKE_UPSTREAM: &[Difference] = &[
    Difference {
        applies: |group, kind| (group, kind) == ("networking.k8s.io", "Ingress"),
        is_ready: |ingress| {
            let addresses = object::nested(ingress, &["status", "loadBalancer", "ingress"]);
            addresses.and_then(Value::as_array).is_some_and(|addresses| !addresses.is_empty())
        },
        reason: "compositions wait for the address; a wait cannot, as some ingress controllers never publish one",
    },
    Difference {
        applies: |group, kind| (group, kind) == ("batch", "CronJob"),
        is_ready: last_run_succeeded,
        reason: "compositions wait for a first run that succeeded; a wait is over once a CronJob exists, as its next run may be \
                 a year away",
    },
    Difference {
        applies: |group, kind| (group, kind) == ("autoscaling", "HorizontalPodAutoscaler"),
        is_ready: scales,
        reason: "compositions wait until it scales; a wait is over when it is able to, as one may be switched off by zero \
                 replicas",
    },
    Difference {
        applies: |group, kind| !readiness::has_rule(group, kind),
        is_ready: |object| readiness::condition(object, "Ready", "True").is_ok(),
        reason: "Ready alone decides for a managed resource: one without it is not created yet, and Synced=False makes an \
                 XR unhealthy, not unready",
    },
];

/// Whether a CronJob is suspended, running, or has run with success.
fn last_run_succeeded(job: &Object) -> bool {
    if object::nested(job, &["spec", "suspend"]) == Some(&Value::Bool(true)) {
        return true;
    }
    let time = |field| object::text(job, &["status", field])?.parse::<jiff::Timestamp>().ok();
    let Some(scheduled) = time("lastScheduleTime") else { return false };
    object::list(job, &["status", "active"]).next().is_some()
        || time("lastSuccessfulTime").is_some_and(|succeeded| succeeded >= scheduled)
}

/// Whether an autoscaler scales. The first condition that says something counts.
fn scales(autoscaler: &Object) -> bool {
    let conditions = object::list(autoscaler, &["status", "conditions"]);
    let mut verdicts = conditions.filter(|condition| condition["status"] == "True").filter_map(|condition| {
        match condition["type"].as_str()? {
            "FailedGetScale" | "FailedUpdateScale" | "FailedGetResourceMetric" | "InvalidSelector" => {
                Some(false)
            }
            "ScalingActive" | "ScalingLimited" => Some(true),
            _ => None,
        }
    });
    verdicts.next() == Some(true)
}

#[cfg(test)]
mod tests;
