//! The cloud operations in progress: phase, percentage, request id, since when, and what went wrong before.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::notices::Notices;
use super::{Subject, render, typed};

pub(super) fn body(answer: &Value) -> String {
    let rows: Vec<Row> = typed(&answer["operations"]);
    render(&Operations { notices: Notices::of(answer), rows: &rows })
}

#[derive(Template)]
#[template(path = "operations.html")]
struct Operations<'a> {
    notices: Notices,
    rows: &'a [Row],
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Row {
    #[serde(flatten)]
    subject: Subject,
    operation: Operation,
}

/// An operation as `plimsoll operations -o json` prints it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Operation {
    pub(super) phase: String,
    pub(super) class: String,
    pub(super) percent: Option<u8>,
    pub(super) work_request: String,
    pub(super) request_id: String,
    pub(super) message: String,
    pub(super) since: String,
    pub(super) last_error: Option<String>,
}
