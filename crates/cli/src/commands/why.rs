//! `plimsoll why`: one sentence that says why an object is not ready, and the way from it to the cause.

use serde_json::{Value, json};

use super::connect::Cluster;
use super::family::{self, Family, Node};
use super::health::Health;
use crate::args::Format;
use crate::args::tree::Why;
use crate::exit::{Exit, Outcome};
use crate::printer::{BAD, DIM, GOOD, PENDING, Printer};
use crate::process::until_interrupted;

/// Says why.
pub(super) fn run(args: &Why, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.target.cluster)?;
        let target = cluster.target(&args.target).await?;
        let family = Family::gather(&cluster, &target, "Why").await?;
        let root = family.root()?;
        let chain = chain(&root);
        match printer.format() {
            Format::Json | Format::Yaml => printer.structured(&to_json(&root, &chain))?,
            Format::Name => chain.iter().try_for_each(|node| printer.name(&node.target))?,
            Format::Text => {
                let style = if chain.is_empty() { GOOD } else { BAD };
                printer.data(format_args!("{style}{}{style:#}", sentence(&root, &chain)))?;
                for (depth, node) in chain.iter().enumerate().filter(|_| chain.len() > 1) {
                    let why = node.health.trouble().unwrap_or("it says nothing about itself");
                    let indent = "  ".repeat(depth + 1);
                    printer.data(format_args!(
                        "{indent}{} {DIM}→{DIM:#} {PENDING}{why}{PENDING:#}",
                        node.target
                    ))?;
                }
                if let Some(parent) = family::parent(&family.object) {
                    printer.message(format_args!("{DIM}it belongs to {parent}{DIM:#}"));
                }
            }
        }
        Ok(Exit::Success)
    })
}

/// The way from `root` to the cause: in every step the one below that is worst off. Empty if all is well.
fn chain(root: &Node) -> Vec<&Node> {
    let mut chain = Vec::new();
    let mut here = Some(root);
    while let Some(node) = here {
        let worst =
            node.children.iter().max_by_key(|child| (gravity(child), std::cmp::Reverse(&child.target)));
        // What is ready is not to blame, whatever is left below it of earlier days.
        let guilty = node.health != Health::Ready && gravity(node) > 0;
        if !guilty {
            break;
        }
        chain.push(node);
        here = worst.filter(|child| gravity(child) > 0);
    }
    chain
}

/// How bad things are with a node or below it.
fn gravity(node: &Node) -> u8 {
    match &node.health {
        Health::Ready => 0,
        health => node.children.iter().map(gravity).chain([health.rank()]).max().unwrap_or_default(),
    }
}

fn sentence(root: &Node, chain: &[&Node]) -> String {
    match chain {
        [] if root.health == Health::Ready => format!("{} is ready", root.target),
        [] => format!("{} says nothing about itself, and nothing below it is in trouble", root.target),
        [only] => format!("{} is not ready: {}", only.target, only.health.trouble().unwrap_or_default()),
        [.., cause] => {
            let why = first_sentence(cause.health.trouble().unwrap_or_default());
            format!("{} is not ready because of {}: {why}", root.target, cause.target)
        }
    }
}

/// Messages of controllers can be long; the chain has them whole.
fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(sentence, _)| sentence).trim_end_matches('.')
}

fn to_json(root: &Node, chain: &[&Node]) -> Value {
    let step = |node: &&Node| {
        json!({
            "apiVersion": node.target.api_version().to_string(), "kind": node.target.kind(), "name": node.target.name,
            "namespace": node.target.namespace.as_ref().map(manifest::Namespace::as_str),
            "health": node.health.word(), "why": node.health.trouble(),
        })
    };
    json!({
        "ready": chain.is_empty(),
        "sentence": sentence(root, chain),
        "chain": chain.iter().map(step).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use manifest::ObjectRef;

    use super::*;

    fn node(name: &str, health: Health, children: Vec<Node>) -> Node {
        let target = ObjectRef::new("example.org/v1/Thing".parse().unwrap(), None, name);
        Node { target, health, created: None, operation: None, children }
    }

    fn waiting(why: &str) -> Health {
        Health::Waiting(why.to_owned())
    }

    fn check(root: &Node, expected: &str, names: &[&str]) {
        let chain = chain(root);
        assert_eq!(sentence(root, &chain), expected);
        assert_eq!(chain.iter().map(|node| node.target.name.as_str()).collect::<Vec<_>>(), names);
    }

    #[test]
    fn the_worst_below_is_the_cause() {
        let pods = vec![
            node("p1", Health::Ready, Vec::new()),
            node("p2", Health::Failed("no image".to_owned()), Vec::new()),
            node("p3", waiting("new"), Vec::new()),
        ];
        let root = node("d", waiting("0 of 3"), vec![node("r", waiting("0 of 3"), pods)]);
        check(&root, "Thing d is not ready because of Thing p2: no image", &["d", "r", "p2"]);
    }

    #[test]
    fn what_is_ready_is_not_to_blame() {
        let old = node("old", Health::Ready, vec![node("left", Health::Missing, Vec::new())]);
        check(&node("d", Health::Ready, vec![old]), "Thing d is ready", &[]);
        let silent = node("s", Health::Silent, vec![node("x", Health::Missing, Vec::new())]);
        check(&silent, "Thing s is not ready because of Thing x: it does not exist", &["s", "x"]);
        let quiet = node("q", Health::Silent, Vec::new());
        check(&quiet, "Thing q says nothing about itself, and nothing below it is in trouble", &[]);
        check(&node("w", waiting("soon"), Vec::new()), "Thing w is not ready: soon", &["w"]);
    }
}
