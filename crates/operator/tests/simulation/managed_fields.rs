//! Who holds which field of an object, as the API server keeps it: enough of server-side apply for it to matter.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Path elements in the notation of FieldsV1: `f:spec`, `k:{"type":"Ready"}`, `v:"a"`, `.` for an item itself.
type Path = Vec<String>;
type Leaves = BTreeMap<Path, Value>;

/// What the server sets, and no manager holds.
const SERVER: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
];

/// Who writes, and how.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    pub(crate) is_status: bool,
}

/// `live` after a forced apply of `intent`.
pub(crate) fn apply(live: Value, intent: &Value, writer: Writer<'_>) -> Value {
    let mut entries = entries(&live);
    let wanted: BTreeSet<Path> = leaves(intent).into_keys().collect();
    let before = leaves(&live);
    let mut result = live;
    merge(&mut result, intent, "");
    let after = leaves(&result);
    let of_others: BTreeSet<Path> = entries
        .iter()
        .filter(|entry| !entry.is_of(writer, "Apply"))
        .flat_map(|entry| entry.paths.iter().cloned())
        .collect();
    let prior = entries.iter().find(|entry| entry.is_of(writer, "Apply")).map(|entry| entry.paths.clone());
    for path in prior.unwrap_or_default().difference(&wanted) {
        if !of_others.contains(path) {
            remove(&mut result, path);
        }
    }
    // Force: the others lose what they wanted to be different.
    let taken = |path: &Path| wanted.contains(path) && before.get(path) != after.get(path);
    for entry in entries.iter_mut().filter(|entry| !entry.is_of(writer, "Apply")) {
        entry.paths.retain(|path| !taken(path));
    }
    entries.retain(|entry| !entry.is_of(writer, "Apply"));
    entries.push(Entry::new(writer, "Apply", intent, wanted));
    store(&mut result, entries);
    result
}

/// `new`, which replaces `live`: its writer holds from now on what it changed.
pub(crate) fn update(live: &Value, mut new: Value, writer: Writer<'_>) -> Value {
    let mut entries = entries(&new);
    let (before, after) = (leaves(live), leaves(&new));
    let is_changed = |path: &Path| before.get(path) != after.get(path);
    for entry in &mut entries {
        entry.paths.retain(|path| after.contains_key(path) && !is_changed(path));
    }
    let changed: BTreeSet<Path> = after.keys().filter(|path| is_changed(path)).cloned().collect();
    match entries.iter_mut().find(|entry| entry.is_of(writer, "Update")) {
        Some(entry) => entry.paths.extend(changed),
        None if !changed.is_empty() => entries.push(Entry::new(writer, "Update", &new, changed)),
        None => {}
    }
    store(&mut new, entries);
    new
}

struct Entry {
    manager: String,
    operation: String,
    subresource: String,
    api_version: Value,
    paths: BTreeSet<Path>,
}

impl Entry {
    fn new(writer: Writer<'_>, operation: &str, object: &Value, paths: BTreeSet<Path>) -> Self {
        Self {
            manager: writer.manager.to_owned(),
            operation: operation.to_owned(),
            subresource: if writer.is_status { "status" } else { "" }.to_owned(),
            api_version: object["apiVersion"].clone(),
            paths,
        }
    }

    fn is_of(&self, writer: Writer<'_>, operation: &str) -> bool {
        let is_status = self.subresource == "status";
        self.manager == writer.manager && self.operation == operation && is_status == writer.is_status
    }
}

fn entries(object: &Value) -> Vec<Entry> {
    let read = |entry: &Value| {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let mut paths = BTreeSet::new();
        collect(&entry["fieldsV1"], &mut Vec::new(), &mut paths);
        let (manager, operation, subresource) = (text("manager"), text("operation"), text("subresource"));
        Entry { manager, operation, subresource, api_version: entry["apiVersion"].clone(), paths }
    };
    object["metadata"]["managedFields"].as_array().into_iter().flatten().map(read).collect()
}

fn collect(fields: &Value, at: &mut Path, paths: &mut BTreeSet<Path>) {
    let Some(fields) = fields.as_object().filter(|fields| !fields.is_empty()) else {
        if !at.is_empty() {
            paths.insert(at.clone());
        }
        return;
    };
    for (key, below) in fields {
        at.push(key.clone());
        collect(below, at, paths);
        at.pop();
    }
}

fn store(object: &mut Value, mut entries: Vec<Entry>) {
    entries.sort_by_key(|entry| (entry.operation.clone(), entry.manager.clone(), entry.subresource.clone()));
    let written = |entry: &Entry| {
        let mut fields = Map::new();
        for path in &entry.paths {
            let mut at = &mut fields;
            for element in path {
                let below = at.entry(element.clone()).or_insert_with(|| json!({}));
                at = below.as_object_mut().expect("it was made an object");
            }
        }
        let mut written = json!({
            "manager": entry.manager, "operation": entry.operation, "apiVersion": entry.api_version,
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        });
        if !entry.subresource.is_empty() {
            written["subresource"] = entry.subresource.as_str().into();
        }
        written
    };
    let written: Vec<Value> = entries.iter().filter(|entry| !entry.paths.is_empty()).map(written).collect();
    object["metadata"]["managedFields"] = written.into();
}

