//! Delivers Events: a few at a time, each until the API server has accepted or rejected it.

use std::time::Duration;

use backoff::{Backoff, Jitter};
use diag::error_chain;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, PostParams};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::shown;
use crate::runtime::metrics::{Loss, Metrics};

/// Enough to keep up; few enough that a burst of Events does not delay reconciles.
const MAX_CONCURRENT_POSTS: usize = 4;
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));
/// How long delivery of one Event is attempted.
const MAX_AGE: Duration = Duration::from_secs(600);

/// Delivers Events until `closing`, and then those that are left.
pub(super) async fn deliver(
    client: kube::Client,
    queue: mpsc::Receiver<Event>,
    closing: CancellationToken,
    metrics: Metrics,
) {
    let mut pending = Pending { queue, metrics: metrics.clone() };
    let mut posts = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = closing.cancelled(), if !pending.queue.is_closed() => pending.queue.close(),
            event = pending.queue.recv(), if posts.len() < MAX_CONCURRENT_POSTS => match event {
                Some(event) => {
                    posts.spawn(post(client.clone(), event, metrics.clone()));
                }
                None => break,
            },
            Some(_) = posts.join_next() => {}
        }
    }
    while posts.join_next().await.is_some() {}
}

/// Events whose delivery has not begun. Those that are left when this is dropped are lost.
struct Pending {
    queue: mpsc::Receiver<Event>,
    metrics: Metrics,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.queue.close();
        while self.queue.try_recv().is_ok() {
            self.metrics.event_lost(Loss::Ending);
        }
    }
}

async fn post(client: kube::Client, event: Event, metrics: Metrics) {
    let mut outcome = Outcome { metrics, loss: Some(Loss::Ending) };
    let namespace = event.metadata.namespace.as_deref().unwrap_or("default");
    let api = Api::<Event>::namespaced(client, namespace);
    let began = Instant::now();
    let mut failures = 0;
    loop {
        let why = match tokio::time::timeout(ATTEMPT_TIMEOUT, api.create(&PostParams::default(), &event))
            .await
        {
            Ok(Ok(_)) => return outcome.is(None),
            Ok(Err(error)) => match Verdict::of(&error) {
                Verdict::Delivered => return outcome.is(None),
                Verdict::Rejected => {
                    tracing::warn!(error = error_chain(&error), event = %shown(&event), "the API server rejected an event");
                    return outcome.is(Some(Loss::Refused));
                }
                Verdict::Transient => error_chain(&error),
            },
            Err(_) => "no response in time".to_owned(),
        };
        failures += 1;
        let wait = BACKOFF.after(failures, Jitter::random());
        if began.elapsed() + wait > MAX_AGE {
            tracing::warn!(why, failures, event = %shown(&event), "lost an event");
            return outcome.is(Some(Loss::NoAnswer));
        }
        tracing::debug!(why, ?wait, event = %shown(&event), "sending an event again");
        tokio::time::sleep(wait).await;
    }
}

/// Whether an Event was lost, counted on drop, so that an aborted delivery counts too.
struct Outcome {
    metrics: Metrics,
    loss: Option<Loss>,
}

impl Outcome {
    fn is(&mut self, loss: Option<Loss>) {
        self.loss = loss;
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if let Some(loss) = self.loss {
            self.metrics.event_lost(loss);
        }
    }
}

/// What a failed attempt means for the Event.
enum Verdict {
    /// An earlier attempt, whose response was lost, delivered it.
    Delivered,
    Rejected,
    Transient,
}

impl Verdict {
    fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 409 => Self::Delivered,
            kube::Error::Api(status) if matches!(status.code, 408 | 429) || status.code >= 500 => {
                Self::Transient
            }
            kube::Error::Api(_) => Self::Rejected,
            _ => Self::Transient,
        }
    }
}
