//! The objects of a document: one, or the items of a `List`, each with what every Kubernetes object needs.

use std::fmt;

use diag::{Diagnostic, Span};
use serde_json::Value;

use crate::{ApiVersion, Document, GroupVersionKind, Namespace, ObjectRef, Step, codes};

/// An object in a document whose identity is complete.
#[derive(Clone)]
pub struct Object<'d> {
    document: &'d Document,
    path: Vec<Step<'static>>,
    /// The object itself.
    pub value: &'d Value,
    /// What kind of object it is.
    pub gvk: GroupVersionKind,
    /// The namespace it names.
    pub namespace: Option<Namespace>,
    /// The name it is to have.
    pub name: Name,
}

/// The name of an object that may not exist yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// `metadata.name`
    Given(String),
    /// `metadata.generateName`: the API server appends something unique.
    Generated(String),
}

/// The objects in `document`: the object it is, or the items if it is a list.
///
/// Fails with everything that is missing or malformed in any of them.
pub fn objects(document: &Document) -> Result<Vec<Object<'_>>, Vec<Diagnostic>> {
    let mut reader = Reader { document, objects: Vec::new(), problems: Vec::new() };
    reader.read(document.value(), None, &mut Vec::new());
    if reader.problems.is_empty() { Ok(reader.objects) } else { Err(reader.problems) }
}

impl Object<'_> {
    /// Which object it is, unless the API server is to name it.
    pub fn reference(&self) -> Option<ObjectRef> {
        match &self.name {
            Name::Given(name) => Some(ObjectRef::new(self.gvk.clone(), self.namespace.clone(), name)),
            Name::Generated(_) => None,
        }
    }

    /// The object as the API server gets it: an item of a list of one kind need not repeat the kind.
    pub fn body(&self) -> Value {
        let mut body = self.value.clone();
        body["apiVersion"] = self.gvk.api_version().to_string().into();
        body["kind"] = self.gvk.kind().into();
        body
    }

    /// Where to point for a field of this object, even if it does not exist.
    pub fn span(&self, field: &[Step<'_>]) -> Span {
        let path: Vec<Step<'_>> = self.path.iter().chain(field).copied().collect();
        self.document.closest_span(&path)
    }

    /// The document the object is in.
    pub fn document(&self) -> &Document {
        self.document
    }
}

/// Leaves the value out: it may be a Secret.
impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({}, {:?}, {:?})", self.gvk, self.namespace, self.name)
    }
}

struct Reader<'d> {
    document: &'d Document,
    objects: Vec<Object<'d>>,
    problems: Vec<Diagnostic>,
}

impl<'d> Reader<'d> {
    /// `list` is the list of one kind in which `value` is an item.
    fn read(&mut self, value: &'d Value, list: Option<&'d Value>, path: &mut Vec<Step<'static>>) {
        if !value.is_object() {
            let found = format!("This is {}.", describe(value));
            self.report(
                path,
                &[],
                "this is not an object",
                &found,
                "Write a mapping with `apiVersion`, `kind` and `metadata`.",
            );
            return;
        }
        if is_list(value) {
            self.read_items(value, path);
            return;
        }
        let (api_version, kind) = if let Some(list) = list.filter(|_| value["kind"].is_null()) {
            let kind = list["kind"].as_str().and_then(|kind| kind.strip_suffix(LIST));
            (self.api_version(list, &[]), kind)
        } else {
            let hint = "Say what kind of object it is, for instance `kind: Deployment`.";
            (self.api_version(value, path), self.text(value, path, &["kind"], hint))
        };
        let name = self.name(value, path);
        let namespace = self.optional_text(value, path, &["metadata", "namespace"]);
        let (Some(api_version), Some(kind), Some(name), Ok(namespace)) = (api_version, kind, name, namespace)
        else {
            return;
        };
        match GroupVersionKind::new(api_version, kind) {
            Ok(gvk) => {
                let namespace = namespace.and_then(Namespace::new);
                self.objects.push(Object {
                    document: self.document,
                    path: path.clone(),
                    value,
                    gvk,
                    namespace,
                    name,
                });
            }
            Err(error) => {
                let detail = format!("`{kind}` is not a kind: {error}.");
                self.report(
                    path,
                    &["kind"],
                    "kind is malformed",
                    &detail,
                    "Write the kind alone, for instance `Deployment`.",
                );
            }
        }
    }

