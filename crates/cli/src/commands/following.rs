//! Objects of several kinds, read once and then followed by watching.

use std::collections::HashMap;
use std::time::Duration;

use cluster::{Error, Event, Resource, Selection, Session};
use futures::stream::{self, BoxStream, SelectAll, StreamExt as _};
use manifest::{GroupVersionKind, Namespace};
use serde_json::Value;

use super::plan::AT_ONCE;

/// How long to wait for what comes together: a rollout is many changes within a moment, and one picture of it is enough.
const TOGETHER: Duration = Duration::from_millis(50);

/// Everything there is of some kinds, kept up to date by [`Following::change`].
pub(super) struct Following {
    session: Session,
    selection: Selection,
    kinds: Vec<Followed>,
    /// Kinds that we may not list, or whose server does not answer.
    pub(super) unseen: Vec<String>,
    /// Opened when somebody asks for changes.
    watches: Option<Watches>,
}

/// Events of all kinds, each with the position of its kind.
type Watches = SelectAll<BoxStream<'static, (usize, Result<Event, Error>)>>;

struct Followed {
    gvk: GroupVersionKind,
    /// The objects by uid.
    objects: HashMap<String, Value>,
    resource_version: String,
}

impl Following {
    /// Reads all objects of `kinds`, in one namespace or everywhere.
    pub(super) async fn begin(
        session: &Session,
        kinds: Vec<Resource>,
        namespace: Option<&Namespace>,
    ) -> Self {
        let selection = Selection { namespace: namespace.cloned(), ..Selection::default() };
        let lists = kinds.into_iter().map(|resource| async {
            match session.list(&resource.gvk, &selection).await {
                Ok(listing) => Ok(Followed {
                    gvk: resource.gvk,
                    objects: listing.items.into_iter().map(|object| (uid(&object), object)).collect(),
                    resource_version: listing.resource_version,
                }),
                Err(_) => Err(resource.plural),
            }
        });
        let listed: Vec<Result<Followed, String>> = stream::iter(lists).buffered(AT_ONCE).collect().await;
        let (mut kinds, mut unseen) = (Vec::new(), Vec::new());
        for outcome in listed {
            match outcome {
                Ok(followed) => kinds.push(followed),
                Err(kind) => unseen.push(kind),
            }
        }
        unseen.sort();
        Self { session: session.clone(), selection, kinds, unseen, watches: None }
    }

    /// The objects as they are now.
    pub(super) fn objects(&self) -> Vec<&Value> {
        self.kinds.iter().flat_map(|kind| kind.objects.values()).collect()
    }

    /// The object of this uid, unless it is gone.
    pub(super) fn get(&self, uid: &str) -> Option<&Value> {
        self.kinds.iter().find_map(|kind| kind.objects.get(uid))
    }

    /// Whether objects of this kind are among those that are followed.
    pub(super) fn follows(&self, gvk: &GroupVersionKind) -> bool {
        self.kinds.iter().any(|kind| kind.gvk == *gvk)
    }

    /// Waits until something is different. A kind that can no longer be watched stays as it was.
    pub(super) async fn change(&mut self) {
        if self.watches.is_none() {
            self.watches = Some(self.open().await);
        }
        let Some(watches) = &mut self.watches else { return };
        let mut together = None;
        loop {
            let next = match together {
                None => watches.next().await,
                Some(end) => match tokio::time::timeout_at(end, watches.next()).await {
                    Ok(next) => next,
                    Err(_) => return,
                },
            };
            let Some((kind, event)) = next else {
                // Nothing is left to watch.
                return std::future::pending().await;
            };
            if let Ok(event) = event {
                self.kinds[kind].take(event);
                together.get_or_insert_with(|| tokio::time::Instant::now() + TOGETHER);
            }
        }
    }

    async fn open(&self) -> Watches {
        let mut watches = SelectAll::new();
        for (index, kind) in self.kinds.iter().enumerate() {
            let from = Some(kind.resource_version.clone());
            let Ok(watch) = self.session.watch(&kind.gvk, self.selection.clone(), from).await else {
                continue;
            };
            let events = stream::unfold(Some(watch), move |watch| async move {
                let mut watch = watch?;
                match watch.next().await {
                    Ok(event) => Some(((index, Ok(event)), Some(watch))),
                    Err(error) => Some(((index, Err(error)), None)),
                }
            });
            watches.push(events.boxed());
        }
        watches
    }
}

impl Followed {
    fn take(&mut self, event: Event) {
        match event {
            Event::Set(mut object) => {
                object["apiVersion"] = self.gvk.api_version().to_string().into();
                object["kind"] = self.gvk.kind().into();
                self.objects.insert(uid(&object), object);
            }
            Event::Deleted(object) => drop(self.objects.remove(&uid(&object))),
            // Everything there is comes again.
            Event::Expired => self.objects.clear(),
        }
    }
}

/// The uid of an object, which no other object ever has.
pub(super) fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
