//! What blocks a migration: everything that the other engine could not serve, found before the first one stops.

use std::collections::BTreeSet;

use composition::composition::Composition;
use composition::object;
use composition::protocol::Object;
use diag::Diagnostic;

use super::installed::{elects_leader, is_crossplane};
use super::inventory::Inventory;
use super::switch::named;

pub(super) fn find(inventory: &Inventory) -> Vec<String> {
    let mut obstacles = Vec::new();
    if inventory.operators.is_empty() && inventory.running.is_empty() {
        obstacles.push(
            "Plimsoll's operator is not installed. Install it with `plimsoll install`, or start one elsewhere with --leader-elect; it waits while Crossplane runs"
                .to_owned(),
        );
    }
    obstacles.extend(unseen(inventory));
    for offer in &inventory.offers {
        if let Err(found) = &offer.definition {
            let why = in_words(found);
            obstacles.push(format!("CompositeResourceDefinition {} is not valid here: {why}", offer.name));
        }
    }
    let mut called = BTreeSet::new();
    for composition in &inventory.compositions {
        match pipeline(composition) {
            Ok(functions) => called.extend(
                functions
                    .into_iter()
                    .map(|function| (function, object::name(composition).unwrap_or_default().to_owned())),
            ),
            Err(why) => obstacles.push(why),
        }
    }
    for (function, composition) in called {
        let is_package = inventory.functions.iter().any(|it| object::name(it) == Some(&function));
        // The operator will run a package that has no endpoint yet.
        if !is_package && inventory.locate(&function).is_err() {
            obstacles.push(format!(
                "Composition {composition} calls {function}, which has no endpoint. Install it, or start the operator with --function {function}=ENDPOINT"
            ));
        }
    }
    for namespace in &inventory.without_certificate {
        obstacles.push(format!(
            "Secret {namespace}/crossplane-tls-client does not exist, and the functions in {namespace} accept no other certificate. Restart Crossplane, which creates it"
        ));
    }
    for denied in inventory.denied.iter().flatten() {
        obstacles.push(format!(
            "The operator is not allowed to {denied}. Grant it with a ClusterRole labelled rbac.crossplane.io/aggregate-to-crossplane: \"true\""
        ));
    }
    obstacles
}

/// What blocks the way back.
pub(super) fn find_back(inventory: &Inventory) -> Vec<String> {
    let is_there =
        inventory.crossplane.is_some() || inventory.crossplane_deployments.iter().any(is_crossplane);
    let absent = (!is_there).then(|| {
        "Crossplane is not installed: there is no Deployment labelled app=crossplane, and nothing would serve XRs and claims. Install it with zero replicas"
            .to_owned()
    });
    absent.into_iter().chain(unseen(inventory)).collect()
}

/// Crossplane without a lease, which Plimsoll's operator would never make way for.
fn unseen(inventory: &Inventory) -> Option<String> {
    let mut deployments = inventory.crossplane_deployments.iter();
    let unseen = deployments.find(|it| is_crossplane(it) && !elects_leader(it))?;
    Some(format!(
        "{} does not elect a leader, so Plimsoll's operator cannot see that Crossplane runs. Set leaderElection=true in the values of its chart",
        named(unseen)
    ))
}

/// The functions that a Composition calls, or why it cannot be served.
fn pipeline(composition: &Object) -> Result<Vec<String>, String> {
    let name = object::name(composition).unwrap_or_default();
    if object::text(composition, &["spec", "mode"]).is_some_and(|mode| mode != "Pipeline") {
        return Err(format!(
            "Composition {name} has no pipeline. Convert it with `crossplane composition convert pipeline-composition`"
        ));
    }
    let read = Composition::read(composition)
        .map_err(|found| format!("Composition {name} is not valid here: {}", in_words(&found)))?;
    Ok(read.spec.pipeline.into_iter().map(|step| step.function_ref.name).collect())
}

