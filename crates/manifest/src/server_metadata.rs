//! Metadata that only the API server sets, in one list with the parts of it that matter for one purpose each.

use serde_json::Value;

/// Everything in `metadata` that only the API server sets: what an author could not have written.
pub const ALL: &[&str] = &[
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
];

/// What a body must not contain. The API server ignores the rest of [`ALL`] in a body, and so does the Go provider; a
/// manifest that has worked so far goes on working.
pub const REFUSED_IN_BODY: &[&str] =
    &["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"];

/// What changes with a write even if the content stays the same. The rest of [`ALL`] tells one object from another, or
/// says that it is being deleted, which is a change worth noticing.
pub const CHANGED_BY_WRITES: &[&str] = &["resourceVersion", "generation", "managedFields"];

/// Which manager holds which field: often the larger part of an object, and of no use to most of its readers.
pub const OWNERSHIP: &[&str] = &["managedFields"];

/// Removes `names` from the `metadata` of an object, if it has any.
pub fn remove(metadata: Option<&mut Value>, names: &[&str]) {
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        metadata.retain(|name, _| !names.contains(&name.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_part_is_part_of_the_whole() {
        for part in [REFUSED_IN_BODY, CHANGED_BY_WRITES, OWNERSHIP] {
            assert!(part.iter().all(|name| ALL.contains(name)), "{part:?}");
        }
    }

    #[test]
    fn what_the_author_wrote_stays() {
        let mut object = json!({"metadata": {"name": "a", "labels": {"uid": "mine"}}, "uid": "mine"});
        let written = object.clone();
        for name in ALL {
            object["metadata"][*name] = "set by the server".into();
        }
        remove(object.get_mut("metadata"), ALL);
        assert_eq!(object, written);
        remove(object.get_mut("absent"), ALL);
        assert_eq!(object, written);
    }
}
