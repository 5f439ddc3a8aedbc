//! `plimsoll tree`: an object with everything that belongs to it, and the health of each.

use std::collections::BTreeSet;
use std::io;

use anstyle::Style;
use diag::Diagnostic;
use jiff::Timestamp;
use readiness::Health;
use serde_json::Value;

use crate::args::tree::Tree;
use crate::codes;
use crate::support::age::age;
use crate::support::exit::{Exit, Outcome};
use crate::support::owner_tree::{Detail, Node, OwnerTree};
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer, object_name, width};
use crate::support::process::until_interrupted;
use crate::support::targets::{Targets, Unshown};

pub(super) fn run(args: &Tree, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let targets = Targets::find_some(&args.objects, "Tree", printer).await?;
        if args.watch && targets.objects.len() > 1 {
            let title = format!("--watch follows one object, and {} are selected", targets.objects.len());
            return Err(Diagnostic::error(codes::OBJECTS_UNCLEAR, title).hint("Name one object.").into());
        }
        let (mut trees, mut unreadable) = (Vec::new(), BTreeSet::new());
        let mut unshown = Unshown::default();
        for target in &targets.objects {
            let tree = OwnerTree::list(&targets.cluster, target, "Tree", Detail::State).await;
            let Some(tree) = unshown.or_note(targets.choice, tree)? else { continue };
            unreadable.extend(tree.unreadable());
            trees.push(tree);
        }
        if !unreadable.is_empty() {
            let unreadable = unreadable.into_iter().collect::<Vec<_>>().join(", ");
            printer.message(format_args!("{DIM}cannot list: {unreadable}{DIM:#}"));
        }
        let mut shape = targets.choice.document(trees.iter().map(|tree| tree.root.to_json()).collect());
        let everywhere = args.objects.all_namespaces;
        show(printer, trees.iter().map(|tree| &tree.root), &shape, everywhere)?;
        while let Some(tree) = trees.last_mut().filter(|_| args.watch) {
            tree.changed().await;
            tree.refresh().await?;
            let now = targets.choice.document(vec![tree.root.to_json()]);
            if now != shape {
                show(printer, std::iter::once(&tree.root), &now, everywhere)?;
                shape = now;
            }
        }
        Ok(if unshown.report(printer) { Exit::Success } else { Exit::Failure })
    })
}

/// `with_namespaces` says of each tree where it is.
fn show<'n>(
    printer: &mut Printer,
    roots: impl Iterator<Item = &'n Node> + Clone,
    shape: &Value,
    with_namespaces: bool,
) -> io::Result<()> {
    let mut names = Vec::new();
    roots.clone().for_each(|root| names_of(root, &mut names));
    printer.output(shape, names, |printer| {
        let mut rows = Vec::new();
        for root in roots {
            let first = rows.len();
            rows_of(root, "", "", Timestamp::now(), &mut rows);
            if with_namespaces {
                rows[first].label = root.target.to_string();
            }
        }
        lines(&rows, width()).iter().try_for_each(|line| printer.data(line))
    })
}

fn names_of(node: &Node, names: &mut Vec<String>) {
    names.push(object_name(&node.target));
    node.children.iter().for_each(|child| names_of(child, names));
}

struct Row {
    label: String,
    age: String,
    style: Style,
    health: String,
}

fn rows_of(node: &Node, branches: &str, below: &str, now: Timestamp, rows: &mut Vec<Row>) {
    let (style, health) = describe(node);
    let age = node.created.as_deref().map_or_else(String::new, |created| age(created, now));
    let label = format!("{branches}{} {}", node.target.kind(), node.target.name);
    rows.push(Row { label, age, style, health });
    if node.is_cut {
        let label = format!("{below}└─ …");
        rows.push(Row {
            label,
            age: String::new(),
            style: DIM,
            health: "deeper objects are not shown".to_owned(),
        });
    }
    let last = node.children.len() + usize::from(node.operation.is_some());
    let branch = |index: usize| if index + 1 == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
    for (index, child) in node.children.iter().enumerate() {
        let (branch, next) = branch(index);
        rows_of(child, &format!("{below}{branch}"), &format!("{below}{next}"), now, rows);
    }
    if let Some(operation) = &node.operation {
        let label = format!("{below}└─ {} operation", operation.phase);
        rows.push(Row { label, age: operation.age(now), style: PENDING, health: operation.sentence() });
    }
}

/// One line per object, cut to the width; `-o json` has it in full.
fn lines(rows: &[Row], width: usize) -> Vec<String> {
    let widest = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or_default();
    let line = |Row { label, age, style, health }: &Row| {
        let padding = " ".repeat(widest - label.chars().count());
        let room = width.saturating_sub(widest + 9).max(8);
        let line = format!("{label}{padding}  {DIM}{age:>5}{DIM:#}");
        if health.is_empty() {
            return line;
        }
        format!("{line}  {style}{}{style:#}", cut(health, room))
    };
    rows.iter().map(line).collect()
}

fn describe(node: &Node) -> (Style, String) {
    let style = match &node.health {
        Health::Ready => GOOD,
        Health::NoStatus => DIM,
        Health::Waiting(_) | Health::Terminating(_) => PENDING,
        Health::Failed(_) | Health::Missing => BAD,
    };
    let text = if node.health == Health::Ready { "ready" } else { node.trouble().unwrap_or_default() };
    (style, text.to_owned())
}

fn cut(text: &str, room: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(room.saturating_sub(1)) {
        Some((end, _)) if line.chars().count() > room => format!("{}…", &line[..end]),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use manifest::ObjectRef;

    use super::*;

    fn node(name: &str, health: Health, children: Vec<Node>) -> Node {
        let target = ObjectRef::new("example.org/v1/Thing".parse().unwrap(), None, name);
        let created = Some("2026-01-01T00:00:00Z".to_owned());
        Node { created, ..Node::of(target, health, children) }
    }

    #[test]
    fn a_tree_has_branches_ages_and_reasons() {
        let missing = node("d", Health::Missing, Vec::new());
        let waiting = Health::Waiting("0 of 3 replicas are available".to_owned());
        let root = node(
            "a",
            waiting,
            vec![node("b", Health::Ready, vec![missing]), node("c", Health::NoStatus, Vec::new())],
        );
        let mut rows = Vec::new();
        rows_of(&root, "", "", "2026-01-01T00:05:00Z".parse().unwrap(), &mut rows);
        let draw = |width| anstream::adapter::strip_str(&lines(&rows, width).join("\n")).to_string();
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
}
