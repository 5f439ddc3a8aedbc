//! The tree of an object: everything that belongs to it, how each part stands, and the cause of a problem in one sentence.

use std::collections::BTreeSet;

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::heading::Heading;
use super::operations::Operation;
use super::{Subject, render, state_word, typed, verdict};

/// With more objects of a kind side by side, those that are ready are folded up.
const MANY: usize = 8;

pub(super) fn body(answer: &Value) -> String {
    let mut root: Node = typed(&answer["tree"]);
    let why: Why = typed(&answer["why"]);
    root.arrange(why.chain.last());
    render(&Tree { heading: Heading::of(answer, "tree"), why: &why, root: &root })
}

#[derive(Template)]
#[template(path = "tree.html")]
struct Tree<'a> {
    heading: Heading,
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
    #[serde(flatten)]
    subject: Subject,
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
    condition: Option<Condition>,
    operation: Option<Operation>,
    children: Vec<Node>,
    #[serde(rename = "isCut")]
    is_cut: bool,
    /// Whether the root is not ready because of it.
    #[serde(skip)]
    is_cause: bool,
    /// Children that are folded up, by kind.
    #[serde(skip)]
    folded: Vec<Fold>,
}

/// The condition that has changed last.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    r#type: String,
    status: String,
    reason: String,
    is_met: Option<bool>,
    since: String,
}

impl Condition {
    fn verdict(&self) -> &'static str {
        verdict(self.is_met)
    }
}

/// Objects of one kind that are all right.
struct Fold {
    key: String,
    kind: String,
    nodes: Vec<Node>,
}

impl Node {
    /// Marks the cause, and folds up what is numerous and all right.
    fn arrange(&mut self, cause: Option<&Step>) {
        self.is_cause = cause.is_some_and(|cause| cause.subject == self.subject);
        self.children.iter_mut().for_each(|child| child.arrange(cause));
        let kinds: BTreeSet<String> = self.children.iter().map(|child| child.subject.kind.clone()).collect();
        for kind in kinds {
            let is_fine = |node: &Self| node.subject.kind == kind && node.is_fine();
            if self.children.iter().filter(|node| is_fine(node)).count() > MANY {
                let (nodes, rest) = std::mem::take(&mut self.children).into_iter().partition(is_fine);
                self.children = rest;
                self.folded.push(Fold {
                    key: format!("{kind} of {}", self.subject.path("tree")),
                    kind,
                    nodes,
                });
            }
        }
    }

    fn is_fine(&self) -> bool {
        let is_quiet = self.operation.is_none() && self.folded.is_empty();
        is_quiet
            && matches!(self.health.as_str(), "ready" | "silent")
            && self.children.iter().all(Self::is_fine)
    }

    /// What the operation says about itself, unless the object says the same.
    fn progress(&self) -> String {
        let Some(Operation { class, message, .. }) = &self.operation else { return String::new() };
        let is_known = self.why.as_ref().is_some_and(|why| why.contains(message.as_str()));
        if is_known || message.is_empty() { class.clone() } else { format!("{class}: {message}") }
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
        let cause = json!({ "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-1", "health": "failed" });
        let why = json!({ "ready": false, "sentence": "Deployment shop/web is not ready", "chain": [cause] });
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

    #[test]
    fn what_is_numerous_and_all_right_is_folded_up() {
        let pod = |number: usize, health: &str| json!({ "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": format!("p{number}"), "health": health });
        let check = |count: usize, folded: bool| {
            let pods: Vec<_> = (0..count).map(|it| pod(it, "ready")).chain([pod(99, "waiting")]).collect();
            let root = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "health": "waiting", "children": pods });
            let html = super::body(&json!({ "tree": root }));
            assert_eq!(html.contains("<summary>"), folded, "{html}");
            assert!(!folded || html.find("p99").unwrap() < html.find("<summary>").unwrap(), "{html}");
        };
        check(super::MANY, false);
        check(super::MANY + 1, true);
    }
}
