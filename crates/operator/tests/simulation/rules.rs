//! What holds at every step, whatever has happened.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use crate::request::{Request, Verb};
use crate::server::{Change, Id, Server};

pub(crate) const RESOURCE_NAME: &str = "crossplane.io/composition-resource-name";
/// The objects that functions require, which are always there.
pub(crate) const SHELVES: [&str; 2] = ["s0", "s1"];
/// How many calls with the same request there may be within ten seconds: the backoff allows for four.
const MAX_SAME_CALLS: usize = 5;

#[derive(Default)]
pub(crate) struct Rules {
    pub(crate) violations: Vec<String>,
    /// How often functions returned.
    pub(crate) answers: u64,
    /// What functions last said to the leader, by uid of the XR.
    desired: BTreeMap<String, BTreeSet<String>>,
    /// When an operator called with a request.
    calls: HashMap<(usize, u64), VecDeque<u64>>,
}

impl Rules {
    fn broken(&mut self, what: String) {
        // The first is the cause.
        if self.violations.is_empty() {
            self.violations.push(what);
        }
    }

    /// A function returned; `desired` is what it desires, if the leader called it.
    pub(crate) fn answered(
        &mut self,
        client: usize,
        now: u64,
        xr: &str,
        desired: Option<Vec<String>>,
        shelves: &[String],
        request: &str,
    ) {
        self.answers += 1;
        if SHELVES.iter().any(|shelf| !shelves.iter().any(|given| given == shelf)) {
            self.broken(format!("a function required all shelves and got {shelves:?}"));
        }
        if let Some(desired) = desired {
            self.desired.insert(xr.to_owned(), desired.into_iter().collect());
        }
        let mut hasher = DefaultHasher::new();
        request.hash(&mut hasher);
        let calls = self.calls.entry((client, hasher.finish())).or_default();
        calls.push_back(now);
        while calls.front().is_some_and(|first| now - first > 10_000) {
            calls.pop_front();
        }
        if calls.len() > MAX_SAME_CALLS {
            let count = calls.len();
            self.broken(format!(
                "a function was called {count} times in 10 s with the same request, for XR {xr}"
            ));
        }
    }

    /// What a request of an operator changed.
    pub(crate) fn after(&mut self, server: &Server, client: usize, request: &Request, changes: &[Change]) {
        for change in changes {
            let Id { plural, name, .. } = &change.id;
            if change.before.is_none() {
                let refers = |claim: &Value| claim["spec"]["resourceRef"]["name"] == name.as_str();
                if plural == "xapps" && !server.all("apps").any(|(_, claim)| refers(claim)) {
                    self.broken(format!("operator {client} created XR {name}, which no claim refers to"));
                }
                if plural == "apps" {
                    self.broken(format!("operator {client} created claim {name}"));
                }
            }
            if request.verb == Verb::Delete && request.id().as_ref() == Some(&change.id) {
                self.deleted(server, client, change);
            }
        }
    }

    /// An operator deleted an object.
    fn deleted(&mut self, server: &Server, client: usize, change: &Change) {
        let Some(before) = change.before.as_ref().filter(|it| !is_going(it)) else { return };
        let (Some(uid), Some(key)) =
            (controller(before), before["metadata"]["annotations"][RESOURCE_NAME].as_str())
        else {
            return;
        };
        let stays = server.all("xapps").any(|(_, xr)| !is_going(xr) && xr["metadata"]["uid"] == uid);
        let is_defined = server.all("compositeresourcedefinitions").any(|(_, xrd)| !is_going(xrd));
        let is_desired = self.desired.get(uid).is_some_and(|desired| desired.contains(key));
        if is_defined && is_desired && stays {
            self.broken(format!(
                "operator {client} deleted {}, which functions desire as {key:?}",
                change.id
            ));
        }
    }

    pub(crate) fn at_every_step(&mut self, server: &Server) {
        let mut seen: BTreeMap<(&str, &str), &Id> = BTreeMap::new();
        let mut twice = None;
        for (id, object) in server.objects.iter().filter(|(_, object)| !is_going(object)) {
            let key = object["metadata"]["annotations"][RESOURCE_NAME].as_str();
            let (Some(uid), Some(key)) = (controller(object), key) else { continue };
            if let Some(other) = seen.insert((uid, key), id) {
                twice = Some(format!("XR {uid} has two resources {key:?}: {other} and {id}"));
            }
        }
        if let Some(twice) = twice {
            self.broken(twice);
        }
        let claims: BTreeSet<&str> = server.all("apps").map(|(id, _)| id.name.as_str()).collect();
        let is_left = |xr: &Value| {
            let claim = xr["spec"]["claimRef"]["name"].as_str();
            claim.is_some_and(|claim| !claims.contains(claim)) && !is_going(xr)
        };
        let left = server.all("xapps").find(|(_, xr)| is_left(xr)).map(|(id, _)| id.clone());
        if let Some(left) = left {
            self.broken(format!("{left} is left without its claim"));
        }
    }
}

pub(crate) fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The uid of what controls an object.
pub(crate) fn controller(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)?["uid"].as_str()
}
