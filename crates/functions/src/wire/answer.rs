//! Answers: read by the engine, written by a function.

use std::collections::BTreeMap;
use std::time::Duration;

use composition::run::{
    ConditionStatus, FunctionCondition, FunctionResult, Match, Requirements, ResourceSelector, ResponseMeta,
    RunResponse, SchemaSelector, Severity, Target,
};

use super::{Fault, Struct, read_state, write_state};
use crate::r#gen::v1 as pb;
use pb::resource_selector::Match as Matching;

/// Reads an answer.
pub(crate) fn read_answer(answer: pb::RunFunctionResponse) -> Result<RunResponse, Fault> {
    let meta = answer.meta.unwrap_or_default();
    let object = |object: Option<Struct>, name: &str| {
        object.map(Struct::into_object).transpose().map_err(|fault| fault.within(name))
    };
    Ok(RunResponse {
        meta: ResponseMeta { tag: meta.tag, ttl: meta.ttl.and_then(|ttl| Duration::try_from(ttl).ok()) },
        desired: read_state(answer.desired).map_err(|fault| fault.within("desired"))?,
        results: answer.results.into_iter().map(read_result).collect(),
        context: object(answer.context, "context")?,
        requirements: read_requirements(answer.requirements.unwrap_or_default()),
        conditions: answer.conditions.into_iter().map(read_condition).collect(),
        output: object(answer.output, "output")?,
    })
}

fn read_result(result: pb::Result) -> FunctionResult {
    FunctionResult {
        severity: match pb::Severity::try_from(result.severity) {
            Ok(pb::Severity::Fatal) => Severity::Fatal,
            Ok(pb::Severity::Warning) => Severity::Warning,
            Ok(pb::Severity::Normal) => Severity::Normal,
            Ok(pb::Severity::Unspecified) | Err(_) => Severity::Unspecified,
        },
        message: result.message,
        reason: result.reason.filter(|reason| !reason.is_empty()),
        target: read_target(result.target),
    }
}

fn read_condition(condition: pb::Condition) -> FunctionCondition {
    FunctionCondition {
        status: match pb::Status::try_from(condition.status) {
            Ok(pb::Status::ConditionTrue) => ConditionStatus::True,
            Ok(pb::Status::ConditionFalse) => ConditionStatus::False,
            Ok(pb::Status::ConditionUnknown | pb::Status::ConditionUnspecified) | Err(_) => {
                ConditionStatus::Unknown
            }
        },
        target: read_target(condition.target),
        kind: condition.r#type,
        reason: condition.reason,
        message: condition.message,
    }
}

fn read_target(target: Option<i32>) -> Target {
    match target.and_then(|target| pb::Target::try_from(target).ok()) {
        Some(pb::Target::CompositeAndClaim) => Target::CompositeAndClaim,
        Some(pb::Target::Composite | pb::Target::Unspecified) | None => Target::Composite,
    }
}

fn read_requirements(requirements: pb::Requirements) -> Requirements {
    let resources = |all: BTreeMap<String, pb::ResourceSelector>| {
        all.into_iter().map(|(name, selector)| (name, read_selector(selector))).collect()
    };
    let schema = |(name, schema): (String, pb::SchemaSelector)| {
        (name, SchemaSelector { api_version: schema.api_version, kind: schema.kind })
    };
    // Functions may still ask through the deprecated field.
    Requirements {
        extra_resources: resources(requirements.extra_resources),
        resources: resources(requirements.resources),
        schemas: requirements.schemas.into_iter().map(schema).collect(),
    }
}

fn read_selector(selector: pb::ResourceSelector) -> ResourceSelector {
    ResourceSelector {
        api_version: selector.api_version,
        kind: selector.kind,
        matching: match selector.r#match {
            None => Match::All,
            Some(Matching::MatchName(name)) => Match::Name(name),
            Some(Matching::MatchLabels(matching)) => Match::Labels(matching.labels),
        },
        namespace: selector.namespace.filter(|namespace| !namespace.is_empty()),
    }
}

/// Writes an answer.
pub(crate) fn write_answer(answer: RunResponse) -> pb::RunFunctionResponse {
    let meta = pb::ResponseMeta { tag: answer.meta.tag, ttl: answer.meta.ttl.and_then(write_ttl) };
    pb::RunFunctionResponse {
        meta: Some(meta),
        desired: write_state(&answer.desired),
        results: answer.results.into_iter().map(write_result).collect(),
        context: answer.context.as_ref().map(Struct::new),
        requirements: (!answer.requirements.is_empty()).then(|| write_requirements(answer.requirements)),
        conditions: answer.conditions.into_iter().map(write_condition).collect(),
        output: answer.output.as_ref().map(Struct::new),
    }
}

/// A time the wire cannot hold is longer than anybody waits, which is no opinion.
fn write_ttl(ttl: Duration) -> Option<prost_types::Duration> {
    prost_types::Duration::try_from(ttl).ok()
}

fn write_result(result: FunctionResult) -> pb::Result {
    let severity = match result.severity {
        Severity::Unspecified => pb::Severity::Unspecified,
        Severity::Fatal => pb::Severity::Fatal,
        Severity::Warning => pb::Severity::Warning,
        Severity::Normal => pb::Severity::Normal,
    };
    pb::Result {
        severity: severity.into(),
        message: result.message,
        reason: result.reason,
        target: Some(write_target(result.target)),
    }
}

fn write_condition(condition: FunctionCondition) -> pb::Condition {
    let status = match condition.status {
        ConditionStatus::Unknown => pb::Status::ConditionUnknown,
        ConditionStatus::True => pb::Status::ConditionTrue,
        ConditionStatus::False => pb::Status::ConditionFalse,
    };
    pb::Condition {
        r#type: condition.kind,
        status: status.into(),
        reason: condition.reason,
        message: condition.message,
        target: Some(write_target(condition.target)),
    }
}

fn write_target(target: Target) -> i32 {
    let target = match target {
        Target::Composite => pb::Target::Composite,
        Target::CompositeAndClaim => pb::Target::CompositeAndClaim,
    };
    target.into()
}

fn write_requirements(requirements: Requirements) -> pb::Requirements {
    let resources = |all: BTreeMap<String, ResourceSelector>| {
        all.into_iter().map(|(name, selector)| (name, write_selector(selector))).collect()
    };
    let schema = |(name, schema): (String, SchemaSelector)| (name, write_schema_selector(schema));
    // An older engine knows only the deprecated field.
    pb::Requirements {
        extra_resources: resources(requirements.extra_resources),
        resources: resources(requirements.resources),
        schemas: requirements.schemas.into_iter().map(schema).collect(),
    }
}

pub(crate) fn write_selector(selector: ResourceSelector) -> pb::ResourceSelector {
    pb::ResourceSelector {
        api_version: selector.api_version,
        kind: selector.kind,
        r#match: match selector.matching {
            Match::All => None,
            Match::Name(name) => Some(Matching::MatchName(name)),
            Match::Labels(labels) => Some(Matching::MatchLabels(pb::MatchLabels { labels })),
        },
        namespace: selector.namespace,
    }
}

pub(crate) fn write_schema_selector(selector: SchemaSelector) -> pb::SchemaSelector {
    pb::SchemaSelector { api_version: selector.api_version, kind: selector.kind }
}
