//! Calls a function again with the resources and schemas it requires, until its requirements no longer change.
//!
//! What is required is copied only when a call has its turn and there is memory for it; calls that wait hold selectors.

use std::borrow::Cow;
use std::pin::Pin;

use composition::protocol::{
    Requirements, Resource, ResourceSelector, RunRequest, RunResponse, Schema, SchemaSelector,
};
use composition::{RunError, RunErrorClass, RunFuture};

/// How often a function is called again at most, as in Crossplane.
const MAX_ITERATIONS: usize = 5;

/// Finds what functions require: in a cluster, or in files.
pub trait Resolver: Send + Sync {
    /// Waits until the objects that match can be read; about how many bytes of text they are, if that is known.
    fn size<'a>(&'a self, _selector: &'a ResourceSelector) -> ResolveFuture<'a, usize> {
        Box::pin(std::future::ready(Ok(0)))
    }

    /// The objects that match, sorted by `namespace/name`.
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>>;

    /// The schema of a kind with every `$ref` inlined; an empty one if there is no such kind.
    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> ResolveFuture<'a, Schema>;
}

pub type ResolveFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ResolveError>> + Send + 'a>>;

/// Why something required could not be read. That it does not exist is not an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ResolveError(pub String);

/// Makes single calls of one function.
pub(crate) trait Caller: Sync {
    /// Calls with `request` and what is `given` to it.
    fn call<'a>(&'a self, request: &'a RunRequest, given: &'a Requirements) -> RunFuture<'a>;
}

/// Runs a function through `caller` until its requirements are stable.
///
/// What is `given` from the beginning stays. If the first response requires nothing else, it is final: the same request
/// would bring the same response.
pub(crate) async fn run_with_requirements(
    request: &RunRequest,
    given: &Requirements,
    caller: &dyn Caller,
) -> Result<RunResponse, RunError> {
    let mut next: Option<(RunRequest, Requirements)> = None;
    let mut stable = Requirements::default();
    for iteration in 0..=MAX_ITERATIONS {
        let (current, given_now) =
            next.as_ref().map_or((request, given), |(request, given)| (request, given));
        let response = caller.call(current, given_now).await?;
        if response.fatal().is_some() || response.requirements == stable {
            return Ok(response);
        }
        let wanted = given.and(&response.requirements);
        if iteration == 0 && wanted == *given {
            return Ok(response);
        }
        next = Some((RunRequest { context: response.context.clone(), ..request.clone() }, wanted));
        stable = response.requirements;
    }
    Err(RunError::new(
        RunErrorClass::Unsettled,
        format!("requirements didn't stabilize after the maximum number of iterations ({MAX_ITERATIONS})"),
    ))
}

/// Waits until all that is required can be read; about how many bytes of text it is.
pub(crate) async fn size(requirements: &Requirements, resolver: &dyn Resolver) -> Result<usize, RunError> {
    let mut bytes = 0;
    for (name, selector) in requirements.extra_resources.iter().chain(&requirements.resources) {
        bytes += resolver.size(selector).await.map_err(failed("resources", name))?;
    }
    Ok(bytes)
}

/// `request` with what is required.
pub(crate) async fn resolve<'a>(
    request: &'a RunRequest,
    requirements: &Requirements,
    resolver: &dyn Resolver,
) -> Result<Cow<'a, RunRequest>, RunError> {
    if requirements.is_empty() {
        return Ok(Cow::Borrowed(request));
    }
    let mut request = request.clone();
    for (name, selector) in &requirements.extra_resources {
        let found = resolver.resources(selector).await.map_err(failed("resources", name))?;
        request.extra_resources.insert(name.clone(), found);
    }
    for (name, selector) in &requirements.resources {
        let found = resolver.resources(selector).await.map_err(failed("resources", name))?;
        request.required_resources.insert(name.clone(), found);
    }
    for (name, selector) in &requirements.schemas {
        let found = resolver.schema(selector).await.map_err(failed("schema", name))?;
        request.required_schemas.insert(name.clone(), found);
    }
    Ok(Cow::Owned(request))
}

fn failed(what: &str, name: &str) -> impl Fn(ResolveError) -> RunError {
    move |error| RunError::new(RunErrorClass::Requirement, format!("fetching {what} for {name}: {error}"))
}

/// For functions that must not require anything: requirements are an error.
#[derive(Clone, Copy, Debug)]
pub struct NoResolver;

impl Resolver for NoResolver {
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> ResolveFuture<'a, Vec<Resource>> {
        Box::pin(async move { Err(no_cluster(&selector.api_version, &selector.kind)) })
    }

    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> ResolveFuture<'a, Schema> {
        Box::pin(async move { Err(no_cluster(&selector.api_version, &selector.kind)) })
    }
}

fn no_cluster(api_version: &str, kind: &str) -> ResolveError {
    ResolveError(format!("there is no cluster to read {kind} ({api_version}) from"))
}

#[cfg(test)]
mod tests;
