//! The YAML of an object with the managers of each field in the margin.

use serde::Deserialize;

use super::managers::{Coloured, Palette};

/// What `plimsoll owners -o json` prints.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Owners {
    yaml: String,
    fields: Vec<Field>,
    managers: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Field {
    managers: Vec<String>,
    /// Which of the entries below say so.
    entries: Vec<usize>,
    /// The first line of the value in `yaml`, from 1, and how many lines it has.
    line: usize,
    lines: usize,
}

/// What a manager holds by one operation.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    manager: String,
    operation: String,
    subresource: String,
    time: Option<String>,
    fields: usize,
}

impl Entry {
    /// `Update of status`
    pub(super) fn way(&self) -> String {
        if self.subresource.is_empty() {
            return self.operation.clone();
        }
        format!("{} of {}", self.operation, self.subresource)
    }

    /// `kubectl: Update of scale, 2026-01-31 12:00:00 UTC`
    fn sentence(&self) -> String {
        let time = self.time.as_deref().map_or("at an unknown time".to_owned(), |time| {
            time.trim_end_matches('Z').replace('T', " ") + " UTC"
        });
        format!("{}: {}, {time}", self.manager, self.way())
    }
}

/// A manager in the legend.
pub(super) struct Manager<'a> {
    pub(super) is: Coloured<'a>,
    /// How it wrote.
    pub(super) entries: Vec<&'a Entry>,
    /// Whether only its fields are shown.
    pub(super) is_chosen: bool,
    /// Shows only its fields, or all again.
    pub(super) link: String,
}

impl Manager<'_> {
    /// When it last wrote.
    pub(super) fn last(&self) -> Option<&str> {
        self.entries.iter().filter_map(|entry| entry.time.as_deref()).max()
    }

    /// `1 field`
    pub(super) fn size(&self) -> String {
        match self.entries.iter().map(|entry| entry.fields).sum() {
            1 => "1 field".to_owned(),
            count => format!("{count} fields"),
        }
    }

    pub(super) fn ways(&self) -> String {
        self.entries.iter().map(|entry| entry.way()).collect::<Vec<_>>().join(", ")
    }
}

/// A line of YAML, or several that are left out.
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) holders: Vec<Coloured<'a>>,
    /// Whether the line above has the same holders, so that naming them again says nothing.
    pub(super) is_repeated: bool,
    /// When and by which operation the holders wrote.
    pub(super) hint: String,
    /// How many lines stand here that the filter leaves out; zero for a line of its own.
    pub(super) left_out: usize,
}

impl Owners {
    pub(super) fn palette(&self) -> Palette<'_> {
        // The API server's order.
        Palette::new(self.managers.iter().map(|entry| entry.manager.as_str()))
    }

    /// The managers, the last one to change the object first.
    pub(super) fn legend(&self) -> Vec<Manager<'_>> {
        let of = |name: &str| self.managers.iter().filter(|it| it.manager == name).collect();
        let palette = self.palette();
        let named = palette.all();
        let mut legend: Vec<Manager<'_>> = named
            .map(|is| Manager { is, entries: of(is.name), is_chosen: false, link: String::new() })
            .collect();
        legend.sort_by_key(|manager| std::cmp::Reverse(manager.last().map(str::to_owned)));
        legend
    }

    /// The lines; with a manager, only those that it holds and what they stand in.
    pub(super) fn lines(&self, only: Option<&str>) -> Vec<Line<'_>> {
        let texts: Vec<&str> = self.yaml.lines().collect();
        let mut fields: Vec<Option<&Field>> = vec![None; texts.len()];
        for field in &self.fields {
            let first = field.line.saturating_sub(1);
            fields.iter_mut().skip(first).take(field.lines.max(1)).for_each(|line| *line = Some(field));
        }
        let is_shown = only.map(|only| {
            let is_held =
                |field: Option<&Field>| field.is_some_and(|it| it.managers.iter().any(|it| it == only));
            with_what_they_stand_in(&texts, &fields.iter().copied().map(is_held).collect::<Vec<_>>())
        });
        let palette = self.palette();
        let mut lines: Vec<Line<'_>> = Vec::new();
        for (number, (text, field)) in texts.into_iter().zip(fields).enumerate() {
            if is_shown.as_ref().is_some_and(|is_shown| !is_shown[number]) {
                match lines.last_mut().filter(|line| line.left_out > 0) {
                    Some(gap) => gap.left_out += 1,
                    None => lines.push(Line::gap()),
                }
                continue;
            }
            let managers = field.map_or(&[][..], |field| &field.managers);
            let holders: Vec<Coloured<'_>> = managers.iter().map(|name| palette.of(name)).collect();
            let above = lines.last().map(|line| &line.holders[..]).unwrap_or_default();
            let is_repeated = above.iter().map(|it| it.name).eq(holders.iter().map(|it| it.name));
            lines.push(Line { text, holders, is_repeated, hint: self.hint(field), left_out: 0 });
        }
        lines
    }

    fn hint(&self, field: Option<&Field>) -> String {
        let places = field.map_or(&[][..], |field| &field.entries);
        let entries = places.iter().filter_map(|place| self.managers.get(*place));
        entries.map(Entry::sentence).collect::<Vec<_>>().join("\n")
    }
}

