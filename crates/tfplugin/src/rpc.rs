//! Terraform's calls, answered by a [`Provider`]: generated messages on one side, the traits on the other.
//!
//! Calls for state stores and for the renewal of ephemeral resources are left to the generated stubs: they return
//! `UNIMPLEMENTED`, by which the protocol means that there are none.

mod action;
mod config;
mod ephemeral;
mod function;
mod list;
mod registry;
mod resource;
mod respond;
mod state;
mod stop;
mod wire;

use std::sync::{Arc, LazyLock};

use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, async_trait};

use crate::r#gen::tfplugin6 as proto;
use crate::provider::Provider;
use registry::Registry;
use respond::respond;
use stop::Stop;

/// Terraform's own limit, far above gRPC's default.
const MAX_MESSAGE: usize = 256 << 20;

/// Creates the provider when the first call needs it, so that nothing delays the handshake.
pub(crate) type Factory = Box<dyn FnOnce() -> Arc<dyn Provider> + Send>;

/// The service `tfplugin6.Provider`.
pub(crate) struct Server {
    registry: LazyLock<Registry, Box<dyn FnOnce() -> Registry + Send>>,
    stop: Stop,
}

impl Server {
    pub(crate) fn new(factory: Factory) -> Self {
        let build: Box<dyn FnOnce() -> Registry + Send> = Box::new(move || Registry::new(factory()));
        Self { registry: LazyLock::new(build), stop: Stop::default() }
    }

    pub(crate) fn into_service(self) -> proto::provider_server::ProviderServer<Self> {
        proto::provider_server::ProviderServer::new(self)
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE)
    }
}

/// Implements the service from a table: the method, its name in messages, and the work that gives its response.
macro_rules! provider_service {
    (
        |$server:ident, $request:ident|
        $($method:ident $name:literal => $work:expr;)*
        { $($others:tt)* }
    ) => {
        #[async_trait]
        impl proto::provider_server::Provider for Server {
            $(async fn $method(
                &self,
                request: Request<proto::$method::Request>,
            ) -> Result<Response<proto::$method::Response>, Status> {
                #[allow(unused_variables, reason = "some requests have no fields")]
                let ($server, $request) = (self, request.into_inner());
                respond($name, Default::default(), async move { $work }).await
            })*

            $($others)*
        }
    };
}

provider_service! {
    |server, request|
    get_metadata "GetMetadata" => Ok(server.registry.metadata());
    get_provider_schema "GetProviderSchema" => Ok(server.registry.schemas());
    get_resource_identity_schemas "GetResourceIdentitySchemas" => Ok(server.registry.identity_schemas());
    get_functions "GetFunctions" => Ok(proto::get_functions::Response {
        functions: server.registry.functions().collect(),
        diagnostics: Vec::new(),
    });
    validate_provider_config "ValidateProviderConfig" => config::validate_provider(&server.registry, &request);
    validate_resource_config "ValidateResourceConfig" => config::validate_resource(&server.registry, &request);
    validate_data_resource_config "ValidateDataResourceConfig" => config::validate_data(&server.registry, &request);
    validate_ephemeral_resource_config "ValidateEphemeralResourceConfig" =>
        config::validate_ephemeral(&server.registry, &request);
    validate_list_resource_config "ValidateListResourceConfig" => config::validate_list(&server.registry, &request);
    validate_action_config "ValidateActionConfig" => config::validate_action(&server.registry, &request);
    configure_provider "ConfigureProvider" =>
        config::configure(&server.registry, server.stop.restart(), request).await;
    upgrade_resource_state "UpgradeResourceState" => state::upgrade(&server.registry, request).await;
    upgrade_resource_identity "UpgradeResourceIdentity" => state::upgrade_identity(&server.registry, request);
    read_resource "ReadResource" =>
        server.stop.cancellable(|stop| resource::read(&server.registry, stop, request)).await;
    plan_resource_change "PlanResourceChange" =>
        server.stop.cancellable(|stop| resource::plan(&server.registry, stop, request)).await;
    import_resource_state "ImportResourceState" =>
        server.stop.cancellable(|stop| state::import(&server.registry, stop, request)).await;
    move_resource_state "MoveResourceState" =>
        state::move_state(&server.registry, server.stop.token(), request).await;
    read_data_source "ReadDataSource" =>
        server.stop.cancellable(|stop| resource::read_data(&server.registry, stop, request)).await;
    generate_resource_config "GenerateResourceConfig" =>
        server.stop.cancellable(|stop| resource::generate_config(&server.registry, stop, request)).await;
    open_ephemeral_resource "OpenEphemeralResource" =>
        server.stop.cancellable(|stop| ephemeral::open(&server.registry, stop, request)).await;
    close_ephemeral_resource "CloseEphemeralResource" => Ok(proto::close_ephemeral_resource::Response::default());
    plan_action "PlanAction" =>
        server.stop.cancellable(|stop| action::plan(&server.registry, stop, request)).await;
    {
        async fn apply_resource_change(
            &self,
            request: Request<proto::apply_resource_change::Request>,
        ) -> Result<Response<proto::apply_resource_change::Response>, Status> {
            let request = request.into_inner();
            // After a panic the prior state is the best guess, and a call that never began changed nothing. A response
            // without a state could lose the resource.
            let unchanged = proto::apply_resource_change::Response {
                new_state: request.prior_state.clone(),
                private: request.planned_private.clone(),
                ..Default::default()
            };
            let work = |stop| resource::apply(&self.registry, stop, request);
            respond("ApplyResourceChange", unchanged, self.stop.unless_stopped(work)).await
        }

        async fn call_function(
            &self,
            request: Request<proto::call_function::Request>,
        ) -> Result<Response<proto::call_function::Response>, Status> {
            Ok(Response::new(function::call(&self.registry, request.into_inner()).await))
        }

        async fn list_resource(
            &self,
            request: Request<proto::list_resource::Request>,
        ) -> Result<Response<BoxStream<proto::list_resource::Event>>, Status> {
            Ok(Response::new(list::list(&self.registry, self.stop.token(), &request.into_inner())))
        }

        async fn invoke_action(
            &self,
            request: Request<proto::invoke_action::Request>,
        ) -> Result<Response<BoxStream<proto::invoke_action::Event>>, Status> {
            Ok(Response::new(action::invoke(&self.registry, self.stop.token(), &request.into_inner())))
        }

        async fn stop_provider(
            &self,
            _: Request<proto::stop_provider::Request>,
        ) -> Result<Response<proto::stop_provider::Response>, Status> {
            self.stop.stop();
            Ok(Response::new(proto::stop_provider::Response::default()))
        }
    }
}

#[cfg(test)]
mod tests;
