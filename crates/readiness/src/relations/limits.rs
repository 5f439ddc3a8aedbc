//! Objects that hold others up by what they limit: budgets that allow no eviction, and quotas that are used up.

use fields::Quantity;
use serde_json::Value;

use super::Trouble;
use crate::object::Object;

pub(super) fn of_budget(budget: Object<'_>) -> Option<Trouble> {
    // Until its controller has seen it, its numbers are zero.
    budget.int("/status/observedGeneration")?;
    let count = |name: &str| budget.count(&format!("/status/{name}"));
    let (expected, desired, healthy) =
        (count("expectedPods"), count("desiredHealthy"), count("currentHealthy"));
    let why = match count("disruptionsAllowed") {
        _ if expected == 0 => "it selects no pods".to_owned(),
        allowed if allowed > 0 => return None,
        _ if desired >= expected => {
            format!("it never allows an eviction: it wants {desired} of {expected} pods to be healthy")
        }
        _ => format!(
            "it allows no eviction now: {healthy} of {expected} pods are healthy, and {desired} have to be"
        ),
    };
    Some(Trouble::new(why))
}

pub(super) fn of_quota(quota: Object<'_>) -> Option<Trouble> {
    let hard = quota.get("/status/hard").and_then(Value::as_object)?;
    let used = quota.get("/status/used")?;
    let spent = hard.iter().filter_map(|(name, most)| {
        let used = used.get(name)?;
        let is_spent = Quantity::from_value(used)? >= Quantity::from_value(most)?;
        is_spent.then(|| format!("{name} ({} of {})", manifest::display(used), manifest::display(most)))
    });
    let spent: Vec<String> = spent.collect();
    (!spent.is_empty()).then(|| Trouble::new(format!("it is used up: {}", spent.join(", "))))
}
