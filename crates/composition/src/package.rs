//! A Function that is installed as a package: its revisions, what runs for the active one, and what both report.
//!
//! ```text
//! Function ──▶ revisions ──▶ the active FunctionRevision ──▶ runtime ──▶ ServiceAccount, Service, Deployment
//!                                      │                                     │
//!                                      └──────────── health ◀────────────────┘
//! ```
//!
//! The image of a package is the image of its runtime too, so a function runs without its package being unpacked. What only
//! the package says is therefore unknown: its dependencies, its capabilities, the schema of its input.

pub mod health;
pub mod revisions;
pub mod runtime;

use crate::object;
use crate::protocol::Object;

/// The label on a FunctionRevision with the name of its Function.
pub const LABEL_PACKAGE: &str = "pkg.crossplane.io/package";
/// The annotation on a FunctionRevision whose runtime is ours, with the namespace it runs in. A revision without it has a
/// runtime of Crossplane's, or an endpoint that a user has written.
pub const ANNOTATION_RUNTIME_NAMESPACE: &str = "plimsoll.dev/runtime-namespace";

/// The namespace that our runtime of a revision is in, if it has one.
pub fn runtime_namespace(revision: &Object) -> Option<&str> {
    object::annotation(revision, ANNOTATION_RUNTIME_NAMESPACE)
}

/// The endpoint of a revision.
pub fn endpoint(revision: &Object) -> Option<&str> {
    object::text(revision, &["status", "endpoint"])
}

/// Whether a revision is the one to be called.
pub fn is_active(revision: &Object) -> bool {
    object::text(revision, &["spec", "desiredState"]) == Some("Active")
}

/// Whether `revision` is one of the Function called `name`.
pub fn is_of(revision: &Object, name: &str) -> bool {
    object::label(revision, LABEL_PACKAGE) == Some(name)
}
