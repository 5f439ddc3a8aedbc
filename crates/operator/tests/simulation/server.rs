//! A small API server: objects with versions, generations, managed fields, finalizers and preconditions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use operator::runtime::clock::Clock;
use serde_json::{Value, json};

use crate::kinds::{CRDS, Kind, discovery};
use crate::managed_fields::{self, Writer};
use crate::request::{Request, Verb};

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.plural, self.name)
    }
}

/// A change of one object, as watches see it.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) id: Id,
    pub(crate) before: Option<Arc<Value>>,
    pub(crate) after: Option<Arc<Value>>,
}

/// A response: its code and body.
pub(crate) type Answer = (u16, Value);

#[derive(Default)]
pub(crate) struct Server {
    pub(crate) objects: BTreeMap<Id, Arc<Value>>,
    pub(crate) version: u64,
    /// All changes so far, oldest first.
    pub(crate) log: Vec<Change>,
    pub(crate) clock: Clock,
    /// The uids of owners that the garbage collector has found to be absent.
    pub(crate) absent: BTreeSet<String>,
    uids: u64,
    /// Those that are served.
    kinds: Vec<Kind>,
}

impl Server {
    pub(crate) fn new() -> Self {
        // 2030-01-01T00:00:00Z
        let clock = Clock::starting_at(Timestamp::constant(1_893_456_000, 0));
        Self { version: 100, kinds: Kind::built_in(), clock, ..Self::default() }
    }

    pub(crate) fn get(&self, id: &Id) -> Option<&Arc<Value>> {
        self.objects.get(id)
    }

