use super::*;

#[test]
fn the_role_grants_what_controllers_do_with_the_established_kinds_and_no_more() {
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
    let check = |roles: &[Role], expected: &[&str]| {
        let rules = roles.iter().filter_map(|role| rules(&definition, *role)).flatten();
        let role = cluster_role(&xrd, rules);
        assert_eq!(
            role["metadata"]["name"],
            "crossplane:composite:xapps.example.org:aggregate-to-crossplane"
        );
        assert!(object::is_controlled_by(&role, &xrd));
        let granted = role["rules"].as_array().unwrap().iter().map(|rule| {
            let list = |key: &str| object::texts(rule.as_object().unwrap(), &[key]).join(",");
            format!("{} {}: {}", list("apiGroups"), list("resources"), list("verbs"))
        });
        assert_eq!(granted.collect::<Vec<_>>(), expected);
    };
    let xr = [
        "example.org xapps: get,list,watch,create,update,patch,delete",
        "example.org xapps/status: get,update,patch",
        "example.org xapps/finalizers: update",
    ];
    let claim = [
        "example.org apps: get,list,watch,create,update,patch,delete",
        "example.org apps/status: get,update,patch",
        "example.org apps/finalizers: update",
    ];
    check(&[], &[]);
    check(&[Role::Composite], &xr);
    check(&[Role::Composite, Role::Claim], &[xr, claim].concat());
}
