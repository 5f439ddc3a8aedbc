//! What is true once everything has come to rest.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::rules::{RESOURCE_NAME, controller, is_going};
use crate::server::{Id, Server};
use crate::user::{self, XRD};

/// What is not as it should be.
pub(crate) fn falsehoods(server: &Server, wanted_claims: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |holds: bool, what: String| {
        if !holds {
            found.push(what);
        }
    };
    for (id, object) in &server.objects {
        check(!is_going(object), format!("{id} never goes: {}", object["metadata"]["finalizers"]));
    }
    let uids: BTreeSet<&str> =
        server.objects.values().filter_map(|it| it["metadata"]["uid"].as_str()).collect();
    for (id, object) in &server.objects {
        let owner = controller(object);
        check(owner.is_none_or(|owner| uids.contains(owner)), format!("{id} is an orphan"));
    }
    let is_defined = server.get(&user::id("compositeresourcedefinitions", XRD)).is_some();
    check(
        is_defined || server.get(&user::id("customresourcedefinitions", XRD)).is_none(),
        "the CRD is left".to_owned(),
    );
    let claims: BTreeSet<String> = server.all("apps").map(|(id, _)| id.name.clone()).collect();
    if is_defined {
        check(claims == *wanted_claims, format!("claims {claims:?} instead of {wanted_claims:?}"));
    } else {
        check(
            server.all("xapps").next().is_none() && claims.is_empty(),
            "XRs or claims without XRD".to_owned(),
        );
    }
    for (id, claim) in server.all("apps") {
        let name = claim["spec"]["resourceRef"]["name"].as_str().unwrap_or_default();
        let xr = server.all("xapps").find(|(id, _)| id.name == name).map(|(_, xr)| xr);
        check(
            xr.is_some_and(|xr| xr["spec"]["claimRef"]["name"] == id.name.as_str()),
            format!("{id} has no XR"),
        );
        check(
            xr.is_some_and(|xr| xr["spec"]["parts"] == claim["spec"]["parts"]),
            format!("{id} and its XR ask for different things"),
        );
        are_true(id, claim, &["Synced", "Ready", "PartsPrinted"], &mut check);
    }
    for (id, xr) in server.all("xapps") {
        are_true(id, xr, &["Synced", "Ready", "PartsPrinted"], &mut check);
        let expected = expected(server, xr);
        let children = children(server, xr);
        check(children == expected, format!("{id} is composed of {children:?} instead of {expected:?}"));
        let refs: BTreeSet<&str> = refs(xr).into_iter().collect();
        let named: BTreeSet<&str> = of(server, xr).map(|(id, _)| id.name.as_str()).collect();
        check(refs == named, format!("{id} refers to {refs:?} instead of {named:?}"));
    }
    found
}

fn are_true(id: &Id, object: &Value, kinds: &[&str], check: &mut impl FnMut(bool, String)) {
    let conditions: Vec<&Value> = object["status"]["conditions"].as_array().into_iter().flatten().collect();
    for kind in kinds {
        let condition = conditions.iter().find(|one| one["type"] == *kind);
        check(
            condition.is_some_and(|one| one["status"] == "True"),
            format!(
                "{id} is not {kind}: {}",
                condition.map_or_else(|| "it does not say".to_owned(), ToString::to_string)
            ),
        );
    }
}

/// What an XR should be composed of: content by key.
fn expected(server: &Server, xr: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let composition = server.get(&user::id("compositions", "apps"));
    let edition =
        composition.map(|it| text(&it["spec"]["pipeline"][0]["input"]["edition"])).unwrap_or_default();
    let shelf =
        server.all("shelves").next().map(|(_, shelf)| text(&shelf["spec"]["colour"])).unwrap_or_default();
    let parts = text(&xr["spec"]["parts"]);
    parts.chars().map(|part| (part.to_string(), format!("{part} {edition} {shelf}"))).collect()
}

fn children(server: &Server, xr: &Value) -> BTreeMap<String, String> {
    let child = |(_, child): (&Id, &std::sync::Arc<Value>)| {
        let content = if child["kind"] == "ConfigMap" { &child["data"] } else { &child["spec"] };
        let text = |key: &str| content[key].as_str().unwrap_or_default();
        let key = child["metadata"]["annotations"][RESOURCE_NAME].as_str().unwrap_or_default().to_owned();
        (key, format!("{} {} {}", text("part"), text("edition"), text("colour")))
    };
    of(server, xr).map(child).collect()
}

/// What an XR controls.
fn of<'a>(server: &'a Server, xr: &'a Value) -> impl Iterator<Item = (&'a Id, &'a std::sync::Arc<Value>)> {
    server.objects.iter().filter(|(_, object)| controller(object) == xr["metadata"]["uid"].as_str())
}

fn refs(xr: &Value) -> Vec<&str> {
    let refs = xr["spec"]["resourceRefs"].as_array().into_iter().flatten();
    refs.filter_map(|one| one["name"].as_str()).collect()
}
