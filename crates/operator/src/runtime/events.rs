//! Events about objects: one POST each, none lost through a short outage of the API server, none repeated.
//!
//! The name of an Event is chosen before it is sent, so that a retry after a lost response does not create a second one.
//! A reconcile that finds the same as the one before records nothing: [`EventLog`].

mod delivery;
mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::metrics::{Loss, Metrics};
use recorded::Recorded;

/// The limits that the API server enforces.
const MAX_MESSAGE: usize = 1024;
const MAX_REASON: usize = 128;
const MAX_NAME: usize = 253;
/// Events that wait while the API server is unavailable, about 20 MB.
const MAX_PENDING: usize = 10_000;

/// Delivers Events in the background. Clones share the queue.
#[derive(Clone)]
pub struct Events(Arc<Inner>);

struct Inner {
    queue: mpsc::Sender<Event>,
    closing: CancellationToken,
    delivery: Mutex<Option<JoinHandle<()>>>,
    metrics: Metrics,
    /// Which copy of the operator sends them.
    instance: String,
    /// The number in the name of the last Event.
    last: AtomicU64,
    clock: Clock,
    /// Events from before this process started.
    recorded: Recorded,
}

/// The type of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventType {
    Normal,
    Warning,
}

impl EventType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Records the Events of one controller.
#[derive(Clone)]
pub struct Recorder {
    events: Events,
    component: &'static str,
    /// Which of the controllers that share `component`.
    controller: Option<Arc<str>>,
}

impl Events {
    /// Delivers Events with a task of its own, and counts those that are lost. `instance` names this copy of the operator.
    pub fn start(client: kube::Client, instance: impl Into<String>, metrics: Metrics) -> Self {
        Self::start_with_clock(client, instance, metrics, Clock::default())
    }

    /// The same, with the time of `clock`.
    pub fn start_with_clock(
        client: kube::Client,
        instance: impl Into<String>,
        metrics: Metrics,
        clock: Clock,
    ) -> Self {
        let (queue, waiting) = mpsc::channel(MAX_PENDING);
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
            clock,
            recorded: Recorded::new(client),
        }))
    }

    pub(crate) fn clock(&self) -> Clock {
        self.0.clock.clone()
    }

    pub fn recorder(&self, component: &'static str) -> Recorder {
        Recorder { events: self.clone(), component, controller: None }
    }

    /// Accepts no further Events and waits, for at most `limit`, until the pending ones are delivered.
    pub async fn finish(&self, limit: Duration) {
        self.0.closing.cancel();
        let Some(mut delivery) = self.0.delivery.lock().await.take() else { return };
        if tokio::time::timeout(limit, &mut delivery).await.is_err() {
            tracing::warn!(?limit, "lost the events that were not delivered in time");
            delivery.abort();
            // The task counts what it drops.
            let _aborted = delivery.await;
        }
    }

    fn send(&self, event: Event) {
        if let Err(error) = self.0.queue.try_send(event) {
            let (why, loss, event) = match error {
                mpsc::error::TrySendError::Full(event) => ("too many are pending", Loss::TooMany, event),
                mpsc::error::TrySendError::Closed(event) => ("the operator is ending", Loss::Ending, event),
            };
            self.0.metrics.event_lost(loss);
            tracing::warn!(why, event = %shown(&event), "lost an event");
        }
    }

    /// A number that no other Event of this process has, and that one of another process is unlikely to have.
    fn number(&self, now: Timestamp) -> u64 {
        let now = u64::try_from(now.as_nanosecond()).unwrap_or_default();
        let next = |last: u64| now.max(last + 1);
        let last = self.0.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
        next(last.unwrap_or_default())
    }
}

impl Recorder {
    /// Names `controller` in an annotation, as Crossplane does.
    #[must_use]
    pub fn of_controller(self, controller: &str) -> Self {
        Self { controller: Some(controller.into()), ..self }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.events.clock()
    }

    /// Sends one Event in the background.
    pub fn record(&self, regarding: ObjectReference, kind: EventType, reason: &str, message: &str) {
        let now = self.events.clock().now();
        let number = self.events.number(now);
        self.events.send(self.event(regarding, kind, reason, message, now, number));
    }

    /// Whether this controller recorded such an Event before this process started. The API server is asked once; if it
    /// does not answer, Events are repeated rather than lost.
    pub async fn has_recorded(
        &self,
        regarding: &ObjectReference,
        kind: EventType,
        reason: &str,
        message: &str,
    ) -> bool {
        let uid = regarding.uid.as_deref().unwrap_or_default();
        let (reason, message) = (cut(reason, MAX_REASON), cut(message, MAX_MESSAGE));
        let hash = recorded::hash(uid, kind.as_str(), &reason, &message);
        self.events.0.recorded.has(self.component, hash).await
    }

    fn event(
        &self,
        regarding: ObjectReference,
        kind: EventType,
        reason: &str,
        message: &str,
        now: Timestamp,
        number: u64,
    ) -> Event {
        // kubectl looks in `default` for the Events of cluster-scoped objects.
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
            type_: Some(kind.as_str().to_owned()),
            reason: Some(cut(reason, MAX_REASON)),
            message: Some(cut(message, MAX_MESSAGE)),
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

/// What an Event says about the object it is about.
pub fn reference(object: &Map<String, Value>) -> ObjectReference {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let metadata = |field: &str| text(object.get("metadata").and_then(|metadata| metadata.get(field)));
    ObjectReference {
        api_version: text(object.get("apiVersion")),
        kind: text(object.get("kind")),
        namespace: metadata("namespace"),
        name: metadata("name"),
        uid: metadata("uid"),
        resource_version: metadata("resourceVersion"),
        field_path: None,
    }
}

/// What the last reconcile of an object gave cause to record. Events are about changes, so only what is new is recorded.
#[derive(Debug)]
pub(crate) struct EventLog<E>(Option<BTreeSet<E>>);

impl<E> Default for EventLog<E> {
    fn default() -> Self {
        Self(None)
    }
}

impl<E: Ord + Clone> EventLog<E> {
    /// Whether nothing is known of what was recorded before, because this process has just started.
    pub(crate) const fn is_unknown(&self) -> bool {
        self.0.is_none()
    }

    /// The events of a reconcile that the one before did not have and that are not in `recorded`, each once, in order.
    pub(crate) fn update(&mut self, events: Vec<E>, recorded: &BTreeSet<E>) -> Vec<E> {
        let before = self.0.take().unwrap_or_default();
        let now = self.0.insert(BTreeSet::new());
        let is_new = |event: &E| !before.contains(event) && !recorded.contains(event);
        events.into_iter().filter(|event| now.insert(event.clone()) && is_new(event)).collect()
    }
}

/// The name of an Event: that of its object and a number. Some kinds allow names that an Event must not have.
fn name(object: &str, number: u64) -> String {
    let number = format!("{number:016x}");
    let fit = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || matches!(char, '-' | '.');
    let mut name: String = object.chars().map(|char| if fit(char) { char } else { '-' }).collect();
    name.truncate(MAX_NAME - 1 - number.len());
    let mut name = name.trim_matches(['-', '.']).to_owned();
    if name.is_empty() {
        name.push_str("event");
    }
    let _ = write!(name, ".{number}");
    name
}

/// `text`, cut to `limit` bytes.
fn cut(text: &str, limit: usize) -> String {
    const MORE: &str = "…";
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit - MORE.len()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}{MORE}", &text[..end])
}

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
