//! What people wrote: YAML and JSON documents, with the place of every part, read as Kubernetes' Go tools read them.
//!
//! ```text
//! bytes ─ decode ─▶ Source ─ split ─▶ part ─ tree ─▶ nodes with spans ─ compose ─▶ Document (value + spans)
//!                                                     (granit-parser)      (scalar)
//! ```
//!
//! A document is a [`serde_json::Value`] plus a table of spans, so that every later finding can point at the line
//! it is about. What is wrong with a text is said as [`diag::Diagnostic`]s, per document: a broken one does not hide
//! the others.
//!
//! ```
//! use diag::Source;
//! use manifest::{Limits, Step};
//!
//! let source = Source::new("web.yaml", "kind: Deployment\nspec:\n  replicas: 0x10\n");
//! let document = manifest::read(&source, &Limits::default()).single().unwrap();
//! assert_eq!(document.value()["spec"]["replicas"], 16);
//! let span = document.value_span(&[Step::Key("spec"), Step::Key("replicas")]).unwrap();
//! assert_eq!(&source.text()[span.start..span.end], "0x10");
//! ```

pub mod body;
mod built_in;
pub mod codes;
mod compose;
mod decode;
mod display;
mod document;
mod duration;
#[doc(hidden)]
pub mod fuzz;
mod json;
pub mod json_object;
mod limits;
mod nesting;
mod number;
mod object;
mod problem;
mod reference;
mod scalar;
mod scope;
pub mod secret;
pub mod server_metadata;
mod spans;
mod split;
mod stream;
mod tree;
mod unindented;
mod yaml;

pub use built_in::{is_built_in_group, is_in_every_namespace};
pub use codes::CODES;
pub use decode::decode;
pub use display::display;
pub use document::Document;
pub use duration::{DurationError, GoDuration};
pub use json::{to_json, to_json_pretty, write_jsoniter, write_jsoniter_name};
pub use limits::Limits;
pub use nesting::{JsonError, from_json, json_depth};
pub use number::{display_float, display_number, json_float, json_number};
pub use object::{Name, Object, objects};
pub use reference::{
    ApiVersion, ApiVersionError, GroupVersionKind, IdentityError, KindError, Namespace, ObjectRef,
};
pub use scope::is_known_cluster_scoped;
pub use spans::Step;
pub use stream::{Broken, Stream, read, read_each};
pub use yaml::to_yaml;
