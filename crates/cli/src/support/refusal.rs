//! Why the API server rejects an object: with the lines of the files that it is about, the fields in our notation, and advice
//! for the command line.

use cluster::{Class, Error, ErrorKind, Subject};
use diag::{Diagnostic, Source, Span};
use fields::{Change, FieldPath, NamedField, Quantity, Schema, Shape};
use manifest::{Limits, Name, secret};
use ownership::Observed;
use plan::FieldChange;
use serde_json::Value;

use super::batch::resolve::{ResolvedObject, is_needed_by_others};
use super::batch::writer::Writer;
use super::mask_key::MASK_KEY;
use super::report::ChangeText;

/// How many places in the files one message shows.
const MOST_PLACES: usize = 10;

/// Why a request that is about no object of the files was rejected.
pub(crate) fn refusal(error: &Error, operation: &str) -> Diagnostic {
    advise(error, error.diagnostic(operation))
}

/// Why an object of the files was rejected; `update` has the live object if there is one, and who writes to it.
pub(crate) fn of_object(
    error: &Error,
    operation: &str,
    object: &ResolvedObject,
    update: Option<(&Writer, &Observed)>,
) -> Diagnostic {
    let built_in = Schema::of(&object.body);
    let schema = update.map_or(&built_in, |(_, live)| live.schema());
    let name = |field: &str| NamedField::find(&object.body, schema.root(), field).notation();
    let mut refusal = advise(error, error.diagnostic_naming(operation, &name));
    let mut fields: Vec<String> = error.refused_fields().into_iter().map(|(field, _)| field).collect();
    if let Some((writer, live)) = update.filter(|_| error.class() == Class::Immutable) {
        let immutable = WrittenOver::of(error, object, writer, live).immutable;
        if !immutable.is_empty() {
            fields = immutable.iter().map(|change| change.path.notation().to_string()).collect();
            if let [only] = &fields[..] {
                refusal.field = Some(only.clone());
            }
            refusal = naming_changes(refusal, object, immutable);
        }
    }
    if fields.is_empty() && error.class() == Class::FieldValidation {
        fields.extend(misread_quantity(&object.body, schema.root()));
        let undecodable = secret::undecodable(&object.body);
        if !undecodable.is_empty() {
            refusal = naming_undecodable(refusal, &undecodable);
        }
    }
    located(refusal, &fields, object)
}

fn advise(error: &Error, diagnostic: Diagnostic) -> Diagnostic {
    match error.kind() {
        ErrorKind::NamespaceMissing { namespace } => diagnostic.hint(format!(
            "Check its spelling, add it to the files, or create it first: kubectl create namespace {namespace}"
        )),
        _ => match error.class() {
            Class::FieldManagerConflict => diagnostic.hint(
                "Leave the fields to the other managers with --ignore PATH or --leave-to MANAGER, or take them with --take PATH, or all of them with --force-conflicts.",
            ),
            Class::Immutable if is_container(error) => {
                diagnostic.hint("Revert the change. --replace skips it: deletion would remove its contents.")
            }
            Class::Immutable => diagnostic.hint(
                "Revert the change, or delete the object and create it again with --replace.",
            ),
            Class::AlreadyExists => {
                diagnostic.hint("Choose another name, or change it with `plimsoll apply`.")
            }
            _ => diagnostic,
        },
    }
}

fn is_container(error: &Error) -> bool {
    matches!(error.subject(), Subject::Object(target) if is_needed_by_others(target))
}

/// What an object's file changes in the live object, where the API server refuses a part of it for good.
pub(crate) struct WrittenOver {
    pub(crate) before: Value,
    pub(crate) after: Value,
    pub(crate) changes: Vec<Change>,
    /// Those of the changes that are refused because the fields cannot be changed.
    pub(crate) immutable: Vec<Change>,
}

impl WrittenOver {
    pub(crate) fn of(error: &Error, object: &ResolvedObject, writer: &Writer, live: &Observed) -> Self {
        let left = writer.left(Some(live));
        let desired = writer.desired(&object.body, left.as_ref());
        let (before, after) = plan::written_over(&desired, live, &MASK_KEY);
        let changes = fields::diff(&before, &after, live.schema());
        let immutable = plan::immutable_changes(&changes, &error.refused_fields(), &desired, live);
        let immutable = immutable.into_iter().cloned().collect();
        Self { before, after, changes, immutable }
    }
}

fn naming_changes(refusal: Diagnostic, object: &ResolvedObject, changes: Vec<Change>) -> Diagnostic {
    let line = |Change { path, old, new }: Change| {
        let change = FieldChange { path, old, new, ..FieldChange::default() };
        format!("\n  {}", ChangeText::of(&change, false).plain().replace('\n', "\n  "))
    };
    let lines: String = changes.into_iter().map(line).collect();
    let detail =
        format!("These fields of {} cannot be changed:\n{lines}\n\n{}", object.target, refusal.detail);
    refusal.detail(detail)
}

