//! `plimsoll render`: what an XR would be composed of, without a cluster.

pub(super) mod inputs;
pub(super) mod reconcile;
mod resolver;

use std::io;

use composition::pipeline::Failure as PipelineFailure;
use composition::protocol::{FunctionResult, Object, Severity};
use serde_json::{Value, json};

use self::inputs::Inputs;
use self::reconcile::Rendered;
use crate::args::Format;
use crate::args::render::Render;
use crate::support::exit::{Exit, Outcome};
use crate::support::owner_tree::reference_of;
use crate::support::printer::{Printer, object_name};
use crate::support::process::until_interrupted;

/// The API version of results and context in the output, the same as in Crossplane's command.
const RENDER_VERSION: &str = "render.crossplane.io/v1beta1";

pub(super) fn run(args: &Render, printer: &mut Printer) -> Outcome {
    let inputs = Inputs::read(args)?;
    for warning in &inputs.warnings {
        printer.diagnostic(warning);
    }
    until_interrupted(async {
        let rendered = reconcile::reconcile(&inputs, args.timeout).await?;
        show(&rendered, args, printer)?;
        match &rendered.failure {
            None => Ok(Exit::Success),
            Some(failure) => {
                printer.diagnostic(failure);
                Ok(Exit::Failure)
            }
        }
    })
}

fn show(rendered: &Rendered, args: &Render, printer: &mut Printer) -> io::Result<()> {
    let objects = |objects: &[Object]| -> Vec<Value> { objects.iter().cloned().map(Value::Object).collect() };
    let composite = if args.include_full_xr { &rendered.full_composite } else { &rendered.composite };
    let composite = Value::Object(composite.clone());
    let (composed, deleted) = (objects(&rendered.composed), objects(&rendered.deleted));
    let results = args.include_function_results.then(|| results(rendered));
    let fields = rendered.context.clone().unwrap_or_default();
    let context = json!({"apiVersion": RENDER_VERSION, "kind": "Context", "fields": fields});
    let context = Some(context).filter(|_| args.include_context);
    match printer.format() {
        Format::Text | Format::Yaml | Format::Diff | Format::Markdown => {
            let objects = [&composite].into_iter().chain(&composed);
            for document in objects.chain(results.iter().flatten()).chain(&context) {
                printer.data("---")?;
                printer.raw(manifest::to_yaml(document).as_bytes())?;
            }
            for target in deleted.iter().filter_map(reference_of) {
                printer.message(format_args!("would be deleted: {target}"));
            }
            Ok(())
        }
        Format::Json => printer.structured(&json!({
            "compositeResource": composite,
            "composedResources": composed,
            "deletedResources": deleted,
            "results": results,
            "context": context,
        })),
        Format::Name => {
            let mut targets = [&composite].into_iter().chain(&composed).filter_map(reference_of);
            targets.try_for_each(|target| printer.data(object_name(&target)))
        }
    }
}

/// The functions' results, as Crossplane's command shows them.
fn results(rendered: &Rendered) -> Vec<Value> {
    let show = |step: &str, result: &FunctionResult| {
        let severity = match result.severity {
            Severity::Fatal => "SEVERITY_FATAL",
            Severity::Warning => "SEVERITY_WARNING",
            Severity::Normal => "SEVERITY_NORMAL",
            Severity::Unspecified => "SEVERITY_UNSPECIFIED",
        };
        let mut shown = json!({
            "apiVersion": RENDER_VERSION, "kind": "Result",
            "step": step, "severity": severity, "message": result.message,
        });
        if let Some(reason) = &result.reason {
            shown["reason"] = reason.as_str().into();
        }
        shown
    };
    let results = rendered.outcome.results.iter().map(|it| show(&it.step, &it.output));
    let fatal = match &rendered.outcome.failure {
        Some(PipelineFailure::Fatal { step, result }) => Some(show(step, result)),
        _ => None,
    };
    results.chain(fatal).collect()
}
