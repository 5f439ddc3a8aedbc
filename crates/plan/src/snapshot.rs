//! A hash of what a plan is about in a live object: an apply of the plan is what was planned while the hash is the same.
//!
//! A resource version would change with every status. The hash covers the fields that are written and those that the
//! manager holds or takes over, with their values and all their holders, and which object it is.

use fields::FieldSet;
use ownership::{FieldManager, Observed, client_side_appliers};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The hash for a plan of `written` by `manager`.
pub fn snapshot(written: &Value, manager: &FieldManager, live: &Observed) -> String {
    let mut about: FieldSet = fields::written(written, live.schema());
    about.add_all(&live.held_by(manager));
    for applier in client_side_appliers(live) {
        about.add_all(&live.held_by(&applier));
    }
    let about = about.leaves();
    let values = fields::project(live.object(), &about.with_merge_keys(), live.schema());
    let holders: Vec<_> = about.paths().iter().map(|path| live.managed().holders(path)).collect();
    let metadata = &live.object()["metadata"];
    let all = json!([1, metadata["uid"], metadata["deletionTimestamp"], about.to_value(), values, holders]);
    let mut hash = format!("{:x}", Sha256::digest(manifest::to_json(&all)));
    hash.truncate(32);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snapshot_changes_with_what_a_plan_is_about_and_with_nothing_else() {
        let written = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "v" } });
        let mut live = written.clone();
        live["metadata"] = json!({ "name": "a", "uid": "1", "resourceVersion": "5", "managedFields": [
            { "manager": "us", "operation": "Apply", "apiVersion": "v1", "time": "t1", "fieldsType": "FieldsV1",
              "fieldsV1": { "f:data": { "f:former": {} } } },
        ] });
        live["data"]["former"] = json!("x");
        let manager = FieldManager::new("us");
        let of = |live: &Value| snapshot(&written, &manager, &Observed::new(live.clone()).unwrap());
        let before = of(&live);
        let check = |what: &str, moves: bool, change: &dyn Fn(&mut Value)| {
            let mut live = live.clone();
            change(&mut live);
            assert_eq!(of(&live) != before, moves, "{what}");
        };
        check("version", false, &|live| live["metadata"]["resourceVersion"] = json!("6"));
        check("status", false, &|live| live["status"] = json!({ "ready": true }));
        check("another key", false, &|live| live["data"]["other"] = json!("x"));
        check("a key that is written", true, &|live| live["data"]["k"] = json!("w"));
        check("a key that we hold", true, &|live| live["data"]["former"] = json!("y"));
        check("another object", true, &|live| live["metadata"]["uid"] = json!("2"));
        check("its deletion", true, &|live| live["metadata"]["deletionTimestamp"] = json!("t"));
        check("another holder", true, &|live| {
            live["metadata"]["managedFields"].as_array_mut().unwrap().push(json!({
                "manager": "other", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": { "f:data": { "f:k": {} } },
            }));
        });
    }
}
