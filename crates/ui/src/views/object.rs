//! An object: its conditions, its events, and its YAML with the manager of each field in the margin.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::heading::Heading;
use super::owners::{Line, Manager, Owners};
use super::{Subject, render, typed, verdict};

/// How many events are shown at first.
const LATEST: usize = 8;

/// For whom a claim is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Who made the claim.
    User,
    /// Who made the composition: conditions and events of the composite resource, too.
    Platform,
}

impl Audience {
    pub(super) fn of(text: Option<&str>) -> Self {
        if text == Some("platform") { Self::Platform } else { Self::User }
    }
}

/// The view; with a manager, only the fields that it holds.
pub(super) fn body(answer: &Value, manager: Option<&str>, audience: Audience) -> String {
    let subject: Subject = typed(&answer["tree"]);
    let owners: Owners = typed(&answer["owners"]);
    let platform: Option<Status> = typed(&answer["platform"]);
    let (is_claim, is_platform) = (platform.is_some(), audience == Audience::Platform);
    let mut statuses: Vec<Status> =
        [typed(&answer["status"])].into_iter().chain(platform.filter(|_| is_platform)).collect();
    statuses.iter_mut().for_each(Status::mark_stale);
    let link = |manager: Option<&str>, is_platform: bool| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(manager.map(|manager| ("manager", manager)));
        query.extend_pairs(is_platform.then_some(("audience", "platform")));
        let (path, query) = (subject.path("object"), query.finish());
        if query.is_empty() { path } else { format!("{path}?{query}") }
    };
    let mut legend = owners.legend();
    for entry in &mut legend {
        entry.is_chosen = manager == Some(entry.is.name);
        entry.link = link(Some(entry.is.name).filter(|_| !entry.is_chosen), is_platform);
    }
    let audiences = is_claim.then(|| [link(manager, false), link(manager, true)]);
    render(&Object {
        heading: Heading::of(answer, "object"),
        is_known: answer["owners"].is_object(),
        statuses,
        audiences,
        is_platform,
        legend,
        lines: owners.lines(manager),
        manager,
    })
}

#[derive(Template)]
#[template(path = "object.html")]
struct Object<'a> {
    heading: Heading,
    /// Whether the managers are known.
    is_known: bool,
    statuses: Vec<Status>,
    /// The links for the user of a claim and for the platform team.
    audiences: Option<[String; 2]>,
    is_platform: bool,
    legend: Vec<Manager<'a>>,
    lines: Vec<Line<'a>>,
    /// The only manager whose fields are shown.
    manager: Option<&'a str>,
}

/// What an object says about itself.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    object: Subject,
    generation: Option<i64>,
    conditions: Vec<Condition>,
    events: Vec<Event>,
    /// Whether the events may not be read.
    events_are_hidden: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    r#type: String,
    status: String,
    reason: String,
    message: String,
    last_transition_time: Option<String>,
    observed_generation: Option<i64>,
    is_met: Option<bool>,
    /// Whether the user of the claim reads it, too.
    reaches_user: Option<bool>,
    /// Whether it describes an earlier generation of the object.
    #[serde(skip)]
    is_stale: bool,
}

impl Condition {
    fn verdict(&self) -> &'static str {
        verdict(self.is_met)
    }
}

impl Status {
    fn mark_stale(&mut self) {
        for condition in &mut self.conditions {
            condition.is_stale =
                condition.observed_generation.is_some_and(|observed| Some(observed) < self.generation);
        }
    }

    fn latest(&self) -> &[Event] {
        &self.events[..self.events.len().min(LATEST)]
    }

    fn earlier(&self) -> &[Event] {
        &self.events[self.events.len().min(LATEST)..]
    }

    /// Whether any condition says which generation it describes.
    fn has_generations(&self) -> bool {
        self.conditions.iter().any(|condition| condition.observed_generation.is_some())
    }

    fn generation(&self) -> i64 {
        self.generation.unwrap_or_default()
    }
}

#[derive(Default, Deserialize, Template)]
#[serde(default)]
#[template(path = "event.html")]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    message: String,
    time: String,
    count: u64,
    /// The controller that reports it.
    from: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer() -> Value {
        json!({
            "tree": { "apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "a", "health": "silent" },
            "owners": { "yaml": "kind: ConfigMap\n" },
            "status": { "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": 1 }], "generation": 2 },
            "platform": { "conditions": [{ "type": "Synced", "status": "False", "reachesUser": false }] },
        })
    }

    #[test]
    fn a_claim_is_shown_for_its_user_or_for_the_platform_team() {
        let user = body(&answer(), None, Audience::User);
        let platform = body(&answer(), None, Audience::Platform);
        assert!(!user.contains("Synced") && platform.contains("Synced"), "{user}\n{platform}");
        assert!(user.contains("audience=platform"), "{user}");
        assert!(
            user.contains("<td class=\"generation\">1 <span class=\"tag warn\">of 2</span></td>"),
            "a condition about an earlier generation is marked: {user}"
        );
    }
}
