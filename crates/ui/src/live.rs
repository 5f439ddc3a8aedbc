//! A view that is open in a browser is sent again after every change, as server-sent events.

use std::convert::Infallible;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::sync::watch;

use crate::hub::Snapshot;
use crate::views::View;

struct Page {
    view: View,
    answers: watch::Receiver<Snapshot>,
    /// What the browser shows.
    version: u64,
    shown: String,
}

/// The view after every change of its answer. `since` is the version that the browser already shows.
pub(crate) fn events(view: View, answers: watch::Receiver<Snapshot>, since: u64) -> Response {
    let page = Page { view, answers, version: since, shown: String::new() };
    let events = stream::unfold(page, |mut page| async move {
        let event = page.next().await?;
        Some((Ok::<Event, Infallible>(event), page))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

impl Page {
    /// Waits until the view looks different.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let version = self.version;
            // It ends when the question is no longer followed; the browser then asks again.
            let snapshot = self.answers.wait_for(|it| it.version > version).await.ok()?.clone();
            self.version = snapshot.version;
            let html = self.view.body(snapshot.answer.as_deref()?);
            if html != self.shown {
                self.shown = html;
                return Some(Event::default().id(snapshot.version.to_string()).data(&self.shown));
            }
        }
    }
}
