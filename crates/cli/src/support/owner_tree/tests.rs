//! Trees of small objects.

use serde_json::json;

use super::*;

fn object(kind: &str, name: &str, owner: Option<&str>, spec: &Value) -> Value {
    let owners: Vec<Value> = owner
        .iter()
        .map(|owner| json!({ "kind": "Any", "name": owner, "uid": format!("uid-{owner}"), "controller": true }))
        .collect();
    json!({
        "apiVersion": "example.org/v1", "kind": kind, "spec": spec,
        "metadata": { "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "ownerReferences": owners },
    })
}

fn draw(node: &Node, depth: usize, out: &mut Vec<String>) {
    out.push(format!("{}{} {}", "  ".repeat(depth), node.target, node.health_word()));
    node.children.iter().for_each(|child| draw(child, depth + 1, out));
}

/// Whole objects, all of which may be read.
struct All(Vec<Arc<Value>>);

impl All {
    fn select(&self, is_meant: impl Fn(&Value) -> bool) -> Vec<Member> {
        let meant = self.0.iter().filter(|object| is_meant(object));
        meant.map(|object| Member { object: Arc::clone(object), wanted: None }).collect()
    }
}

impl Population for All {
    fn owned_by(&self, uid: &str) -> Vec<Member> {
        self.select(|object| array(&object["metadata"]["ownerReferences"]).iter().any(|it| it["uid"] == uid))
    }

    fn referred(&self, reference: &Reference) -> Lookup {
        let target = &reference.target;
        match (target.kind(), self.select(|object| is_to(reference, object)).pop()) {
            (_, Some(found)) => Lookup::Found(found),
            ("Hidden", None) => Lookup::Hidden(target.clone()),
            ("Unknown", None) => Lookup::Unknown,
            (_, None) => Lookup::Absent(target.clone()),
        }
    }

    fn members_of(&self, membership: &Membership) -> Vec<Member> {
        self.select(|object| membership.has(|key| object["metadata"]["labels"][key].as_str()))
    }
}

fn is_to(reference: &Reference, object: &Value) -> bool {
    reference_of(object).is_some_and(|candidate| {
        candidate.name == reference.target.name
            && candidate.gvk.is_same_kind(&reference.target.gvk)
            && reference.allows(candidate.namespace.as_ref())
    })
}

fn drafted(root: &Value, all: &[Value]) -> Draft {
    let all = All(all.iter().cloned().map(Arc::new).collect());
    let root = Member { object: Arc::new(root.clone()), wanted: None };
    draft(root, &all, &HashMap::new()).unwrap()
}

fn check(root: &Value, all: &[Value], expected: &[&str]) {
    let mut drawn = Vec::new();
    draw(&drafted(root, all).root, 0, &mut drawn);
    assert_eq!(drawn, expected);
}

#[test]
fn a_tree_has_everything_its_root_owns() {
    let root = object("A", "a", None, &json!({}));
    let all = [
        object("C", "c", Some("b"), &json!({})),
        object("B", "b2", Some("a"), &json!({})),
        object("B", "b", Some("a"), &json!({})),
        object("D", "other", None, &json!({})),
    ];
    check(
        &root,
        &all,
        &["A shop/a silent", "  B shop/b silent", "    C shop/c silent", "  B shop/b2 silent"],
    );
    assert_eq!(parent(&all[0]).as_deref(), Some("Any b"));
    assert_eq!(parent(&root), None);
}

#[test]
fn references_are_followed_and_missing_objects_shown() {
    let reference = |name: &str| json!({ "apiVersion": "example.org/v1", "kind": "X", "name": name });
    let claim = object("Claim", "c", None, &json!({ "resourceRef": reference("x") }));
    let mut composite = object(
        "X",
        "x",
        None,
        &json!({
            "claimRef": { "apiVersion": "example.org/v1", "kind": "Claim", "name": "c", "namespace": "shop" },
            "resourceRefs": [reference("y"), reference("gone")],
        }),
    );
    composite["metadata"].as_object_mut().unwrap().remove("namespace");
    let mut composed = object("X", "y", Some("x"), &json!({}));
    composed["metadata"].as_object_mut().unwrap().remove("namespace");
    check(
        &claim,
        &[composite.clone(), composed],
        &["Claim shop/c silent", "  X x silent", "    X gone missing", "    X y silent"],
    );
    assert_eq!(parent(&composite).as_deref(), Some("Claim c"));
}

#[test]
fn what_may_not_be_read_is_not_called_missing() {
    let reference = |kind: &str| json!({ "apiVersion": "example.org/v1", "kind": kind, "name": "x" });
    let references = ["Hidden", "Missing", "Unknown"].map(reference);
    let root = object("A", "a", None, &json!({ "resourceRefs": references }));
    check(&root, &[], &["A shop/a silent", "  Hidden shop/x hidden", "  Missing shop/x missing"]);
    let draft = drafted(&root, &[]);
    assert_eq!(draft.unknown.iter().map(|it| it.target.kind()).collect::<Vec<_>>(), ["Unknown"]);
    assert_eq!(draft.root.children[0].to_json()["why"], HIDDEN);
}

#[test]
fn members_of_an_inventory_belong_to_it() {
    let mut set = object("Set", "s", None, &json!({}));
    set["metadata"]["labels"] = json!({ "applyset.kubernetes.io/id": "one" });
    let mut member = object("B", "b", None, &json!({}));
    member["metadata"]["labels"] = json!({ "applyset.kubernetes.io/part-of": "one" });
    check(&set, &[member, object("B", "c", None, &json!({}))], &["Set shop/s silent", "  B shop/b silent"]);
}

#[test]
fn reference_cycles_end() {
    let reference =
        |name: &str| json!({ "resourceRef": { "apiVersion": "example.org/v1", "kind": "A", "name": name } });
    let (a, b) = (object("A", "a", None, &reference("b")), object("A", "b", None, &reference("a")));
    check(&a, &[a.clone(), b], &["A shop/a silent", "  A shop/b silent"]);
}

#[test]
fn a_long_chain_of_owners_is_cut() {
    let uid = |number: usize| format!("A-{number}");
    let link = |number: usize| {
        let owners = number.checked_sub(1).map(|owner| json!([{ "uid": uid(owner) }]));
        json!({
            "apiVersion": "example.org/v1", "kind": "A",
            "metadata": { "name": format!("a{number}"), "namespace": "shop", "uid": uid(number), "ownerReferences": owners },
        })
    };
    let all: Vec<Value> = (0..5000).map(link).collect();
    let mut node = drafted(&all[0], &all).root;
    let mut depth = 0;
    while let Some(child) = node.children.pop() {
        (node, depth) = (child, depth + 1);
    }
    assert_eq!((depth, node.is_cut), (MAX_DEPTH, true));
    assert_eq!(node.to_json()["isCut"], true);
}
