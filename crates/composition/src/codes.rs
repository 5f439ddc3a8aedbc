//! The stable names of what this crate finds wrong with what people wrote.

use diag::Code;

pub(crate) const UNREADABLE: Code = Code::new(
    "composition-unreadable",
    "An XRD, Composition or Function has a field of the wrong type, or lacks one it must have.",
);
pub(crate) const WRONG_KIND: Code = Code::new(
    "composition-wrong-kind",
    "Another kind of object was expected, such as a Composition. The order of arguments may be wrong.",
);
pub(crate) const DEFINITION_NAME: Code = Code::new(
    "definition-name",
    "An XRD is named <plural>.<group> after the names it defines, as a CustomResourceDefinition is.",
);
pub(crate) const DEFINITION_NAMES: Code = Code::new(
    "definition-names",
    "The plural and singular names of an XRD are lower case, and those of its claim differ from those of its XR.",
);
pub(crate) const DEFINITION_SCOPE: Code = Code::new(
    "definition-scope",
    "Claims and connection secrets exist only for XRDs of scope LegacyCluster, which only apiVersion v1 allows.",
);
pub(crate) const DEFINITION_VERSIONS: Code = Code::new(
    "definition-versions",
    "An XRD has versions with distinct names, of which exactly one is referenceable: the one that is stored.",
);
pub(crate) const DEFINITION_SCHEMA: Code =
    Code::new("definition-schema", "Every version of an XRD has a schema at schema.openAPIV3Schema.");
pub(crate) const DEFINITION_SCHEMA_DROPPED: Code = Code::new(
    "definition-schema-dropped",
    "Of an XRD's schema only some keywords reach the CustomResourceDefinition; the others have no effect.",
);
pub(crate) const DEFINITION_CONVERSION: Code = Code::new(
    "definition-conversion",
    "Versions are converted by a webhook: strategy Webhook, with a webhook, or no conversion at all.",
);
pub(crate) const COMPOSITION_MODE: Code = Code::new(
    "composition-mode",
    "Compositions are pipelines of functions; the older mode Resources is gone.",
);
pub(crate) const COMPOSITION_PIPELINE: Code = Code::new(
    "composition-pipeline",
    "A Composition has between 1 and 99 steps, each with a name of its own and a function.",
);
pub(crate) const COMPOSITION_CREDENTIALS: Code = Code::new(
    "composition-credentials",
    "Credentials of a step have distinct names and come from a Secret, named by namespace and name.",
);
pub(crate) const COMPOSITION_REQUIREMENT: Code = Code::new(
    "composition-requirement",
    "What a step requires has a distinct name, and is picked by name or by labels but not by both.",
);

pub(crate) const FUNCTION_PACKAGE: Code = Code::new(
    "function-package",
    "The package of a Function is named with registry, repository and tag or digest.",
);

/// Every code of this crate, for the book's reference.
pub const CODES: &[Code] = &[
    UNREADABLE,
    WRONG_KIND,
    DEFINITION_NAME,
    DEFINITION_NAMES,
    DEFINITION_SCOPE,
    DEFINITION_VERSIONS,
    DEFINITION_SCHEMA,
    DEFINITION_SCHEMA_DROPPED,
    DEFINITION_CONVERSION,
    COMPOSITION_MODE,
    COMPOSITION_PIPELINE,
    COMPOSITION_CREDENTIALS,
    COMPOSITION_REQUIREMENT,
    FUNCTION_PACKAGE,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_distinct_and_explained() {
        let names: BTreeSet<_> = CODES.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), CODES.len());
        assert!(CODES.iter().all(|code| code.about().ends_with('.')));
    }
}
