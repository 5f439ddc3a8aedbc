//! What an apply would do: manifests that are pasted, dropped or named on the command line. There is no way to apply them here.

use std::borrow::Cow;

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::{Subject, render, short, typed};

/// The view with the report, if there is one yet.
pub(super) fn body(text: Option<&str>, has_files: bool, report: Option<&Value>) -> String {
    let report: Option<Report> = report.map(typed);
    render(&Plan {
        text: text.unwrap_or_default(),
        is_of_files: text.is_none() && has_files,
        has_files,
        report,
    })
}

#[derive(Template)]
#[template(path = "plan.html")]
struct Plan<'a> {
    text: &'a str,
    is_of_files: bool,
    has_files: bool,
    report: Option<Report>,
}

/// What `plimsoll plan -o json` prints.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Report {
    objects: Vec<Object>,
    problems: Vec<Finding>,
}

impl Report {
    /// `1 to create, 2 unchanged`
    fn summary(&self) -> String {
        const WORDS: [(&str, &str); 7] = [
            ("create", "to create"),
            ("pending", "to create later"),
            ("change", "to change"),
            ("hold", "to hold"),
            ("going", "being deleted"),
            ("refused", "refused"),
            ("none", "unchanged"),
        ];
        let count = |action: &str| self.objects.iter().filter(|object| object.action == action).count();
        let counted =
            WORDS.iter().map(|(action, word)| (count(action), word)).filter(|(count, _)| *count > 0);
        counted.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    #[serde(flatten)]
    subject: Subject,
    action: String,
    pending: Option<String>,
    fields: Vec<FieldChange>,
    takes: Vec<String>,
    releases: Vec<String>,
    findings: Vec<Finding>,
}

impl Object {
    fn word(&self) -> &str {
        match self.action.as_str() {
            "none" => "unchanged",
            "going" => "being deleted",
            "pending" => "create later",
            other => other,
        }
    }

    fn sign(&self) -> &'static str {
        match self.action.as_str() {
            "create" => "+",
            "change" => "~",
            "hold" => "=",
            "going" => "−",
            "pending" => "?",
            "refused" => "!",
            _ => "·",
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FieldChange {
    field: String,
    old: Option<Value>,
    new: Option<Value>,
    held_now: Vec<String>,
    held_after: Vec<String>,
    allocated: bool,
}

impl FieldChange {
    fn before(&self) -> Cow<'_, str> {
        short(self.old.as_ref())
    }

    fn after(&self) -> Cow<'_, str> {
        if self.allocated { "(allocated by the API server)".into() } else { short(self.new.as_ref()) }
    }

    /// Who holds it before and after, if that changes.
    fn holders(&self) -> String {
        let names = |managers: &[String]| match managers {
            [] => "no manager".to_owned(),
            _ => managers.join(", "),
        };
        if self.held_now == self.held_after {
            return names(&self.held_now);
        }
        format!("{} → {}", names(&self.held_now), names(&self.held_after))
    }
}

#[derive(Default, Deserialize, Template)]
#[serde(default)]
#[template(path = "finding.html")]
struct Finding {
    severity: String,
    code: String,
    summary: String,
    detail: String,
    hint: Option<String>,
    at: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_report_is_rendered_with_holders_and_without_a_way_to_apply() {
        let field = json!({ "field": "spec.replicas", "old": 5, "new": 3, "heldNow": ["kubectl"], "heldAfter": ["plimsoll"], "allocated": false });
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "front", "action": "change",
            "fields": [field], "takes": ["spec.paused"], "releases": [], "findings": [],
        });
        let html = super::body(None, true, Some(&json!({ "objects": [object], "problems": [] })));
        for part in ["1 to change", "spec.replicas", "kubectl → plimsoll", "takes spec.paused"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.to_lowercase().contains(">apply<"), "{html}");
        let empty = super::body(None, false, None);
        assert!(empty.contains("<textarea") && !empty.contains("to change"), "{empty}");
    }
}
