//! What runs beside the operator in a cluster: the garbage collector, the controller of CRDs, and a controller of Things.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::kinds::CRDS;
use crate::server::{Id, Server, strings};

const FOREGROUND: &str = "foregroundDeletion";
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
/// What keeps a Thing until its controller has let it go.
const THING: &str = "lib.example.org/cleanup";

/// Does some of what there is to do; whether there may be more.
pub(crate) fn step(server: &mut Server, random: &mut fastrand::Rng) -> bool {
    let all: Vec<(Id, Arc<Value>)> =
        server.objects.iter().map(|(id, it)| (id.clone(), Arc::clone(it))).collect();
    let uids: BTreeSet<&str> = all.iter().filter_map(|(_, it)| it["metadata"]["uid"].as_str()).collect();
    let mut has_more = false;
    remember_absent(server, &all, &uids);
    for (id, object) in &all {
        let due = match id.plural.as_str() {
            CRDS => crd_due(server, id, object),
            "things" => thing_due(object),
            _ => None,
        };
        let due = due.or_else(|| garbage_due(server, id, object, &uids, &all));
        let Some(due) = due else { continue };
        has_more = true;
        // Controllers are slow, each at its own pace.
        if random.u8(..10) < 7 {
            due(server, id);
        }
    }
    has_more
}

/// The garbage collector remembers which owners it has found to be absent, also when their kind is gone later.
fn remember_absent(server: &mut Server, all: &[(Id, Arc<Value>)], uids: &BTreeSet<&str>) {
    for (_, object) in all {
        for owner in object["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
            let uid = owner["uid"].as_str().unwrap_or_default();
            if !uids.contains(uid) && is_served(server, owner) {
                server.absent.insert(uid.to_owned());
            }
        }
    }
}

fn is_served(server: &Server, owner: &Value) -> bool {
    let group = owner["apiVersion"].as_str().and_then(|it| it.split_once('/')).map_or("", |(group, _)| group);
    server.kinds().iter().any(|kind| kind.group == group && owner["kind"] == *kind.kind)
}

type Due = Box<dyn FnOnce(&mut Server, &Id)>;

fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

fn crd_due(server: &Server, id: &Id, crd: &Value) -> Option<Due> {
    if !is_going(crd) {
        let is_established = !crd["status"]["conditions"].is_null();
        return (!is_established).then(|| -> Due {
            Box::new(|server, id| {
                let established =
                    json!([{"type": "Established", "status": "True", "reason": "InitialNamesAccepted"}]);
                server.edit(id, "kube-apiserver", true, |crd| crd["status"]["conditions"] = established);
            })
        });
    }
    let plural = crd["spec"]["names"]["plural"].as_str().unwrap_or_default().to_owned();
    let _ = id;
    let left: Vec<Id> = server.all(&plural).map(|(id, _)| id.clone()).collect();
    Some(Box::new(move |server, id| {
        if left.is_empty() {
            release(server, id, CLEANUP);
        }
        for one in left {
            server.delete(&one, &json!({}));
        }
    }))
}

fn thing_due(thing: &Value) -> Option<Due> {
    let is_held = strings(&thing["metadata"]["finalizers"]).iter().any(|one| one == THING);
    if is_going(thing) {
        return is_held.then(|| -> Due { Box::new(|server, id| release(server, id, THING)) });
    }
    if !is_held {
        return Some(Box::new(|server, id| {
            server.edit(id, "things", false, |thing| {
                let mut finalizers = strings(&thing["metadata"]["finalizers"]);
                finalizers.push(THING.to_owned());
                thing["metadata"]["finalizers"] = finalizers.into();
            });
        }));
    }
    let is_ready = thing["status"]["conditions"][0]["status"] == "True";
    (!is_ready).then(|| -> Due {
        Box::new(|server, id| {
            let ready = json!([{"type": "Ready", "status": "True", "reason": "Available"}]);
            server.edit(id, "things", true, |thing| thing["status"]["conditions"] = ready);
        })
    })
}

/// What the garbage collector does about an object.
fn garbage_due(
    server: &Server,
    id: &Id,
    object: &Value,
    uids: &BTreeSet<&str>,
    all: &[(Id, Arc<Value>)],
) -> Option<Due> {
    if is_going(object) {
        if !strings(&object["metadata"]["finalizers"]).iter().any(|one| one == FOREGROUND) {
            return None;
        }
        let blocks = |dependent: &Value| {
            let owners = dependent["metadata"]["ownerReferences"].as_array().into_iter().flatten();
            owners
                .into_iter()
                .any(|owner| owner["uid"] == object["metadata"]["uid"] && owner["blockOwnerDeletion"] == true)
        };
        let dependents: Vec<(Id, bool)> =
            all.iter().filter(|(_, it)| blocks(it)).map(|(id, it)| (id.clone(), is_going(it))).collect();
        if dependents.is_empty() {
            return Some(Box::new(|server, id| release(server, id, FOREGROUND)));
        }
        if dependents.iter().all(|(_, is_going)| *is_going) {
            return None;
        }
        return Some(Box::new(move |server, _| {
            for (dependent, _) in dependents.iter().filter(|(_, is_going)| !is_going) {
                server.delete(dependent, &json!({}));
            }
        }));
    }
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    // An owner whose kind is not served may be anywhere, unless it was found to be absent before.
    let is_absent = |owner: &Value| {
        let uid = owner["uid"].as_str().unwrap_or_default();
        server.absent.contains(uid) || (is_served(server, owner) && !uids.contains(uid))
    };
    let _ = id;
    let is_garbage = !owners.is_empty() && owners.iter().all(is_absent);
    is_garbage.then(|| -> Due { Box::new(|server, id| drop(server.delete(id, &json!({})))) })
}

fn release(server: &mut Server, id: &Id, finalizer: &str) {
    server.edit(id, "kube-controller-manager", false, |object| {
        let mut finalizers = strings(&object["metadata"]["finalizers"]);
        finalizers.retain(|one| one != finalizer);
        object["metadata"]["finalizers"] = finalizers.into();
    });
}
