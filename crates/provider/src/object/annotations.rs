//! The two annotations that link an object to its resource.

use serde_json::{Map, Value};

const TERRAFORM_ID: &str = "k8sconnect.terraform.io/terraform-id";
const CREATED_AT: &str = "k8sconnect.terraform.io/created-at";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnerAnnotations {
    /// The `id` of the resource.
    pub(super) id: String,
    /// When the resource created the object, in RFC 3339. It never changes: an update that moved it would be a write
    /// without a change.
    pub(super) created_at: String,
}

impl OwnerAnnotations {
    pub(super) fn add_to(&self, body: &Value) -> Value {
        let mut annotated = body.clone();
        let metadata = entry(&mut annotated, "metadata");
        let annotations = entry(metadata, "annotations");
        annotations[TERRAFORM_ID] = self.id.as_str().into();
        annotations[CREATED_AT] = self.created_at.as_str().into();
        annotated
    }
}

/// The id of the resource that owns an object.
pub(crate) fn id_of(object: &Value) -> Option<&str> {
    annotation(object, TERRAFORM_ID)
}

/// When the resource created the object.
pub(super) fn created_at_of(object: &Value) -> Option<&str> {
    annotation(object, CREATED_AT)
}

/// Six random bytes in hexadecimal.
pub(crate) fn new_id() -> String {
    let mut bytes = [0_u8; 8];
    aws_lc_rs::rand::fill(&mut bytes[2..]).expect("the system has random numbers");
    format!("{:012x}", u64::from_be_bytes(bytes))
}

/// The current time to the second, as the annotation stores it.
pub(super) fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

fn annotation<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object["metadata"]["annotations"][key].as_str().filter(|text| !text.is_empty())
}

/// The mapping at `key`, created if it does not exist.
fn entry<'o>(object: &'o mut Value, key: &str) -> &'o mut Value {
    let entry = &mut object[key];
    if !entry.is_object() {
        *entry = Value::Object(Map::new());
    }
    entry
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_are_read_back_and_leave_others_alone() {
        let owner =
            OwnerAnnotations { id: "0123456789ab".to_owned(), created_at: "2026-01-02T03:04:05Z".to_owned() };
        for body in [
            json!({"metadata": {"annotations": {"a": "b"}}}),
            json!({"metadata": {"annotations": null}}),
            json!({}),
        ] {
            let annotated = owner.add_to(&body);
            assert_eq!(id_of(&annotated), Some("0123456789ab"));
            assert_eq!(created_at_of(&annotated), Some("2026-01-02T03:04:05Z"));
            assert_eq!(
                annotated["metadata"]["annotations"].get("a"),
                body["metadata"]["annotations"].get("a")
            );
            assert_eq!(id_of(&body), None);
        }
    }

    #[test]
    fn ids_are_twelve_digits_and_times_have_no_fractions() {
        let id = new_id();
        assert!(id.len() == 12 && id.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{id}");
        assert_ne!(id, new_id());
        assert!(now().ends_with('Z') && !now().contains('.'), "{}", now());
    }
}
