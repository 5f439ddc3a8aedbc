//! Serves fn v1beta1 with a v1 service: only the service name differs, the messages are the same.

use std::convert::Infallible;
use std::task::{Context, Poll};

use http::uri::PathAndQuery;
use http::{Request, Response};
use tonic::body::Body;
use tonic::server::NamedService;
use tower::Service;

#[derive(Clone)]
pub(super) struct Beta<S>(pub(super) S);

impl<S> NamedService for Beta<S> {
    const NAME: &'static str = "apiextensions.fn.proto.v1beta1.FunctionRunnerService";
}

impl<S> Service<Request<Body>> for Beta<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> S::Future {
        let mut parts = request.uri().clone().into_parts();
        let path = request.uri().path().replacen(".v1beta1.", ".v1.", 1);
        parts.path_and_query = PathAndQuery::try_from(path).ok();
        if let Ok(uri) = http::Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
        self.0.call(request)
    }
}
