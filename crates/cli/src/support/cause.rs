//! Why an object is not ready: one sentence, and the chain of objects from it to the cause.

mod last_event;
mod related;

pub(crate) use related::related;

use cluster::Session;
use readiness::{Health, because};
use serde_json::{Value, json};

use self::last_event::{LastEvent, last_event};
use super::object_json;
use super::owner_tree::Node;

/// An error of so many bytes is the same one if it is there twice.
const TELLING: usize = 20;

pub(crate) struct Cause<'n> {
    root: &'n Node,
    /// Empty if everything is ready.
    pub(crate) chain: Vec<Step<'n>>,
}

impl<'n> Cause<'n> {
    /// The cause of the trouble of `root`. Where the last object in the chain only waits, its last event may say more, if there
    /// is a session to ask for it.
    pub(crate) async fn find(session: Option<&Session>, root: &'n Node) -> Self {
        let mut chain = chain(root);
        let waits = chain.last_mut().filter(|cause| matches!(cause.node.health, Health::Waiting(_)));
        if let Some((cause, session)) = waits.zip(session) {
            cause.add(last_event(session, cause.node).await);
        }
        Self { root, chain }
    }

    pub(crate) fn sentence(&self) -> String {
        sentence(self.root, &self.chain)
    }

    pub(crate) fn to_json(&self) -> Value {
        let step = |Step { node, why }: &Step<'_>| {
            let why = Some(why).filter(|why| !why.is_empty());
            object_json(&node.target, json!({ "health": node.health_word(), "why": why }))
        };
        json!({
            "ready": self.chain.is_empty(),
            "sentence": self.sentence(),
            "chain": self.chain.iter().map(step).collect::<Vec<_>>(),
        })
    }
}

/// An object in the chain to the cause, and its own problem.
pub(crate) struct Step<'n> {
    pub(crate) node: &'n Node,
    pub(crate) why: String,
}

impl<'n> Step<'n> {
    fn new(node: &'n Node) -> Self {
        Self { node, why: node.health.trouble().unwrap_or_default().to_owned() }
    }

    /// Adds the last event about the object, unless the object says the same.
    fn add(&mut self, event: Option<LastEvent>) {
        // Controllers put the error at the end of several messages, each with words of its own before it.
        let error = self.why.rsplit(": ").next().filter(|error| error.len() >= TELLING);
        let is_known = |event: &LastEvent| {
            self.why.contains(&event.message)
                || self.why.contains(&format!("({})", event.reason))
                || error.is_some_and(|error| event.message.contains(error))
        };
        if let Some(event) = event.filter(|event| !is_known(event)) {
            self.why.push_str(&because(&event.reason, &event.message));
        }
    }
}

/// The chain from `root` to the cause, at each step to the child in the worst state. Empty if everything is ready.
fn chain(root: &Node) -> Vec<Step<'_>> {
    let mut chain = Vec::new();
    let mut here = Some(root);
    while let Some(node) = here {
        let worst =
            node.children.iter().max_by_key(|child| (worst_rank(child), std::cmp::Reverse(&child.target)));
        // An object that is ready is not the cause, whatever old objects it still owns.
        if node.health == Health::Ready || worst_rank(node) == 0 {
            break;
        }
        chain.push(Step::new(node));
        here = worst.filter(|child| worst_rank(child) > 0 && !is_unrelated(node, child));
    }
    chain
}

/// Whether a pod does not wait for a PersistentVolumeClaim; the claim may in turn wait for the pod.
fn is_unrelated(pod: &Node, child: &Node) -> bool {
    let trouble = pod.health.trouble().unwrap_or_default().to_lowercase();
    child.target.kind() == "PersistentVolumeClaim" && !trouble.contains("persistentvolumeclaim")
}

/// The severity; of several problems the worst is the likeliest cause.
const fn rank(health: &Health) -> u8 {
    match health {
        Health::NoStatus | Health::Ready => 0,
        Health::Waiting(_) => 1,
        Health::Terminating(_) => 2,
        Health::Missing => 3,
        Health::Failed(_) => 4,
    }
}

