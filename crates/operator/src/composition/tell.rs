//! Events about XRs and claims.

use composition::event::{Event, EventType};
use composition::object;
use composition::run::Object;
use k8s_openapi::api::core::v1::ObjectReference;
use serde_json::Value;

use crate::events::{Recorder, Tone};

/// Tells those who look at `regarding`.
pub(super) fn record(recorder: &Recorder, regarding: &Object, event: &Event) {
    recorder.record(reference(regarding), tone(event), &event.reason, &event.message);
}

/// Whether those who look at `regarding` were told before this process began.
pub(super) async fn is_told(recorder: &Recorder, regarding: &Object, event: &Event) -> bool {
    recorder.has_recorded(&reference(regarding), tone(event), &event.reason, &event.message).await
}

const fn tone(event: &Event) -> Tone {
    match event.kind {
        EventType::Normal => Tone::Normal,
        EventType::Warning => Tone::Warning,
    }
}

fn reference(object: &Object) -> ObjectReference {
    let part = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let text = |text: Option<&str>| text.map(str::to_owned);
    ObjectReference {
        api_version: part("apiVersion"),
        kind: part("kind"),
        namespace: text(object::namespace(object)),
        name: text(object::name(object)),
        uid: text(object::uid(object)),
        resource_version: text(object::resource_version(object)),
        field_path: None,
    }
}
