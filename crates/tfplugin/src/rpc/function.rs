//! Describes and calls functions.

use super::registry::Registry;
use super::respond::catch_panic;
use super::wire;
use crate::diagnostics::{self, Diagnostics};
use crate::r#gen::tfplugin6 as proto;
use crate::provider::{FunctionError, Parameter, Signature};

pub(super) fn to_proto(signature: &Signature) -> proto::Function {
    proto::Function {
        parameters: signature.parameters.iter().map(parameter).collect(),
        r#return: Some(proto::function::Return { r#type: signature.result.to_json_bytes() }),
        summary: signature.summary.clone(),
        description: signature.description.clone(),
        description_kind: proto::StringKind::Markdown.into(),
        ..proto::Function::default()
    }
}

/// Terraform passes no nulls, and calls no function while an argument is unknown: for that, `allow_unknown_values` is false,
/// although its comment in the protocol says the opposite.
fn parameter(parameter: &Parameter) -> proto::function::Parameter {
    proto::function::Parameter {
        name: parameter.name.clone(),
        r#type: parameter.ty.to_json_bytes(),
        allow_null_value: false,
        allow_unknown_values: false,
        description: parameter.description.clone(),
        description_kind: proto::StringKind::Markdown.into(),
    }
}

pub(super) async fn call(
    registry: &Registry,
    request: proto::call_function::Request,
) -> proto::call_function::Response {
    let called = catch_panic("CallFunction", async { try_call(registry, &request) }).await;
    match called.unwrap_or_else(|panic| Err(to_error(&panic))) {
        Ok(result) => proto::call_function::Response { result: Some(result), error: None },
        Err(error) => proto::call_function::Response { result: None, error: Some(error) },
    }
}

fn try_call(
    registry: &Registry,
    request: &proto::call_function::Request,
) -> Result<proto::DynamicValue, proto::FunctionError> {
    let (function, signature) = registry.function(&request.name).map_err(|error| to_error(&error))?;
    let parameters = signature.parameters.iter();
    let arguments = request.arguments.iter().zip(parameters);
    let arguments = arguments.map(|(value, parameter)| wire::decode_value(value, &parameter.ty));
    let arguments = arguments.collect::<Result<_, _>>().map_err(|error| to_error(&error))?;
    let result = function.call(arguments).map_err(|FunctionError { argument, diagnostic }| {
        let function_argument = argument.and_then(|index| i64::try_from(index).ok());
        proto::FunctionError { text: unfinished(diagnostics::text(&diagnostic)), function_argument }
    })?;
    wire::encode_value(result, &signature.result).map_err(|error| to_error(&error))
}

fn to_error(problems: &Diagnostics) -> proto::FunctionError {
    let texts: Vec<String> = problems.iter().map(|(_, problem)| diagnostics::text(problem)).collect();
    proto::FunctionError { text: unfinished(texts.join("\n\n")), function_argument: None }
}

/// The text without its last full stop: clients make it the end of a sentence of theirs.
fn unfinished(mut text: String) -> String {
    if text.ends_with('.') {
        text.pop();
    }
    text
}
