//! The head of the views of one object: what it is, how it stands, what it belongs to, and the other views.

use askama::Template;
use serde_json::Value;

use super::notices::Notices;
use super::{Subject, state_word, typed};

#[derive(Template)]
#[template(path = "heading.html")]
pub(super) struct Heading {
    subject: Subject,
    /// `tree`, `object` or `changes`
    view: &'static str,
    health: String,
    created: Option<String>,
    /// What it belongs to.
    parents: Vec<Subject>,
    notices: Notices,
}

impl Heading {
    pub(super) fn of(answer: &Value, view: &'static str) -> Self {
        let tree = &answer["tree"];
        Self {
            subject: typed(tree),
            view,
            health: tree["health"].as_str().unwrap_or_default().to_owned(),
            created: tree["created"].as_str().map(str::to_owned),
            parents: typed(&answer["parents"]),
            notices: Notices::of(answer),
        }
    }

    /// The view without a filter.
    pub(super) fn path(&self) -> String {
        self.subject.path(self.view)
    }

    fn state(&self) -> &str {
        state_word(&self.health)
    }
}
