//! Validates the content of a patch. A literal `${` has no special meaning.

use diag::Diagnostic;
use manifest::body::unnamed;
use manifest::server_metadata::REFUSED_IN_BODY;
use serde_json::Value;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::{Object, Value as Attribute};

use super::content::Content;
use crate::codes;

/// Checks `patch`.
pub(super) fn apply(value: &Attribute, _: &Path) -> Diagnostics {
    match parsed("patch", value) {
        Some(Ok(Content::Apply(fields))) => {
            let body = Value::Object(fields);
            let mut found = unnamed_containers(&body);
            found.extend(forbidden(&body, "Patch"));
            found.into()
        }
        // As in the Go provider, a text that cannot be parsed is rejected by the plan: it may be in a state that is to be
        // destroyed.
        _ => Diagnostics::new(),
    }
}

/// Checks `merge_patch`.
pub(super) fn merge(value: &Attribute, _: &Path) -> Diagnostics {
    match parsed("merge_patch", value) {
        Some(Ok(Content::Merge(body))) if body.is_object() => forbidden(&body, "Merge Patch").into(),
        Some(_) => error("Invalid JSON Merge Patch", "merge_patch is not a JSON object.".to_owned())
            .hint("Write it with jsonencode({ … }).")
            .into(),
        None => Diagnostics::new(),
    }
}

/// Checks `json_patch`.
pub(super) fn json(value: &Attribute, _: &Path) -> Diagnostics {
    match parsed("json_patch", value) {
        Some(Ok(Content::Json(operations))) => operations
            .iter()
            .enumerate()
            .flat_map(|(index, operation)| check_operation(index, operation))
            .collect(),
        Some(_) => error("Invalid JSON Patch", "json_patch is not a JSON array of operations.".to_owned())
            .hint("Write it with jsonencode([{ op = \"replace\", path = \"/spec/replicas\", value = 3 }]).")
            .into(),
        None => Diagnostics::new(),
    }
}

fn parsed(name: &str, value: &Attribute) -> Option<Result<Content, Box<Diagnostic>>> {
    Content::of(&Object::from([(name, value.as_str()?)]))
}

fn check_operation(index: usize, operation: &Value) -> Vec<Diagnostic> {
    if !operation.is_object() {
        return vec![error("Invalid JSON Patch", format!("Operation {index} is not an object."))];
    }
    let wrong = |why: &str| vec![error("Invalid JSON Patch Operation", format!("Operation {index} {why}."))];
    let text = |name: &str| operation[name].as_str();
    let Some(op) = text("op") else { return wrong("has no op") };
    let needed = match op {
        "add" | "replace" | "test" => Some("value"),
        "move" | "copy" => Some("from"),
        "remove" => None,
        _ => {
            return wrong(&format!(
                "has the unknown op {op:?}; use add, remove, replace, move, copy or test"
            ));
        }
    };
    let Some(path) = text("path") else { return wrong("has no path") };
    if let Some(needed) = needed.filter(|needed| operation.get(needed).is_none()) {
        return wrong(&format!("({op}) has no {needed}"));
    }
    let managed = REFUSED_IN_BODY.iter().map(|field| format!("/metadata/{field}"));
    let below = |prefix: String| {
        path.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if managed.chain(["/status".to_owned()]).any(below) {
        let warning = Diagnostic::warning(codes::PATCH_SERVER_MANAGED, "Patching Server-Managed Field")
            .detail(format!("Operation {index} changes {path}, which the API server sets itself. It may ignore or reject the change."));
        return vec![warning];
    }
    Vec::new()
}

/// The errors for fields that no patch may set; `what` ends their titles.
fn forbidden(body: &Value, what: &str) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let metadata = &body["metadata"];
    for field in REFUSED_IN_BODY.iter().filter(|field| metadata.get(*field).is_some()) {
        let detail = format!("Only the API server sets metadata.{field}.");
        found.push(
            error(&format!("Server-Managed Field in {what}"), detail).field(format!("metadata.{field}")),
        );
    }
    let annotations =
        metadata["annotations"].as_object().into_iter().flat_map(|annotations| annotations.keys());
    for key in annotations.filter(|key| key.starts_with(fields::INTERNAL_ANNOTATIONS)) {
        let detail = format!("Only the provider sets the annotation {key}.");
        found.push(error(&format!("Provider Internal Annotation in {what}"), detail));
    }
    if body.get("status").is_some() {
        let detail = "Controllers set status; they overwrite what a patch sets there.".to_owned();
        found.push(error(&format!("Status Field in {what}"), detail).field("status"));
    }
    found
}

