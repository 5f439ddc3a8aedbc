//! Where to start: objects by name, those that people ask for first.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::notices::Notices;
use super::{Subject, render, state_word, typed};

pub(super) fn body(text: &str, answer: &Value) -> String {
    let found: Vec<Found> = typed(&answer["objects"]);
    let mut sections: Vec<Section<'_>> = Vec::new();
    for object in &found {
        match sections.last_mut().filter(|section| section.name == object.section) {
            Some(section) => section.objects.push(object),
            None => sections.push(Section { name: &object.section, objects: vec![object] }),
        }
    }
    let more = answer["more"].as_u64().unwrap_or_default();
    render(&Search { text, notices: Notices::of(answer), sections, more })
}

#[derive(Template)]
#[template(path = "search.html")]
struct Search<'a> {
    text: &'a str,
    notices: Notices,
    sections: Vec<Section<'a>>,
    /// How many objects were found and are not listed.
    more: u64,
}

struct Section<'a> {
    name: &'a str,
    objects: Vec<&'a Found>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Found {
    section: String,
    #[serde(flatten)]
    subject: Subject,
    created: Option<String>,
    /// Empty where only the name is known.
    health: String,
    why: Option<String>,
}

impl Found {
    fn state(&self) -> &str {
        state_word(&self.health)
    }
}
