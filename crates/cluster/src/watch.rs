//! Watches objects across reconnects, so that the watcher sees a single stream.

pub(crate) mod lines;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use backoff::{Backoff, Jitter};
use futures::future::BoxFuture;
use http_body_util::BodyExt as _;
use kube::client::Body;
use manifest::GroupVersionKind;
use serde_json::Value;
use tokio::time::Instant;

use crate::discovery::Resource;
use crate::error::{Error, ErrorKind, Subject, Verb};
use crate::metadata;
use crate::read::{Selection, selectors};
use crate::redact::Redacted;
use crate::request::{Call, open, with_query};
use crate::session::Session;
use crate::status::ApiStatus;
use lines::{Line, Lines};

/// How long the server may keep one response open. It then ends the response cleanly, and the watch resumes. Each is up to
/// `MORE` longer: watches that began together would otherwise go on to reconnect together.
const LENGTH: Duration = Duration::from_secs(180);
const MORE: Duration = Duration::from_secs(120);
/// How much sooner than that a response may end and still count as ended in time: the server's clock began before its answer
/// was here.
const EARLY: Duration = Duration::from_secs(1);
/// After this much silence, the connection counts as dead. Servers send a bookmark about every minute.
const SILENCE: Duration = Duration::from_secs(120);
/// The pause before the next request when the last response ended early, growing while responses bring nothing.
const PAUSE: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
/// Watches that are refused together, as they are while a server restarts, ask again at different times within this one.
const SPREAD: Duration = Duration::from_secs(1);

/// The longest pause that a server can ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// What happened to an object.
#[derive(Clone, PartialEq)]
pub enum WatchEvent {
    /// The object was added or changed.
    Applied(Value),
    /// The last state before the deletion.
    Deleted(Value),
    /// The server no longer has the events since our resource version. List everything again; the watch continues from
    /// the current state.
    Expired,
}

impl fmt::Debug for WatchEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applied(object) => f.debug_tuple("Applied").field(&Redacted(object)).finish(),
            Self::Deleted(object) => f.debug_tuple("Deleted").field(&Redacted(object)).finish(),
            Self::Expired => f.write_str("Expired"),
        }
    }
}

/// A watch that survives reconnects. Waiting for the next event may be cancelled and restarted at any time.
pub struct Watch {
    session: Session,
    gvk: GroupVersionKind,
    resource: Resource,
    selection: Selection,
    /// Whether the objects have nothing but metadata.
    only_metadata: bool,
    /// The last resource version seen; `None` starts with all existing objects.
    from: Option<String>,
    state: WatchState,
    /// How long the current response may be open.
    length: Duration,
    /// How many consecutive responses ended without an event.
    empty_responses: u32,
    /// How many consecutive responses were open only for a moment.
    short_responses: u32,
    /// How many responses ended before their time.
    breaks: u32,
    /// How many requests found no server, or one that is not ready.
    outages: u32,
    /// Why the last response ended, or none came; `None` once the watch has delivered something since.
    trouble: Option<String>,
}

type Opening = BoxFuture<'static, Result<Body, (Error, Option<Duration>)>>;

enum WatchState {
    Idle { until: Instant },
    Opening { since: Instant, opening: Opening },
    Open(WatchResponse),
}

struct WatchResponse {
    body: Body,
    lines: Lines,
    opened: Instant,
}

impl Session {
    /// Watches the objects of a kind that match `selection`, starting from a resource version. Without one, all
    /// existing objects come first, as if they had just been set.
    pub async fn watch(
        &self,
        gvk: &GroupVersionKind,
        selection: Selection,
        from: Option<String>,
    ) -> Result<Watch, Error> {
        let resource = self.resource(gvk).await?;
        let session = self.clone();
        let state = WatchState::Idle { until: Instant::now() };
        Ok(Watch {
            session,
            gvk: gvk.clone(),
            resource,
            selection,
            only_metadata: false,
            from,
            state,
            length: LENGTH,
            empty_responses: 0,
            short_responses: 0,
            breaks: 0,
            outages: 0,
            trouble: None,
        })
    }
}

