//! Calls a function again with the resources and schemas it requires, until its requirements no longer change.

use std::pin::Pin;

use composition::protocol::{
    Requirements, Resource, ResourceSelector, RunRequest, RunResponse, Schema, SchemaSelector,
};
use composition::{FunctionRunner, RunError, RunErrorClass};

/// How often a function is called again at most, as in Crossplane.
const MAX_ITERATIONS: usize = 5;

/// Finds what functions require: in a cluster, or in files.
pub trait Resolver: Send + Sync {
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

/// Runs a function through `caller`, which makes single calls, until its requirements are stable.
///
/// What the request already holds stays. If the first response requires exactly that, it is final: the same request would
/// bring the same response.
pub(crate) async fn run_with_requirements(
    function: &str,
    request: &RunRequest,
    resolver: &dyn Resolver,
    caller: &dyn FunctionRunner,
) -> Result<RunResponse, RunError> {
    let mut next = None;
    let mut stable = Requirements::default();
    for iteration in 0..=MAX_ITERATIONS {
        let current = next.as_ref().unwrap_or(request);
        let response = caller.run(function, current).await?;
        if response.fatal().is_some() || response.requirements == stable {
            return Ok(response);
        }
        let resolved = RunRequest { context: response.context.clone(), ..request.clone() };
        let resolved = resolve(resolved, &response.requirements, resolver).await?;
        let had_everything = current.required_resources == resolved.required_resources
            && current.extra_resources == resolved.extra_resources
            && current.required_schemas == resolved.required_schemas;
        if iteration == 0 && had_everything {
            return Ok(response);
        }
        stable = response.requirements;
        next = Some(resolved);
    }
    Err(RunError::new(
        RunErrorClass::Unsettled,
        format!("requirements didn't stabilize after the maximum number of iterations ({MAX_ITERATIONS})"),
    ))
}

/// Adds what is required to what the request already holds.
async fn resolve(
    mut request: RunRequest,
    requirements: &Requirements,
    resolver: &dyn Resolver,
) -> Result<RunRequest, RunError> {
    request.extra_resources.clear();
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
    Ok(request)
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
