//! The objects in the manifests of `examples/demo`.

use diag::{Diagnostic, Source};
use manifest::{Limits, ObjectRef};
use serde_json::Value;

use crate::support::exit::Failure;

/// The objects in `text`, in their order.
pub(super) fn objects(name: &str, text: &str) -> Result<Vec<(ObjectRef, Value)>, Failure> {
    let source = Source::new(name, text);
    let documents = manifest::read(&source, &Limits::default()).all().map_err(first)?;
    let mut objects = Vec::new();
    for document in &documents {
        for object in manifest::objects(document).map_err(first)? {
            let target = object.reference().expect("the examples have names");
            objects.push((target, object.value.clone()));
        }
    }
    Ok(objects)
}

fn first(mut diagnostics: Vec<Diagnostic>) -> Failure {
    diagnostics.swap_remove(0).into()
}