fn in_words(found: &[Diagnostic]) -> String {
    found.iter().map(|found| found.summary.as_str()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::commands::migrate::installed::Operator;
    use crate::commands::migrate::inventory::Offer;

    /// An inventory in which nothing is wrong.
    fn fine() -> Inventory {
        Inventory { operators: vec![Operator(object::from_value(json!({})))], ..Inventory::default() }
    }

    #[track_caller]
    fn check(inventory: &Inventory, expected: &[&str]) {
        let found = find(inventory);
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, start) in found.iter().zip(expected) {
            assert!(found.starts_with(start), "{found}");
        }
    }

    fn composition(name: &str, spec: &Value) -> Object {
        object::from_value(json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": name},
            "spec": spec,
        }))
    }

    fn calling(name: &str, function: &str) -> Object {
        let of = json!({"apiVersion": "e.org/v1", "kind": "X"});
        let pipeline = json!([{"step": "s", "functionRef": {"name": function}}]);
        composition(name, &json!({"compositeTypeRef": of, "mode": "Pipeline", "pipeline": pipeline}))
    }

    #[test]
    fn nothing_blocks_an_empty_cluster_with_an_operator() {
        check(&fine(), &[]);
        check(
            &Inventory::default(),
            &["Plimsoll's operator is not installed. Install it with `plimsoll install`"],
        );
    }

    /// The Deployment of Crossplane.
    fn crossplane(leader_election: &str) -> Object {
        let env = json!([{"name": "LEADER_ELECTION", "value": leader_election}]);
        object::from_value(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "crossplane", "namespace": "c", "labels": {"app": "crossplane"}},
            "spec": {"replicas": 0, "template": {"spec": {"containers": [{"env": env}]}}},
        }))
    }

    #[test]
    fn only_an_installed_crossplane_can_take_over_again() {
        let check = |crossplane_deployments: Vec<Object>, expected: Option<&str>| {
            let inventory = Inventory { crossplane_deployments, ..fine() };
            let found = find_back(&inventory);
            assert_eq!(found.len(), usize::from(expected.is_some()), "{found:#?}");
            assert!(found.iter().all(|found| found.starts_with(expected.unwrap_or_default())), "{found:#?}");
        };
        check(vec![crossplane("true")], None);
        check(vec![], Some("Crossplane is not installed"));
        let manager = json!({"metadata": {"labels": {"app": "crossplane-rbac-manager"}}});
        check(vec![object::from_value(manager)], Some("Crossplane is not installed"));
        check(vec![crossplane("false")], Some("Deployment c/crossplane does not elect a leader"));
    }

    #[test]
    fn a_crossplane_without_a_lease_blocks_a_migration() {
        let with = |leader_election| Inventory {
            crossplane_deployments: vec![crossplane(leader_election)],
            ..fine()
        };
        check(&with("true"), &[]);
        check(&with("false"), &["Deployment c/crossplane does not elect a leader"]);
    }

    #[test]
    fn what_plimsoll_cannot_serve_blocks_a_migration() {
        let mode = json!({"compositeTypeRef": {"apiVersion": "e.org/v1", "kind": "X"}, "mode": "Resources", "resources": []});
        let compositions = vec![
            composition("old", &mode),
            calling("fine", "function-auto-ready"),
            calling("coming", "function-packaged"),
            calling("lacking", "function-gone"),
        ];
        let package = json!({"metadata": {"name": "function-packaged"}, "spec": {"package": "x.io/a/b:v1"}});
        let functions = vec![object::from_value(package)];
        check(
            &Inventory { compositions, functions, ..fine() },
            &["Composition old has no pipeline", "Composition lacking calls function-gone"],
        );
        let definition = Err(vec![Diagnostic::error(crate::codes::OPTION_UNUSABLE, "no versions")]);
        let offer = Offer {
            name: "xs.e.org".to_owned(),
            definition,
            xrs: Vec::new(),
            claims: Vec::new(),
            crds: Vec::new(),
        };
        check(
            &Inventory { offers: vec![offer], ..fine() },
            &["CompositeResourceDefinition xs.e.org is not valid here: no versions"],
        );
    }

    #[test]
    fn functions_that_flags_provide_are_found() {
        let flags = json!({"spec": {"template": {"spec": {"containers": [{"args": ["--function=function-gone=h:1"]}]}}}});
        let operators = vec![Operator(object::from_value(flags))];
        check(&Inventory { compositions: vec![calling("a", "function-gone")], operators, ..fine() }, &[]);
    }

    #[test]
    fn missing_certificates_and_rights_block_a_migration() {
        let without_certificate = vec!["crossplane-system".to_owned()];
        let denied = Some(vec!["[create] buckets.s3.example.org".to_owned()]);
        check(
            &Inventory { without_certificate, denied, ..fine() },
            &[
                "Secret crossplane-system/crossplane-tls-client does not exist",
                "The operator is not allowed to [create] buckets.s3.example.org",
            ],
        );
    }
}
