//! Turns whatever goes wrong in a call, including a panic, into a response with diagnostics.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use diag::Diagnostic;
use futures::FutureExt;
use tonic::{Response, Status};

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::r#gen::tfplugin6 as proto;
use crate::panics;

pub(super) trait WithDiagnostics {
    fn diagnostics(&mut self) -> &mut Vec<proto::Diagnostic>;
}

/// Waits for the response to a call; if it fails, the response is `fallback` with diagnostics.
pub(super) async fn respond<R: WithDiagnostics>(
    call: &'static str,
    mut fallback: R,
    work: impl Future<Output = Result<R, Diagnostics>>,
) -> Result<Response<R>, Status> {
    let response = catch_panic(call, work).await.unwrap_or_else(Err);
    Ok(Response::new(response.unwrap_or_else(|diagnostics| {
        *fallback.diagnostics() = diagnostics.into_proto();
        fallback
    })))
}

/// Waits for `work`; a panic is an error.
pub(super) async fn catch_panic<T>(call: &str, work: impl Future<Output = T>) -> Result<T, Diagnostics> {
    match panics::with_location(AssertUnwindSafe(work).catch_unwind()).await {
        (Ok(done), _) => Ok(done),
        (Err(panic), location) => Err(panicked(call, panic.as_ref(), location).into()),
    }
}

fn panicked(call: &str, panic: &(dyn Any + Send), location: Option<String>) -> Diagnostic {
    let message = panics::message(panic);
    let location = location.map_or_else(String::new, |location| format!(" at {location}"));
    Diagnostic::error(codes::PROVIDER_PANIC, "The provider panicked")
        .detail(format!("{call} panicked{location}:\n{message}"))
        .hint("This is a bug in the provider; report it with this text. Other resources are not affected.")
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
    get_metadata get_provider_schema get_resource_identity_schemas get_functions validate_provider_config validate_resource_config
    validate_data_resource_config configure_provider upgrade_resource_state upgrade_resource_identity read_resource
    plan_resource_change apply_resource_change import_resource_state move_resource_state
    read_data_source generate_resource_config validate_ephemeral_resource_config open_ephemeral_resource
    close_ephemeral_resource validate_list_resource_config validate_action_config plan_action
}
