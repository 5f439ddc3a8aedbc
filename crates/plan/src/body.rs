//! What is sent for an update: the body less the fields that are left to others.
//!
//! Ignored fields that only we hold need care: applying without them would delete their values. So an apply gives up
//! holding them first (see [`ownership::Handover`]); a dry run, which must not write, sends their live values instead.

use fields::{FieldSet, Schema};
use ownership::{Desired, ManagedFields, Observed};
use serde_json::Value;

use crate::overlay::lay_over;

/// The ignored fields that no manager but ours holds, where `managed` are the managers of an object.
pub fn to_release(desired: &Desired<'_>, managed: &ManagedFields, schema: &Schema) -> FieldSet {
    let held = managed.held_by(desired.manager);
    let ignored = held.difference(&desired.without_ignored(held.clone(), schema));
    managed.held_only_by(desired.manager, &ignored)
}

/// What an update sends: the body without what is ignored, but always with the object's identity.
pub fn body_to_send(desired: &Desired<'_>, live: Option<&Observed>) -> Value {
    let built_in = Schema::of(desired.written);
    let schema = live.map_or(&built_in, Observed::schema);
    let mut body = desired.body_without_ignored(schema);
    let identity = fields::project(desired.written, &fields::identity(), schema);
    lay_over(&mut body, &identity, schema.root());
    body
}

/// What a dry run of that update sends: `released` keep their live values, as they would after a release.
pub fn body_for_dry_run(desired: &Desired<'_>, live: &Observed, released: &FieldSet) -> Value {
    let mut body = body_to_send(desired, Some(live));
    if !released.is_empty() {
        let part = fields::project(live.object(), &released.with_merge_keys(), live.schema());
        lay_over(&mut body, &part, live.schema().root());
    }
    body
}

#[cfg(test)]
mod tests {
    use fields::IgnoreFields;
    use ownership::FieldManager;
    use serde_json::json;

    use super::*;

    fn live(extra: &Value) -> Observed {
        let mut live = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "managedFields": [
                {"manager": "k8sconnect", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
                 "fieldsV1": {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {
                     "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}},
                 }}}}}},
            ]},
            "spec": {"replicas": 5, "template": {"spec": {"containers": [{"name": "a", "image": "a:9"}]}}},
        });
        live["metadata"]["managedFields"].as_array_mut().unwrap().extend(extra.as_array().unwrap().clone());
        Observed::new(live).unwrap()
    }

    fn written() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}},
        })
    }

    #[test]
    fn the_identity_of_an_object_is_sent_even_if_it_is_ignored() {
        let ignored = IgnoreFields::parse(["apiVersion", "kind", "metadata", "spec"]).unwrap();
        let (manager, written) = (FieldManager::new("k8sconnect"), written());
        let identity = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
        assert_eq!(body_to_send(&Desired::new(&manager, &written).ignoring(&ignored), None), identity);
    }

    #[test]
    fn ignored_fields_that_only_we_hold_are_released_and_previewed_with_their_live_value() {
        let check = |ignore: &[&str], others: Value, released: usize, expected: Value| {
            let (live, ignored) = (live(&others), IgnoreFields::parse(ignore).unwrap());
            let (manager, written) = (FieldManager::new("k8sconnect"), written());
            let desired = Desired::new(&manager, &written).ignoring(&ignored);
            let set = to_release(&desired, live.managed(), live.schema());
            assert_eq!(set.len(), released, "{set:?}");
            assert_eq!(body_for_dry_run(&desired, &live, &set)["spec"], expected, "{ignore:?}");
        };
        let containers = |image: &str| json!({"spec": {"containers": [{"name": "a", "image": image}]}});
        check(&[], json!([]), 0, json!({"replicas": 3, "template": containers("a:1")}));
        check(&["spec.replicas"], json!([]), 1, json!({"replicas": 5, "template": containers("a:1")}));
        let image = "spec.template.spec.containers[name=a].image";
        check(&[image], json!([]), 1, json!({"replicas": 3, "template": containers("a:9")}));
        let hpa = json!([{
            "manager": "hpa", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }]);
        check(&["spec.replicas"], hpa, 0, json!({"template": containers("a:1")}));
    }
}
