//! `plimsoll tree`: an object with everything that hangs on it, and how each of them stands.

use std::time::Duration;

use anstyle::Style;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::connect::Cluster;
use super::family::{self, Node};
use super::health::Health;
use crate::args::Format;
use crate::args::tree::Tree;
use crate::exit::{Exit, Failure, Outcome};
use crate::printer::{BAD, DIM, GOOD, PENDING, Printer, width};
use crate::process::until_interrupted;

/// Between two looks with `--watch`.
const AGAIN: Duration = Duration::from_secs(2);

/// Shows the tree, once or whenever it changes.
pub(super) fn run(args: &Tree, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.target.cluster)?;
        let target = cluster.target(&args.target).await?;
        let mut last = None;
        loop {
            let family = family::gather(&cluster, &target, "Tree").await?;
            let shape = to_json(&family.root);
            if last.as_ref() != Some(&shape) {
                show(printer, &family.root, &shape)?;
                if !family.unseen.is_empty() && last.is_none() {
                    printer.message(format_args!(
                        "{DIM}could not be looked at: {}{DIM:#}",
                        family.unseen.join(", ")
                    ));
                }
                last = Some(shape);
            }
            if !args.watch {
                return Ok(Exit::Success);
            }
            tokio::time::sleep(AGAIN).await;
        }
    })
}

fn show(printer: &mut Printer, root: &Node, shape: &Value) -> Result<(), Failure> {
    match printer.format() {
        Format::Json | Format::Yaml => printer.structured(shape)?,
        Format::Name => names(printer, root)?,
        Format::Text => {
            let mut rows = Vec::new();
            rows_of(root, "", "", &mut rows);
            for line in lines(&rows, Timestamp::now(), width()) {
                printer.data(line)?;
            }
        }
    }
    Ok(())
}

fn names(printer: &mut Printer, node: &Node) -> Result<(), Failure> {
    printer.name(&node.target)?;
    node.children.iter().try_for_each(|child| names(printer, child))
}

/// A node with the branches that lead to it.
struct Row<'n> {
    branches: String,
    node: &'n Node,
}

impl Row<'_> {
    fn label(&self) -> String {
        format!("{}{} {}", self.branches, self.node.target.kind(), self.node.target.name)
    }
}

fn rows_of<'n>(node: &'n Node, branches: &str, below: &str, rows: &mut Vec<Row<'n>>) {
    rows.push(Row { branches: branches.to_owned(), node });
    for (index, child) in node.children.iter().enumerate() {
        let is_last = index + 1 == node.children.len();
        let (branch, next) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        rows_of(child, &format!("{below}{branch}"), &format!("{below}{next}"), rows);
    }
}

/// One line an object: what it is, how old, how it stands. What does not fit is cut; `-o json` has it whole.
fn lines(rows: &[Row<'_>], now: Timestamp, width: usize) -> Vec<String> {
    let widest = rows.iter().map(|row| row.label().chars().count()).max().unwrap_or_default();
    rows.iter()
        .map(|row| {
            let (style, text) = standing(&row.node.health);
            let age = row.node.created.as_deref().map_or_else(String::new, |created| age(created, now));
            let label = row.label();
            let padding = " ".repeat(widest - label.chars().count());
            let room = width.saturating_sub(widest + 9).max(8);
            let line =
                format!("{label}{padding}  {DIM}{age:>5}{DIM:#}  {style}{}{style:#}", cut(&text, room));
            line.trim_end().to_owned()
        })
        .collect()
}

fn standing(health: &Health) -> (Style, String) {
    let style = match health {
        Health::Ready => GOOD,
        Health::Silent => DIM,
        Health::Waiting(_) | Health::Going(_) => PENDING,
        Health::Failed(_) | Health::Missing => BAD,
    };
    let text = match health {
        Health::Ready => "ready",
        Health::Silent => "",
        other => other.trouble().unwrap_or_default(),
    };
    (style, text.to_owned())
}

fn cut(text: &str, room: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(room.saturating_sub(1)) {
        Some((end, _)) if line.chars().count() > room => format!("{}…", &line[..end]),
        _ => line.to_owned(),
    }
}

/// How long ago, in its largest unit: `3d`, `12m`, `5s`.
fn age(created: &str, now: Timestamp) -> String {
    let Ok(created) = created.parse::<Timestamp>() else { return String::new() };
    let seconds = now.duration_since(created).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn to_json(node: &Node) -> Value {
    json!({
        "apiVersion": node.target.api_version().to_string(),
        "kind": node.target.kind(),
        "namespace": node.target.namespace.as_ref().map(manifest::Namespace::as_str),
        "name": node.target.name,
        "health": node.health.word(),
        "why": node.health.trouble(),
        "created": node.created,
        "children": node.children.iter().map(to_json).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use manifest::ObjectRef;

    use super::*;

    fn node(name: &str, health: Health, children: Vec<Node>) -> Node {
        let target = ObjectRef::new("example.org/v1/Thing".parse().unwrap(), None, name);
        Node { target, health, created: Some("2026-01-01T00:00:00Z".to_owned()), children }
    }

    #[test]
    fn a_tree_has_branches_ages_and_reasons() {
        let missing = node("d", Health::Missing, Vec::new());
        let waiting = Health::Waiting("0 of 3 replicas are available".to_owned());
        let root = node(
            "a",
            waiting,
            vec![node("b", Health::Ready, vec![missing]), node("c", Health::Silent, Vec::new())],
        );
        let mut rows = Vec::new();
        rows_of(&root, "", "", &mut rows);
        let now = "2026-01-01T00:05:00Z".parse().unwrap();
        let draw = |width| anstream::adapter::strip_str(&lines(&rows, now, width).join("\n")).to_string();
        insta::assert_snapshot!(draw(100), @r"
        Thing a           5m  0 of 3 replicas are available
        ├─ Thing b        5m  ready
        │  └─ Thing d     5m  it does not exist
        └─ Thing c        5m
        ");
        insta::assert_snapshot!(draw(40), @r"
        Thing a           5m  0 of 3 replicas a…
        ├─ Thing b        5m  ready
        │  └─ Thing d     5m  it does not exist
        └─ Thing c        5m
        ");
    }

    #[test]
    fn ages_are_told_in_their_largest_unit() {
        let now = "2026-01-10T00:00:00Z".parse().unwrap();
        let check = |created: &str, expected: &str| assert_eq!(age(created, now), expected);
        check("2026-01-09T23:59:55Z", "5s");
        check("2026-01-09T23:50:00Z", "10m");
        check("2026-01-09T20:00:00Z", "4h");
        check("2026-01-01T00:00:00Z", "9d");
        check("2027-01-01T00:00:00Z", "0s");
        check("soon", "");
    }
}