impl Watch {
    /// The next event. Broken connections and an unavailable server are waited out; only a permanent failure, such as a
    /// missing permission, is an error.
    pub async fn next(&mut self) -> Result<WatchEvent, Error> {
        loop {
            match self.line().await {
                Ok(Some(line)) => {
                    if let Some(event) = self.take(line)? {
                        return Ok(event);
                    }
                }
                Ok(None) => {}
                Err(error) if error.is_server_fault() => {
                    // Without what was tried, which the caller knows.
                    let why = diag::error_chain(error.kind());
                    tracing::debug!(kind = %self.gvk, error = why, "the watch was interrupted");
                    self.trouble = Some(why);
                }
                Err(error) if error.status().is_some_and(|status| status.code == 410) => {
                    self.from = None;
                    return Ok(WatchEvent::Expired);
                }
                Err(error) => return Err(self.session.resolve_404(error, &self.gvk).await),
            }
        }
    }

    /// The same watch of the metadata alone.
    pub(crate) fn of_metadata(self) -> Self {
        Self { only_metadata: true, ..self }
    }

    /// Whether the server has accepted the watch, so that silence means that nothing has changed.
    pub fn is_open(&self) -> bool {
        matches!(self.state, WatchState::Open(_))
    }

    /// Why nothing is heard although the watch goes on, if it has not been open for a while: a server that answers
    /// reads and writes may still refuse watches, or break them off.
    pub fn trouble(&self) -> Option<String> {
        match &self.state {
            WatchState::Open(response) if response.opened.elapsed() > PAUSE.max() => None,
            WatchState::Opening { since, .. } if since.elapsed() >= PAUSE.max() => Some(
                self.trouble.clone().unwrap_or_else(|| "the server does not answer the watch".to_owned()),
            ),
            _ => self.trouble.clone(),
        }
    }

    /// How often the watch broke off before its time, as it does when the server is replaced. A server that was restored
    /// from a backup says nothing of versions that it does not know yet: the watcher has to compare.
    pub fn breaks(&self) -> u32 {
        self.breaks
    }

    /// How often there was no server when the watch was to be opened, or one that was not ready. It may have been restored from
    /// a backup meanwhile, and have reached versions again that were seen before, with other content.
    pub fn outages(&self) -> u32 {
        self.outages
    }

    /// The resource version up to which everything was seen.
    pub fn version(&self) -> Option<&str> {
        self.from.as_deref()
    }

    /// Continues from another resource version than the last one seen.
    pub fn resume(&mut self, from: Option<String>) {
        self.from = from;
    }