fn naming_undecodable(mut refusal: Diagnostic, names: &[&str]) -> Diagnostic {
    let path = |name: &&str| FieldPath::of_fields(["data", *name]).notation().to_string();
    let fields: Vec<String> = names.iter().map(path).collect();
    let detail = format!("{}\n\nNot base64: {}.", refusal.detail, fields.join(", "));
    if let [only] = &fields[..] {
        refusal.field = Some(only.clone());
    }
    refusal
        .detail(detail)
        .hint("Encode these values with `base64`, or write them as they are under stringData.")
}

/// The finding with the places of the fields that it names. Not for a Secret, whose lines contain its values.
fn located(mut finding: Diagnostic, fields: &[String], object: &ResolvedObject) -> Diagnostic {
    if finding.location.is_some() || secret::is_secret(&object.body) {
        return finding;
    }
    let mut spans = places(object, fields);
    spans.sort_by_key(|span| (span.start, span.end));
    spans.dedup();
    for (number, span) in spans.into_iter().take(MOST_PLACES).enumerate() {
        finding = match number {
            0 => finding.at(&object.source, span, ""),
            _ => finding.related(&object.source, span, ""),
        };
    }
    finding
}

/// Where fields of an object are in its file. Only its document is read again, and only because it was rejected.
fn places(object: &ResolvedObject, fields: &[String]) -> Vec<Span> {
    let part = object.part;
    let text = &object.source.text()[part.start..part.end];
    let source = Source::new(object.source.name(), text);
    let documents = manifest::read(&source, &Limits::default()).documents;
    let target = &object.target;
    for document in documents.iter().flatten() {
        for written in manifest::objects(document).iter().flatten() {
            let is_meant = written.gvk == target.gvk
                && matches!(&written.name, Name::Given(name) | Name::Generated(name) if *name == target.name)
                && (written.namespace.is_none() || written.namespace == target.namespace);
            if is_meant {
                let schema = Schema::of(written.value);
                let place = |field: &String| {
                    let found = NamedField::find(written.value, schema.root(), field);
                    let Span { start, end } = written.span(&found.steps);
                    Span { start: start + part.start, end: end + part.start }
                };
                return fields.iter().map(place).collect();
            }
        }
    }
    Vec::new()
}

/// A quantity that cannot be read, of which the API server does not say where it is.
fn misread_quantity(value: &Value, shape: Shape<'_>) -> Option<String> {
    let below = |name: String, found: Option<String>| {
        found.map(|rest| match rest.as_str() {
            "" => name,
            _ if rest.starts_with('[') => name + &rest,
            _ => format!("{name}.{rest}"),
        })
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, value)| below(name.clone(), misread_quantity(value, shape.field(name)))),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| below(format!("[{index}]"), misread_quantity(item, shape.element()))),
        scalar => (shape.is_quantity() && Quantity::from_value(scalar).is_none()).then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use manifest::{Namespace, ObjectRef};

    use super::*;
    use crate::support::files;

    #[test]
    fn fields_are_found_in_the_text_again() {
        let text = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: other}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n\
                    spec:\n  ports:\n  - name: a\n    port: 0\n";
        let source = Source::new("a.yaml", text);
        let written = files::read_bodies(&source).objects.pop().unwrap();
        let target = ObjectRef::new(written.gvk, Namespace::new("shop"), "web");
        let object = ResolvedObject {
            target,
            body: written.body,
            source,
            part: written.part,
            is_served: true,
            pending: None,
        };
        let lines = |fields: &[&str]| {
            let fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
            let lines = places(&object, &fields).into_iter();
            lines.map(|span| object.source.position(span).line).collect::<Vec<_>>()
        };
        assert_eq!(lines(&["spec.ports[0].port", r#"spec.ports[name="a"].name"#]), [11, 10]);
        assert_eq!(lines(&["spec.ports[0].nodePort"]), [10], "the closest that exists");
    }

    #[test]
    fn a_quantity_that_cannot_be_read_is_found() {
        let limits = |cpu: &str| {
            serde_json::json!({ "apiVersion": "v1", "kind": "Pod", "spec": { "containers": [
                { "name": "a", "resources": { "limits": { "cpu": "1", "memory": cpu } } },
            ] } })
        };
        let check = |cpu: &str, expected: Option<&str>| {
            let object = limits(cpu);
            assert_eq!(misread_quantity(&object, Schema::of(&object).root()).as_deref(), expected);
        };
        check("1Gi", None);
        check("1 Gi", Some("spec.containers[0].resources.limits.memory"));
    }
}
