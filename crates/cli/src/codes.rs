//! The codes of what the commands report beside the findings of other crates.

use diag::Code;

pub(crate) const ENVIRONMENT: Code = Code::new(
    "environment",
    "The environment of the process lacks something plimsoll needs, such as a home folder or its own executable.",
);
pub(crate) const FORMAT_UNSUPPORTED: Code =
    Code::new("format-unsupported", "The command has no data that could be written in the format asked for.");
pub(crate) const EXEC_NO_COMMAND: Code =
    Code::new("exec-no-command", "The command given to `sandbox exec` cannot be run.");
pub(crate) const FUNCTION_NOT_SERVED: Code = Code::new(
    "function-not-served",
    "A composition function cannot be served: its address cannot be listened on, or its certificates cannot be used.",
);
pub(crate) const DEMO_UNTRUE: Code = Code::new(
    "demo-untrue",
    "The demo was about to say something that is not so. It stops instead; the message says what it saw.",
);

pub(crate) const KIND_UNKNOWN: Code = Code::new(
    "kind-unknown",
    "No kind of the cluster goes by this name: neither as a plural, singular or short name nor as a kind.",
);
pub(crate) const OBJECT_MISSING: Code =
    Code::new("object-missing", "There is no object of this kind and name where it was looked for.");
pub(crate) const OBJECT_GOING: Code =
    Code::new("object-going", "The object is being deleted, so that what is applied to it will not stay.");
pub(crate) const OBJECT_AMBIGUOUS: Code = Code::new(
    "object-ambiguous",
    "Objects of this kind and name are in several namespaces; say which is meant.",
);
pub(crate) const FIELD_UNKNOWN: Code =
    Code::new("field-unknown", "The path does not lead to a field of the object, or cannot be read.");
pub(crate) const MANAGER_UNKNOWN: Code =
    Code::new("manager-unknown", "No manager of this name holds a field of the object.");
pub(crate) const OWNERSHIP_UNREADABLE: Code = Code::new(
    "ownership-unreadable",
    "The managedFields of an object are not what the API defines, so that nothing can be said about its managers.",
);
pub(crate) const FILE_UNREADABLE: Code =
    Code::new("file-unreadable", "A file or folder with manifests cannot be read, or has none in it.");
pub(crate) const NAME_GENERATED: Code = Code::new(
    "name-generated",
    "An object with metadata.generateName is a new one each time, so that it cannot be planned or applied.",
);
pub(crate) const OBJECT_TWICE: Code =
    Code::new("object-twice", "Two documents are about the same object, and which one wins would be chance.");
pub(crate) const NAMESPACE_OTHER: Code = Code::new(
    "namespace-other",
    "An object names another namespace than the one that was typed, and would not go where it was sent.",
);
pub(crate) const KUSTOMIZE_MISSING: Code = Code::new(
    "kustomize-missing",
    "A kustomization is to be built, and no program on this machine can do it.",
);
pub(crate) const KUSTOMIZE_FAILED: Code = Code::new(
    "kustomize-failed",
    "The program that builds a kustomization refuses; what it says is in the message.",
);
pub(crate) const NOTHING_APPLIED: Code = Code::new(
    "nothing-applied",
    "Some of the documents are broken, and half of what was written may be worse than nothing of it.",
);
pub(crate) const INTERRUPTED: Code =
    Code::new("interrupted", "Somebody pressed Ctrl-C, and not everything that was to be done is done.");
pub(crate) const REPORT_UNWRITABLE: Code =
    Code::new("report-unwritable", "The file that a report was to be written to cannot be written.");
pub(crate) const RENDER_INPUT: Code = Code::new(
    "render-input",
    "What a composite resource is to be rendered from is missing, is something else, or does not fit together.",
);
pub(crate) const RENDER_FUNCTION: Code = Code::new(
    "render-function",
    "A function that renders a composite resource stopped the pipeline, or gave no answer.",
);

pub(crate) const OPTION_UNUSABLE: Code = Code::new(
    "option-unusable",
    "What an option says, or the file it names, cannot be used; the message says why.",
);
pub(crate) const SERVER_NOT_STARTED: Code =
    Code::new("server-not-started", "The server for development cannot listen, or cannot use its files.");
pub(crate) const CERTS_FAILED: Code = Code::new(
    "certs-failed",
    "Certificates for an operator and its functions cannot be made in this folder.",
);

/// Every code of this crate.
pub(crate) const CODES: &[Code] = &[
    ENVIRONMENT,
    FORMAT_UNSUPPORTED,
    EXEC_NO_COMMAND,
    FUNCTION_NOT_SERVED,
    DEMO_UNTRUE,
    KIND_UNKNOWN,
    OBJECT_MISSING,
    OBJECT_GOING,
    OBJECT_AMBIGUOUS,
    FIELD_UNKNOWN,
    MANAGER_UNKNOWN,
    OWNERSHIP_UNREADABLE,
    FILE_UNREADABLE,
    NAME_GENERATED,
    OBJECT_TWICE,
    NAMESPACE_OTHER,
    KUSTOMIZE_MISSING,
    KUSTOMIZE_FAILED,
    NOTHING_APPLIED,
    INTERRUPTED,
    REPORT_UNWRITABLE,
    RENDER_INPUT,
    RENDER_FUNCTION,
    OPTION_UNUSABLE,
    SERVER_NOT_STARTED,
    CERTS_FAILED,
];