    /// The event of a line, if it is one for the watcher.
    fn take(&mut self, line: Line) -> Result<Option<WatchEvent>, Error> {
        if line.kind == "ERROR" {
            let status: ApiStatus = serde_json::from_value(line.object).unwrap_or_default();
            self.pause(None);
            self.trouble = Some(status.message.clone());
            return match status.code {
                410 => {
                    self.from = None;
                    Ok(Some(WatchEvent::Expired))
                }
                500.. => Ok(None),
                _ => Err(self.call().error(ErrorKind::Status(status), Vec::new())),
            };
        }
        self.empty_responses = 0;
        self.trouble = None;
        if let Some(version) = line.object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            self.from = Some(version.to_owned());
        }
        Ok(match line.kind.as_str() {
            "ADDED" | "MODIFIED" => Some(WatchEvent::Applied(line.object)),
            "DELETED" => Some(WatchEvent::Deleted(line.object)),
            // A bookmark, which has already moved `from`, or an event type we do not know.
            _ => None,
        })
    }

    /// The next line of the current response, or of a new one. `None` when a response has ended.
    async fn line(&mut self) -> Result<Option<Line>, Error> {
        loop {
            match &mut self.state {
                WatchState::Idle { until } => {
                    tokio::time::sleep_until(*until).await;
                    // As the server is asked: in whole seconds.
                    self.length = Duration::from_secs((LENGTH + Jitter::random().part(MORE)).as_secs());
                    let (client, call) = (self.session.client().clone(), self.call());
                    let opening = Box::pin(async move { open(&client, &call).await });
                    self.state = WatchState::Opening { since: Instant::now(), opening };
                }
                WatchState::Opening { opening, .. } => match opening.await {
                    Ok(body) => {
                        let (lines, opened) = (Lines::default(), Instant::now());
                        self.state = WatchState::Open(WatchResponse { body, lines, opened });
                    }
                    Err((error, retry_after)) => {
                        let is_busy = error.status().is_some_and(|status| status.code == 429);
                        if error.is_server_fault() && !is_busy {
                            self.outages = self.outages.saturating_add(1);
                        }
                        self.pause(retry_after);
                        return Err(error.with_server(self.session.server()));
                    }
                },
                WatchState::Open(response) => {
                    let next = response.next().await;
                    if !matches!(next, Ok(Some(_))) {
                        self.pause(None);
                    }
                    return next.map_err(|kind| self.call().error(kind, Vec::new()));
                }
            }
        }
    }

    /// Ends the current response. The next request follows at once if this response was open for a while, or is the first that
    /// was not: only so is it certain to notice that there is no server. It follows after a growing pause otherwise, so that a
    /// server which ends every response at once is not flooded. The server may ask for a longer one.
    fn pause(&mut self, retry_after: Option<Duration>) {
        let open_for = match &self.state {
            WatchState::Open(response) => Some(response.opened.elapsed()),
            WatchState::Idle { .. } | WatchState::Opening { .. } => None,
        };
        let lasted = open_for.is_some_and(|open_for| open_for > PAUSE.max());
        if open_for.is_some_and(|open_for| open_for + EARLY < self.length) {
            self.breaks = self.breaks.saturating_add(1);
        }
        self.empty_responses = if lasted { 0 } else { self.empty_responses.saturating_add(1) };
        let is_first_short = open_for.is_some() && !lasted && self.short_responses == 0;
        if open_for.is_some() {
            self.short_responses = if lasted { 0 } else { self.short_responses.saturating_add(1) };
        }
        let pause = if lasted || is_first_short {
            Duration::ZERO
        } else {
            PAUSE.after(self.empty_responses, Jitter::random()) + Jitter::random().part(SPREAD)
        };
        let asked = retry_after.map_or(Duration::ZERO, |asked| Jitter::random().later(asked));
        let pause = pause.max(asked.min(LONGEST_RETRY_AFTER));
        self.state = WatchState::Idle { until: Instant::now() + pause };
    }

    fn call(&self) -> Call {
        let length = self.length.as_secs().to_string();
        let mut query = vec![("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", &length)];
        query.extend(selectors(&self.selection));
        if let Some(version) = &self.from {
            query.push(("resourceVersion", version));
        }
        let collection = self.resource.collection(self.selection.namespace.as_ref());
        let call = Call::get(Verb::Watch, Subject::Kind(self.gvk.clone()), with_query(collection, &query));
        if self.only_metadata { call.accept(metadata::WATCH) } else { call }
    }
}

impl WatchResponse {
    /// The next line; `None` at the end. An incomplete last line is dropped.
    async fn next(&mut self) -> Result<Option<Line>, ErrorKind> {
        loop {
            if let Some(line) = self.lines.next()? {
                return Ok(Some(line));
            }
            match tokio::time::timeout(SILENCE, self.body.frame()).await {
                Err(_) | Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => {
                    self.lines.extend(frame.into_data().ok().as_deref().unwrap_or_default());
                }
                Ok(Some(Err(error))) => return Err(ErrorKind::BrokenResponse(Arc::new(error))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
