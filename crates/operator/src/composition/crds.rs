//! The kinds of the engine itself, as an API server is to have them.

use diag::Source;
use manifest::Limits;
use serde_json::Value;

/// The files people install the kinds from. They are the source: the kinds are the reference's, and not ours to derive.
const FILES: [&str; 5] = [
    include_str!("../../../../deploy/crds/compositeresourcedefinitions.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/compositions.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/compositionrevisions.apiextensions.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/functions.pkg.crossplane.io.yaml"),
    include_str!("../../../../deploy/crds/functionrevisions.pkg.crossplane.io.yaml"),
];

/// The definitions of XRDs, Compositions, Functions, and the revisions of both.
pub fn definitions() -> Vec<Value> {
    let read = |text: &&str| {
        let document = manifest::read(&Source::new("deploy/crds", *text), &Limits::default()).single();
        document.expect("a test reads every file").value().clone()
    };
    FILES.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

    use super::*;

    #[test]
    fn every_definition_is_one_and_loses_nothing_as_one() {
        for written in definitions() {
            let read: CustomResourceDefinition = serde_json::from_value(written.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), written, "{:?}", read.metadata.name);
        }
    }
}
