//! Finalizers: an object stays until those who put one on it have taken it off.

use composition::object;
use composition::run::Object;
use serde_json::{Value, json};

/// Whether `finalizer` is on the object.
pub(super) fn is_on(object: &Object, finalizer: &str) -> bool {
    let finalizers = object::nested(object, &["metadata", "finalizers"]).and_then(Value::as_array);
    finalizers.into_iter().flatten().any(|one| one.as_str() == Some(finalizer))
}

/// Puts `finalizer` on the object, unless it is.
pub(super) fn put_on(object: &mut Object, finalizer: &str) {
    if is_on(object, finalizer) {
        return;
    }
    let metadata = object::nested_mut(object, &["metadata"]);
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = finalizers.as_array_mut() {
        list.push(finalizer.into());
    }
}

/// The object without `finalizer`.
pub(super) fn taken_off(object: &Object, finalizer: &str) -> Object {
    let mut released = object.clone();
    let metadata = object::nested_mut(&mut released, &["metadata"]);
    if let Some(list) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
        list.retain(|one| one.as_str() != Some(finalizer));
    }
    released
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finalizer_goes_on_once_and_comes_off_alone() {
        let mut held = Object::new();
        put_on(&mut held, "ours");
        put_on(&mut held, "theirs");
        put_on(&mut held, "ours");
        assert_eq!(held["metadata"]["finalizers"], json!(["ours", "theirs"]));
        assert!(is_on(&held, "ours") && !is_on(&Object::new(), "ours"));
        assert_eq!(taken_off(&held, "ours")["metadata"]["finalizers"], json!(["theirs"]));
    }
}
