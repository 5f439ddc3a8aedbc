//! Whether an apply is known to change nothing, without asking the API server what it would do.
//!
//! By the rules of server-side apply the outcome depends on three things: what is written, what is there, and what the
//! manager holds. If it holds exactly what is written, and every value is there as written, merging leaves the object
//! and its managers as they are. Whoever intervenes on the way in (see `admission`) is not covered by that.

use ownership::{FieldManager, ManagedFields, Operation};
use serde_json::Value;

/// Whether an apply of `written` by `manager` leaves `live` as it is. Doubt means no.
pub(super) fn is_unchanged(written: &Value, live: &Value, manager: &FieldManager) -> bool {
    is_in(written, live) && !is_going(live) && holds_exactly(written, live, manager)
}

/// What is being deleted may be on its way through others' hands.
fn is_going(live: &Value) -> bool {
    live["metadata"].get("deletionTimestamp").is_some()
}

fn holds_exactly(written: &Value, live: &Value, manager: &FieldManager) -> bool {
    let Ok(managed) = ManagedFields::of(live) else { return false };
    let mut own = managed.entries().iter().filter(|entry| {
        entry.manager == *manager && entry.operation == Operation::Apply && entry.subresource.is_empty()
    });
    let (Some(entry), None) = (own.next(), own.next()) else { return false };
    // Fields that were applied in another version are converted first, and may come out otherwise.
    if written["apiVersion"] != entry.api_version.as_str() {
        return false;
    }
    let schema = managed.schema(live);
    let wanted = fields::written(written, &schema).leaves().difference(&fields::identity());
    wanted == entry.fields.clone().leaves()
}

/// Whether everything in `written` stands in `live` with the same value, and lists are the same all through: an apply
/// may bring the items of a list into another order.
fn is_in(written: &Value, live: &Value) -> bool {
    match (written, live) {
        (Value::Object(written), Value::Object(live)) => {
            written.iter().all(|(name, value)| live.get(name).is_some_and(|live| is_in(value, live)))
        }
        (Value::Array(written), Value::Array(live)) => {
            written.len() == live.len()
                && written.iter().zip(live).all(|(written, live)| is_in(written, live))
        }
        (written, live) => written == live,
    }
}

#[cfg(test)]
mod tests;
