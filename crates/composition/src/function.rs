//! How a function is found: by a flag, by an annotation, as an installed package, or built in.

use std::collections::BTreeMap;

use diag::Diagnostic;
use jiff::Timestamp;
use regex::Regex;
use serde::Deserialize;

use crate::composition::Composition;
use crate::condition::Condition;
use crate::package::{self, LABEL_PACKAGE, is_active};
use crate::protocol::{ConditionStatus, Object};
use crate::runner::{RunError, RunErrorClass};
use crate::{codes, object, read};

/// The annotation on a Function with the endpoint it is served at.
pub const ANNOTATION_ENDPOINT: &str = "plimsoll.dev/endpoint";
/// The functions this engine brings along.
pub const BUILT_IN: [&str; 2] = ["function-auto-ready", "function-status-transformer"];
/// How Crossplane names `function-auto-ready` when it installs it as a dependency of another package.
pub(crate) const AUTO_READY_AS_DEPENDENCY: &str = "crossplane-contrib-function-auto-ready";

/// The condition of a revision that says whether its functions can run.
pub const VALID_PIPELINE: &str = "ValidPipeline";

const ANNOTATION_RUNTIME: &str = "render.crossplane.io/runtime";
const ANNOTATION_DEVELOPMENT_TARGET: &str = "render.crossplane.io/runtime-development-target";

/// A Function as people install it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, by which Compositions refer to it.
    pub name: String,
    /// The package it comes from.
    pub package: String,
    /// Where it is served, by our annotation.
    pub endpoint: Option<String>,
    /// Where `render` finds it: at an endpoint if its annotations say that it is being developed.
    pub development: Option<String>,
}

impl Function {
    /// Reads a Function of version v1 or v1beta1.
    pub fn read(object: &Object) -> Result<Self, Box<Diagnostic>> {
        #[derive(Deserialize)]
        struct Spec {
            #[serde(default)]
            package: String,
        }

        let api_versions = ["pkg.crossplane.io/v1", "pkg.crossplane.io/v1beta1"];
        let Spec { package } = read::spec(object, "Function", &api_versions)?;
        let name = object::name(object).unwrap_or_default().to_owned();
        let annotation = |key| object::annotation(object, key).map(str::to_owned);
        let development = (annotation(ANNOTATION_RUNTIME).as_deref() == Some("Development")).then(|| {
            annotation(ANNOTATION_DEVELOPMENT_TARGET).unwrap_or_else(|| "localhost:9443".to_owned())
        });
        // A function that is being developed runs without its package.
        if development.is_none() && !is_qualified(&package) {
            let summary = format!("{package:?} is not a fully qualified package");
            let hint =
                "Write registry, repository and tag or digest, such as xpkg.crossplane.io/org/name:v1.0.0.";
            let diagnostic =
                Diagnostic::error(codes::FUNCTION_PACKAGE, summary).object(format!("Function {name}"));
            return Err(Box::new(diagnostic.field("spec.package").hint(hint)));
        }
        Ok(Self { name, package, endpoint: annotation(ANNOTATION_ENDPOINT), development })
    }
}

/// Whether a package is named as the CRD demands: `domain.tld/path:tag`, with a digest beside or instead of the tag.
fn is_qualified(package: &str) -> bool {
    let pattern = r"^[^./]+(\.[^./]+)+(/[^/:@]+)+(:[^:@]+(@sha256.+)?|@sha256.+)$";
    Regex::new(pattern).expect("the pattern is valid").is_match(package)
}

/// Where a function runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// At an endpoint, such as `dns:///svc.ns:9443`, `host:port` or `unix:/path`.
    Endpoint(String),
    /// In this process.
    BuiltIn,
}

/// Finds the function called `name`, in order: the flags, a Function with an endpoint annotation, an active FunctionRevision
/// with an endpoint, a Function whose package is being installed, the built-ins.
pub fn find(
    name: &str,
    flags: &BTreeMap<String, String>,
    revisions: &[Object],
    functions: &[Object],
) -> Result<Location, RunError> {
    if let Some(endpoint) = flags.get(name) {
        return Ok(Location::Endpoint(endpoint.clone()));
    }
    let function = functions.iter().find(|function| object::name(function) == Some(name));
    if let Some(endpoint) = function.and_then(|function| object::annotation(function, ANNOTATION_ENDPOINT)) {
        return Ok(Location::Endpoint(endpoint.to_owned()));
    }
    let mut active =
        revisions.iter().filter(|revision| package::is_of(revision, name) && is_active(revision));
    if let Some(endpoint) = active.find_map(package::endpoint) {
        return Ok(Location::Endpoint(endpoint.to_owned()));
    }
    if function.is_some() {
        return Err(not_installed(name));
    }
    if is_built_in(name) {
        return Ok(Location::BuiltIn);
    }
    Err(not_found(name))
}

/// Whether this engine brings the function along.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name) || name == AUTO_READY_AS_DEPENDENCY
}

fn not_found(name: &str) -> RunError {
    let message = format!(
        "FunctionNotFound: no function {name:?} is known. Create a Function {name:?} with its package, start the operator \
         with --function {name}=ENDPOINT, or use a built-in function ({})",
        BUILT_IN.join(", ")
    );
    RunError::new(RunErrorClass::FunctionNotFound, message)
}

fn not_installed(name: &str) -> RunError {
    let message = format!(
        "FunctionNotFound: Function {name:?} has no active revision with an endpoint. Its conditions Installed and Healthy say why"
    );
    RunError::new(RunErrorClass::FunctionNotFound, message)
}

/// `ValidPipeline` of a revision: every function that is installed as a package can run in compositions.
///
/// Functions found in another way are not checked. A package without capabilities was built before they existed, and
/// can run in compositions.
pub fn valid_pipeline(revision: &Composition, function_revisions: &[Object], now: Timestamp) -> Condition {
    let runs = |function: &str| revision.spec.pipeline.iter().any(|step| step.function_ref.name == function);
    for installed in function_revisions.iter().filter(|installed| is_active(installed)) {
        let Some(package) = object::label(installed, LABEL_PACKAGE).filter(|package| runs(package)) else {
            continue;
        };
        if !can_compose(installed) {
            let name = object::name(installed).unwrap_or_default();
            return Condition::new(VALID_PIPELINE, ConditionStatus::False, "MissingCapabilities", now).message(format!(
                "function {package:?} (active revision {name:?}) is missing required capabilities: composition"
            ));
        }
    }
    Condition::new(VALID_PIPELINE, ConditionStatus::True, "ValidPipeline", now)
}

fn can_compose(revision: &Object) -> bool {
    let capabilities = object::texts(revision, &["status", "capabilities"]);
    capabilities.is_empty() || capabilities.iter().any(|one| one.eq_ignore_ascii_case("composition"))
}

#[cfg(test)]
mod tests;
