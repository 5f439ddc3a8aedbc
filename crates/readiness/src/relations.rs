//! What keeps an object from working although its own status is silent: what it refers to does not exist or does not work, or it
//! holds others up.
//!
//! Only what could be read proves anything: an object that may not be read does not count as missing.

mod ingress;
mod limits;
mod references;
mod service;
#[cfg(test)]
mod tests;
mod webhook;

use std::collections::BTreeSet;

use manifest::{Namespace, ObjectRef};
use serde_json::Value;

use crate::object::Object;

/// What was found out about the objects that another one refers to.
#[derive(Default)]
pub struct Neighbours {
    objects: Vec<Value>,
    /// What was asked, and answered.
    answered: BTreeSet<Question>,
}

/// Objects of a kind in a namespace: one by its name, or all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    pub group: String,
    pub kind: String,
    /// None for kinds that belong to the cluster.
    pub namespace: Option<String>,
    pub name: Option<String>,
}

/// Why an object does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub why: String,
    /// The object that is to blame, if it exists.
    pub cause: Option<ObjectRef>,
}

impl Trouble {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), cause: None }
    }

    fn because_of(why: impl Into<String>, cause: &Value) -> Self {
        let cause = cause.as_object().and_then(|cause| ObjectRef::of(cause).ok());
        Self { why: why.into(), cause }
    }
}

/// Why `object` does not work, as far as its neighbours or its limits are to blame.
pub fn trouble(object: &Value, neighbours: &Neighbours) -> Option<Trouble> {
    let view = Object::from(object);
    match view.group_kind() {
        ("", "Service") => service::trouble(view, neighbours),
        ("networking.k8s.io", "Ingress") => ingress::trouble(view, neighbours),
        ("", "Pod") => references::of_pod(view, neighbours),
        ("autoscaling", "HorizontalPodAutoscaler") => references::of_autoscaler(view, neighbours),
        ("policy", "PodDisruptionBudget") => limits::of_budget(view),
        ("", "ResourceQuota") => limits::of_quota(view),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => webhook::trouble(view, neighbours),
        _ => None,
    }
}

/// What has to be known before [`trouble`] can say something about `object`. Answers may raise further questions.
pub fn questions(object: &Value) -> Vec<Question> {
    let view = Object::from(object);
    match view.group_kind() {
        ("", "Service") => service::questions(view),
        ("networking.k8s.io", "Ingress") => ingress::questions(view),
        ("", "Pod") => references::questions_of_pod(view),
        ("autoscaling", "HorizontalPodAutoscaler") => references::questions_of_autoscaler(view),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => webhook::questions(view),
        _ => Vec::new(),
    }
}

impl Question {
    fn all(group: &str, kind: &str, namespace: &str) -> Self {
        let (group, kind, namespace) = (group.to_owned(), kind.to_owned(), Some(namespace.to_owned()));
        Self { group, kind, namespace, name: None }
    }

    fn one(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let (group, kind, namespace) = (group.to_owned(), kind.to_owned(), namespace.map(str::to_owned));
        Self { group, kind, namespace, name: Some(name.to_owned()) }
    }
}

impl Neighbours {
    /// Takes over the answer to a question: the objects that there are.
    pub fn add(&mut self, question: Question, objects: impl IntoIterator<Item = Value>) {
        self.objects.extend(objects);
        self.answered.insert(question);
    }

    /// Whether a question was answered.
    pub fn knows(&self, question: &Question) -> bool {
        self.answered.contains(question)
    }

    /// All objects of a kind in a namespace; none unless they were asked for.
    fn all(&self, group: &str, kind: &str, namespace: &str) -> Option<Vec<&Value>> {
        self.knows(&Question::all(group, kind, namespace)).then(|| {
            let is_it = |object: &&Value| {
                let view = Object::from(*object);
                view.group_kind() == (group, kind) && view.text("/metadata/namespace") == namespace
            };
            self.objects.iter().filter(is_it).collect()
        })
    }

    fn find(&self, group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Found<'_> {
        let is_it = |object: &&Value| {
            let view = Object::from(*object);
            view.group_kind() == (group, kind)
                && view.text("/metadata/name") == name
                && namespace.is_none_or(|namespace| view.text("/metadata/namespace") == namespace)
        };
        match self.objects.iter().find(is_it) {
            Some(object) => Found::Here(object),
            None if self.knows(&Question::one(group, kind, namespace, name)) => Found::Missing,
            None => Found::Unknown,
        }
    }
}

/// What is known of an object that another one names.
enum Found<'a> {
    Here(&'a Value),
    Missing,
    Unknown,
}

/// `Service shop/web`
fn named(kind: &str, namespace: Option<&str>, name: &str) -> String {
    match namespace.and_then(Namespace::new) {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}
