//! `plimsoll render`: what an XR would be composed of, without a cluster.

mod defaults;
pub(super) mod inputs;
pub(super) mod reconcile;
mod resolver;

use composition::pipeline::Failure as PipelineFailure;
use composition::protocol::{FunctionResult, Object, Severity};
use manifest::ObjectRef;
use serde_json::{Value, json};

use self::inputs::Inputs;
use self::reconcile::Rendered;
use crate::args::Format;
use crate::args::render::Render;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;

/// The API version of results and context in the output, the same as in Crossplane's command.
const RENDER_VERSION: &str = "render.crossplane.io/v1beta1";

/// Renders, and shows the result.
pub(super) fn run(args: &Render, printer: &mut Printer) -> Outcome {
    let inputs = Inputs::read(args)?;
    for warning in &inputs.warnings {
        printer.diagnostic(warning);
    }
    until_interrupted(async {
        let rendered = reconcile::reconcile(&inputs, args.timeout).await?;
        Shown::of(&rendered, args).print(printer)?;
        match &rendered.failure {
            None => Ok(Exit::Success),
            Some(failure) => {
                printer.diagnostic(failure);
                Ok(Exit::Failure)
            }
        }
    })
}

/// The documents to show, in order.
struct Shown {
    composite: Value,
    composed: Vec<Value>,
    deleted: Vec<Value>,
    results: Option<Vec<Value>>,
    context: Option<Value>,
}

impl Shown {
    fn of(rendered: &Rendered, args: &Render) -> Self {
        let objects = |objects: &[Object]| objects.iter().cloned().map(Value::Object).collect();
        let context = rendered.context.clone().unwrap_or_default();
        Self {
            composite: composite(&rendered.composite, args.include_full_xr),
            composed: objects(&rendered.composed),
            deleted: objects(&rendered.deleted),
            results: args.include_function_results.then(|| results(rendered)),
            context: args
                .include_context
                .then(|| json!({"apiVersion": RENDER_VERSION, "kind": "Context", "fields": context})),
        }
    }

    fn print(&self, printer: &mut Printer) -> Result<(), Failure> {
        match printer.format() {
            Format::Text | Format::Yaml => {
                for document in self.documents() {
                    printer.data("---")?;
                    printer.raw(manifest::to_yaml(document).as_bytes())?;
                }
                for gone in &self.deleted {
                    if let Some(Ok(name)) = gone.as_object().map(ObjectRef::of) {
                        printer.message(format_args!("would be deleted: {name}"));
                    }
                }
            }
            Format::Json => printer.structured(&json!({
                "compositeResource": self.composite,
                "composedResources": self.composed,
                "deletedResources": self.deleted,
                "results": self.results,
                "context": self.context,
            }))?,
            Format::Name => {
                for document in [&self.composite].into_iter().chain(&self.composed) {
                    if let Some(Ok(named)) = document.as_object().map(ObjectRef::of) {
                        let kind = named.gvk.group_kind().to_lowercase();
                        printer.data(format_args!("{kind}/{}", named.name))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn documents(&self) -> impl Iterator<Item = &Value> {
        let results = self.results.iter().flatten();
        [&self.composite].into_iter().chain(&self.composed).chain(results).chain(&self.context)
    }
}

/// The XR, in full or only what the pipeline has changed.
fn composite(xr: &Object, whole: bool) -> Value {
    if whole {
        return Value::Object(xr.clone());
    }
    let mut shown = composition::composite::identity(xr);
    let mut status = xr.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    // The engine's own fields.
    status.remove("crossplane");
    shown.insert("status".to_owned(), status.into());
    Value::Object(shown)
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
    let said = rendered.outcome.results.iter().map(|said| show(&said.step, &said.output));
    let fatal = match &rendered.outcome.failure {
        Some(PipelineFailure::Fatal { step, result }) => Some(show(step, result)),
        _ => None,
    };
    said.chain(fatal).collect()
}
