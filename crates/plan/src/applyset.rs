//! Sets of objects that are applied and pruned together, in the format of KEP-3659, which kubectl and other tools share.
//!
//! A parent object names the set, the tool that manages it, and the kinds and namespaces of its members; each member has
//! a label with the id of the set. The parent is written before anything it announces, so that an apply that was
//! interrupted leaves no member that a later one does not find.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The label of members.
pub const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// The label of parents.
pub const ID: &str = "applyset.kubernetes.io/id";
/// The label of CRDs whose objects may be parents.
pub const PARENT_TYPE: &str = "applyset.kubernetes.io/is-parent-type";
const TOOLING: &str = "applyset.kubernetes.io/tooling";
const KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

/// Our name in the tooling annotation.
const OWN_TOOL: &str = "plimsoll";

/// Where the members of a set are. It may name kinds and namespaces that have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// As in `Deployment.apps` and `ConfigMap`.
    pub kinds: BTreeSet<String>,
    /// Of namespaced members, the parent's own included.
    pub namespaces: BTreeSet<String>,
}

/// A parent as it is in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// As in `kubectl/v1.36.3`.
    pub tooling: String,
    pub contents: Contents,
}

/// Why an object is not the parent of a set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAParent {
    #[error("it has no annotation {TOOLING}")]
    NoTooling,
    #[error("its label {ID} is {0:?}, which is not the id of this object")]
    OtherId(String),
    #[error("it has no annotation {KINDS}, so its members cannot be found")]
    NoKinds,
}

/// What happens to a member that is no longer applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Delete {
        /// They hold the object until their controllers have finished.
        finalizers: Vec<String>,
    },
    /// It stays, for this reason.
    Keep(String),
}

/// The id of the set with this parent.
pub fn set_id(parent: &ObjectRef) -> String {
    let namespace = parent.namespace.as_ref().map_or("", Namespace::as_str);
    let text = format!("{}.{namespace}.{}.{}", parent.name, parent.kind(), parent.group());
    format!("applyset-{}-v1", BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text)))
}

impl Contents {
    /// Where these objects are.
    pub fn of<'o>(objects: impl IntoIterator<Item = &'o ObjectRef>) -> Self {
        let mut contents = Self::default();
        for object in objects {
            contents.kinds.insert(object.gvk.group_kind());
            contents.namespaces.extend(object.namespace.as_ref().map(ToString::to_string));
        }
        contents
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self { kinds: &self.kinds | &other.kinds, namespaces: &self.namespaces | &other.namespaces }
    }
}

impl Parent {
    /// Reads the parent of the set `id`.
    pub fn read(object: &Value, id: &str) -> Result<Self, NotAParent> {
        let metadata = &object["metadata"];
        let annotation = |name: &str| metadata["annotations"][name].as_str();
        let tooling = annotation(TOOLING).ok_or(NotAParent::NoTooling)?.to_owned();
        let found = metadata["labels"][ID].as_str().unwrap_or_default();
        if found != id {
            return Err(NotAParent::OtherId(found.to_owned()));
        }
        let list = |text: &str| -> BTreeSet<String> {
            text.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()
        };
        let kinds = list(annotation(KINDS).ok_or(NotAParent::NoKinds)?);
        let mut namespaces = list(annotation(NAMESPACES).unwrap_or_default());
        namespaces.extend(metadata["namespace"].as_str().map(str::to_owned));
        Ok(Self { tooling, contents: Contents { kinds, namespaces } })
    }

    /// Whether the set is managed by us, in whichever version.
    pub fn is_ours(&self) -> bool {
        self.tooling.rsplit_once('/').map_or(self.tooling.as_str(), |(name, _)| name) == OWN_TOOL
    }
}

/// What we write of a parent; `version` is ours.
pub fn parent_body(parent: &ObjectRef, contents: &Contents, version: &str) -> Value {
    let own = parent.namespace.as_ref().map_or("", Namespace::as_str);
    let join = |items: &mut dyn Iterator<Item = &String>| items.cloned().collect::<Vec<_>>().join(",");
    let mut body = json!({
        "apiVersion": parent.api_version().to_string(), "kind": parent.kind(),
        "metadata": {
            "name": parent.name, "labels": { ID: set_id(parent) },
            "annotations": {
                TOOLING: format!("{OWN_TOOL}/v{version}"),
                KINDS: join(&mut contents.kinds.iter()),
                NAMESPACES: join(&mut contents.namespaces.iter().filter(|name| *name != own)),
            },
        },
    });
    if let Some(namespace) = &parent.namespace {
        body["metadata"]["namespace"] = namespace.as_str().into();
    }
    body
}

