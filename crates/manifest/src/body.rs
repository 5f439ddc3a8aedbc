//! What a body may contain: the rules for an object to apply, the same in every product.

use diag::Diagnostic;
use serde_json::Value;

use crate::server_metadata::REFUSED_IN_BODY;
use crate::{Object, Step, codes};

/// Where Pods and their templates keep containers.
const CONTAINERS: [&[&str]; 4] = [
    &["spec", "containers"],
    &["spec", "initContainers"],
    &["spec", "template", "spec", "containers"],
    &["spec", "template", "spec", "initContainers"],
];

/// A field of a body that only the API server sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerField {
    /// `metadata.uid`, `status`, …
    pub path: String,
    /// Whether it holds nothing: null, or maps and lists of nothing. Generators write `creationTimestamp: null` and
    /// `status: {}`, which mean no harm.
    pub is_empty: bool,
    pub finding: Diagnostic,
}

/// The fields of `object` that only the API server sets.
pub fn server_fields(object: &Object<'_>) -> Vec<ServerField> {
    let metadata = REFUSED_IN_BODY.iter().map(|name| vec!["metadata", name]);
    let found = metadata.chain([vec!["status"]]).filter_map(|path| {
        let value = path.iter().try_fold(object.value, |value, key| value.get(key))?;
        let steps: Vec<Step<'_>> = path.iter().map(|key| Step::Key(key)).collect();
        let path = path.join(".");
        let finding = Diagnostic::error(codes::SERVER_FIELD, format!("{path} cannot be written"))
            .at(object.document().source(), object.span(&steps), "set by the API server alone")
            .detail(format!("Only the API server sets {path}."))
            .field(path.clone())
            .hint(
                "Remove it: `kubectl get -o yaml` prints such fields, but they do not belong in a manifest.",
            );
        Some(ServerField { path, is_empty: is_empty(value), finding })
    });
    found.collect()
}

/// Containers without a name: server-side apply merges containers by name and cannot tell these apart.
pub fn unnamed_containers(object: &Object<'_>) -> Vec<Diagnostic> {
    let found = unnamed(object.value).map(|(list, index)| {
        let steps: Vec<Step<'_>> =
            list.iter().map(|key| Step::Key(key)).chain([Step::Index(index)]).collect();
        let field = format!("{}[{index}]", list.join("."));
        Diagnostic::error(codes::UNNAMED_CONTAINER, format!("{field} has no name"))
            .at(object.document().source(), object.span(&steps), "this container")
            .detail("Server-side apply identifies containers by name.")
            .field(field)
            .hint("Give every container a name.")
    });
    found.collect()
}

/// The lists and positions of containers without a name in `body`.
pub fn unnamed(body: &Value) -> impl Iterator<Item = (&'static [&'static str], usize)> {
    CONTAINERS.into_iter().flat_map(move |list| {
        let items = list.iter().try_fold(body, |value, key| value.get(key)).and_then(Value::as_array);
        let items = items.into_iter().flatten().enumerate();
        let is_unnamed = |item: &Value| item["name"].as_str().is_none_or(str::is_empty);
        items.filter(move |(_, item)| is_unnamed(item)).map(move |(index, _)| (list, index))
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use diag::Source;

    use super::*;
    use crate::{Limits, objects, read};

    fn check(text: &str, fields: &[(&str, bool)], unnamed: &[&str]) {
        let source = Source::new("a.yaml", format!("apiVersion: v1\nkind: Pod\n{text}"));
        let document = read(&source, &Limits::default()).single().unwrap();
        let object = &objects(&document).unwrap()[0];
        let found = server_fields(object);
        let found: Vec<_> = found.iter().map(|field| (field.path.as_str(), field.is_empty)).collect();
        assert_eq!(found, fields, "{text}");
        let found: Vec<_> = unnamed_containers(object).into_iter().filter_map(|it| it.field).collect();
        assert_eq!(found, unnamed, "{text}");
    }

    #[test]
    fn server_fields_and_unnamed_containers_are_found_wherever_they_are() {
        check("metadata: {name: a}\n", &[], &[]);
        check(
            "metadata: {name: a, creationTimestamp: null}\nstatus: {}\n",
            &[("metadata.creationTimestamp", true), ("status", true)],
            &[],
        );
        check("metadata: {name: a}\nstatus: {conditions: [], names: {kind: ''}}\n", &[("status", true)], &[]);
        check(
            "metadata: {name: a, uid: x, resourceVersion: '1'}\nstatus: {phase: Running}\n",
            &[("metadata.uid", false), ("metadata.resourceVersion", false), ("status", false)],
            &[],
        );
        check(
            "metadata: {name: a}\nspec: {containers: [{image: a}], initContainers: [{name: a}, {name: ''}]}\n",
            &[],
            &["spec.containers[0]", "spec.initContainers[1]"],
        );
        check(
            "metadata: {name: a}\nspec: {template: {spec: {containers: [{image: a}]}}}\n",
            &[],
            &["spec.template.spec.containers[0]"],
        );
    }
}
