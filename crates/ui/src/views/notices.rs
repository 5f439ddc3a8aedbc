//! What a reader has to know before believing a view: that it may be out of date, or that rights are missing.

use askama::Template;
use serde_json::Value;

use super::typed;

#[derive(Template)]
#[template(path = "notices.html")]
pub(super) struct Notices {
    /// Why the view may be out of date.
    trouble: Option<String>,
    /// What may not be listed or read.
    unreadable: Vec<String>,
    /// The kinds whose changes are not seen.
    unwatched: Vec<String>,
}

impl Notices {
    pub(super) fn of(answer: &Value) -> Self {
        Self {
            trouble: answer["trouble"].as_str().map(str::to_owned),
            unreadable: typed(&answer["unreadable"]),
            unwatched: typed(&answer["unwatched"]),
        }
    }

    /// `1 kind` or `3 kinds`
    fn count(names: &[String]) -> String {
        match names.len() {
            1 => "1 kind".to_owned(),
            count => format!("{count} kinds"),
        }
    }
}
