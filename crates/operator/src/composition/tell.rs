//! Events about XRs and claims.

use compose::object;
use compose::run::Object;
use k8s_openapi::api::core::v1::ObjectReference;

use crate::events::{Recorder, Tone};

/// Tells those who look at `regarding`.
pub(super) fn record(recorder: &Recorder, regarding: &Object, is_warning: bool, reason: &str, message: &str) {
    let tone = if is_warning { Tone::Warning } else { Tone::Normal };
    recorder.record(reference(regarding), tone, reason, message);
}

fn reference(object: &Object) -> ObjectReference {
    let kind = object::TypeRef::of(object);
    let text = |text: Option<&str>| text.map(str::to_owned);
    ObjectReference {
        api_version: Some(kind.api_version),
        kind: Some(kind.kind),
        namespace: text(object::namespace(object)),
        name: text(object::name(object)),
        uid: text(object::uid(object)),
        resource_version: text(super::target::version(object)),
        field_path: None,
    }
}
