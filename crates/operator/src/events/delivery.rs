//! Delivers Events: a few at a time, each until the API server has it or has refused it for good.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, PostParams};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::shown;
use crate::backoff;
use crate::metrics::{Loss, Metrics};
use crate::said::chain;

/// Enough to keep up, few enough to leave the API server to those who wait for objects while there is a burst.
const AT_ONCE: usize = 4;
/// The longest one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(30);
/// The waits between attempts, and how long an Event is worth the trouble.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
const WORTH: Duration = Duration::from_secs(600);

/// Delivers what comes until `closing`, and then what is left.
pub(super) async fn deliver(
    client: kube::Client,
    queue: mpsc::Receiver<Event>,
    closing: CancellationToken,
    metrics: Metrics,
) {
    let mut waiting = Waiting { queue, metrics: metrics.clone() };
    let mut posts = JoinSet::new();
    loop {
        tokio::select! {
            () = closing.cancelled(), if !waiting.queue.is_closed() => waiting.queue.close(),
            event = waiting.queue.recv(), if posts.len() < AT_ONCE => match event {
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

/// Events that nobody has begun to deliver; if nobody ever does, they are lost.
struct Waiting {
    queue: mpsc::Receiver<Event>,
    metrics: Metrics,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.queue.close();
        while self.queue.try_recv().is_ok() {
            self.metrics.event_lost(Loss::Ending);
        }
    }
}

async fn post(client: kube::Client, event: Event, metrics: Metrics) {
    let mut fate = Fate { metrics, loss: Some(Loss::Ending) };
    let namespace = event.metadata.namespace.as_deref().unwrap_or("default");
    let api = Api::<Event>::namespaced(client, namespace);
    let began = Instant::now();
    let mut failures = 0;
    loop {
        let why = match tokio::time::timeout(ATTEMPT, api.create(&PostParams::default(), &event)).await {
            Ok(Ok(_)) => return fate.is(None),
            Ok(Err(error)) => match Verdict::of(&error) {
                Verdict::Delivered => return fate.is(None),
                Verdict::Refused => {
                    tracing::warn!(error = chain(&error), event = %shown(&event), "an event was refused");
                    return fate.is(Some(Loss::Refused));
                }
                Verdict::Passing => chain(&error),
            },
            Err(_) => "no answer in time".to_owned(),
        };
        failures += 1;
        let pause = backoff::pause(failures, FIRST_RETRY, LONGEST_RETRY);
        if began.elapsed() + pause > WORTH {
            tracing::warn!(why, failures, event = %shown(&event), "an event is lost");
            return fate.is(Some(Loss::NoAnswer));
        }
        tracing::debug!(why, ?pause, event = %shown(&event), "an event is sent again");
        tokio::time::sleep(pause).await;
    }
}

/// What becomes of an Event, counted when it is known; one that is given up in the middle is lost, too.
struct Fate {
    metrics: Metrics,
    loss: Option<Loss>,
}

impl Fate {
    fn is(&mut self, loss: Option<Loss>) {
        self.loss = loss;
    }
}

impl Drop for Fate {
    fn drop(&mut self) {
        if let Some(loss) = self.loss {
            self.metrics.event_lost(loss);
        }
    }
}

/// What a failed attempt means for the Event.
enum Verdict {
    /// An earlier attempt, whose answer never came, did deliver it.
    Delivered,
    /// It will never be accepted.
    Refused,
    /// Another attempt may succeed.
    Passing,
}

impl Verdict {
    fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 409 => Self::Delivered,
            kube::Error::Api(status) if matches!(status.code, 408 | 429) || status.code >= 500 => {
                Self::Passing
            }
            kube::Error::Api(_) => Self::Refused,
            _ => Self::Passing,
        }
    }
}
