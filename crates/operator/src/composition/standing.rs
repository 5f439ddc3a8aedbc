//! How an XR or a claim stands, as metrics count it.

use composition::condition::{Conditions, HEALTHY, READY, SYNCED};
use composition::protocol::Object;

use crate::runtime::metrics::Standing;

/// The engine's conditions of an object. Those that functions set are not counted: there may be any number of them.
pub(super) fn of(xrd: &str, object: &Object) -> Vec<Standing> {
    let conditions = Conditions::of(object);
    let standing = |condition: &'static str| {
        let found = conditions.get(condition)?;
        let (status, reason) = (found.status.as_str(), found.reason.clone());
        Some(Standing { xrd: xrd.to_owned(), condition, status, reason })
    };
    [READY, SYNCED, HEALTHY].into_iter().filter_map(standing).collect()
}
