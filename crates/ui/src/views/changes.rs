//! Whose change was this: every change of an object and of what belongs to it while a page looks, newest first.

use std::borrow::Cow;

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::heading::Heading;
use super::managers::Palette;
use super::{Subject, render, short, typed};

/// The view; with a manager, only what it holds now.
pub(super) fn body(answer: &Value, only: Option<&str>) -> String {
    let subject: Subject = typed(&answer["tree"]);
    let mut changes: Vec<Change> = typed(&answer["changes"]);
    let mut names: Vec<String> = Vec::new();
    for name in changes.iter().flat_map(|change| &change.fields).flat_map(|field| &field.managers) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    // The one who wrote first keeps its colour.
    names.reverse();
    let palette = Palette::new(names.iter().map(String::as_str));
    if let Some(only) = only {
        for change in &mut changes {
            change.fields.retain(|field| field.managers.iter().any(|name| name == only));
        }
        changes.retain(|change| !change.fields.is_empty());
    }
    for change in &mut changes {
        // What users and controllers ask for comes before what controllers report.
        change.fields.sort_by_key(FieldChange::is_status);
    }
    let path = subject.path("changes");
    let link = |name: &str| {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("manager", name).finish();
        if only == Some(name) { path.clone() } else { format!("{path}?{query}") }
    };
    let filters = palette.all().map(|manager| Filter {
        link: link(manager.name),
        is_chosen: only == Some(manager.name),
        manager,
    });
    render(&Timeline {
        heading: Heading::of(answer, "changes"),
        since: answer["since"].as_str().unwrap_or_default(),
        filters: filters.collect(),
        palette: &palette,
        changes: &changes,
        only,
    })
}

#[derive(Template)]
#[template(path = "changes.html")]
struct Timeline<'a> {
    heading: Heading,
    since: &'a str,
    filters: Vec<Filter<'a>>,
    palette: &'a Palette<'a>,
    changes: &'a [Change],
    only: Option<&'a str>,
}

/// Shows only what a manager has changed.
struct Filter<'a> {
    manager: super::managers::Coloured<'a>,
    link: String,
    is_chosen: bool,
}

/// One change of one object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    #[serde(flatten)]
    subject: Subject,
    time: String,
    /// `appeared`, `changed` or `disappeared`.
    what: String,
    fields: Vec<FieldChange>,
}

impl Change {
    /// Tells it apart from the others.
    fn key(&self) -> String {
        format!("{} {}", self.time, self.subject.path("changes"))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FieldChange {
    field: String,
    old: Option<Value>,
    new: Option<Value>,
    managers: Vec<String>,
}

impl FieldChange {
    fn before(&self) -> Cow<'_, str> {
        short(self.old.as_ref())
    }

    fn after(&self) -> Cow<'_, str> {
        short(self.new.as_ref())
    }

    fn is_status(&self) -> bool {
        self.field.starts_with("status.") || self.field == "status"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn what_was_asked_for_comes_first_and_a_manager_can_be_chosen() {
        let field =
            |name: &str, manager: &str| json!({ "field": name, "old": 3, "new": 5, "managers": [manager] });
        let answer = json!({
            "tree": { "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web" },
            "since": "2026-01-01T00:00:00Z",
            "changes": [{
                "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "what": "changed",
                "time": "2026-01-01T00:00:01Z",
                "fields": [field("status.replicas", "controller"), field("spec.replicas", "kubectl")],
            }],
        });
        let all = super::body(&answer, None);
        assert!(all.find("spec.replicas").unwrap() < all.find("status.replicas").unwrap(), "{all}");
        assert!(all.contains("changes/shop/deployment.apps/web?manager=kubectl"), "{all}");
        let chosen = super::body(&answer, Some("kubectl"));
        assert!(chosen.contains("spec.replicas") && !chosen.contains("status.replicas"), "{chosen}");
    }
}