/// Makes `body` a member of the set. False if it has the label already, which only the tool may write.
#[must_use]
pub fn label_member(body: &mut Value, id: &str) -> bool {
    if !body["metadata"]["labels"][PART_OF].is_null() {
        return false;
    }
    body["metadata"]["labels"][PART_OF] = id.into();
    true
}

/// The id of another set that a live object belongs to.
pub fn other_set<'o>(object: &'o Value, id: &str) -> Option<&'o str> {
    object["metadata"]["labels"][PART_OF].as_str().filter(|other| !other.is_empty() && *other != id)
}

/// What happens to a member of the set `id` that is no longer applied, by what it says itself.
pub fn fate(member: &Value, id: &str) -> Fate {
    let metadata = &member["metadata"];
    if metadata["labels"][PART_OF] != id {
        return Fate::Keep("it belongs to another set".to_owned());
    }
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    if let Some(owner) = owners.into_iter().find(|owner| owner["controller"] == true) {
        let text = |field: &str| owner[field].as_str().unwrap_or_default().to_owned();
        return Fate::Keep(format!("{} {} controls it", text("kind"), text("name")));
    }
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
    Fate::Delete { finalizers: finalizers.filter_map(|name| name.as_str().map(str::to_owned)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> ObjectRef {
        ObjectRef::new("v1/Secret".parse().unwrap(), Namespace::new("my-ns"), "my-set")
    }

    #[test]
    fn the_id_is_the_one_that_kubectl_computes() {
        // From kubectl's own tests: a Secret my-set in namespace my-ns.
        assert_eq!(set_id(&secret()), "applyset-XPS7DQcglYD3_BOTiwpLtirwmT9y1Q06wbJ7TyrjGmY-v1");
        assert!(set_id(&secret()).len() <= 63, "labels have at most 63 characters");
    }

    #[test]
    fn a_parent_is_read_as_it_was_written() {
        let maps = ObjectRef::new("v1/ConfigMap".parse().unwrap(), Namespace::new("other"), "a");
        let web = ObjectRef::new("apps/v1/Deployment".parse().unwrap(), Namespace::new("my-ns"), "web");
        let contents = Contents::of([&maps, &web]);
        let body = parent_body(&secret(), &contents, "1.2.3");
        assert_eq!(body["metadata"]["annotations"][KINDS], "ConfigMap,Deployment.apps");
        assert_eq!(body["metadata"]["annotations"][NAMESPACES], "other");
        let parent = Parent::read(&body, &set_id(&secret())).unwrap();
        assert!(parent.is_ours() && parent.contents == contents);
        assert_eq!(Parent::read(&json!({}), "x"), Err(NotAParent::NoTooling));
        assert!(matches!(Parent::read(&body, "x"), Err(NotAParent::OtherId(_))));
    }

    #[test]
    fn the_label_tells_the_set_of_an_object() {
        let check = |labels: Value, expected: Option<&str>| {
            let object = json!({ "metadata": { "labels": labels } });
            assert_eq!(other_set(&object, "ours"), expected, "{object}");
        };
        check(json!({ PART_OF: "theirs" }), Some("theirs"));
        check(json!({ PART_OF: "ours" }), None);
        check(json!({ PART_OF: "" }), None);
        check(json!(null), None);
    }

    #[test]
    fn what_a_controller_or_another_set_owns_stays() {
        let member = |labels: Value, owners: Value| {
            fate(
                &json!({ "metadata": { "labels": labels, "ownerReferences": owners, "finalizers": ["f"] } }),
                "id",
            )
        };
        assert_eq!(
            member(json!({ PART_OF: "id" }), json!([])),
            Fate::Delete { finalizers: vec!["f".to_owned()] }
        );
        assert!(matches!(member(json!({ PART_OF: "other" }), json!([])), Fate::Keep(_)));
        let owner = json!([{ "kind": "Deployment", "name": "web", "controller": true }]);
        assert_eq!(
            member(json!({ PART_OF: "id" }), owner),
            Fate::Keep("Deployment web controls it".to_owned())
        );
    }
}
