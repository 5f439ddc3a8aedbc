//! Events for people who look at an object: one POST each, none lost while the API server is away for a while.
//!
//! The name of an Event is chosen before it is sent, so that sending it again after an answer that never came makes no
//! second one.

mod delivery;
mod recorded;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::metrics::{Loss, Metrics};
use recorded::Recorded;

/// The lengths that the API server's own rules give an Event.
const LONGEST_MESSAGE: usize = 1024;
const LONGEST_REASON: usize = 128;
const LONGEST_NAME: usize = 253;
/// The Events that may wait while the API server is away, about 20 MB of them.
const MOST_WAITING: usize = 10_000;

/// Whether an Event is bad news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// It is not.
    Normal,
    /// It is.
    Warning,
}

/// Where Events go. Clones share the queue.
#[derive(Clone)]
pub struct Events(Arc<Inner>);

struct Inner {
    queue: mpsc::Sender<Event>,
    closing: CancellationToken,
    delivery: Mutex<Option<JoinHandle<()>>>,
    /// Where Events that are lost are counted.
    metrics: Metrics,
    /// Who we are among the copies of a controller.
    instance: String,
    /// The number in the name of the last Event.
    last: AtomicU64,
    /// What was recorded before this process began.
    recorded: Recorded,
}

/// Records Events in the name of one controller.
#[derive(Clone)]
pub struct Recorder {
    events: Events,
    component: &'static str,
    /// Which of many controllers of the same component it is.
    controller: Option<Arc<str>>,
}

impl Events {
    /// Delivers Events with `client` by a task of its own, and counts those that are lost. `instance` says which copy of
    /// the operator sent them.
    pub fn start(client: kube::Client, instance: impl Into<String>, metrics: Metrics) -> Self {
        let (queue, waiting) = mpsc::channel(MOST_WAITING);
        let closing = CancellationToken::new();
        let delivery =
            tokio::spawn(delivery::deliver(client.clone(), waiting, closing.clone(), metrics.clone()));
        Self(Arc::new(Inner {
            queue,
            closing,
            delivery: Mutex::new(Some(delivery)),
            metrics,
            instance: instance.into(),
            last: AtomicU64::new(0),
            recorded: Recorded::new(client),
        }))
    }

    /// A recorder whose Events say that they come from `component`.
    pub fn recorder(&self, component: &'static str) -> Recorder {
        Recorder { events: self.clone(), component, controller: None }
    }

    /// Takes no further Events, and waits until those that wait are delivered, for `limit` at most.
    pub async fn finish(&self, limit: Duration) {
        self.0.closing.cancel();
        let Some(mut delivery) = self.0.delivery.lock().await.take() else { return };
        if tokio::time::timeout(limit, &mut delivery).await.is_err() {
            tracing::warn!(?limit, "events that could not be delivered in time are lost");
            delivery.abort();
            // What is lost is counted on its way out.
            let _aborted = delivery.await;
        }
    }

    fn send(&self, event: Event) {
        if let Err(error) = self.0.queue.try_send(event) {
            let (why, loss, event) = match error {
                mpsc::error::TrySendError::Full(event) => ("too many are waiting", Loss::TooMany, event),
                mpsc::error::TrySendError::Closed(event) => ("the operator is ending", Loss::Ending, event),
            };
            self.0.metrics.event_lost(loss);
            tracing::warn!(why, event = %shown(&event), "an event is lost");
        }
    }

    /// A number that no other Event of this process has, and hardly one of another.
    fn number(&self, now: Timestamp) -> u64 {
        let now = u64::try_from(now.as_nanosecond()).unwrap_or_default();
        let next = |last: u64| now.max(last + 1);
        let last = self.0.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
        next(last.unwrap_or_default())
    }
}

impl Recorder {
    /// The same, whose Events name `controller` in an annotation, as the reference's do.
    #[must_use]
    pub fn of_controller(self, controller: &str) -> Self {
        Self { controller: Some(controller.into()), ..self }
    }

    /// Tells those who look at `regarding`: one Event, sent in the background.
    pub fn record(&self, regarding: ObjectReference, tone: Tone, reason: &str, message: &str) {
        let now = Timestamp::now();
        let number = self.events.number(now);
        self.events.send(self.event(regarding, tone, reason, message, now, number));
    }

    /// Whether the API server has such an Event of this controller, also one from before this process began. It is asked
    /// once; where it does not answer, Events rather come twice than never.
    pub async fn has_recorded(
        &self,
        regarding: &ObjectReference,
        tone: Tone,
        reason: &str,
        message: &str,
    ) -> bool {
        let uid = regarding.uid.as_deref().unwrap_or_default();
        let (reason, message) = (cut(reason, LONGEST_REASON), cut(message, LONGEST_MESSAGE));
        let print = recorded::print(uid, &format!("{tone:?}"), &reason, &message);
        self.events.0.recorded.has(self.component, print).await
    }

    fn event(
        &self,
        regarding: ObjectReference,
        tone: Tone,
        reason: &str,
        message: &str,
        now: Timestamp,
        number: u64,
    ) -> Event {
        // Events of objects without a namespace live in `default`, where kubectl looks for them.
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let name = name(regarding.name.as_deref().unwrap_or_default(), number);
        let annotation =
            |controller: &Arc<str>| BTreeMap::from([("controller".to_owned(), controller.to_string())]);
        Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace),
                annotations: self.controller.as_ref().map(annotation),
                ..ObjectMeta::default()
            },
            involved_object: regarding,
            type_: Some(format!("{tone:?}")),
            reason: Some(cut(reason, LONGEST_REASON)),
            message: Some(cut(message, LONGEST_MESSAGE)),
            source: Some(EventSource { component: Some(self.component.to_owned()), host: None }),
            reporting_component: Some(self.component.to_owned()),
            reporting_instance: Some(self.events.0.instance.clone()),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            count: Some(1),
            ..Event::default()
        }
    }
}

/// What an Event needs to know of `object`.
pub fn reference(object: &Value) -> ObjectReference {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    ObjectReference {
        api_version: text("/apiVersion"),
        kind: text("/kind"),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
        uid: text("/metadata/uid"),
        resource_version: text("/metadata/resourceVersion"),
        field_path: None,
    }
}

/// The name of an Event: that of its object and a number. Objects of some kinds have names that Events must not have.
fn name(object: &str, number: u64) -> String {
    let number = format!("{number:016x}");
    let fit = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || matches!(char, '-' | '.');
    let mut name: String = object.chars().map(|char| if fit(char) { char } else { '-' }).collect();
    name.truncate(LONGEST_NAME - 1 - number.len());
    let mut name = name.trim_matches(['-', '.']).to_owned();
    if name.is_empty() {
        name.push_str("event");
    }
    let _ = write!(name, ".{number}");
    name
}

/// `text`, of which as much as fits into `limit` bytes is kept.
fn cut(text: &str, limit: usize) -> String {
    const MORE: &str = "…";
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit - MORE.len()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}{MORE}", &text[..end])
}

/// An Event in a log line.
fn shown(event: &Event) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let regarding = &event.involved_object;
    format!(
        "{} on {} {}/{}: {}",
        text(&event.reason),
        text(&regarding.kind),
        text(&regarding.namespace),
        text(&regarding.name),
        text(&event.message)
    )
}

#[cfg(test)]
mod tests;
