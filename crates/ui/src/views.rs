//! The views: each renders the answer to its question as HTML, from the JSON that `/api` gives.

mod changes;
mod heading;
mod managers;
mod notices;
mod object;
mod operations;
mod owners;
mod plan;
mod search;
mod tree;

use std::borrow::Cow;

use askama::Template;
use axum::http::Uri;
use axum::response::Html;
use diag::Diagnostic;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::path::Target;
use crate::source::{Answer, Question};
use object::Audience;

/// What a URL shows.
pub(crate) enum View {
    Search(String),
    Tree(Target),
    Object { target: Target, manager: Option<String>, audience: Audience },
    Changes { target: Target, manager: Option<String> },
    Operations,
    Plan { text: Option<String>, has_files: bool },
}

/// The value of a parameter in a query.
pub(crate) fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query?.as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).filter(|value| !value.is_empty())
}

impl View {
    pub(crate) fn parse(path: &str, query: Option<&str>, has_files: bool) -> Option<Self> {
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        Some(match segments[..] {
            [""] => Self::Search(parameter(query, "q").unwrap_or_default()),
            ["operations"] => Self::Operations,
            ["plan"] => Self::Plan { text: None, has_files },
            ["tree", ref object @ ..] => Self::Tree(Target::parse(object)?),
            ["changes", ref object @ ..] => {
                Self::Changes { target: Target::parse(object)?, manager: parameter(query, "manager") }
            }
            ["object", ref object @ ..] => Self::Object {
                target: Target::parse(object)?,
                manager: parameter(query, "manager"),
                audience: Audience::of(parameter(query, "audience").as_deref()),
            },
            _ => return None,
        })
    }

    /// What has to be asked, if anything.
    pub(crate) fn question(&self) -> Option<Question> {
        match self {
            Self::Search(text) => Some(Question::Search(text.clone())),
            Self::Tree(target) | Self::Object { target, .. } | Self::Changes { target, .. } => {
                Some(Question::Object(target.clone()))
            }
            Self::Operations => Some(Question::Operations),
            Self::Plan { text: Some(text), .. } => Some(Question::Plan(Some(text.clone()))),
            Self::Plan { text: None, has_files } => has_files.then_some(Question::Plan(None)),
        }
    }

    /// Whether the view changes by itself.
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self, Self::Plan { .. })
    }

    fn title(&self) -> String {
        match self {
            Self::Search(_) => "Objects".to_owned(),
            Self::Tree(target) | Self::Object { target, .. } | Self::Changes { target, .. } => {
                format!("{} {}", target.kind.split('.').next().unwrap_or_default(), target.name)
            }
            Self::Operations => "Operations".to_owned(),
            Self::Plan { .. } => "Plan".to_owned(),
        }
    }

    /// The entry of the navigation that leads here.
    fn section(&self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Plan { .. } => "plan",
            _ => "objects",
        }
    }

    /// The part of the page that changes.
    pub(crate) fn body(&self, answer: &Answer) -> String {
        let value = match answer {
            Ok(value) => value,
            Err(why) => return self.failure(why),
        };
        match self {
            Self::Search(text) => search::body(text, value),
            Self::Tree(_) => tree::body(value),
            Self::Object { manager, audience, .. } => object::body(value, manager.as_deref(), *audience),
            Self::Changes { manager, .. } => changes::body(value, manager.as_deref()),
            Self::Operations => operations::body(value),
            Self::Plan { text, has_files } => plan::body(text.as_deref(), *has_files, Some(value)),
        }
    }

    fn failure(&self, why: &Diagnostic) -> String {
        let problem = render(&Problem { why, is_awaited: self.is_live() && is_absence(why) });
        match self {
            // The text that was pasted must not be lost.
            Self::Plan { text, has_files } => {
                format!("{problem}{}", plan::body(text.as_deref(), *has_files, None))
            }
            _ => problem,
        }
    }
}

/// A whole page. `version` is that of the answer it shows.
pub(crate) fn page(view: &View, cluster: &str, uri: &Uri, version: u64, answer: Option<&Answer>) -> String {
    let body = match (answer, view) {
        (Some(answer), _) => view.body(answer),
        (None, View::Plan { text, has_files }) => plan::body(text.as_deref(), *has_files, None),
        (None, _) => String::new(),
    };
    let live = view.is_live().then(|| {
        let asked = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(asked.filter(|(name, _)| name != "since"))
            .append_pair("since", &version.to_string())
            .finish();
        format!("/live{}?{query}", uri.path())
    });
    let typed = if let View::Search(text) = view { text } else { "" };
    render(&Page { title: &view.title(), section: view.section(), cluster, typed, live, body: &body })
}

/// The page without a token. `is_wrong` says that there was one.
pub(crate) fn locked(is_wrong: bool) -> Html<String> {
    Html(render(&Locked { is_wrong }))
}

/// The page of a URL that leads nowhere.
pub(crate) fn lost(cluster: &str) -> Html<String> {
    let body = "<p class=\"empty\">There is no such page. <a href=\"/\">Search for an object.</a></p>";
    Html(render(&Page { title: "Not found", section: "", cluster, typed: "", live: None, body }))
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: &'a str,
    section: &'a str,
    cluster: &'a str,
    typed: &'a str,
    live: Option<String>,
    body: &'a str,
}

#[derive(Template)]
#[template(path = "locked.html")]
struct Locked {
    is_wrong: bool,
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Problem<'a> {
    why: &'a Diagnostic,
    /// Whether the view goes on as soon as what is missing is there.
    is_awaited: bool,
}

/// Whether the object or its kind does not exist.
pub(crate) fn is_absence(why: &Diagnostic) -> bool {
    ["object-missing", "kind-unknown"].contains(&why.code.name())
}

fn render(template: &impl Template) -> String {
    template.render().expect("writing to a string does not fail")
}

/// The typed form of an answer; nothing where it has another shape, which a test of the whole page would show.
fn typed<T: DeserializeOwned + Default>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_default()
}

/// The object that a part of an answer is about.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Subject {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl Subject {
    fn path(&self, view: &str) -> String {
        Target::new(&self.api_version, &self.kind, self.namespace.as_deref(), &self.name).path(view)
    }
}

/// The state in words that people use.
fn state_word(health: &str) -> &str {
    match health {
        "silent" => "no status",
        "going" => "being deleted",
        "hidden" => "not readable",
        other => other,
    }
}

/// The class of a condition that is as it should be, is not, or merely describes.
const fn verdict(is_met: Option<bool>) -> &'static str {
    match is_met {
        Some(true) => "is-met",
        Some(false) => "is-trouble",
        None => "is-neutral",
    }
}

/// A value on one line, short enough to compare with another.
fn short(value: Option<&Value>) -> Cow<'_, str> {
    const MOST: usize = 160;
    let text: Cow<'_, str> = match value {
        None => return "(none)".into(),
        Some(Value::String(text)) => text.as_str().into(),
        Some(other) => other.to_string().into(),
    };
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text,
    }
}
