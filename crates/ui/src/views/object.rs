//! An object: its YAML with the manager of each field in the margin, its conditions and its events.

use askama::Template;
use serde::Deserialize;
use serde_json::Value;

use super::{Heading, Subject, render, typed};

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

pub(super) fn body(answer: &Value, manager: Option<&str>, audience: Audience) -> String {
    let subject: Subject = typed(&answer["tree"]);
    let owners: Owners = typed(&answer["owners"]);
    let unreadable: Vec<String> = typed(&answer["unreadable"]);
    let platform: Option<Status> = typed(&answer["platform"]);
    let (is_claim, is_platform) = (platform.is_some(), audience == Audience::Platform);
    let mut statuses: Vec<Status> =
        [typed(&answer["status"])].into_iter().chain(platform.filter(|_| is_platform)).collect();
    statuses.iter_mut().for_each(Status::mark_stale);
    let heading = Heading {
        subject: &subject,
        view: "object",
        health: answer["tree"]["health"].as_str().unwrap_or_default(),
        parent: answer["parent"].as_str(),
        trouble: answer["trouble"].as_str(),
        unreadable: &unreadable,
    };
    let link = |manager: Option<&str>, is_platform: bool| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(manager.map(|manager| ("manager", manager)));
        query.extend_pairs(is_platform.then_some(("audience", "platform")));
        let (path, query) = (subject.path("object"), query.finish());
        if query.is_empty() { path } else { format!("{path}?{query}") }
    };
    let mut legend = owners.legend();
    for entry in &mut legend {
        entry.is_chosen = manager == Some(entry.name);
        entry.link = link(Some(entry.name).filter(|_| !entry.is_chosen), is_platform);
    }
    let audiences = is_claim.then(|| [link(manager, false), link(manager, true)]);
    render(&Object {
        heading,
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
    heading: Heading<'a>,
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
#[serde(default)]
struct Status {
    object: Subject,
    generation: Option<i64>,
    conditions: Vec<Condition>,
    events: Vec<Event>,
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
    /// Whether the user of the claim reads it, too.
    reaches_user: Option<bool>,
    /// The earlier generation of the object that it describes.
    #[serde(skip)]
    stale: Option<i64>,
}

impl Status {
    fn mark_stale(&mut self) {
        for condition in &mut self.conditions {
            condition.stale =
                condition.observed_generation.filter(|observed| Some(*observed) < self.generation);
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    reason: String,
    message: String,
    time: String,
    count: u64,
}

/// What `plimsoll owners -o json` prints.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Owners {
    yaml: String,
    fields: Vec<Field>,
    managers: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Field {
    managers: Vec<String>,
    /// The first line of the value in `yaml`, from 1, and how many lines it has.
    line: usize,
    lines: usize,
}

/// What a manager holds by one operation.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    manager: String,
    operation: String,
    subresource: String,
    time: Option<String>,
    fields: usize,
}

/// How many managers have a colour of their own.
const COLOURS: usize = 8;

/// A manager in the legend.
struct Manager<'a> {
    name: &'a str,
    colour: usize,
    letter: char,
    /// How it wrote.
    entries: Vec<&'a Entry>,
    /// Whether only its fields are shown.
    is_chosen: bool,
    /// Shows only its fields, or all again.
    link: String,
}

struct Line<'a> {
    text: &'a str,
    holders: Vec<Holder<'a>>,
    /// Whether the line above has the same holders, so that naming them again says nothing.
    is_repeated: bool,
    /// When and by which operation the holders wrote.
    hint: String,
    /// Whether the filter hides it.
    is_faded: bool,
}

struct Holder<'a> {
    name: &'a str,
    colour: usize,
    letter: char,
}

