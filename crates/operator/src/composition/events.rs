//! Events about XRs and claims.

use std::collections::BTreeSet;

use composition::event::{self, Event, Recipient, have_expired, recordable};
use composition::protocol::Object;

use crate::runtime::events::{EventLog, EventType, Recorder, reference};

/// Records the events of a reconcile that are neither in `log` nor in `recorded`.
///
/// `is_unchanged` says that the reconcile left the status of `object` as it was: then the engine that wrote it may have
/// recorded the events already, before this process started. `claim` is read only if an event is for it.
pub(super) async fn record_new(
    recorder: &Recorder,
    object: &Object,
    log: &mut EventLog<Event>,
    (events, recorded): (Vec<Event>, &BTreeSet<Event>),
    is_unchanged: bool,
    claim: impl Future<Output = Option<Object>>,
) {
    let may_be_recorded = is_unchanged && log.is_unknown();
    let new = log.update(events, recorded);
    if new.is_empty() || (may_be_recorded && have_expired(object, recorder.clock().now())) {
        return;
    }
    let is_for_claim = new.iter().any(|event| event.on == Recipient::Claim);
    let claim = if is_for_claim { claim.await } else { None };
    for Event { on, kind, reason, message } in recordable(new, claim.is_some()) {
        let regarding = match (on, &claim) {
            (Recipient::Claim, Some(claim)) => reference(claim),
            _ => reference(object),
        };
        let kind = match kind {
            event::EventType::Normal => EventType::Normal,
            event::EventType::Warning => EventType::Warning,
        };
        if !(may_be_recorded && recorder.has_recorded(&regarding, kind, &reason, &message).await) {
            recorder.record(regarding, kind, &reason, &message);
        }
    }
}
