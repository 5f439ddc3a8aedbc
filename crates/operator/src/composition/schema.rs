//! The schema of a kind as the API server publishes it, with references inlined.

use composition::openapi;
use composition::protocol::{Object, Schema, SchemaSelector};
use diag::error_chain;
use functions::ResolveError;

/// The schema of the kind in `selector`; an empty one if there is no such kind.
pub(super) async fn of(
    session: &cluster::Session,
    selector: &SchemaSelector,
) -> Result<Schema, ResolveError> {
    let root = if selector.api_version.contains('/') { "apis" } else { "api" };
    let path = format!("/openapi/v3/{root}/{}", selector.api_version);
    let request =
        http::Request::get(path).body(Vec::new()).map_err(|error| ResolveError(error_chain(&error)))?;
    match session.client().request::<Object>(request).await {
        Ok(document) => Ok(Schema { openapi_v3: openapi::schema(&document, selector) }),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Schema::default()),
        Err(error) => Err(ResolveError(error_chain(&error))),
    }
}
