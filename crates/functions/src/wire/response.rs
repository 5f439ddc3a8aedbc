//! Responses: read by the engine, written by a function.

use std::collections::BTreeMap;
use std::time::Duration;

use composition::protocol::{
    ConditionStatus, FunctionCondition, FunctionResult, Match, Requirements, ResourceSelector, ResponseMeta,
    RunResponse, SchemaSelector, Severity, Target,
};

use super::{Struct, ValueError, WireEnum, read_object, read_state, write_state};
use crate::r#gen::v1 as pb;
use pb::resource_selector::Match as Matching;

pub(crate) fn read_response(response: pb::RunFunctionResponse) -> Result<RunResponse, ValueError> {
    let meta = response.meta.unwrap_or_default();
    Ok(RunResponse {
        meta: ResponseMeta { tag: meta.tag, ttl: meta.ttl.and_then(|ttl| Duration::try_from(ttl).ok()) },
        desired: read_state(response.desired, "desired")?,
        results: response.results.into_iter().map(read_result).collect(),
        context: read_object(response.context, "context")?,
        requirements: read_requirements(response.requirements.unwrap_or_default()),
        conditions: response.conditions.into_iter().map(read_condition).collect(),
        output: read_object(response.output, "output")?,
    })
}

fn read_result(result: pb::Result) -> FunctionResult {
    FunctionResult {
        severity: Severity::read(result.severity).unwrap_or_default(),
        message: result.message,
        reason: result.reason.filter(|reason| !reason.is_empty()),
        target: result.target.and_then(Target::read).unwrap_or_default(),
    }
}

fn read_condition(condition: pb::Condition) -> FunctionCondition {
    FunctionCondition {
        status: ConditionStatus::read(condition.status).unwrap_or_default(),
        target: condition.target.and_then(Target::read).unwrap_or_default(),
        kind: condition.r#type,
        reason: condition.reason,
        message: condition.message,
    }
}

fn read_requirements(requirements: pb::Requirements) -> Requirements {
    let resources = |all: BTreeMap<String, pb::ResourceSelector>| {
        all.into_iter().map(|(name, selector)| (name, read_selector(selector))).collect()
    };
    let schema = |(name, schema): (String, pb::SchemaSelector)| {
        (name, SchemaSelector { api_version: schema.api_version, kind: schema.kind })
    };
    // Older functions use the deprecated field, `extra_resources`.
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

pub(crate) fn write_response(response: RunResponse) -> pb::RunFunctionResponse {
    // A TTL the wire cannot hold is as good as none.
    let ttl = response.meta.ttl.and_then(|ttl| prost_types::Duration::try_from(ttl).ok());
    pb::RunFunctionResponse {
        meta: Some(pb::ResponseMeta { tag: response.meta.tag, ttl }),
        desired: write_state(&response.desired),
        results: response.results.into_iter().map(write_result).collect(),
        context: response.context.as_ref().map(Struct::new),
        requirements: (!response.requirements.is_empty()).then(|| write_requirements(response.requirements)),
        conditions: response.conditions.into_iter().map(write_condition).collect(),
        output: response.output.as_ref().map(Struct::new),
    }
}

fn write_result(result: FunctionResult) -> pb::Result {
    pb::Result {
        severity: result.severity.write(),
        message: result.message,
        reason: result.reason,
        target: Some(result.target.write()),
    }
}

fn write_condition(condition: FunctionCondition) -> pb::Condition {
    pb::Condition {
        r#type: condition.kind,
        status: condition.status.write(),
        reason: condition.reason,
        message: condition.message,
        target: Some(condition.target.write()),
    }
}

fn write_requirements(requirements: Requirements) -> pb::Requirements {
    let resources = |all: BTreeMap<String, ResourceSelector>| {
        all.into_iter().map(|(name, selector)| (name, write_selector(selector))).collect()
    };
    let schema = |(name, schema): (String, SchemaSelector)| (name, write_schema_selector(schema));
    // Older engines know only the deprecated field, `extra_resources`.
    pb::Requirements {
        extra_resources: resources(requirements.extra_resources),
        resources: resources(requirements.resources),
        schemas: requirements.schemas.into_iter().map(schema).collect(),
    }
}

fn write_selector(selector: ResourceSelector) -> pb::ResourceSelector {
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

fn write_schema_selector(selector: SchemaSelector) -> pb::SchemaSelector {
    pb::SchemaSelector { api_version: selector.api_version, kind: selector.kind }
}
