//! Parses `yaml_body`: one Kubernetes object, with the line of every problem in it.

use diag::{Diagnostic, Source};
use manifest::{Document, GroupVersionKind, Limits, Name, Namespace, ObjectRef, Step, body, secret};
use serde_json::Value;

use crate::codes;
use crate::report::titled;

/// The title that users know for every body that cannot be parsed.
const INVALID: &str = "Invalid YAML";
const SERVER_MANAGED: &str = "Server-managed fields not allowed in yaml_body";

/// A parsed body.
#[derive(Clone, PartialEq)]
pub(crate) struct Body {
    /// The object; all values of a Secret are in `data`, even if they were written in `stringData`.
    pub(crate) value: Value,
    pub(crate) gvk: GroupVersionKind,
    pub(crate) namespace: Option<Namespace>,
    pub(crate) name: String,
}

impl Body {
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        Self::read(&document(text)?)
    }

    /// The object; a namespaced kind without a namespace is in `default`.
    pub(crate) fn target(&self, namespaced: bool) -> ObjectRef {
        let namespace = self.namespace.clone().or_else(|| Namespace::new("default")).filter(|_| namespaced);
        ObjectRef::new(self.gvk.clone(), namespace, self.name.clone())
    }

    /// The object, as far as its scope is known without a cluster.
    pub(crate) fn presumed_target(&self) -> ObjectRef {
        self.target(!manifest::is_known_cluster_scoped(self.gvk.group(), self.gvk.kind()))
    }

    fn read(document: &Document) -> Result<Self, Vec<Diagnostic>> {
        let invalid = |problems: Vec<Diagnostic>| -> Vec<Diagnostic> {
            problems.into_iter().map(|problem| titled(problem, INVALID)).collect()
        };
        let mut objects = manifest::objects(document).map_err(invalid)?;
        let object = match objects.pop() {
            Some(object) if objects.is_empty() && std::ptr::eq(object.value, document.value()) => object,
            _ => {
                let list = Diagnostic::error(codes::INVALID_YAML, "a List is not a single object")
                    .at(document.source(), document.closest_span(&[Step::Key("kind")]), "several objects")
                    .hint("Write one resource per item; k8sconnect_yaml_split splits them.");
                return Err(vec![titled(list, INVALID)]);
            }
        };
        let name = match &object.name {
            Name::Given(name) => name.clone(),
            Name::Generated(_) => {
                let generated = Diagnostic::error(codes::INVALID_YAML, "metadata.name is missing")
                    .at(
                        document.source(),
                        object.span(&[Step::Key("metadata"), Step::Key("generateName")]),
                        "",
                    )
                    .detail("A generated name would differ at every apply.")
                    .hint("Write metadata.name.");
                return Err(vec![titled(generated, INVALID)]);
            }
        };
        let unnamed = body::unnamed_containers(&object);
        if !unnamed.is_empty() {
            return Err(invalid(unnamed));
        }
        let mut value = object.value.clone();
        secret::normalise(&mut value);
        Ok(Self { value, gvk: object.gvk.clone(), namespace: object.namespace.clone(), name })
    }
}

/// Omits the value, which may be a Secret.
impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body({}, {:?}, {})", self.gvk, self.namespace, self.name)
    }
}

/// All problems of a body in a configuration, including fields that must not be set.
///
/// Like the Go provider, this rejects server-managed fields even when they are empty.
pub(crate) fn check(text: &str) -> Vec<Diagnostic> {
    let document = match document(text) {
        Ok(document) => document,
        Err(problems) => return problems,
    };
    let mut problems = Body::read(&document).err().unwrap_or_default();
    problems.extend(internal_annotations(&document));
    for object in manifest::objects(&document).iter().flatten() {
        let fields = body::server_fields(object).into_iter();
        problems
            .extend(fields.map(|field| Diagnostic { summary: SERVER_MANAGED.to_owned(), ..field.finding }));
    }
    problems
}

fn document(text: &str) -> Result<Document, Vec<Diagnostic>> {
    let source = Source::new("yaml_body", text);
    manifest::read(&source, &Limits::default()).single().map_err(|problems| {
        let retitled = |problem: Diagnostic| {
            if problem.code == manifest::codes::SEVERAL_DOCUMENTS {
                let hint =
                    "Split multi-document YAML with the data source k8sconnect_yaml_split and for_each.";
                return titled(problem, INVALID).hint(hint);
            }
            titled(problem, INVALID)
        };
        problems.into_iter().map(retitled).collect()
    })
}

fn internal_annotations(document: &Document) -> Vec<Diagnostic> {
    let annotations = document.value().pointer("/metadata/annotations").and_then(Value::as_object);
    let keys = annotations.into_iter().flat_map(|annotations| annotations.keys());
    keys.filter(|key| key.starts_with(fields::INTERNAL_ANNOTATIONS))
        .map(|key| {
            let path = [Step::Key("metadata"), Step::Key("annotations"), Step::Key(key)];
            let title = "Provider internal annotations not allowed in yaml_body";
            Diagnostic::error(codes::INTERNAL_ANNOTATION, title)
                .at(document.source(), document.closest_span(&path), "only the provider sets it")
                .detail(format!("The annotation {key:?} is how the provider recognises its objects."))
                .field(format!("metadata.annotations.{key}"))
                .hint("Remove it.")
        })
        .collect()
}

#[cfg(test)]
mod tests;
