//! The provider block, and everything that the provider has.

use std::sync::Arc;

use cluster::Environment;
use diag::Diagnostic;
use ownership::Verbosity;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::provider::{
    Action, BoxFuture, ConfigureRequest, DataSource, EphemeralResource, Function, ListResource, Resource,
};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object as Attributes, Value};

use crate::actions;
use crate::client_command::ClientCommand;
use crate::codes;
use crate::conflict_policy;
use crate::connection;
use crate::context::{Context, Settings};
use crate::data::{LiveObject, Objects, YAML_SCOPED, YAML_SPLIT};
use crate::ephemeral::{EphemeralObject, Token};
use crate::functions;
use crate::object::{ListedObjects, Object};
use crate::patch::Patch;
use crate::wait_resource::Wait;

pub struct Provider {
    context: Arc<Context>,
}

impl Provider {
    /// An unconfigured provider.
    pub fn in_environment(environment: Environment) -> Self {
        Self { context: Arc::new(Context::new(environment, ClientCommand::default)) }
    }
}

/// In the environment of this process, for the client that started it.
impl Default for Provider {
    fn default() -> Self {
        let context = Context::new(Environment::of_process(), ClientCommand::of_parent);
        Self { context: Arc::new(context) }
    }
}

impl tfplugin::provider::Provider for Provider {
    fn schema(&self) -> Schema {
        Schema::new()
            .description(
                "Manages Kubernetes objects by server-side apply. Plans show what the API server will do, which manager holds \
                 each field, and which changes of other managers would be overwritten.",
            )
            .attribute(connection::provider_attribute())
            .attribute(
                Attribute::optional("managed_fields_verbosity", Type::String)
                    .description(
                        "How much detail plans give when a field is taken from another manager: `full` (the default), \
                         `minimal` (one line per resource) or `none`.",
                    )
                    .validate(check_verbosity),
            )
            .attribute(conflict_policy::attribute("Resources can have their own."))
    }

    fn validate(&self, config: &Attributes) -> Diagnostics {
        connection::validate_provider(config.get("cluster"))
    }

    fn configure(&self, request: ConfigureRequest) -> BoxFuture<'_, Diagnostics> {
        Box::pin(async move {
            let config = request.config;
            let verbosity = config.text("managed_fields_verbosity").and_then(verbosity).unwrap_or_default();
            let policy = conflict_policy::read(&config).unwrap_or_default();
            let cluster = connection::read_provider(config.get("cluster"));
            self.context.configure(Settings { cluster, verbosity, policy });
            Diagnostics::new()
        })
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![
            Arc::new(Object(Arc::clone(&self.context))),
            Arc::new(Patch(Arc::clone(&self.context))),
            Arc::new(Wait(Arc::clone(&self.context))),
        ]
    }

    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        vec![
            Arc::new(LiveObject(Arc::clone(&self.context))),
            Arc::new(Objects(Arc::clone(&self.context))),
            Arc::new(YAML_SPLIT),
            Arc::new(YAML_SCOPED),
        ]
    }

    fn ephemeral_resources(&self) -> Vec<Arc<dyn EphemeralResource>> {
        vec![Arc::new(EphemeralObject(Arc::clone(&self.context))), Arc::new(Token(Arc::clone(&self.context)))]
    }

    fn functions(&self) -> Vec<Arc<dyn Function>> {
        functions::all()
    }

    fn list_resources(&self) -> Vec<Arc<dyn ListResource>> {
        vec![Arc::new(ListedObjects(Arc::clone(&self.context)))]
    }

    fn actions(&self) -> Vec<Arc<dyn Action>> {
        actions::all(&self.context)
    }
}

fn verbosity(text: &str) -> Option<Verbosity> {
    match text {
        "full" => Some(Verbosity::Full),
        "minimal" => Some(Verbosity::Minimal),
        "none" => Some(Verbosity::None),
        _ => None,
    }
}

fn check_verbosity(value: &Value, path: &Path) -> Diagnostics {
    match value.as_str() {
        Some(text) if verbosity(text).is_none() => {
            Diagnostic::error(codes::INVALID_VERBOSITY, "Invalid Attribute Value")
                .detail(format!("{path} is {text:?}."))
                .hint("Use \"full\", \"minimal\" or \"none\".")
                .into()
        }
        _ => Diagnostics::new(),
    }
}

#[cfg(test)]
mod tests;