impl Line<'_> {
    const fn gap() -> Self {
        Self { text: "", holders: Vec::new(), is_repeated: false, hint: String::new(), left_out: 1 }
    }
}

/// Marks the lines that the marked ones stand in, too: the keys and list elements above them.
fn with_what_they_stand_in(texts: &[&str], is_marked: &[bool]) -> Vec<bool> {
    let mut marked = is_marked.to_vec();
    let mut inner: Option<Place> = None;
    for number in (0..texts.len()).rev() {
        let place = Place::of(texts[number]);
        marked[number] |= inner.as_ref().is_some_and(|inner| inner.stands_in(&place));
        if marked[number] {
            inner = Some(place);
        }
    }
    marked
}

/// Where a line of YAML begins.
struct Place {
    /// The column of its dash, if it begins an element of a list.
    dash: Option<usize>,
    /// The column of its key or value.
    content: usize,
}

impl Place {
    fn of(text: &str) -> Self {
        let indent = text.len() - text.trim_start_matches(' ').len();
        let is_element = text[indent..].starts_with("- ");
        let content = text.len() - text.trim_start_matches([' ', '-']).len();
        Self { dash: is_element.then_some(indent), content: if is_element { content } else { indent } }
    }

    /// Whether the nearest line above that begins at `above` is one that this line stands in.
    fn stands_in(&self, above: &Self) -> bool {
        match self.dash {
            // The key of a list may be in the column of its dashes; other elements are, too.
            Some(dash) => above.content <= dash && above.dash != Some(dash),
            None => above.content < self.content || (above.dash.is_some() && above.content == self.content),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owners() -> Owners {
        let entry = |manager: &str, operation: &str, time: &str| json!({ "manager": manager, "operation": operation, "subresource": "", "time": time, "fields": 1 });
        let value = json!({
            "yaml": "data:\n  a: |\n    one\n    two\n  b: x\nkind: ConfigMap\nlist:\n- c: 1\n  d: 2\n",
            "fields": [
                { "field": "data.a", "managers": ["us"], "entries": [0], "line": 2, "lines": 3 },
                { "field": "data.b", "managers": ["them", "us"], "entries": [1, 0], "line": 5, "lines": 1 },
                { "field": "list[c=1].d", "managers": ["others"], "entries": [2], "line": 9, "lines": 1 },
            ],
            "managers": [
                entry("us", "Apply", "2026-01-01T00:00:00Z"), entry("them", "Update", "2026-01-02T00:00:00Z"),
                entry("others", "Update", "2026-01-01T12:00:00Z"),
            ],
        });
        Owners::deserialize(&value).unwrap()
    }

    #[test]
    fn every_line_has_its_holders_and_when_they_wrote() {
        let owners = owners();
        let shown: Vec<String> = owners
            .lines(None)
            .iter()
            .map(|line| {
                let names: Vec<&str> = line.holders.iter().map(|holder| holder.name).collect();
                format!("{} {} {}", u8::from(line.is_repeated), names.join("+"), line.text.trim())
            })
            .collect();
        let expected =
            ["1  data:", "0 us a: |", "1 us one", "1 us two", "0 them+us b: x", "0  kind: ConfigMap"];
        assert_eq!(shown[..6], expected);
        let hint = &owners.lines(None)[4].hint;
        assert_eq!(*hint, "them: Update, 2026-01-02 00:00:00 UTC\nus: Apply, 2026-01-01 00:00:00 UTC");
        let legend: Vec<&str> = owners.legend().iter().map(|manager| manager.is.name).collect();
        assert_eq!(legend, ["them", "others", "us"], "the last one to write comes first");
    }

    #[test]
    fn of_one_manager_only_its_lines_are_shown_and_what_they_stand_in() {
        let check = |manager: &str, expected: &[&str]| {
            let owners = owners();
            let lines = owners.lines(Some(manager));
            let shown = lines.iter().map(|line| match line.left_out {
                0 => line.text.to_owned(),
                count => format!("({count})"),
            });
            assert_eq!(shown.collect::<Vec<_>>(), expected, "{manager}");
        };
        check("them", &["data:", "(3)", "  b: x", "(4)"]);
        check("us", &["data:", "  a: |", "    one", "    two", "  b: x", "(4)"]);
        check("others", &["(6)", "list:", "- c: 1", "  d: 2"]);
        check("nothing", &["(9)"]);
    }
}
