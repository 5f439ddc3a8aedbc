//! The definitions of the engine's own kinds.

use diag::Source;
use manifest::Limits;
use serde_json::Value;

/// The files are the source, not Rust types: these kinds are Crossplane's.
const FILES: [&str; 7] = [
    include_str!("../../../../deploy/crds/compositeresourcedefinitions.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/compositions.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/compositionrevisions.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/functions.pkg.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/functionrevisions.pkg.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/deploymentruntimeconfigs.pkg.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/environmentconfigs.apiextensions.crossplane.io.yaml"),
];

/// The definitions of XRDs, Compositions, Functions, the revisions of both, how functions run, and the values they share.
pub fn definitions() -> Vec<Value> {
    let read = |text: &&str| {
        let document = manifest::read(&Source::new("deploy/crds", *text), &Limits::default()).single();
        document.expect("a test reads every file").value().clone()
    };
    FILES.iter().map(read).collect()
}

#[cfg(test)]
mod tests;
