//! A hash of what was written and what came of it, which makes most dry runs needless (decisions, Terraform, 2).
//!
//! It covers the body, `ignore_fields` and what our manager holds of the live object, with its values. If none of these
//! has moved since an apply, the API server would answer a dry run with what it answered then: whoever changes a field
//! we hold takes it out of our entry or changes its value. What others do elsewhere in the object does not matter.

use ownership::{ManagedFields, ManagedFieldsError};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::manager;

/// The hash of `body` and `ignore` with the live object.
pub(super) fn hash(body: &Value, ignore: &[String], live: &Value) -> Result<String, ManagedFieldsError> {
    let managed = ManagedFields::of(live)?;
    let held = managed.held_by(&manager());
    let values = fields::project(live, &held, &managed.schema(live));
    let identity = ["apiVersion", "kind"].map(|field| live[field].clone());
    let metadata = ["uid", "deletionTimestamp"].map(|field| live["metadata"][field].clone());
    let all = json!([1, body, ignore, identity, metadata, held.to_value(), values]);
    // Two objects are compared and not millions, so a quarter of it tells as much, and is in every state.
    let mut hash = format!("{:x}", Sha256::digest(manifest::to_json(&all)));
    hash.truncate(16);
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_moves_with_what_is_written_and_held_and_with_nothing_else() {
        let body =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        let mut live = body.clone();
        live["metadata"] = json!({"name": "a", "uid": "1", "resourceVersion": "5", "managedFields": [
            {"manager": "k8sconnect", "operation": "Apply", "apiVersion": "v1", "time": "t1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:k": {}}}},
        ]});
        let before = hash(&body, &[], &live).unwrap();
        let check =
            |what: &str, moves: bool, body: &Value, ignore: &[String], change: &dyn Fn(&mut Value)| {
                let mut live = live.clone();
                change(&mut live);
                assert_eq!(hash(body, ignore, &live).unwrap() != before, moves, "{what}");
            };
        check("nothing", false, &body, &[], &|_| {});
        check("version", false, &body, &[], &|live| live["metadata"]["resourceVersion"] = json!("6"));
        check("status", false, &body, &[], &|live| live["status"] = json!({"ready": true}));
        check("another key", false, &body, &[], &|live| live["data"]["other"] = json!("x"));
        check("our value", true, &body, &[], &|live| live["data"]["k"] = json!("x"));
        check("our entry", true, &body, &[], &|live| live["metadata"]["managedFields"] = json!([]));
        check("another object", true, &body, &[], &|live| live["metadata"]["uid"] = json!("2"));
        check("going away", true, &body, &[], &|live| live["metadata"]["deletionTimestamp"] = json!("t"));
        check("ignore", true, &body, &["data.k".to_owned()], &|_| {});
        let mut edited = body.clone();
        edited["data"]["k"] = json!("w");
        check("body", true, &edited, &[], &|_| {});
    }
}
