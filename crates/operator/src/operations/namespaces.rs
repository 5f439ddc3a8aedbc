//! What administrators allow in each namespace, by an annotation on the Namespace, which its users cannot change.

use operations::{CallError, Policy};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::run::Context;
use crate::runtime::store::{Change, Key, Source, Store};
use cluster::Selection;

/// The compartments that objects of the namespace may use, separated by commas; stream pools count, too.
pub const COMPARTMENTS: &str = "plimsoll.dev/oci-compartments";

pub(super) struct Namespaces {
    store: Store,
    no_adoption: bool,
}

impl Namespaces {
    pub(super) fn start(context: &Context, stop: &CancellationToken) -> Self {
        let options = &context.options;
        let fields = options.namespace.as_ref().map(|name| format!("metadata.name={}", name.as_str()));
        let selection = Selection { fields, ..Selection::default() };
        let gvk = "v1/Namespace".parse().expect("a valid kind");
        let source = Source { selection, trim: keep_compartments, ..Source::of(gvk) };
        Self {
            store: Store::start(context.session.clone(), source, &context.metrics, stop),
            no_adoption: options.tenants.no_adoption,
        }
    }

    pub(super) const fn store(&self) -> &Store {
        &self.store
    }

    /// What is allowed; an error while that is not known, since it may be less than everything.
    pub(super) fn policy(&self, namespace: &str) -> Result<Policy, CallError> {
        let Some(namespace) = self.store.get(&Key::cluster_scoped(namespace)) else {
            let why = self.store.error().unwrap_or_else(|| "it is being read".into());
            let message = format!("the annotations of Namespace {namespace} are not known: {why}");
            return Err(CallError { message, ..CallError::default() });
        };
        let parents = compartments(&namespace)
            .map(|text| text.split(',').map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect());
        Ok(Policy { no_adoption: self.no_adoption, parents })
    }
}

/// The namespace whose restrictions changed.
pub(super) fn changed(change: &Change) -> Option<String> {
    let of = |namespace: &Option<std::sync::Arc<Value>>| {
        namespace.as_deref().and_then(compartments).map(str::to_owned)
    };
    (of(&change.before) != of(&change.after)).then(|| change.key.name.clone())
}

fn compartments(namespace: &Value) -> Option<&str> {
    namespace.get("metadata")?.get("annotations")?.get(COMPARTMENTS)?.as_str()
}

fn keep_compartments(namespace: &mut Value) {
    let Some(fields) = namespace.as_object_mut() else { return };
    fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.retain(|name, _| matches!(name.as_str(), "annotations" | "name" | "resourceVersion" | "uid"));
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| name == COMPARTMENTS);
    }
}
