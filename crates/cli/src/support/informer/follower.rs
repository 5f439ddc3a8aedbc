//! Keeps the copy of a kind up to date by watching it, across restarts of the server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cluster::{Selection, Session, WatchEvent};
use manifest::GroupVersionKind;
use tokio::sync::watch;

use super::{Shelf, State, uid};

/// How often a silent watch is asked whether it has lost the server.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait before a list that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);

pub(super) struct Follower<S> {
    pub(super) gvk: GroupVersionKind,
    pub(super) session: Session,
    pub(super) selection: Selection,
    pub(super) state: Arc<Mutex<State<S>>>,
    pub(super) changes: Arc<watch::Sender<()>>,
}

impl<S: Shelf> Follower<S> {
    /// Ends when the kind can no longer be watched.
    pub(super) async fn run(self) {
        self.follow().await;
        self.update(|state| (true, state.is_ended = true));
    }

    async fn follow(&self) {
        let from = self.update(|state| (false, state.resource_version.clone()));
        let watch = S::watch(&self.session, &self.gvk, &self.selection, from).await;
        let Ok(mut watch) = watch else { return };
        loop {
            let event = tokio::time::timeout(CHECK_INTERVAL, watch.next()).await;
            match event {
                Ok(Ok(WatchEvent::Applied(mut object))) => {
                    object["apiVersion"] = self.gvk.api_version().to_string().into();
                    object["kind"] = self.gvk.kind().into();
                    self.update(|state| (true, state.shelf.put(object)));
                }
                Ok(Ok(WatchEvent::Deleted(object))) => {
                    self.update(|state| (true, state.shelf.remove(&uid(&object))));
                }
                Ok(Ok(WatchEvent::Expired)) => watch.resume(Some(self.list_again().await)),
                Ok(Err(_)) => return,
                Err(_) => {}
            }
            let trouble = watch.trouble();
            self.update(|state| (state.trouble != trouble, state.trouble = trouble));
        }
    }

    /// Replaces everything by a new list, and returns its version.
    async fn list_again(&self) -> String {
        loop {
            match S::list(&self.session, &self.gvk, &self.selection).await {
                Ok((shelf, version)) => {
                    self.update(|state| (true, state.shelf = shelf));
                    return version;
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// Changes the state, and says so if that makes a difference.
    fn update<T>(&self, change: impl FnOnce(&mut State<S>) -> (bool, T)) -> T {
        let (is_different, value) = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        if is_different {
            self.changes.send_replace(());
        }
        value
    }
}
