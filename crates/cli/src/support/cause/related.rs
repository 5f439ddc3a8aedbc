//! Looks at what the cause refers to: something missing there, or not working, which no status says, is the better cause.

use cluster::{Selection, Session};
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use readiness::Health;
use readiness::relations::{self, Neighbours, Question, Trouble};
use serde_json::Value;

use super::chain;
use crate::support::owner_tree::Node;

/// The tree, where the object that seems to be the cause has what is wrong with its neighbours, and the one to blame as a
/// child.
pub(crate) async fn related(session: &Session, mut root: Node) -> Node {
    let target = chain(&root).last().map_or(&root, |step| step.node).target.clone();
    let found = Box::pin(look(session, &target, &mut Neighbours::default())).await;
    if let (Some(Looked { why: Some(why), blamed, .. }), Some(node)) = (found, find(&mut root, &target)) {
        node.health = with(std::mem::replace(&mut node.health, Health::Ready), why);
        let is_new = |blamed: &Node| node.children.iter().all(|child| child.target != blamed.target);
        node.children.extend(blamed.filter(is_new));
    }
    root
}

/// What an object says itself, and what its neighbours say about it.
struct Looked {
    health: Health,
    why: Option<String>,
    blamed: Option<Node>,
}

/// Looks at an object and, if another one is to blame, at that: from an Ingress to its Service, to a pod, to what it lacks.
async fn look(session: &Session, target: &ObjectRef, neighbours: &mut Neighbours) -> Option<Looked> {
    let object = session.read(target).await.ok()??.object;
    ask(session, relations::questions(&object), neighbours).await;
    let health = Health::of(&object, false);
    let Some(Trouble { why, cause }) = relations::trouble(&object, neighbours) else {
        return Some(Looked { health, why: None, blamed: None });
    };
    let blamed = match cause.filter(|cause| cause != target) {
        Some(cause) => Box::pin(look(session, &cause, neighbours)).await.map(|looked| {
            let health = match looked.why {
                Some(why) => with(looked.health, why),
                None => looked.health,
            };
            // What is blamed and says nothing itself does not work for the reason that it is blamed for.
            let health = if health.trouble().is_some() { health } else { Health::Waiting(why.clone()) };
            Node::of(cause, health, looked.blamed.into_iter().collect())
        }),
        None => None,
    };
    Some(Looked { health, why: Some(why), blamed })
}

/// A health with what else is wrong.
fn with(health: Health, why: String) -> Health {
    match health {
        Health::NoStatus | Health::Ready => Health::Waiting(why),
        Health::Waiting(own) => Health::Waiting(format!("{own}; {why}")),
        other => other,
    }
}

fn find<'n>(node: &'n mut Node, target: &ObjectRef) -> Option<&'n mut Node> {
    if node.target == *target {
        return Some(node);
    }
    node.children.iter_mut().find_map(|child| find(child, target))
}

/// Answers what can be answered; what may not be read stays open.
async fn ask(session: &Session, questions: Vec<Question>, neighbours: &mut Neighbours) {
    for question in questions {
        if neighbours.knows(&question) {
            continue;
        }
        if let Some(objects) = answer(session, &question).await {
            neighbours.add(question, objects);
        }
    }
}

async fn answer(session: &Session, question: &Question) -> Option<Vec<Value>> {
    let gvk = preferred(session, question).await?;
    let namespace = question.namespace.clone().and_then(Namespace::new);
    if let Some(name) = &question.name {
        let target = ObjectRef::new(gvk, namespace, name.as_str());
        return Some(session.read(&target).await.ok()?.map(|found| found.object).into_iter().collect());
    }
    let selection = Selection { namespace, ..Selection::default() };
    session.list(&gvk, &selection).await.ok().map(|listing| listing.items)
}

/// The version in which the kind is best read.
async fn preferred(session: &Session, question: &Question) -> Option<GroupVersionKind> {
    let resources = session.resources().await.ok()?;
    let is_it = |gvk: &GroupVersionKind| gvk.group() == question.group && gvk.kind() == question.kind;
    let serving = resources.into_iter().filter(|resource| is_it(&resource.gvk));
    serving.max_by_key(cluster::Resource::version_priority).map(|resource| resource.gvk)
}
