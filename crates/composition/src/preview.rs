//! What the next pass would do to each composed resource of an XR, decided without a request.

use std::collections::BTreeMap;

use manifest::ObjectRef;

use crate::desired::Composed;
use crate::garbage_collection::{ControlledByOther, undesired};
use crate::intent::Applied;
use crate::protocol::Object;

/// What becomes of one composed resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It is no longer desired.
    Delete(ObjectRef),
    /// It is as desired, so nothing is sent.
    Keep(ObjectRef),
    /// It is applied.
    Apply(Box<Composed>),
}

/// The fates of all composed resources of the XR with this uid, by key: deletions first, as in a pass.
///
/// `observed` are as they are now, with all their managers; `manager` is the one that applies.
pub fn fates(
    xr_uid: &str,
    observed: &BTreeMap<String, Object>,
    desired: BTreeMap<String, Composed>,
    manager: &str,
) -> Result<Vec<(String, Fate)>, ControlledByOther> {
    let deletions = undesired(xr_uid, observed, &desired)?;
    let deleted = deletions.into_iter().map(|deletion| (deletion.key, Fate::Delete(deletion.object)));
    let kept_or_applied = |(key, composed): (String, Composed)| {
        let is_same =
            |live: &&Object| ObjectRef::of(live).is_ok_and(|live| live.is_same_object(&composed.reference));
        let live = observed.values().find(is_same);
        let is_applied = live.is_some_and(|live| Applied::found(&composed.intent, live, manager).is_some());
        let fate = if is_applied { Fate::Keep(composed.reference) } else { Fate::Apply(Box::new(composed)) };
        (key, fate)
    };
    Ok(deleted.chain(desired.into_iter().map(kept_or_applied)).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::object;

    const MANAGER: &str = "apiextensions.crossplane.io/composed/x";

    fn map(name: &str, value: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "shop", "name": name, "ownerReferences": [
                {"apiVersion": "e.org/v1", "kind": "X", "name": "x", "uid": "u", "controller": true},
            ]},
            "data": {"k": value},
        })
    }

    fn live(name: &str, value: &str) -> Object {
        let mut live = map(name, value);
        live["metadata"]["managedFields"] = json!([{
            "manager": MANAGER, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:k": {}}, "f:metadata": {"f:ownerReferences": {"k:{\"uid\":\"u\"}": {}}}},
        }]);
        object::object(live)
    }

    fn desired(name: &str, value: &str) -> Composed {
        let intent = object::object(map(name, value));
        Composed { reference: ObjectRef::of(&intent).unwrap(), intent, ready: false }
    }

    #[test]
    fn resources_are_deleted_kept_or_applied() {
        let observed = BTreeMap::from([
            ("same".to_owned(), live("a", "1")),
            ("changed".to_owned(), live("b", "1")),
            ("gone".to_owned(), live("c", "1")),
            ("moved".to_owned(), live("d", "1")),
        ]);
        let wanted = BTreeMap::from([
            ("same".to_owned(), desired("a", "1")),
            ("changed".to_owned(), desired("b", "2")),
            ("new".to_owned(), desired("e", "1")),
            ("elsewhere".to_owned(), desired("d", "1")),
        ]);
        let found = fates("u", &observed, wanted, MANAGER).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|(key, fate)| match fate {
                Fate::Delete(target) => format!("{key}: delete {target}"),
                Fate::Keep(target) => format!("{key}: keep {target}"),
                Fate::Apply(composed) => format!("{key}: apply {}", composed.reference),
            })
            .collect();
        assert_eq!(
            shown,
            [
                "gone: delete ConfigMap shop/c",
                "changed: apply ConfigMap shop/b",
                "elsewhere: keep ConfigMap shop/d",
                "new: apply ConfigMap shop/e",
                "same: keep ConfigMap shop/a",
            ]
        );
    }
}