impl Owners {
    /// Every manager once, in the API server's order, which decides its colour.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for entry in &self.managers {
            if !names.contains(&entry.manager.as_str()) {
                names.push(&entry.manager);
            }
        }
        names
    }

    /// The managers, the last one to change the object first.
    fn legend(&self) -> Vec<Manager<'_>> {
        let of = |(place, name)| {
            let entries = self.managers.iter().filter(|entry| entry.manager == name).collect();
            let (colour, letter) = (place % COLOURS, letter(place));
            Manager { name, colour, letter, entries, is_chosen: false, link: String::new() }
        };
        let mut legend: Vec<Manager<'_>> = self.names().into_iter().enumerate().map(of).collect();
        legend.sort_by_key(|manager| std::cmp::Reverse(manager.last().map(str::to_owned)));
        legend
    }

    fn lines(&self, only: Option<&str>) -> Vec<Line<'_>> {
        let names = self.names();
        let holder = |name: &'_ str| {
            let place = names.iter().position(|known| *known == name).unwrap_or_default();
            (place % COLOURS, letter(place))
        };
        let mut fields: Vec<Option<&Field>> = vec![None; self.yaml.lines().count()];
        for field in &self.fields {
            let first = field.line.saturating_sub(1);
            fields.iter_mut().skip(first).take(field.lines.max(1)).for_each(|line| *line = Some(field));
        }
        let mut lines: Vec<Line<'_>> = Vec::new();
        for (text, field) in self.yaml.lines().zip(fields) {
            let managers = field.map_or(&[][..], |field| &field.managers);
            let holders: Vec<Holder<'_>> = managers
                .iter()
                .map(|name| {
                    let (colour, letter) = holder(name);
                    Holder { name, colour, letter }
                })
                .collect();
            let above = lines.last().map(|line| &line.holders[..]).unwrap_or_default();
            let is_repeated = above.iter().map(|it| it.name).eq(holders.iter().map(|it| it.name));
            let is_faded = only.is_some_and(|only| !managers.iter().any(|name| name == only));
            lines.push(Line { text, holders, is_repeated, hint: self.hint(managers), is_faded });
        }
        lines
    }

    fn hint(&self, managers: &[String]) -> String {
        let entries = self.managers.iter().filter(|entry| managers.contains(&entry.manager));
        let said = entries.map(|entry| {
            let time = entry.time.as_deref().unwrap_or("at an unknown time");
            format!("{}: {} {time}", entry.manager, entry.way())
        });
        said.collect::<Vec<_>>().join("\n")
    }
}

impl Entry {
    /// `Update of status`
    fn way(&self) -> String {
        if self.subresource.is_empty() {
            return self.operation.clone();
        }
        format!("{} of {}", self.operation, self.subresource)
    }
}

impl Manager<'_> {
    /// When it last wrote.
    fn last(&self) -> Option<&str> {
        self.entries.iter().filter_map(|entry| entry.time.as_deref()).max()
    }

    /// `1 field`
    fn size(&self) -> String {
        match self.entries.iter().map(|entry| entry.fields).sum() {
            1 => "1 field".to_owned(),
            count => format!("{count} fields"),
        }
    }

    fn ways(&self) -> String {
        self.entries.iter().map(|entry| entry.way()).collect::<Vec<_>>().join(", ")
    }
}

fn letter(place: usize) -> char {
    char::from(b'A' + u8::try_from(place % 26).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer() -> Value {
        let entry = |manager: &str, operation: &str, time: &str| json!({ "manager": manager, "operation": operation, "subresource": "", "time": time, "fields": 1 });
        json!({
            "tree": { "apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "a", "health": "silent" },
            "owners": {
                "yaml": "data:\n  a: |\n    one\n    two\n  b: x\nkind: ConfigMap\n",
                "fields": [
                    { "field": "data.a", "managers": ["us"], "line": 2, "lines": 3 },
                    { "field": "data.b", "managers": ["them", "us"], "line": 5, "lines": 1 },
                ],
                "managers": [entry("us", "Apply", "2026-01-01T00:00:00Z"), entry("them", "Update", "2026-01-02T00:00:00Z")],
            },
            "status": { "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": 1 }], "generation": 2 },
            "platform": { "conditions": [{ "type": "Synced", "status": "False", "reachesUser": false }] },
        })
    }

    #[test]
    fn every_line_has_its_holders_and_a_filter_fades_the_others() {
        let owners: Owners = typed(&answer()["owners"]);
        let shown: Vec<String> = owners
            .lines(Some("them"))
            .iter()
            .map(|line| {
                let names: Vec<&str> = line.holders.iter().map(|holder| holder.name).collect();
                format!(
                    "{}{} {} {}",
                    u8::from(line.is_faded),
                    u8::from(line.is_repeated),
                    names.join("+"),
                    line.text.trim()
                )
            })
            .collect();
        assert_eq!(
            shown,
            ["11  data:", "10 us a: |", "11 us one", "11 us two", "00 them+us b: x", "10  kind: ConfigMap"]
        );
        assert_eq!(owners.legend().iter().map(|manager| manager.name).collect::<Vec<_>>(), ["them", "us"]);
    }

    #[test]
    fn a_claim_is_shown_for_its_user_or_for_the_platform_team() {
        let user = body(&answer(), None, Audience::User);
        let platform = body(&answer(), None, Audience::Platform);
        assert!(!user.contains("Synced") && platform.contains("Synced"), "{user}\n{platform}");
        assert!(user.contains("audience=platform"), "{user}");
        assert!(
            user.contains("of generation 1"),
            "a condition about an earlier generation is marked: {user}"
        );
    }
}