/// The worst rank of a node and of everything below it.
fn worst_rank(node: &Node) -> u8 {
    match &node.health {
        Health::Ready => 0,
        health => node.children.iter().map(worst_rank).chain([rank(health)]).max().unwrap_or_default(),
    }
}

fn sentence(root: &Node, chain: &[Step<'_>]) -> String {
    match chain {
        [] if root.health == Health::Ready => format!("{} is ready", root.target),
        [] => format!("{} reports no status, and nothing it owns has a problem", root.target),
        [only] => format!("{} is not ready: {}", root.target, only.why),
        [.., cause] => {
            let why = first_sentence(&cause.why);
            format!("{} is not ready because of {}: {why}", root.target, cause.node.target)
        }
    }
}

/// The first sentence; controllers' messages can be long, and the chain shows them in full.
fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(sentence, _)| sentence).trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use manifest::ObjectRef;

    use super::*;

    fn node(name: &str, health: Health, children: Vec<Node>) -> Node {
        let target = ObjectRef::new("example.org/v1/Thing".parse().unwrap(), None, name);
        Node::of(target, health, children)
    }

    fn waiting(why: &str) -> Health {
        Health::Waiting(why.to_owned())
    }

    fn check(root: &Node, expected: &str, names: &[&str]) {
        let chain = chain(root);
        assert_eq!(sentence(root, &chain), expected);
        assert_eq!(chain.iter().map(|step| step.node.target.name.as_str()).collect::<Vec<_>>(), names);
    }

    #[test]
    fn the_worst_child_is_the_cause() {
        let pods = vec![
            node("p1", Health::Ready, Vec::new()),
            node("p2", Health::Failed("no image".to_owned()), Vec::new()),
            node("p3", waiting("new"), Vec::new()),
        ];
        let root = node("d", waiting("0 of 3"), vec![node("r", waiting("0 of 3"), pods)]);
        check(&root, "Thing d is not ready because of Thing p2: no image", &["d", "r", "p2"]);
    }

    #[test]
    fn an_object_that_is_ready_is_not_the_cause() {
        let old = node("old", Health::Ready, vec![node("left", Health::Missing, Vec::new())]);
        check(&node("d", Health::Ready, vec![old]), "Thing d is ready", &[]);
        let silent = node("s", Health::NoStatus, vec![node("x", Health::Missing, Vec::new())]);
        check(&silent, "Thing s is not ready because of Thing x: it does not exist", &["s", "x"]);
        let quiet = node("q", Health::NoStatus, Vec::new());
        check(&quiet, "Thing q reports no status, and nothing it owns has a problem", &[]);
        check(&node("w", waiting("soon"), Vec::new()), "Thing w is not ready: soon", &["w"]);
    }

    #[test]
    fn the_last_event_is_added_unless_it_is_known() {
        let node = node("w", waiting("it is Pending (NoClass): no class"), Vec::new());
        let why = |reason: &str, message: &str| {
            let mut step = Step::new(&node);
            step.add(Some(LastEvent { reason: reason.to_owned(), message: message.to_owned() }));
            step.why
        };
        assert_eq!(why("Failed", "no class"), "it is Pending (NoClass): no class");
        assert_eq!(why("NoClass", "no class at all"), "it is Pending (NoClass): no class");
        assert_eq!(why("Failed", "no room"), "it is Pending (NoClass): no class (Failed): no room");
        let long = Health::Waiting("it is False (A): cannot scale: the server did not answer".to_owned());
        let mut step = Step { node: &self::node("h", long, Vec::new()), why: String::new() };
        step.why = step.node.health.trouble().unwrap().to_owned();
        let before = step.why.clone();
        let message = "invalid metrics: the server did not answer".to_owned();
        step.add(Some(LastEvent { reason: "B".to_owned(), message }));
        assert_eq!(step.why, before);
    }
}