/// How the items of a list are told apart.
enum List {
    Keyed(&'static str),
    /// By uid; each item is held as a whole.
    Owners,
    Set,
    Atomic,
}

impl List {
    fn named(name: &str) -> Self {
        match name {
            "conditions" | "conditionTypes" => Self::Keyed("type"),
            "ownerReferences" => Self::Owners,
            "finalizers" | "claimConditionTypes" | "retiredConditionTypes" => Self::Set,
            _ => Self::Atomic,
        }
    }
}

fn leaves(object: &Value) -> Leaves {
    let mut found = Leaves::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        match key.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => {
                let metadata = value.as_object().into_iter().flatten();
                for (key, value) in metadata.filter(|(key, _)| !SERVER.contains(&key.as_str())) {
                    let mut at = vec!["f:metadata".to_owned(), format!("f:{key}")];
                    descend(value, key, &mut at, &mut found);
                }
            }
            _ => descend(value, key, &mut vec![format!("f:{key}")], &mut found),
        }
    }
    found
}

fn descend(value: &Value, name: &str, at: &mut Path, found: &mut Leaves) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                at.push(format!("f:{key}"));
                descend(value, key, at, found);
                at.pop();
            }
        }
        Value::Array(items) => match List::named(name) {
            List::Keyed(key) => {
                for item in items {
                    at.push(format!("k:{}", json!({key: item[key]})));
                    at.push(".".to_owned());
                    found.insert(at.clone(), Value::Null);
                    at.pop();
                    descend(item, "", at, found);
                    at.pop();
                }
            }
            List::Owners => {
                for item in items {
                    at.push(format!("k:{}", json!({"uid": item["uid"]})));
                    found.insert(at.clone(), item.clone());
                    at.pop();
                }
            }
            List::Set => {
                for item in items {
                    at.push(format!("v:{item}"));
                    found.insert(at.clone(), item.clone());
                    at.pop();
                }
            }
            List::Atomic => {
                found.insert(at.clone(), value.clone());
            }
        },
        _ => {
            found.insert(at.clone(), value.clone());
        }
    }
}

fn merge(live: &mut Value, intent: &Value, name: &str) {
    match (live, intent) {
        (Value::Object(live), Value::Object(intent)) => {
            for (key, wanted) in intent {
                merge(live.entry(key.clone()).or_insert(Value::Null), wanted, key);
            }
        }
        (Value::Array(live), Value::Array(intent)) => match List::named(name) {
            List::Atomic => live.clone_from(intent),
            List::Set => {
                live.extend(intent.iter().filter(|item| !live.contains(item)).cloned().collect::<Vec<_>>());
            }
            list @ (List::Keyed(_) | List::Owners) => {
                let key = if let List::Keyed(key) = list { key } else { "uid" };
                for wanted in intent {
                    match live.iter_mut().find(|item| item[key] == wanted[key]) {
                        Some(item) if key == "uid" => item.clone_from(wanted),
                        Some(item) => merge(item, wanted, ""),
                        None => live.push(wanted.clone()),
                    }
                }
            }
        },
        (live, intent) => *live = intent.clone(),
    }
}

/// Removes the field at `path`, and the objects that are empty without it.
fn remove(object: &mut Value, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    if let Some(name) = first.strip_prefix("f:") {
        let Some(fields) = object.as_object_mut() else { return };
        let Some(below) = fields.get_mut(name) else { return };
        if !rest.is_empty() {
            remove(below, rest);
        }
        let is_empty =
            below.as_object().is_some_and(Map::is_empty) || below.as_array().is_some_and(Vec::is_empty);
        if rest.is_empty() || is_empty {
            fields.remove(name);
        }
        return;
    }
    let Some(items) = object.as_array_mut() else { return };
    if let Some(wanted) = first.strip_prefix("v:") {
        let wanted: Option<Value> = serde_json::from_str(wanted).ok();
        items.retain(|item| Some(item) != wanted.as_ref());
    } else if let Some(key) = first.strip_prefix("k:").and_then(|key| serde_json::from_str::<Value>(key).ok())
    {
        let is_it = |item: &Value| {
            key.as_object().is_some_and(|key| key.iter().all(|(key, value)| item[key] == *value))
        };
        if rest.is_empty() || rest == ["."] {
            items.retain(|item| !is_it(item));
        } else if let Some(item) = items.iter_mut().find(|item| is_it(item)) {
            remove(item, rest);
        }
    }
}