    fn read_items(&mut self, list: &'d Value, path: &mut Vec<Step<'static>>) {
        match list.get("items") {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                let of_kind = Some(list).filter(|list| list["kind"] != LIST);
                path.push(Step::Key("items"));
                for (index, item) in items.iter().enumerate() {
                    path.push(Step::Index(index));
                    self.read(item, of_kind, path);
                    path.pop();
                }
                path.pop();
            }
            Some(other) => {
                let found = format!("This is {}.", describe(other));
                self.report(
                    path,
                    &["items"],
                    "items is not a list",
                    &found,
                    "Write each object as an item (`- …`).",
                );
            }
        }
    }

    fn api_version(&mut self, value: &'d Value, path: &[Step<'static>]) -> Option<ApiVersion> {
        let hint = "Write the API version of the kind, for instance `apiVersion: apps/v1`.";
        let text = self.text(value, path, &["apiVersion"], hint)?;
        match text.parse() {
            Ok(api_version) => Some(api_version),
            Err(error) => {
                let detail = format!("`{text}` is not an API version: {error}.");
                self.report(
                    path,
                    &["apiVersion"],
                    "apiVersion is malformed",
                    &detail,
                    "Write `group/version`, or the version alone for the core group.",
                );
                None
            }
        }
    }

    fn name(&mut self, value: &'d Value, path: &[Step<'static>]) -> Option<Name> {
        if !matches!(value.get("metadata"), None | Some(Value::Null | Value::Object(_))) {
            let found = format!("This is {}.", describe(&value["metadata"]));
            self.report(
                path,
                &["metadata"],
                "metadata is not a mapping",
                &found,
                "Write `metadata:` with `name` under it.",
            );
            return None;
        }
        let given = self.optional_text(value, path, &["metadata", "name"]).ok()?;
        let generated = self.optional_text(value, path, &["metadata", "generateName"]).ok()?;
        match (given, generated) {
            (Some(name), _) if !name.is_empty() => Some(Name::Given(name.to_owned())),
            (_, Some(prefix)) if !prefix.is_empty() => Some(Name::Generated(prefix.to_owned())),
            (given, _) => {
                let what =
                    if given.is_some() { "metadata.name is empty" } else { "metadata.name is missing" };
                let why =
                    "Every object has a name; the API server makes one up only from metadata.generateName.";
                self.report(
                    path,
                    &["metadata", "name"],
                    what,
                    why,
                    "Write the name of the object under `metadata`.",
                );
                None
            }
        }
    }

    /// A field that must be a text and not empty.
    fn text(
        &mut self,
        value: &'d Value,
        path: &[Step<'static>],
        field: &[&'static str],
        hint: &str,
    ) -> Option<&'d str> {
        match self.optional_text(value, path, field).ok()? {
            Some(text) if !text.is_empty() => Some(text),
            found => {
                let what =
                    format!("{} is {}", field.join("."), if found.is_some() { "empty" } else { "missing" });
                self.report(path, field, &what, "Every Kubernetes object has it.", hint);
                None
            }
        }
    }

    /// A field that is a text if it is there; a null counts as not there.
    fn optional_text(
        &mut self,
        value: &'d Value,
        path: &[Step<'static>],
        field: &[&'static str],
    ) -> Result<Option<&'d str>, ()> {
        match field.iter().try_fold(value, |value, key| value.get(key)) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                let what = format!("{} is not a text", field.join("."));
                let found = format!("This is {}.", describe(other));
                self.report(path, field, &what, &found, "Put it in quotes.");
                Err(())
            }
        }
    }

    fn report(&mut self, path: &[Step<'static>], field: &[&'static str], what: &str, why: &str, hint: &str) {
        let full: Vec<Step<'_>> =
            path.iter().copied().chain(field.iter().map(|key| Step::Key(key))).collect();
        let span = self.document.closest_span(&full);
        let mut diagnostic =
            Diagnostic::error(codes::SHAPE, what).at(self.document.source(), span, "").detail(why).hint(hint);
        if !full.is_empty() {
            diagnostic = diagnostic.field(display_path(&full));
        }
        self.problems.push(diagnostic);
    }
}

/// The kind of a list, and what follows a kind in that of its list.
const LIST: &str = "List";

/// Whether this is a `List` of `v1` or a list of one kind, such as `ConfigMapList`, which stands for the objects in it.
/// Unlike an object whose kind happens to be called so, a list has items and no name.
fn is_list(value: &Value) -> bool {
    let is_list_of_kind = value["kind"].as_str().is_some_and(|kind| kind.ends_with(LIST))
        && value["items"].is_array()
        && value["metadata"]["name"].is_null();
    (value["kind"] == LIST && value["apiVersion"] == "v1") || is_list_of_kind
}

fn display_path(path: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Step::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        }
    }
    text
}

/// The type of a value, in words; never the value, which may be a secret.
fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean; unquoted words such as `yes`, `no`, `on` and `off` are booleans, too",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests;
