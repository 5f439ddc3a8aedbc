//! The tree of an object: everything that belongs to it, how each part stands, and the cause of a problem in one sentence.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::operations::Operation;
use super::{Heading, Subject, render, state_word, typed};

pub(super) fn body(answer: &Value) -> String {
    let root: Node = typed(&answer["tree"]);
    let why: Why = typed(&answer["why"]);
    let unreadable: Vec<String> = typed(&answer["unreadable"]);
    let heading = Heading {
        subject: &root.subject,
        view: "tree",
        health: &root.health,
        parent: answer["parent"].as_str(),
        trouble: answer["trouble"].as_str(),
        unreadable: &unreadable,
    };
    render(&Tree { heading, why: &why, root: &root })
}

#[derive(Template)]
#[template(path = "tree.html")]
struct Tree<'a> {
    heading: Heading<'a>,
    why: &'a Why,
    root: &'a Node,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Why {
    sentence: String,
    chain: Vec<Step>,
}

/// An object on the way to the cause.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Step {
    health: String,
}

impl Why {
    /// How the cause stands.
    fn health(&self) -> &str {
        self.chain.last().map_or("ready", |cause| &cause.health)
    }
}

#[derive(Default, Deserialize, Template)]
#[serde(default)]
#[template(path = "node.html")]
struct Node {
    #[serde(flatten)]
    subject: Subject,
    health: String,
    why: Option<String>,
    created: Option<String>,
    operation: Option<Operation>,
    children: Vec<Node>,
    #[serde(rename = "isCut")]
    is_cut: bool,
}

impl Node {
    /// What the operation says about itself, unless the object says the same.
    fn progress(&self) -> String {
        let Some(Operation { class, message, .. }) = &self.operation else { return String::new() };
        let is_known = self.why.as_ref().is_some_and(|why| why.contains(message.as_str()));
        if is_known { class.clone() } else { format!("{class}: {message}") }
    }

    fn state(&self) -> &str {
        state_word(&self.health)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_tree_is_rendered_from_the_json_of_the_command_and_escaped() {
        let leaf = json!({
            "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-1", "health": "failed",
            "why": "image <none> not found", "created": "2026-01-01T00:00:00Z", "operation": null, "children": [],
        });
        let root = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "health": "waiting",
            "why": "0 of 1", "created": null, "operation": { "phase": "create", "class": "pending", "percent": 40 },
            "children": [leaf],
        });
        let why = json!({ "ready": false, "sentence": "Deployment shop/web is not ready", "chain": [{ "health": "failed" }] });
        let html = super::body(&json!({ "tree": root, "why": why, "unreadable": ["secrets"] }));
        for part in [
            "href=\"/object/shop/pod/web-1\"",
            "image &#60;none&#62; not found",
            "value=\"40\"",
            "Deployment shop/web is not ready",
            "secrets",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<none>"), "{html}");
    }
}