    /// The objects of one resource.
    pub(crate) fn all<'a>(&'a self, plural: &'a str) -> impl Iterator<Item = (&'a Id, &'a Arc<Value>)> {
        self.objects.iter().filter(move |(id, _)| id.plural == plural)
    }

    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The kind at a path, if that version of it is served.
    pub(crate) fn served(&self, group: &str, version: &str, plural: &str) -> Option<&Kind> {
        let is_it = |kind: &&Kind| kind.group == group && kind.plural == plural;
        self.kinds.iter().find(is_it).filter(|kind| kind.versions.iter().any(|one| one == version))
    }

    /// A CRD may have changed.
    fn changed(&mut self, id: &Id) {
        if id.plural == CRDS {
            let defined = self.all(CRDS).filter_map(|(_, crd)| Kind::of_crd(crd));
            self.kinds = Kind::built_in().into_iter().chain(defined).collect();
        }
    }

    /// Answers any request but a watch.
    pub(crate) fn handle(&mut self, request: &Request) -> Answer {
        if let "/api" | "/apis" = request.path.as_str() {
            return (200, discovery(&self.kinds, request.path == "/api"));
        }
        let Some((kind, version)) = request.resource.as_ref().and_then(|at| {
            Some((self.served(&at.group, &at.version, &at.plural)?.clone(), at.version.clone()))
        }) else {
            return (404, Value::Null);
        };
        if kind.kind == "SelfSubjectAccessReview" {
            let mut review = request.body.clone();
            review["status"] = json!({"allowed": true});
            return (201, review);
        }
        let api_version = kind.api_version(&version);
        let Some(id) = request.id() else {
            return match request.verb {
                Verb::List => (200, self.list(request, &kind, &api_version)),
                Verb::Create => self.create(request, &kind, &api_version),
                _ => (405, status(405, "MethodNotAllowed", "no", "")),
            };
        };
        let answer = match request.verb {
            Verb::Get => match self.get(&id) {
                Some(object) => (200, Value::clone(object)),
                None => not_found(&id),
            },
            Verb::Apply => self.apply(request, &id, &kind),
            Verb::Replace | Verb::Merge | Verb::JsonPatch => self.update(request, &id, &kind),
            Verb::Delete => self.delete(&id, &request.body),
            Verb::List | Verb::Create | Verb::Watch => (405, status(405, "MethodNotAllowed", "no", "")),
        };
        match answer {
            (code @ (200 | 201), mut object) if object["kind"] != "Status" => {
                object["apiVersion"] = api_version.into();
                (code, object)
            }
            answer => answer,
        }
    }

    fn list(&self, request: &Request, kind: &Kind, api_version: &str) -> Value {
        let of = self.objects.iter().filter(|(id, _)| id.group == kind.group && id.plural == kind.plural);
        let items: Vec<&Value> =
            of.filter(|(id, object)| request.selects(id, object)).map(|(_, object)| &**object).collect();
        json!({
            "kind": format!("{}List", kind.kind), "apiVersion": api_version,
            "metadata": {"resourceVersion": self.version.to_string()}, "items": items,
        })
    }

    fn create(&mut self, request: &Request, kind: &Kind, api_version: &str) -> Answer {
        let mut object = request.body.clone();
        object["apiVersion"] = api_version.into();
        let at = request.resource.as_ref().expect("it has a kind");
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let (group, plural) = (at.group.clone(), at.plural.clone());
        let id = Id { group, plural, namespace: at.namespace.clone(), name };
        if self.get(&id).is_some() {
            return (409, status(409, "AlreadyExists", "it exists", &id.name));
        }
        let object = managed_fields::update(&json!({}), object, request.writer());
        (201, self.insert(&id, object, kind))
    }

    pub(crate) fn apply(&mut self, request: &Request, id: &Id, kind: &Kind) -> Answer {
        let uid = &request.body["metadata"]["uid"];
        let Some(live) = self.get(id).cloned() else {
            if request.writer().is_status {
                return not_found(id);
            }
            if uid.is_string() {
                // An object cannot be created with the uid of another.
                return (
                    409,
                    status(409, "Conflict", "uid mismatch: the provided object specified a uid", &id.name),
                );
            }
            if self.is_terminating(kind) {
                return (
                    405,
                    status(405, "MethodNotAllowed", "create not allowed while terminating", &id.name),
                );
            }
            let object = managed_fields::apply(json!({}), &request.body, request.writer());
            return (201, self.insert(id, object, kind));
        };
        if uid.is_string() && *uid != live["metadata"]["uid"] {
            return (409, status(409, "Conflict", "uid mismatch", &id.name));
        }
        let mut intent = request.body.clone();
        let fields = intent.as_object_mut().expect("an apply is of an object");
        if request.writer().is_status {
            fields.retain(|key, _| matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        } else {
            fields.remove("status");
        }
        let applied = managed_fields::apply(Value::clone(&live), &intent, request.writer());
        (200, self.put(id, applied, kind))
    }

    fn update(&mut self, request: &Request, id: &Id, kind: &Kind) -> Answer {
        let Some(live) = self.get(id).cloned() else { return not_found(id) };
        let mut new = Value::clone(&live);
        match request.verb {
            Verb::Merge => merge(&mut new, &request.body),
            Verb::JsonPatch => {
                if !json_patch(&mut new, &request.body) {
                    return (422, status(422, "Invalid", "the server rejected our request", &id.name));
                }
            }
            _ => new = request.body.clone(),
        }
        let given = &new["metadata"]["resourceVersion"];
        if given.is_string() && *given != live["metadata"]["resourceVersion"] {
            return (409, status(409, "Conflict", "the object has been modified", &id.name));
        }
        if new["metadata"]["uid"] != live["metadata"]["uid"] {
            return (409, status(409, "Conflict", "uid mismatch", &id.name));
        }
        if kind.has_status {
            if request.writer().is_status {
                let (status, managed) = (new["status"].clone(), new["metadata"]["managedFields"].clone());
                new = Value::clone(&live);
                new["status"] = status;
                new["metadata"]["managedFields"] = managed;
            } else if let Some(status) = live.get("status") {
                new["status"] = status.clone();
            } else if let Some(fields) = new.as_object_mut() {
                fields.remove("status");
            }
        }
        let new = managed_fields::update(&live, new, request.writer());
        (200, self.put(id, new, kind))
    }

    pub(crate) fn delete(&mut self, id: &Id, options: &Value) -> Answer {
        let Some(live) = self.get(id).cloned() else { return not_found(id) };
        for key in ["uid", "resourceVersion"] {
            let wanted = &options["preconditions"][key];
            if wanted.is_string() && *wanted != live["metadata"][key] {
                return (409, status(409, "Conflict", "precondition failed", &id.name));
            }
        }
        let mut object = Value::clone(&live);
        let metadata = &mut object["metadata"];
        let extra = match options["propagationPolicy"].as_str() {
            Some("Foreground") => Some("foregroundDeletion"),
            Some("Orphan") => Some("orphan"),
            _ => None,
        };
        let mut finalizers = strings(&metadata["finalizers"]);
        if metadata["deletionTimestamp"].is_null() {
            finalizers.extend(extra.map(str::to_owned));
            if id.plural == CRDS {
                finalizers.push("customresourcecleanup.apiextensions.k8s.io".to_owned());
            }
        }
        if finalizers.is_empty() {
            self.remove(id);
            return (200, status(200, "", "", &id.name));
        }
        metadata["finalizers"] = finalizers.into();
        if metadata["deletionTimestamp"].is_null() {
            metadata["deletionTimestamp"] = self.clock.now().to_string().into();
            metadata["deletionGracePeriodSeconds"] = 0.into();
            if let Some(generation) = metadata["generation"].as_i64() {
                metadata["generation"] = (generation + 1).into();
            }
        }
        let kind = Kind { has_status: false, ..self.kind_of(id) };
        (200, self.put(id, object, &kind))
    }

    /// How objects of the kind of `id` are kept, also if no version of it is served.
    pub(crate) fn kind_of(&self, id: &Id) -> Kind {
        let found = self.kinds.iter().find(|kind| kind.group == id.group && kind.plural == id.plural);
        found.cloned().unwrap_or_else(|| Kind {
            group: id.group.clone(),
            kind: String::new(),
            plural: id.plural.clone(),
            namespaced: !id.namespace.is_empty(),
            has_status: true,
            versions: Vec::new(),
        })
    }

    pub(crate) fn insert(&mut self, id: &Id, mut object: Value, kind: &Kind) -> Value {
        self.uids += 1;
        let metadata = &mut object["metadata"];
        metadata["uid"] = format!("uid-{:04}", self.uids).into();
        metadata["name"] = id.name.clone().into();
        if !id.namespace.is_empty() {
            metadata["namespace"] = id.namespace.clone().into();
        }
        metadata["creationTimestamp"] = self.clock.now().to_string().into();
        if kind.has_status {
            metadata["generation"] = 1.into();
            if let Some(fields) = object.as_object_mut() {
                fields.remove("status");
            }
        }
        self.commit(id, object)
    }

    /// Stores a new version, unless it is the same; removes an object that is being deleted and no longer held.
    pub(crate) fn put(&mut self, id: &Id, mut object: Value, kind: &Kind) -> Value {
        let live = self.get(id).cloned().expect("it was there just now");
        for key in ["uid", "creationTimestamp", "generation", "resourceVersion"] {
            if object["metadata"][key] != live["metadata"][key] && key != "generation" {
                object["metadata"][key] = live["metadata"][key].clone();
            }
        }
        if object == *live {
            return object;
        }
        let content = |object: &Value| {
            let mut content = object.clone();
            if let Some(fields) = content.as_object_mut() {
                for key in ["metadata", "status", "apiVersion"] {
                    fields.remove(key);
                }
            }
            content
        };
        if kind.has_status && content(&object) != content(&live) {
            let generation = live["metadata"]["generation"].as_i64().unwrap_or_default();
            object["metadata"]["generation"] = (generation + 1).into();
        }
        let is_held = !strings(&object["metadata"]["finalizers"]).is_empty();
        if !object["metadata"]["deletionTimestamp"].is_null() && !is_held {
            self.remove(id);
            return object;
        }
        self.commit(id, object)
    }

    fn commit(&mut self, id: &Id, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let after = Arc::new(object.clone());
        let before = self.objects.insert(id.clone(), Arc::clone(&after));
        self.log.push(Change { version: self.version, id: id.clone(), before, after: Some(after) });
        self.changed(id);
        object
    }

    pub(crate) fn remove(&mut self, id: &Id) {
        if let Some(before) = self.objects.remove(id) {
            self.version += 1;
            self.log.push(Change {
                version: self.version,
                id: id.clone(),
                before: Some(before),
                after: None,
            });
            self.changed(id);
        }
    }

    /// A write by someone other than the operator.
    pub(crate) fn edit(
        &mut self,
        id: &Id,
        manager: &str,
        is_status: bool,
        edit: impl FnOnce(&mut Value),
    ) -> bool {
        let Some(live) = self.get(id).cloned() else { return false };
        let mut new = Value::clone(&live);
        edit(&mut new);
        let new = managed_fields::update(&live, new, Writer { manager, is_status });
        let kind = self.kind_of(id);
        self.put(id, new, &kind);
        true
    }
}

pub(crate) fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn not_found(id: &Id) -> Answer {
    (404, status(404, "NotFound", &format!("{} {:?} not found", id.plural, id.name), &id.name))
}

pub(crate) fn status(code: u16, reason: &str, message: &str, name: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "code": code, "reason": reason, "message": message,
        "status": if code < 300 { "Success" } else { "Failure" }, "details": {"name": name},
    })
}

fn merge(into: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            into.as_object_mut().expect("it is an object").remove(key);
        } else {
            merge(&mut into[key], value);
        }
    }
}

/// Whether all operations could be done.
fn json_patch(object: &mut Value, patch: &Value) -> bool {
    patch.as_array().into_iter().flatten().all(|operation| {
        let path = operation["path"].as_str().unwrap_or_default();
        match operation["op"].as_str() {
            Some("test") => object.pointer(path) == Some(&operation["value"]),
            Some("replace") => object.pointer_mut(path).map(|at| *at = operation["value"].clone()).is_some(),
            _ => false,
        }
    })
}
