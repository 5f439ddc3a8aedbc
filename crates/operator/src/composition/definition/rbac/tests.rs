use super::*;

#[test]
fn the_role_grants_all_rights_on_both_kinds_and_no_others() {
    let xrd = object::from_value(json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xapps.example.org", "uid": "u"},
        "spec": {
            "group": "example.org",
            "names": {"plural": "xapps", "kind": "XApp"},
            "claimNames": {"plural": "apps", "kind": "App"},
            "versions": [{"name": "v1", "served": true, "referenceable": true,
                          "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }));
    let (definition, _) = Definition::read(&xrd).unwrap();
    let role = role(&definition);
    assert_eq!(role["metadata"]["name"], "crossplane:composite:xapps.example.org:aggregate-to-crossplane");
    let granted = role["rules"].as_array().unwrap().iter().map(|rule| {
        let list =
            |key: &str| rule[key].as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>();
        format!(
            "{} {}: {}",
            list("apiGroups").join(","),
            list("resources").join(","),
            list("verbs").join(",")
        )
    });
    assert_eq!(
        granted.collect::<Vec<_>>(),
        [
            "example.org xapps,xapps/status: *",
            "example.org xapps/finalizers: update",
            "example.org apps,apps/status: *",
            "example.org apps/finalizers: update",
        ]
    );
}
