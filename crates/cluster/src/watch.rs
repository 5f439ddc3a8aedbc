//! Watching objects: one long answer after the other, so that the watcher sees a single stream.

use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use http_body_util::BodyExt as _;
use kube::client::Body;
use manifest::GroupVersionKind;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::discovery::Resource;
use crate::error::{Error, ErrorKind, Subject, Verb};
use crate::read::{Selection, selectors};
use crate::request::{Call, open, with_query};
use crate::session::Session;
use crate::status::ApiStatus;

/// How long the server may leave one answer open. It ends it in good order then, and we go on from there.
const LENGTH: &str = "240";
/// Silence that means that the other side is gone without a word.
const SILENCE: Duration = Duration::from_secs(300);
/// The longest wait before the next attempt when answers break off at once.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What happened to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It is new, or has changed, and now is this.
    Set(Value),
    /// It has gone; this is how it was last.
    Deleted(Value),
    /// The server no longer knows what happened since the point we came from. Read everything anew; the watch goes
    /// on with what is there now.
    Expired,
}

/// A watch that outlives connections. Asking for the next event may be given up and begun again at any time.
pub struct Watch {
    session: Session,
    gvk: GroupVersionKind,
    resource: Resource,
    selection: Selection,
    /// The last resource version seen; none to begin with all there is.
    from: Option<String>,
    answer: Option<Answer>,
    /// How many answers in a row have ended before anything came.
    fruitless: u32,
}

struct Answer {
    body: Body,
    line: BytesMut,
    opened: Instant,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

impl Session {
    /// Watches the objects of a kind that `selection` selects, from a resource version on. Without one, everything
    /// there is comes first, as if it had just been set.
    pub async fn watch(
        &self,
        gvk: &GroupVersionKind,
        selection: Selection,
        from: Option<String>,
    ) -> Result<Watch, Error> {
        let resource = self.resource(gvk).await?;
        let session = self.clone();
        Ok(Watch { session, gvk: gvk.clone(), resource, selection, from, answer: None, fruitless: 0 })
    }
}

impl Watch {
    /// The next event. Broken connections and a server in trouble are waited out; only what will not get better by
    /// itself, such as a missing permission, is an error.
    pub async fn next(&mut self) -> Result<Event, Error> {
        loop {
            match self.line().await {
                Ok(Some(line)) => {
                    if let Some(event) = self.take(line)? {
                        return Ok(event);
                    }
                }
                Ok(None) => self.answer = None,
                Err(error) if error.is_server_trouble() => {
                    tracing::debug!(kind = %self.gvk, error = %crate::error::chain(&error), "the watch broke off");
                    self.answer = None;
                }
                Err(error) if error.status().is_some_and(|status| status.code == 410) => {
                    return Ok(self.expire());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What a line says, if it is something for the watcher.
    fn take(&mut self, line: Line) -> Result<Option<Event>, Error> {
        self.fruitless = 0;
        if let Some(version) = line.object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            self.from = Some(version.to_owned());
        }
        match line.kind.as_str() {
            "ADDED" | "MODIFIED" => Ok(Some(Event::Set(line.object))),
            "DELETED" => Ok(Some(Event::Deleted(line.object))),
            "ERROR" => {
                let status: ApiStatus = serde_json::from_value(line.object).unwrap_or_default();
                self.answer = None;
                match status.code {
                    410 => Ok(Some(self.expire())),
                    500.. => Ok(None),
                    _ => Err(self.call().error(ErrorKind::Status(status), Vec::new())),
                }
            }
            // A bookmark, which has moved `from` already, or something newer than we are.
            _ => Ok(None),
        }
    }

    fn expire(&mut self) -> Event {
        self.answer = None;
        self.from = None;
        Event::Expired
    }

    /// The next line of the answer at hand, or of a new one. `None` when an answer has ended.
    async fn line(&mut self) -> Result<Option<Line>, Error> {
        if self.answer.is_none() {
            self.pause().await;
            self.fruitless += 1;
            let body = open(self.session.client(), &self.call()).await?;
            self.answer = Some(Answer { body, line: BytesMut::new(), opened: Instant::now() });
        }
        let call = self.call();
        let Some(answer) = &mut self.answer else { return Ok(None) };
        loop {
            if let Some(end) = answer.line.iter().position(|byte| *byte == b'\n') {
                let line = answer.line.split_to(end);
                answer.line.advance(1);
                if line.trim_ascii().is_empty() {
                    continue;
                }
                return serde_json::from_slice(&line)
                    .map(Some)
                    .map_err(|error| call.error(ErrorKind::Broken(error.into()), Vec::new()));
            }
            match tokio::time::timeout(SILENCE, answer.body.frame()).await {
                // Ended in good order; half a line at the end is the other side's last breath.
                Err(_) | Ok(None) => {
                    // An answer that stayed open for a while was a good one.
                    if answer.opened.elapsed() > LONGEST_PAUSE {
                        self.fruitless = 0;
                    }
                    return Ok(None);
                }
                Ok(Some(Ok(frame))) => answer.line.extend(frame.into_data().ok()),
                Ok(Some(Err(error))) => return Err(call.error(ErrorKind::Broken(error.into()), Vec::new())),
            }
        }
    }

    /// Keeps a server that ends every answer at once from being asked without end.
    async fn pause(&self) {
        if self.fruitless > 0 {
            let pause = Duration::from_millis(100) * 2u32.saturating_pow(self.fruitless.min(10) - 1);
            tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
        }
    }

    fn call(&self) -> Call {
        let mut query = vec![("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", LENGTH)];
        query.extend(selectors(&self.selection));
        if let Some(version) = &self.from {
            query.push(("resourceVersion", version));
        }
        let collection = self.resource.collection(self.selection.namespace.as_ref());
        Call::get(Verb::Watch, Subject::Kind(self.gvk.clone()), with_query(collection, &query))
    }
}

#[cfg(test)]
mod tests;
