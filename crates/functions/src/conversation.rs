//! One conversation with a function: called again with what it asks for, until it asks for nothing new.

use std::fmt;
use std::pin::Pin;

use composition::run::{
    Requirements, Resource, ResourceSelector, RunRequest, RunResponse, Schema, SchemaSelector,
};
use composition::{FunctionRunner, RunError, RunErrorClass};

/// How often a function is called again at most, as in the reference.
const MAX_ITERATIONS: usize = 5;

/// Finds what functions ask for: in a cluster, or in files.
pub trait Resolver: Send + Sync {
    /// The objects that match, sorted by `namespace/name`; none if nothing does.
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> Resolving<'a, Vec<Resource>>;

    /// The schema of a kind with every `$ref` inlined, or an empty one if there is no such kind.
    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> Resolving<'a, Schema>;
}

/// A look-up under way.
pub type Resolving<'a, T> = Pin<Box<dyn Future<Output = Result<T, ResolveError>> + Send + 'a>>;

/// Why something that was asked for could not be read. That it does not exist is no error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ResolveError(pub String);

/// Calls a function through `caller`, which calls once each time, until its requirements are settled.
///
/// What the request already holds was given up front and stays. If the very first answer asks for exactly that, it is
/// final: a function is a function of its request, so the same request would bring the same answer.
pub(crate) async fn converse(
    function: &str,
    request: &RunRequest,
    resolver: &dyn Resolver,
    caller: &dyn FunctionRunner,
) -> Result<RunResponse, RunError> {
    let mut again = None;
    let mut settled = Requirements::default();
    for iteration in 0..=MAX_ITERATIONS {
        let current = again.as_ref().unwrap_or(request);
        let answer = caller.run(function, current).await?;
        if answer.fatal().is_some() || answer.requirements == settled {
            return Ok(answer);
        }
        let next = RunRequest { context: answer.context.clone(), ..request.clone() };
        let next = resolve(next, &answer.requirements, resolver).await?;
        let saw_it_all = current.required_resources == next.required_resources
            && current.extra_resources == next.extra_resources
            && current.required_schemas == next.required_schemas;
        if iteration == 0 && saw_it_all {
            return Ok(answer);
        }
        settled = answer.requirements;
        again = Some(next);
    }
    Err(RunError::new(
        RunErrorClass::Unsettled,
        format!("requirements didn't stabilize after the maximum number of iterations ({MAX_ITERATIONS})"),
    ))
}

/// Adds to what a request was given up front what is required now.
async fn resolve(
    mut request: RunRequest,
    requirements: &Requirements,
    resolver: &dyn Resolver,
) -> Result<RunRequest, RunError> {
    request.extra_resources.clear();
    for (name, selector) in &requirements.extra_resources {
        let found =
            resolver.resources(selector).await.map_err(|error| unreadable("resources", name, &error))?;
        request.extra_resources.insert(name.clone(), found);
    }
    for (name, selector) in &requirements.resources {
        let found =
            resolver.resources(selector).await.map_err(|error| unreadable("resources", name, &error))?;
        request.required_resources.insert(name.clone(), found);
    }
    for (name, selector) in &requirements.schemas {
        let found = resolver.schema(selector).await.map_err(|error| unreadable("schema", name, &error))?;
        request.required_schemas.insert(name.clone(), found);
    }
    Ok(request)
}

fn unreadable(what: &str, name: &str, error: &dyn fmt::Display) -> RunError {
    RunError::new(RunErrorClass::Requirement, format!("fetching {what} for {name}: {error}"))
}

/// For functions that may ask for nothing: whoever asks is told so.
#[derive(Clone, Copy, Debug)]
pub struct NoResolver;

impl Resolver for NoResolver {
    fn resources<'a>(&'a self, selector: &'a ResourceSelector) -> Resolving<'a, Vec<Resource>> {
        Box::pin(async move { Err(nothing_to_give(&selector.api_version, &selector.kind)) })
    }

    fn schema<'a>(&'a self, selector: &'a SchemaSelector) -> Resolving<'a, Schema> {
        Box::pin(async move { Err(nothing_to_give(&selector.api_version, &selector.kind)) })
    }
}

fn nothing_to_give(api_version: &str, kind: &str) -> ResolveError {
    ResolveError(format!("there is no cluster here to read {kind} ({api_version}) from"))
}

#[cfg(test)]
mod tests;
