//! Terraform's calls, answered by a [`Provider`]: generated messages on one side, the traits on the other.
//!
//! Calls that only a provider with functions, ephemeral resources, lists, actions or state stores would get are left to
//! the generated stubs: they answer `UNIMPLEMENTED`, which is how the protocol says that there are none.

mod answer;
mod config;
mod generate;
mod lifecycle;
mod registry;
mod state;
mod stop;
mod wire;

use std::sync::{Arc, LazyLock};

use tonic::{Request, Response, Status, async_trait};

use crate::r#gen::tfplugin6 as proto;
use crate::provider::Provider;
use answer::answer;
use registry::Registry;
use stop::Stop;

/// Terraform sends and takes messages of up to this size, far above gRPC's own limit.
const MAX_MESSAGE: usize = 256 << 20;

/// Makes the provider when the first call needs it, so that nothing delays the handshake.
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

    /// The service, with Terraform's limits.
    pub(crate) fn into_service(self) -> proto::provider_server::ProviderServer<Self> {
        proto::provider_server::ProviderServer::new(self)
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE)
    }
}

type Answer<T> = Result<Response<T>, Status>;

#[async_trait]
impl proto::provider_server::Provider for Server {
    async fn get_metadata(
        &self,
        _: Request<proto::get_metadata::Request>,
    ) -> Answer<proto::get_metadata::Response> {
        answer("GetMetadata", async { Ok(self.registry.metadata()) }).await
    }

    async fn get_provider_schema(
        &self,
        _: Request<proto::get_provider_schema::Request>,
    ) -> Answer<proto::get_provider_schema::Response> {
        answer("GetProviderSchema", async { Ok(self.registry.schemas()) }).await
    }

    async fn get_resource_identity_schemas(
        &self,
        _: Request<proto::get_resource_identity_schemas::Request>,
    ) -> Answer<proto::get_resource_identity_schemas::Response> {
        answer("GetResourceIdentitySchemas", async { Ok(self.registry.identity_schemas()) }).await
    }

    async fn validate_provider_config(
        &self,
        request: Request<proto::validate_provider_config::Request>,
    ) -> Answer<proto::validate_provider_config::Response> {
        answer("ValidateProviderConfig", async {
            config::validate_provider(&self.registry, request.get_ref())
        })
        .await
    }

    async fn validate_resource_config(
        &self,
        request: Request<proto::validate_resource_config::Request>,
    ) -> Answer<proto::validate_resource_config::Response> {
        answer("ValidateResourceConfig", async {
            config::validate_resource(&self.registry, request.get_ref())
        })
        .await
    }

    async fn validate_data_resource_config(
        &self,
        request: Request<proto::validate_data_resource_config::Request>,
    ) -> Answer<proto::validate_data_resource_config::Response> {
        answer("ValidateDataResourceConfig", async {
            config::validate_data(&self.registry, request.get_ref())
        })
        .await
    }

    async fn configure_provider(
        &self,
        request: Request<proto::configure_provider::Request>,
    ) -> Answer<proto::configure_provider::Response> {
        answer("ConfigureProvider", async {
            config::configure(&self.registry, self.stop.begin(), request.into_inner()).await
        })
        .await
    }

    async fn upgrade_resource_state(
        &self,
        request: Request<proto::upgrade_resource_state::Request>,
    ) -> Answer<proto::upgrade_resource_state::Response> {
        answer("UpgradeResourceState", async { state::upgrade(&self.registry, request.into_inner()).await })
            .await
    }

    async fn upgrade_resource_identity(
        &self,
        request: Request<proto::upgrade_resource_identity::Request>,
    ) -> Answer<proto::upgrade_resource_identity::Response> {
        answer("UpgradeResourceIdentity", async {
            state::upgrade_identity(&self.registry, request.into_inner())
        })
        .await
    }

    async fn read_resource(
        &self,
        request: Request<proto::read_resource::Request>,
    ) -> Answer<proto::read_resource::Response> {
        let work = |stop| lifecycle::read(&self.registry, stop, request.into_inner());
        answer("ReadResource", self.stop.or_give_up(work)).await
    }

    async fn plan_resource_change(
        &self,
        request: Request<proto::plan_resource_change::Request>,
    ) -> Answer<proto::plan_resource_change::Response> {
        let work = |stop| lifecycle::plan(&self.registry, stop, request.into_inner());
        answer("PlanResourceChange", self.stop.or_give_up(work)).await
    }

    async fn apply_resource_change(
        &self,
        request: Request<proto::apply_resource_change::Request>,
    ) -> Answer<proto::apply_resource_change::Response> {
        let request = request.into_inner();
        // After a panic the old state is the best guess, and what was not begun has changed nothing; an answer without a
        // state could lose a resource.
        let (prior, private) = (request.prior_state.clone(), request.planned_private.clone());
        let work = |stop| lifecycle::apply(&self.registry, stop, request);
        let answer = answer("ApplyResourceChange", self.stop.or_refuse(work)).await;
        answer.map(|response| {
            response.map(|mut answered| {
                if answered.new_state.is_none() {
                    answered.new_state = prior;
                    answered.private = private;
                }
                answered
            })
        })
    }

    async fn import_resource_state(
        &self,
        request: Request<proto::import_resource_state::Request>,
    ) -> Answer<proto::import_resource_state::Response> {
        let work = |stop| state::import(&self.registry, stop, request.into_inner());
        answer("ImportResourceState", self.stop.or_give_up(work)).await
    }

    async fn move_resource_state(
        &self,
        request: Request<proto::move_resource_state::Request>,
    ) -> Answer<proto::move_resource_state::Response> {
        answer("MoveResourceState", async {
            state::take_over(&self.registry, self.stop.token(), request.into_inner()).await
        })
        .await
    }

    async fn generate_resource_config(
        &self,
        request: Request<proto::generate_resource_config::Request>,
    ) -> Answer<proto::generate_resource_config::Response> {
        answer("GenerateResourceConfig", async { generate::config(&self.registry, request.get_ref()) }).await
    }

    async fn read_data_source(
        &self,
        request: Request<proto::read_data_source::Request>,
    ) -> Answer<proto::read_data_source::Response> {
        let work = |stop| lifecycle::read_data(&self.registry, stop, request.into_inner());
        answer("ReadDataSource", self.stop.or_give_up(work)).await
    }

    async fn get_functions(
        &self,
        _: Request<proto::get_functions::Request>,
    ) -> Answer<proto::get_functions::Response> {
        Ok(Response::new(proto::get_functions::Response::default()))
    }

    async fn stop_provider(
        &self,
        _: Request<proto::stop_provider::Request>,
    ) -> Answer<proto::stop_provider::Response> {
        self.stop.stop();
        Ok(Response::new(proto::stop_provider::Response::default()))
    }
}

#[cfg(test)]
mod tests;
