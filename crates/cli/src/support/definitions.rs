//! Notices kinds that are defined or removed while something looks, whose answer depends on which kinds there are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::{Resource, Selection};

use super::connect::Cluster;
use super::informer::{Informer, Records};
use super::kinds;

/// A kind is defined a moment before discovery lists it: how often that is looked at, and when.
const LOOKS: u32 = 5;
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The definitions of kinds; watched from the first time that a caller waits for a change.
#[derive(Default)]
pub(crate) struct Definitions {
    watched: Option<Informer<Records>>,
    /// The definitions that were there when a change was last reported, with their versions.
    reported: BTreeMap<Box<str>, Box<str>>,
    /// How often discovery is still asked for kinds that were defined.
    looks: u32,
}

impl Definitions {
    /// Waits until discovery may list other kinds than `known`; it will be asked again. Waiting may be cancelled.
    pub(crate) async fn changed(&mut self, cluster: &Cluster, known: &[Resource]) {
        if self.watched.is_none() {
            let kind = known.iter().find(|kind| kind.gvk.is_same_kind(&kinds::crd()));
            let kinds = kind.map(|kind| (kind.clone(), Selection::default()));
            let watched = cluster.informers.list(kinds).await;
            self.reported = defined(&watched);
            self.watched = Some(watched);
            // Something may have been defined since discovery was asked.
            self.looks = if self.are_known(known) { 0 } else { LOOKS };
        }
        let Some(watched) = &mut self.watched else { return };
        loop {
            tokio::select! {
                () = watched.changed() => {}
                () = tokio::time::sleep(LOOK_AGAIN), if self.looks > 0 => break,
            }
            // A server that does not answer is a change, too, and defines nothing.
            let now = defined(watched);
            if now != self.reported {
                (self.reported, self.looks) = (now, LOOKS);
                break;
            }
        }
        cluster.session.invalidate_discovery();
    }

    /// Discovery was asked again, and lists these.
    pub(crate) fn look_at(&mut self, known: &[Resource]) {
        self.looks = if self.are_known(known) { 0 } else { self.looks.saturating_sub(1) };
    }

    /// Whether every kind that is defined is known.
    fn are_known(&self, known: &[Resource]) -> bool {
        let names: BTreeSet<String> = known.iter().map(Resource::crd_name).collect();
        self.watched.iter().flat_map(defined).all(|(name, _)| names.contains(&*name))
    }
}

fn defined(watched: &Informer<Records>) -> BTreeMap<Box<str>, Box<str>> {
    let shelves = watched.shelves();
    let definitions = shelves.iter().flat_map(|shelf| shelf.content().all());
    definitions.map(|definition| (definition.name.clone(), definition.version.clone())).collect()
}
