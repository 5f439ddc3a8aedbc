use super::*;

fn xrd() -> Object {
    object::from_value(json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xapps.example.org", "uid": "u"},
        "spec": {
            "group": "example.org",
            "names": {"plural": "xapps", "kind": "XApp"},
            "claimNames": {"plural": "apps", "kind": "App"},
            "versions": [{"name": "v1", "served": true, "referenceable": true,
                          "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }))
}

fn shown(role: &Object) -> Vec<String> {
    let granted = role["rules"].as_array().unwrap().iter().map(|rule| {
        let list = |key: &str| object::texts(rule.as_object().unwrap(), &[key]).join(",");
        format!("{} {}: {}", list("apiGroups"), list("resources"), list("verbs"))
    });
    granted.collect()
}

#[test]
fn the_role_grants_what_controllers_do_with_the_established_kinds_and_no_more() {
    let xrd = xrd();
    let (definition, _) = Definition::read(&xrd).unwrap();
    let check = |roles: &[Role], expected: &[&str]| {
        let role = operator_role(&xrd, roles.iter().filter_map(|role| rules(&definition, *role)).flatten());
        assert_eq!(
            role["metadata"]["name"],
            "crossplane:composite:xapps.example.org:aggregate-to-crossplane"
        );
        assert!(object::is_controlled_by(&role, &xrd));
        assert_eq!(shown(&role), expected);
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

#[test]
fn users_get_the_rights_that_crossplane_gives_them() {
    let xrd = xrd();
    let (definition, _) = Definition::read(&xrd).unwrap();
    let check = |audience: Audience, labels: &str, expected: &[&str]| {
        let both = [Role::Composite, Role::Claim];
        let rules = both.iter().filter_map(|role| audience.rule(&definition, *role));
        let role = cluster_role(&xrd, audience.suffix(), audience.labels(), rules);
        let found = object::map(&role, &["metadata", "labels"]).unwrap().keys();
        let found: Vec<&str> =
            found.filter_map(|label| label.rsplit_once("aggregate-to-")).map(|label| label.1).collect();
        assert_eq!(found.join(" "), labels);
        assert_eq!(shown(&role), expected);
    };
    let edit = ["example.org xapps,xapps/status: *", "example.org apps,apps/status: *"];
    check(Audience::Edit, "admin edit ns-admin ns-edit", &edit);
    let view =
        ["example.org xapps,xapps/status: get,list,watch", "example.org apps,apps/status: get,list,watch"];
    check(Audience::View, "ns-view view", &view);
    check(Audience::Browse, "browse", &view[..1]);
}
