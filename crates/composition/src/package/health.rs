//! What a Function and its revision report, in Crossplane's words.

use jiff::Timestamp;

use crate::condition::{Condition, Conditions};
use crate::object;
use crate::protocol::{ConditionStatus, Object};

const UNHEALTHY: &str = "UnhealthyPackageRevision";
const HEALTHY: &str = "HealthyPackageRevision";
/// What Crossplane does with a package beside running it, and this engine does not.
pub const NOT_DONE: &str = "its image runs, but the package is not unpacked: dependencies are not resolved, signatures are not \
                            verified and the schema of its input is not installed";

/// Why the Deployment of a revision does not serve, if it does not. What its status says of an earlier generation does not
/// count.
pub fn unavailable(deployment: Option<&Object>) -> Option<String> {
    let conditions = deployment.map(Conditions::of).unwrap_or_default();
    let available = conditions.get("Available");
    let why = match (deployment.map(|it| readiness::condition(it, "Available", "True")), available) {
        (Some(Ok(())), _) => return None,
        (Some(Err(stale)), Some(available)) if available.is_true() => {
            format!("function package deployment is unavailable with message: {stale}")
        }
        (_, Some(available)) => {
            format!("function package deployment is unavailable with message: {}", available.message)
        }
        (_, None) => "function package deployment has no condition of type \"Available\" yet".to_owned(),
    };
    Some(format!("post establish runtime hook failed for package: {why}"))
}

/// The status of a revision that runs here. `trouble` says why its runtime does not serve.
pub fn revision_status(
    revision: &Object,
    endpoint: &str,
    secret: &str,
    trouble: Option<&str>,
    now: Timestamp,
) -> Option<Object> {
    let mut reported = revision.clone();
    let status = object::nested_mut(&mut reported, &["status"]);
    status.insert("endpoint".to_owned(), endpoint.into());
    status.insert("tlsServerSecretName".to_owned(), secret.into());
    if let Some(image) = object::text(revision, &["spec", "image"]) {
        status.insert("resolvedImage".to_owned(), image.into());
    }
    let healthy = Condition::new("RevisionHealthy", ConditionStatus::True, HEALTHY, now).message(NOT_DONE);
    set(&mut reported, [healthy, runtime_healthy(trouble, now)]);
    changed(revision, reported)
}

fn runtime_healthy(trouble: Option<&str>, now: Timestamp) -> Condition {
    match trouble {
        None => Condition::new("RuntimeHealthy", ConditionStatus::True, HEALTHY, now),
        Some(why) => Condition::new("RuntimeHealthy", ConditionStatus::False, UNHEALTHY, now).message(why),
    }
}

/// How a Function stands.
pub enum Standing {
    /// No revision is active; this one is of its package.
    Inactive { current: String },
    /// A revision runs, or something else is called in its place; `about` says more.
    Active { current: Option<String>, about: String, trouble: Option<String> },
}

/// The status of a Function.
pub fn function_status(function: &Object, standing: &Standing, now: Timestamp) -> Option<Object> {
    let mut reported = function.clone();
    let package = object::text(function, &["spec", "package"]).unwrap_or_default();
    let (current, installed, trouble) = match standing {
        Standing::Inactive { current } => {
            let inactive =
                Condition::new("Installed", ConditionStatus::False, "InactivePackageRevision", now);
            (Some(current.as_str()), inactive.message("Package is inactive"), None)
        }
        Standing::Active { current, about, trouble } => {
            let active = Condition::new("Installed", ConditionStatus::True, "ActivePackageRevision", now);
            (current.as_deref(), active.message(about.as_str()), Some(trouble.as_deref()))
        }
    };
    let status = object::nested_mut(&mut reported, &["status"]);
    if let Some(current) = current {
        for (key, value) in
            [("currentRevision", current), ("currentIdentifier", package), ("resolvedPackage", package)]
        {
            status.insert(key.to_owned(), value.into());
        }
    }
    set(&mut reported, [installed]);
    match trouble {
        Some(None) => set(&mut reported, [Condition::new("Healthy", ConditionStatus::True, HEALTHY, now)]),
        Some(Some(why)) => {
            set(
                &mut reported,
                [Condition::new("Healthy", ConditionStatus::False, UNHEALTHY, now).message(why)],
            );
        }
        None => {
            let unknown =
                Condition::new("Healthy", ConditionStatus::Unknown, "UnknownPackageRevisionHealth", now);
            set(&mut reported, [unknown.message("no revision is active")]);
        }
    }
    changed(function, reported)
}

/// A Provider or Configuration that this engine does not install, reported unless Crossplane has reported on this generation.
/// Older releases of it do not say which generation they report on.
pub fn unsupported(package: &Object, now: Timestamp) -> Option<Object> {
    let installed = Conditions::of(package);
    let generation = object::generation(package);
    if installed.get("Installed").is_some_and(|known| {
        known.is_true() && (known.observed_generation.is_none() || known.observed_generation == generation)
    }) {
        return None;
    }
    let kind = object::text(package, &["kind"]).unwrap_or("package");
    let why = format!(
        "Plimsoll does not install a {kind}: it runs Functions only. Apply what the package contains, or run Crossplane's package manager"
    );
    let mut reported = package.clone();
    set(
        &mut reported,
        [
            Condition::new("Installed", ConditionStatus::False, "UnpackingPackage", now)
                .message(why.as_str()),
            Condition::new("Healthy", ConditionStatus::False, UNHEALTHY, now).message(why.as_str()),
        ],
    );
    changed(package, reported)
}

fn set<const N: usize>(object: &mut Object, conditions: [Condition; N]) {
    let generation = object::generation(object);
    let mut all = Conditions::of(object);
    for condition in conditions {
        all.set(condition.generation(generation));
    }
    object::nested_mut(object, &["status"]).insert("conditions".to_owned(), all.to_value());
}

fn changed(before: &Object, after: Object) -> Option<Object> {
    (before.get("status") != after.get("status")).then_some(after)
}

#[cfg(test)]
mod tests;
