//! Checks the functions of the cluster: where each is called, whether it can be reached, and how long its certificate is valid.

use std::collections::BTreeMap;

use cluster::{Selection, Session};
use composition::condition::{Conditions, HEALTHY};
use composition::function::Location;
use composition::protocol::Object;
use composition::{function, object, package};
use functions::certs::Validity;
use jiff::Timestamp;
use manifest::{Namespace, ObjectRef};
use operator::function_secret;
use serde_json::Value;

use super::{Finding, Status};
use crate::commands::install::installed::label_selector;
use crate::commands::migrate::installed::Operator;
use crate::support::age;

const SUBJECT: &str = "function";

pub(super) async fn check(session: &Session) -> Vec<Finding> {
    let list = async |kind: &str| {
        let kind = kind.parse().expect("a fixed kind");
        let listed = session.list(&kind, &Selection::default()).await;
        listed.map(|listing| listing.items.into_iter().map(object::from_value).collect::<Vec<_>>())
    };
    let functions = match list("pkg.crossplane.io/v1/Function").await {
        Ok(functions) => functions,
        // Without the kind there are none.
        Err(error) if error.is_kind_absent() => return Vec::new(),
        Err(error) => {
            return vec![Finding::new(SUBJECT, Status::Odd, format!("cannot list Functions: {error}"))];
        }
    };
    let revisions = list("pkg.crossplane.io/v1/FunctionRevision").await.unwrap_or_default();
    let flags = flags(session).await;
    let mut findings = Vec::new();
    for function in &functions {
        let name = object::name(function).unwrap_or_default();
        let is_active = |revision: &&Object| package::is_of(revision, name) && package::is_active(revision);
        let is_elsewhere =
            flags.contains_key(name) || object::annotation(function, function::ANNOTATION_ENDPOINT).is_some();
        let certificate = match revisions.iter().find(is_active).filter(|_| !is_elsewhere) {
            Some(active) => certificate(session, active).await,
            None => None,
        };
        let location = function::find(name, &flags, &revisions, &functions).ok();
        findings.push(describe(function, location.as_ref(), certificate, Timestamp::now()));
    }
    findings
}

/// The functions that flags of installed operators locate; none if their Deployments cannot be read.
async fn flags(session: &Session) -> BTreeMap<String, String> {
    let deployments = "apps/v1/Deployment".parse().expect("a fixed kind");
    let selection = Selection { labels: Some(label_selector()), ..Selection::default() };
    let operators = session.list(&deployments, &selection).await.map(|listing| listing.items);
    let operators = operators.unwrap_or_default().into_iter().map(object::from_value).map(Operator);
    operators.flat_map(|operator| operator.functions().collect::<Vec<_>>()).collect()
}

/// The validity of the certificate of a revision, if it can be read.
async fn certificate(session: &Session, revision: &Object) -> Option<Validity> {
    let (namespace, name) = function_secret(revision)?;
    let target = ObjectRef::new("v1/Secret".parse().ok()?, Namespace::new(&namespace), name);
    let secret: Value = session.read(&target).await.ok()??.object;
    Validity::of(&manifest::secret::decoded_entry(secret.as_object()?, "tls.crt")?)
}

fn describe(
    function: &Object,
    location: Option<&Location>,
    certificate: Option<Validity>,
    now: Timestamp,
) -> Finding {
    let name = object::name(function).unwrap_or_default();
    let place = match location {
        Some(Location::Endpoint(endpoint)) => format!(" at {endpoint}"),
        Some(Location::BuiltIn) => ", built in".to_owned(),
        None => ", no endpoint".to_owned(),
    };
    let expiry = match certificate {
        None => String::new(),
        Some(dates) if dates.until <= now => {
            format!(", its certificate expired {} ago", age::between(dates.until, now))
        }
        Some(dates) => format!(", its certificate expires in {}", age::between(now, dates.until)),
    };
    let (status, health, advice) = match readiness::condition(function, HEALTHY, "True") {
        Ok(()) => (Status::Good, "healthy", None),
        Err(_) if Conditions::of(function).get(HEALTHY).is_none() => {
            (Status::Odd, "no operator has reported on it", None)
        }
        Err(why) => (Status::Broken, "not healthy", Some(why)),
    };
    let is_expired = certificate.is_some_and(|dates| dates.until <= now);
    let status = if is_expired { Status::Broken } else { status };
    let finding = Finding::new(SUBJECT, status, format!("{name}{place}: {health}{expiry}"));
    match advice {
        Some(advice) => finding.advise(advice),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_function_is_shown_with_endpoint_health_and_certificate() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
        let check = |healthy: Value, until: &str, expected: (&str, &str)| {
            let function = object::from_value(json!({
                "metadata": {"name": "fn", "generation": 2},
                "status": {"conditions": [healthy]},
            }));
            let location = Location::Endpoint("dns:///fn.system:9443".to_owned());
            let dates = Validity { from: now, until: until.parse().unwrap() };
            let finding = describe(&function, Some(&location), Some(dates), now);
            assert_eq!((finding.word(), finding.found.as_str()), expected);
        };
        let fine = "fn at dns:///fn.system:9443: healthy, its certificate expires in 30d";
        let healthy = |status: &str, generation: i64| json!({"type": "Healthy", "status": status, "message": "down", "observedGeneration": generation});
        check(healthy("True", 2), "2026-02-09T00:00:00Z", ("ok", fine));
        let down = "fn at dns:///fn.system:9443: not healthy, its certificate expires in 30d";
        check(healthy("False", 2), "2026-02-09T00:00:00Z", ("broken", down));
        check(healthy("True", 1), "2026-02-09T00:00:00Z", ("broken", down));
        let expired = "fn at dns:///fn.system:9443: healthy, its certificate expired 9d ago";
        check(healthy("True", 2), "2026-01-01T00:00:00Z", ("broken", expired));
        let unknown = describe(&object::from_value(json!({"metadata": {"name": "fn"}})), None, None, now);
        assert_eq!(
            (unknown.word(), unknown.found.as_str()),
            ("odd", "fn, no endpoint: no operator has reported on it")
        );
    }
}
