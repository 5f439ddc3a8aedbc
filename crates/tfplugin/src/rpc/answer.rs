//! Answers that always come: what goes wrong in a call, a panic included, is told as a diagnostic.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use diag::Diagnostic;
use futures::FutureExt;
use tonic::{Response, Status};

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::panics;

/// An answer that can carry diagnostics.
pub(super) trait WithDiagnostics: Default {
    fn diagnostics(&mut self) -> &mut Vec<proto::Diagnostic>;
}

/// Waits for the answer to a call; one that fails is an answer with nothing but diagnostics.
pub(super) async fn answer<R: WithDiagnostics>(
    call: &'static str,
    work: impl Future<Output = Result<R, Diagnostics>>,
) -> Result<Response<R>, Status> {
    let caught = panics::observed(AssertUnwindSafe(work).catch_unwind()).await;
    let answered = match caught {
        (Ok(answered), _) => answered,
        (Err(panic), place) => Err(panicked(call, panic.as_ref(), place).into()),
    };
    Ok(Response::new(answered.unwrap_or_else(|diagnostics| {
        let mut failed = R::default();
        *failed.diagnostics() = diagnostics.into_proto();
        failed
    })))
}

fn panicked(call: &str, panic: &(dyn Any + Send), place: Option<String>) -> Diagnostic {
    let message = panics::message(panic);
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    Diagnostic::error(codes::PROVIDER_PANIC, "The provider met an unexpected error")
        .detail(format!("{call} panicked{place}:\n{message}"))
        .hint("This is a bug in the provider; please report it with this text. Other resources are not affected.")
}

macro_rules! with_diagnostics {
    ($($message:ident)*) => {
        $(impl WithDiagnostics for proto::$message::Response {
            fn diagnostics(&mut self) -> &mut Vec<proto::Diagnostic> {
                &mut self.diagnostics
            }
        })*
    };
}

with_diagnostics! {
    get_metadata get_provider_schema get_resource_identity_schemas validate_provider_config validate_resource_config
    validate_data_resource_config configure_provider upgrade_resource_state upgrade_resource_identity read_resource
    plan_resource_change apply_resource_change import_resource_state move_resource_state generate_resource_config
    read_data_source
}