fn unnamed_containers(body: &Value) -> Vec<Diagnostic> {
    let found = unnamed(body).map(|(list, index)| {
        let path = format!("{}[{index}]", list.join("."));
        let detail = format!("{path} has no name, so it is unclear which container to change.");
        error("Invalid Strategic Merge Patch", detail)
            .field(path)
            .hint("Name the container next to the fields to change.")
    });
    found.collect()
}

fn error(title: &str, detail: String) -> Diagnostic {
    Diagnostic::error(codes::PATCH_INVALID, title).detail(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Check = fn(&Attribute, &Path) -> Diagnostics;

    fn check(rule: Check, text: &str, expected: &[&str]) {
        let found = rule(&Attribute::from(text), &Path::root());
        let titles: Vec<_> = found.iter().map(|(_, found)| found.summary.as_str()).collect();
        assert_eq!(titles, expected, "{text}");
    }

    #[test]
    fn a_patch_without_kind_is_checked() {
        check(apply, "data: {a: b}", &[]);
        check(apply, "metadata: {uid: x}", &["Server-Managed Field in Patch"]);
        check(apply, "status: {}", &["Status Field in Patch"]);
        check(apply, "spec: {containers: [{image: a}]}", &["Invalid Strategic Merge Patch"]);
        check(
            apply,
            "spec: {template: {spec: {initContainers: [{name: a}, {}]}}}",
            &["Invalid Strategic Merge Patch"],
        );
        let annotation = "metadata: {annotations: {k8sconnect.terraform.io/terraform-id: x}}";
        check(apply, annotation, &["Provider Internal Annotation in Patch"]);
    }

    #[test]
    fn a_dollar_and_a_brace_do_not_end_the_checks() {
        check(apply, "data: {a: \"${HOME}\"}", &[]);
        check(apply, "data: {a: \"${HOME}\"}\nstatus: {}", &["Status Field in Patch"]);
        check(merge, r#"{"data":{"a":"${HOME}"},"status":{}}"#, &["Status Field in Merge Patch"]);
        check(json, r#"[{"op":"jump","path":"/${x}"}]"#, &["Invalid JSON Patch Operation"]);
    }

    #[test]
    fn operations_are_complete() {
        check(json, r#"[{"op":"add","path":"/a","value":null},{"op":"remove","path":"/b"}]"#, &[]);
        check(json, "{}", &["Invalid JSON Patch"]);
        check(json, "[1]", &["Invalid JSON Patch"]);
        check(json, "nonsense", &["Invalid JSON Patch"]);
        for operation in [
            r#"{"path":"/a"}"#,
            r#"{"op":"add","path":"/a"}"#,
            r#"{"op":"move","path":"/a"}"#,
            r#"{"op":"remove"}"#,
        ] {
            check(json, &format!("[{operation}]"), &["Invalid JSON Patch Operation"]);
        }
        check(json, r#"[{"op":"remove","path":"/status/phase"}]"#, &["Patching Server-Managed Field"]);
        check(json, r#"[{"op":"remove","path":"/statuses"}]"#, &[]);
    }

    #[test]
    fn merges_are_objects() {
        check(merge, "[]", &["Invalid JSON Merge Patch"]);
        check(merge, r#"{"metadata":{"generation":1}}"#, &["Server-Managed Field in Merge Patch"]);
        let annotation = r#"{"metadata":{"annotations":{"k8sconnect.terraform.io/created-at":null}}}"#;
        check(merge, annotation, &["Provider Internal Annotation in Merge Patch"]);
    }
}
