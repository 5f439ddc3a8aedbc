//! A hash of what was written and what came of it: the memory of an answer that makes most dry runs needless.
//!
//! It covers the body, `ignore_fields` and what our manager holds of the object, with its values. If none of these has
//! changed since an apply, the API server would answer a dry run as it answered then: a manager that changes a field we
//! hold takes it out of our entry or changes its value. What others do elsewhere in the object does not matter.

use ownership::{FieldManager, Observed};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The fingerprint of `body` and `ignore_fields` with an object. It is stored in Terraform states, so that a change of
/// what it covers costs every resource a dry run at each plan until its next apply.
pub fn fingerprint(
    body: &Value,
    ignore_fields: &[String],
    manager: &FieldManager,
    object: &Observed,
) -> String {
    let held = object.held_by(manager);
    let object_value = object.object();
    let values = fields::project(object_value, &held, object.schema());
    let identity = ["apiVersion", "kind"].map(|field| object_value[field].clone());
    let metadata = ["uid", "deletionTimestamp"].map(|field| object_value["metadata"][field].clone());
    let all = json!([1, body, ignore_fields, identity, metadata, held.to_value(), values]);
    // Two objects are compared and not millions, so a quarter of the hash is enough, and every state stores it.
    let mut hash = format!("{:x}", Sha256::digest(manifest::to_json(&all)));
    hash.truncate(16);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_changes_with_what_is_written_and_held_and_with_nothing_else() {
        let body =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        let mut live = body.clone();
        live["metadata"] = json!({"name": "a", "uid": "1", "resourceVersion": "5", "managedFields": [
            {"manager": "k8sconnect", "operation": "Apply", "apiVersion": "v1", "time": "t1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:k": {}}}},
        ]});
        let manager = FieldManager::new("k8sconnect");
        let of = |body: &Value, ignore: &[String], live: &Value| {
            fingerprint(body, ignore, &manager, &Observed::new(live.clone()).unwrap())
        };
        let before = of(&body, &[], &live);
        assert_eq!(before, "d8732f4b69e48b07", "states of former versions have it");
        let check =
            |what: &str, moves: bool, body: &Value, ignore: &[String], change: &dyn Fn(&mut Value)| {
                let mut live = live.clone();
                change(&mut live);
                assert_eq!(of(body, ignore, &live) != before, moves, "{what}");
            };
        check("nothing", false, &body, &[], &|_| {});
        check("version", false, &body, &[], &|live| live["metadata"]["resourceVersion"] = json!("6"));
        check("status", false, &body, &[], &|live| live["status"] = json!({"ready": true}));
        check("another key", false, &body, &[], &|live| live["data"]["other"] = json!("x"));
        check("our value", true, &body, &[], &|live| live["data"]["k"] = json!("x"));
        check("our entry", true, &body, &[], &|live| live["metadata"]["managedFields"] = json!([]));
        check("another object", true, &body, &[], &|live| live["metadata"]["uid"] = json!("2"));
        check("being deleted", true, &body, &[], &|live| live["metadata"]["deletionTimestamp"] = json!("t"));
        check("ignore", true, &body, &["data.k".to_owned()], &|_| {});
        let mut edited = body.clone();
        edited["data"]["k"] = json!("w");
        check("body", true, &edited, &[], &|_| {});
    }
}
