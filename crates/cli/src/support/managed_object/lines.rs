//! An object as lines of YAML, each with its field and its managers.
//!
//! The text is serialised as kubectl does and then parsed again: the parser knows the position of every value, so the
//! margin fits the text whatever style the serialiser chose.

use diag::{Diagnostic, Source, Span};
use fields::{FieldPath, PathElement, Shape};
use manifest::{Document, Limits, Step};
use ownership::{FieldManager, Observed};
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// The field whose value begins on this line, and its managers.
    pub(crate) field: Option<(FieldPath, Vec<FieldManager>)>,
    /// Whether the line continues the value above it.
    pub(crate) continues: bool,
}

/// The lines of `object`, which is part of `live`.
pub(super) fn of(object: &Value, live: &Observed) -> Result<Vec<Line>, Vec<Diagnostic>> {
    let text = manifest::to_yaml(object);
    let document = manifest::read(&Source::new("object", text.as_str()), &Limits::default()).single()?;
    let lines = text.lines().map(|text| Line { text: text.to_owned(), field: None, continues: false });
    let mut margin = Margin { document: &document, live, lines: lines.collect() };
    margin.mark(object, live.schema().root(), &mut Vec::new(), &mut Vec::new());
    Ok(margin.lines)
}

struct Margin<'d> {
    document: &'d Document,
    live: &'d Observed,
    lines: Vec<Line>,
}

impl Margin<'_> {
    fn mark<'v>(
        &mut self,
        value: &'v Value,
        shape: Shape<'_>,
        steps: &mut Vec<Step<'v>>,
        path: &mut Vec<PathElement>,
    ) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (name, child) in fields {
                    steps.push(Step::Key(name));
                    path.push(PathElement::field(name));
                    self.mark(child, shape.field(name), steps, path);
                    path.pop();
                    steps.pop();
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (index, child) in items.iter().enumerate() {
                    let element = shape.item(index, child);
                    let below = shape.step(&element);
                    steps.push(Step::Index(index));
                    path.push(element);
                    self.mark(child, below, steps, path);
                    path.pop();
                    steps.pop();
                }
            }
            _ => self.mark_leaf(steps, path.as_slice().into()),
        }
    }

    fn mark_leaf(&mut self, steps: &[Step<'_>], path: FieldPath) {
        let Some(value) = self.document.value_span(steps) else { return };
        let start = self.document.key_span(steps).unwrap_or(value).start;
        let line = |at: usize| self.document.source().position(Span::new(at, at)).line - 1;
        let (first, last) = (line(start), line(value.end.saturating_sub(1).max(start)));
        let holders = self.live.managed().holders(&path).into_iter().cloned().collect();
        for line in self.lines.iter_mut().take(last + 1).skip(first + 1) {
            line.continues = true;
        }
        if let Some(line) = self.lines.get_mut(first) {
            line.field = Some((path, holders));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_line_knows_its_field_and_holders() {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "web", "finalizers": ["a/b"], "annotations": { "text": "one\ntwo\n" },
                "managedFields": [
                    { "manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {
                        "f:metadata": { "f:annotations": { "f:text": {} }, "f:finalizers": { "v:\"a/b\"": {} } },
                        "f:spec": { "f:containers": { "k:{\"name\":\"web\"}": { ".": {}, "f:name": {}, "f:image": {}, "f:args": {} } } },
                    } },
                    { "manager": "them", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {
                        "f:spec": { "f:containers": { "k:{\"name\":\"web\"}": { "f:image": {} } } },
                    } },
                ] },
            "spec": { "containers": [{ "name": "web", "image": "web:2", "args": ["-v", "-x"] }] },
        });
        let live = Observed::new(object).unwrap();
        let mut shown = live.object().clone();
        shown["metadata"].as_object_mut().unwrap().remove("managedFields");
        let lines = of(&shown, &live).unwrap();
        let text: Vec<String> = lines
            .iter()
            .map(|line| {
                let holders = line.field.iter().flat_map(|(_, holders)| holders).map(FieldManager::as_str);
                let margin =
                    if line.continues { "…".to_owned() } else { holders.collect::<Vec<_>>().join("+") };
                format!("{margin:8}| {}", line.text)
            })
            .collect();
        insta::assert_snapshot!(text.join("\n"), @r"
                | apiVersion: v1
                | kind: Pod
                | metadata:
                |   annotations:
        us      |     text: |
        …       |       one
        …       |       two
                |   finalizers:
        us      |   - a/b
                |   name: web
                | spec:
                |   containers:
                |   - args:
        us      |     - -v
        us      |     - -x
        them+us |     image: web:2
        us      |     name: web
        ");
    }
}
