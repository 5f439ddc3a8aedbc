//! Whether an object is already as an apply would leave it, without asking the API server.
//!
//! By the rules of server-side apply the outcome depends on three things: what is written, what is there, and what the
//! manager holds. If it holds exactly what is written, and every value is there as written, merging leaves the object
//! and its managers as they are. Webhooks and admission policies are not covered by that (see [`crate::question`]).

use fields::{ListKind, Shape};
use ownership::{FieldManager, Observed, Operation, client_side_appliers};
use serde_json::Value;

/// Whether an apply of `body` by `manager` leaves `live` as it is. Doubt means no.
pub fn is_applied(body: &Value, manager: &FieldManager, live: &Observed) -> bool {
    // An object that is being deleted may change at any moment.
    !live.is_being_deleted()
        && is_in(body, live.object(), live.schema().root())
        && holds_exactly(body, manager, live)
        // What `kubectl apply` holds would be taken over.
        && client_side_appliers(live).is_empty()
}

fn holds_exactly(body: &Value, manager: &FieldManager, live: &Observed) -> bool {
    let mut ours = live.managed().entries().iter().filter(|entry| entry.is_of(manager, Operation::Apply, ""));
    let (Some(entry), None) = (ours.next(), ours.next()) else { return false };
    // Fields that were applied in another version are converted first, and may come out differently.
    if body["apiVersion"] != entry.api_version.as_str() {
        return false;
    }
    let wanted = fields::written(body, live.schema()).leaves().difference(&fields::identity());
    wanted == entry.fields.clone().leaves()
}

/// Whether everything in `written` is in `live` with the same value. Items that others added to a list do not count, but
/// ours have to be in the same order: an apply would restore it.
fn is_in(written: &Value, live: &Value, shape: Shape<'_>) -> bool {
    match (written, live) {
        (Value::Object(written), Value::Object(live)) => written
            .iter()
            .all(|(name, value)| live.get(name).is_some_and(|live| is_in(value, live, shape.field(name)))),
        (Value::Array(written), Value::Array(live)) => {
            let is_item_in = |written: &Value, live: &Value| is_in(written, live, shape.element());
            if shape.list_kind() == ListKind::Atomic {
                let mut pairs = written.iter().zip(live);
                return written.len() == live.len() && pairs.all(|(written, live)| is_item_in(written, live));
            }
            let mut rest = live.iter();
            written.iter().all(|written| rest.any(|live| is_item_in(written, live)))
        }
        // A number as text is another value, except where Kubernetes reads both as a quantity.
        (written, live) => {
            let is_same_type = written.is_string() == live.is_string() || shape.is_quantity();
            is_same_type && fields::equal(written, live, shape)
        }
    }
}

#[cfg(test)]
mod tests;
