//! Tells the Compositions and revisions that matter to a change from the others. Clusters have many, and each is large.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::object;
use crate::protocol::Object;

/// The scope of a change.
#[derive(Clone, Debug)]
pub struct Relevance {
    /// The group and kind of XRs.
    kinds: BTreeSet<(String, String)>,
    functions: BTreeSet<String>,
}

impl Relevance {
    /// The scope of the change to `changed`, and to the functions `moved`.
    pub fn of(changed: &[Object], moved: &BTreeSet<String>) -> Self {
        let mut relevance = Self { kinds: BTreeSet::new(), functions: moved.clone() };
        for object in changed {
            let text = |path: &[&str]| object::text(object, path).unwrap_or_default().to_owned();
            match object::text(object, &["kind"]).unwrap_or_default() {
                "Composition" => {
                    let version = text(&["spec", "compositeTypeRef", "apiVersion"]);
                    let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
                    relevance.kinds.insert((group, text(&["spec", "compositeTypeRef", "kind"])));
                }
                "CompositeResourceDefinition" => {
                    relevance.kinds.insert((text(&["spec", "group"]), text(&["spec", "names", "kind"])));
                }
                "Function" => {
                    relevance.functions.insert(text(&["metadata", "name"]));
                }
                _ => {}
            }
        }
        relevance
    }

    /// True if a Composition, or a revision of one, matters.
    pub fn concerns(&self, composition: &Value) -> bool {
        let of = &composition["spec"]["compositeTypeRef"];
        let group =
            of["apiVersion"].as_str().and_then(|version| version.split_once('/')).map(|(group, _)| group);
        let kind = (group.unwrap_or_default().to_owned(), of["kind"].as_str().unwrap_or_default().to_owned());
        let steps = composition["spec"]["pipeline"].as_array();
        let mut functions =
            steps.into_iter().flatten().filter_map(|step| step["functionRef"]["name"].as_str());
        self.kinds.contains(&kind) || functions.any(|function| self.functions.contains(function))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn compositions_of_the_same_xrs_or_with_the_same_functions_matter() {
        let composition = |version: &str, kind: &str, function: &str| {
            json!({
                "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "c"},
                "spec": {
                    "compositeTypeRef": {"apiVersion": version, "kind": kind},
                    "pipeline": [{"step": "a", "functionRef": {"name": function}}],
                },
            })
        };
        let function = json!({"kind": "Function", "metadata": {"name": "fn-b"}});
        let definition = json!({"kind": "CompositeResourceDefinition", "spec": {"group": "e.org", "names": {"kind": "XDb"}}});
        let changed = [composition("e.org/v1", "XApp", "fn-a"), function, definition].map(object::object);
        let relevance = Relevance::of(&changed, &["fn-c".to_owned()].into());
        let check = |version: &str, kind: &str, function: &str, expected: bool| {
            let found = relevance.concerns(&composition(version, kind, function));
            assert_eq!(found, expected, "{version} {kind} {function}");
        };
        check("e.org/v1", "XApp", "fn-x", true);
        check("e.org/v2", "XApp", "fn-x", true);
        check("e.org/v1", "XDb", "fn-x", true);
        check("o.org/v1", "XApp", "fn-x", false);
        check("o.org/v1", "XOther", "fn-b", true);
        check("o.org/v1", "XOther", "fn-c", true);
        // The function of a changed Composition is as it was.
        check("o.org/v1", "XOther", "fn-a", false);
    }
}
