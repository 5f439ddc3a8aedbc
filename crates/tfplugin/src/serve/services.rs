//! go-plugin's own services, as far as Terraform uses them.

use futures::StreamExt;
use tokio_util::sync::CancellationToken;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, async_trait};

use crate::r#gen::plugin::grpc_controller_server::GrpcController;
use crate::r#gen::plugin::grpc_stdio_server::GrpcStdio;
use crate::r#gen::plugin::{Empty, StdioData};

/// Ends the process when Terraform is done with it.
pub(super) struct Controller(pub(super) CancellationToken);

#[async_trait]
impl GrpcController for Controller {
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.0.cancel();
        Ok(Response::new(Empty {}))
    }
}

/// Streams standard output and error. A provider writes nothing there, but Terraform expects the stream to stay open.
pub(super) struct Stdio(pub(super) CancellationToken);

#[async_trait]
impl GrpcStdio for Stdio {
    async fn stream_stdio(&self, _: Request<()>) -> Result<Response<BoxStream<StdioData>>, Status> {
        let open = futures::stream::pending().take_until(self.0.clone().cancelled_owned());
        Ok(Response::new(Box::pin(open)))
    }
}
