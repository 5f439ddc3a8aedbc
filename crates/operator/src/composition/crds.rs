//! The definitions of the engine's own kinds.

use diag::Source;
use manifest::Limits;
use serde_json::Value;

/// The files are the source, not Rust types: these kinds are Crossplane's, except the last.
const FILES: [&str; 8] = [
    include_str!("../../../../deploy/crds/compositeresourcedefinitions.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/compositions.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/compositionrevisions.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/functions.pkg.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/functionrevisions.pkg.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/deploymentruntimeconfigs.pkg.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/environmentconfigs.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/requests.plimsoll.dev.yaml"),
];

/// What certifies the authors of requests, and lets users write them.
const REQUESTS: &str = include_str!("../../../../deploy/requests.yaml");

/// The definitions of XRDs, Compositions, Functions, the revisions of both, how functions run, the values they share, and what users
/// ask.
pub fn definitions() -> Vec<Value> {
    FILES.iter().flat_map(|text| read("deploy/crds", text)).collect()
}

/// The admission policy of requests with its binding, and the role of their users.
pub(crate) fn policies() -> Vec<Value> {
    read("deploy/requests.yaml", REQUESTS)
}

fn read(name: &str, text: &str) -> Vec<Value> {
    let documents = manifest::read(&Source::new(name, text), &Limits::default()).all();
    let documents = documents.expect("a test reads every file");
    documents.into_iter().map(manifest::Document::into_value).filter(|value| !value.is_null()).collect()
}

#[cfg(test)]
mod tests;
