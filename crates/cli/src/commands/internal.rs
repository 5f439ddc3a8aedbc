//! `plimsoll internal render`: renders for Crossplane's CLI, with protobuf messages instead of files and text.

use std::io::{self, Read as _};

use composition::composition::Composition;
use composition::event::{Event, Recipient};
use composition::function::Function;
use composition::pipeline::Failure as PipelineFailure;
use composition::protocol::Object;
use diag::Diagnostic;
use functions::render::{BadRequest, Request, Response};
use manifest::GroupVersionKind;

use super::render::inputs::{self, Inputs, together};
use super::render::reconcile::{Rendered, reconcile};
use crate::args::internal::{Engine, Internal};
use crate::codes;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;

/// The exit status if a function stopped the pipeline. The response is still written, so that the caller can see what
/// functions required, and retry with it.
const FATAL: u8 = 3;

pub(super) fn run(command: &Internal, printer: &mut Printer) -> Outcome {
    let Internal::Render(Engine { timeout }) = command;
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
        Diagnostic::error(codes::RENDER_INPUT, format!("cannot read standard input: {error}"))
    })?;
    let request = Request::read(&bytes).map_err(|error| unreadable(&error))?;
    let inputs = Inputs::of(request)?;
    for warning in &inputs.warnings {
        printer.diagnostic(warning);
    }
    until_interrupted(async {
        let rendered = reconcile(&inputs, *timeout).await?;
        let exit = match (&rendered.failure, &rendered.outcome.failure) {
            (None, _) => Exit::Success,
            (Some(failure), Some(PipelineFailure::Fatal { .. })) => {
                printer.diagnostic(failure);
                Exit::Passed(FATAL)
            }
            (Some(failure), _) => return Err(failure.clone().into()),
        };
        printer.bytes(&response(&rendered))?;
        Ok(exit)
    })
}

fn unreadable(error: &BadRequest) -> Diagnostic {
    let diagnostic = Diagnostic::error(codes::RENDER_INPUT, "standard input is not a valid RenderRequest");
    let cause = match error {
        BadRequest::Malformed(cause) => format!("Cause: {error} ({cause})."),
        _ => format!("Cause: {error}."),
    };
    diagnostic.detail(cause).hint("To render from files, use `plimsoll render XR COMPOSITION FUNCTIONS`.")
}

/// Without a claim, messages to the claim are dropped.
fn response(rendered: &Rendered) -> Vec<u8> {
    let is_on_composite = |event: &&Event| event.on == Recipient::Composite;
    let events: Vec<Event> = rendered.events.iter().filter(is_on_composite).cloned().collect();
    Response {
        composite: &rendered.composite,
        composed: &rendered.composed,
        deleted: &rendered.deleted,
        events: &events,
        resources: &rendered.requirements.resources,
        schemas: &rendered.requirements.schemas,
    }
    .write()
}

impl Inputs {
    /// The inputs in a request.
    fn of(request: Request) -> Result<Self, Failure> {
        if GroupVersionKind::of(&request.composite).is_err() {
            let title = "the composite resource has no apiVersion and kind";
            return Err(Diagnostic::error(codes::RENDER_INPUT, title)
                .hint("Set `composite_resource` to a whole object.")
                .into());
        }
        let composition =
            Composition::read(&request.composition).map_err(|found| together(found, "the Composition"))?;
        let (definition, warnings) =
            inputs::definition(request.definition.as_ref(), "the CompositeResourceDefinition")?;
        let served = |(name, address): (String, String)| Function {
            name,
            package: String::new(),
            endpoint: None,
            development: Some(address),
        };
        Ok(Self {
            xr: request.composite,
            composition,
            definition,
            functions: request.functions.into_iter().map(served).collect(),
            observed: request.observed,
            required: request.required,
            schemas: request.schemas,
            credentials: request.credentials.iter().map(inputs::secret).collect(),
            context: Object::new(),
            warnings,
        })
    }
}
