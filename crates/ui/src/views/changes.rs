//! Whose change was this: every change of an object and of what belongs to it while a page looks, newest first.

use std::borrow::Cow;

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::{Heading, Subject, render, short, typed};

pub(super) fn body(answer: &Value) -> String {
    let subject: Subject = typed(&answer["tree"]);
    let changes: Vec<Change> = typed(&answer["changes"]);
    let unreadable: Vec<String> = typed(&answer["unreadable"]);
    let heading = Heading {
        subject: &subject,
        view: "changes",
        health: answer["tree"]["health"].as_str().unwrap_or_default(),
        parent: answer["parent"].as_str(),
        trouble: answer["trouble"].as_str(),
        unreadable: &unreadable,
    };
    render(&Timeline { heading, since: answer["since"].as_str().unwrap_or_default(), changes: &changes })
}

#[derive(Template)]
#[template(path = "changes.html")]
struct Timeline<'a> {
    heading: Heading<'a>,
    since: &'a str,
    changes: &'a [Change],
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
}
