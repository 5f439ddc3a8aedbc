//! Installed engines: what the Deployment of Plimsoll's operator, or of Crossplane, says about how it will work.

use composition::object;
use composition::protocol::Object;
use operator::Half;
use serde_json::Value;

use super::switch::replicas;

const CONTROLLERS: &str = "--controllers";
const TAKE_OVER: &str = "--take-over";
const FUNCTION: &str = "--function";
const SERVICE_ACCOUNT: &str = "--default-service-account";

/// A Deployment of the operator, or of one of its shards.
#[derive(Debug)]
pub(in crate::commands) struct Operator(pub(in crate::commands) Object);

impl Operator {
    pub(super) fn namespace(&self) -> &str {
        object::namespace(&self.0).unwrap_or_default()
    }

    /// The user that the operator is for the API server.
    pub(super) fn account(&self) -> String {
        let name = object::text(&self.0, &["spec", "template", "spec", "serviceAccountName"]);
        format!("system:serviceaccount:{}:{}", self.namespace(), name.unwrap_or("default"))
    }

    /// Whether XRs in namespaces are composed as an account of their namespace.
    pub(super) fn composes_as_tenants(&self) -> bool {
        self.options(SERVICE_ACCOUNT).next().is_some()
    }

    /// Whether it runs on when Crossplane takes over: it has work that Crossplane does not do, and leaves the rest to it by itself.
    pub(super) fn runs_on(&self) -> bool {
        let mut halves = self.options(CONTROLLERS).flat_map(|halves| halves.split(',')).peekable();
        let works_for_oci = halves.peek().is_none() || halves.any(|half| half == Half::Oci.name());
        replicas(&self.0) > 0 && works_for_oci && !arguments(&self.0).contains(&TAKE_OVER)
    }

    /// Functions with the endpoints that flags give them.
    pub(in crate::commands) fn functions(&self) -> impl Iterator<Item = (String, String)> {
        let pairs = self.options(FUNCTION).filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, endpoint)| (name.to_owned(), endpoint.to_owned()))
    }

    /// The values of an option, written as one argument or as two.
    fn options<'a>(&'a self, option: &'a str) -> impl Iterator<Item = &'a str> {
        let arguments = arguments(&self.0);
        let next = arguments.iter().skip(1).copied().map(Some).chain([None]).collect::<Vec<_>>();
        arguments.into_iter().zip(next).filter_map(move |(argument, next)| {
            let rest = argument.strip_prefix(option)?;
            if rest.is_empty() { next } else { rest.strip_prefix('=') }
        })
    }
}

/// Whether a Deployment is Crossplane itself, and not its RBAC manager.
pub(super) fn is_crossplane(deployment: &Object) -> bool {
    object::label(deployment, "app") == Some("crossplane")
}

/// Whether Crossplane holds its lease while it runs. Otherwise nothing tells Plimsoll's operator that it runs.
pub(super) fn elects_leader(crossplane: &Object) -> bool {
    let mut variables = containers(crossplane).filter_map(|container| container["env"].as_array()).flatten();
    let variable = variables.find(|variable| variable["name"] == "LEADER_ELECTION");
    let is_set =
        variable.is_some_and(|variable| !matches!(variable["value"].as_str(), Some("" | "0" | "false")));
    is_set
        || arguments(crossplane)
            .iter()
            .any(|it| ["-l", "--leader-election", "--leader-election=true"].contains(it))
}

fn containers(deployment: &Object) -> impl Iterator<Item = &Value> {
    object::list(deployment, &["spec", "template", "spec", "containers"])
}

fn arguments(deployment: &Object) -> Vec<&str> {
    let arguments = containers(deployment).filter_map(|container| container["args"].as_array()).flatten();
    arguments.filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_read_in_both_notations() {
        let check = |arguments: &[&str], functions: &[(&str, &str)], composes_as_tenants: bool| {
            let pod = json!({"serviceAccountName": "op", "containers": [{"args": arguments}]});
            let operator = Operator(object::from_value(json!({
                "metadata": {"namespace": "system"}, "spec": {"template": {"spec": pod}},
            })));
            let expected: Vec<_> =
                functions.iter().map(|(name, at)| ((*name).to_owned(), (*at).to_owned())).collect();
            assert_eq!(operator.functions().collect::<Vec<_>>(), expected, "{arguments:?}");
            assert_eq!(operator.composes_as_tenants(), composes_as_tenants, "{arguments:?}");
            assert_eq!(operator.account(), "system:serviceaccount:system:op");
        };
        check(&["operator"], &[], false);
        check(&["operator", "--function=a=x:1", "--function", "b=y:2"], &[("a", "x:1"), ("b", "y:2")], false);
        check(&["--function-timeout=1s", "--default-service-account=team"], &[], true);
        check(&["--function"], &[], false);
    }

    #[test]
    fn an_operator_with_work_of_its_own_runs_on() {
        let check = |replicas: u8, arguments: &[&str], expected: bool| {
            let pod = json!({"containers": [{"args": arguments}]});
            let spec = json!({"replicas": replicas, "template": {"spec": pod}});
            let operator = Operator(object::from_value(json!({"spec": spec})));
            assert_eq!(operator.runs_on(), expected, "{replicas} {arguments:?}");
        };
        check(2, &["operator"], true);
        check(2, &["operator", "--controllers=composition,oci"], true);
        check(2, &["operator", "--controllers", "oci"], true);
        check(2, &["operator", "--controllers=composition"], false);
        check(2, &["operator", "--take-over"], false);
        check(0, &["operator"], false);
    }

    #[test]
    fn crossplane_elects_a_leader_only_with_a_flag_or_variable() {
        let check = |container: Value, expected: bool| {
            let pod = json!({"spec": {"containers": [container]}});
            let deployment = object::from_value(json!({"spec": {"template": pod}}));
            assert_eq!(elects_leader(&deployment), expected, "{container}");
        };
        let set = |value: &str| json!({"env": [{"name": "A"}, {"name": "LEADER_ELECTION", "value": value}]});
        check(set("true"), true);
        check(set("false"), false);
        check(json!({"args": ["core", "start", "--leader-election"]}), true);
        check(json!({"args": ["core", "start"]}), false);
    }
}
