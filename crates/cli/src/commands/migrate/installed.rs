//! An installed operator of Plimsoll: what its Deployment says about how it will work.

use composition::object;
use composition::protocol::Object;
use serde_json::Value;

const FUNCTION: &str = "--function";
const SERVICE_ACCOUNT: &str = "--default-service-account";

/// A Deployment of the operator, or of one of its shards.
#[derive(Debug)]
pub(super) struct Operator(pub(super) Object);

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

    /// Functions with the endpoints that flags give them.
    pub(super) fn functions(&self) -> impl Iterator<Item = (String, String)> {
        let pairs = self.options(FUNCTION).filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, endpoint)| (name.to_owned(), endpoint.to_owned()))
    }

    /// The values of an option, written as one argument or as two.
    fn options<'a>(&'a self, option: &'a str) -> impl Iterator<Item = &'a str> {
        let containers = object::list(&self.0, &["spec", "template", "spec", "containers"]);
        let arguments: Vec<&str> = containers
            .filter_map(|container| container["args"].as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let next = arguments.iter().skip(1).copied().map(Some).chain([None]).collect::<Vec<_>>();
        arguments.into_iter().zip(next).filter_map(move |(argument, next)| {
            let rest = argument.strip_prefix(option)?;
            if rest.is_empty() { next } else { rest.strip_prefix('=') }
        })
    }
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
}
