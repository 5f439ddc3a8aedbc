use serde_json::json;

use super::*;
use crate::object::object;

fn xrd(api_version: &str, change: impl Fn(&mut Value)) -> Object {
    let mut xrd = json!({
        "apiVersion": format!("apiextensions.crossplane.io/{api_version}"), "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xdatabases.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"plural": "xdatabases", "kind": "XDatabase"},
            "versions": [{"name": "v1", "served": true, "referenceable": true,
                          "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    change(&mut xrd);
    object(xrd)
}

fn findings(object: &Object) -> String {
    let found = match Definition::read(object) {
        Ok((_, warnings)) => warnings,
        Err(errors) => errors,
    };
    let line = |d: &Diagnostic| {
        let field = d.field.as_deref().unwrap_or("-");
        format!("{} [{}] {field}: {}", d.severity.word(), d.code, d.summary)
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_scope_defaults_by_version() {
    let check = |version: &str, scope: Option<&str>, expected: Scope| {
        let object = xrd(version, |xrd| {
            if let Some(scope) = scope {
                xrd["spec"]["scope"] = scope.into();
            }
        });
        assert_eq!(Definition::read(&object).unwrap().0.scope, expected, "{version} {scope:?}");
    };
    check("v1", None, Scope::LegacyCluster);
    check("v1", Some("Cluster"), Scope::Cluster);
    check("v2", None, Scope::Namespaced);
    check("v2", Some("Cluster"), Scope::Cluster);
    // A v1 object read through v2 can still show it.
    check("v2", Some("LegacyCluster"), Scope::LegacyCluster);
    assert_eq!(Scope::LegacyCluster.layout(), Layout::Legacy);
    assert_eq!(Scope::Namespaced.layout(), Layout::Modern);
}

#[test]
fn types_are_those_of_the_referenceable_version() {
    let object = xrd("v1", |xrd| {
        xrd["spec"]["claimNames"] = json!({"plural": "databases", "kind": "Database"});
        let mut old = xrd["spec"]["versions"][0].clone();
        old["name"] = "v1alpha1".into();
        old["referenceable"] = false.into();
        xrd["spec"]["versions"].as_array_mut().unwrap().insert(0, old);
    });
    let (definition, _) = Definition::read(&object).unwrap();
    assert_eq!(definition.composite.to_string(), "example.org/v1/XDatabase");
    assert_eq!(definition.claim.unwrap().to_string(), "example.org/v1/Database");
}

#[test]
fn names_that_make_no_kind_are_refused() {
    let slash =
        xrd("v1", |xrd| xrd["spec"]["claimNames"] = json!({"plural": "databases", "kind": "My/Database"}));
    insta::assert_snapshot!(findings(&slash), @r#"error [definition-names] spec.claimNames.kind: "My/Database" of "example.org/v1" is not a kind: the kind has a slash"#);
}

#[test]
fn findings_name_the_field() {
    insta::assert_snapshot!(findings(&xrd("v1", |_| {})), @"");
    let broken = xrd("v2", |xrd| {
        xrd["metadata"]["name"] = "wrong".into();
        xrd["spec"]["names"]["plural"] = "xDatabases".into();
        xrd["spec"]["claimNames"] = json!({"plural": "databases", "kind": "XDatabase"});
        xrd["spec"]["connectionSecretKeys"] = json!(["password"]);
        xrd["spec"]["conversion"] = json!({"strategy": "None"});
        let version = json!({"name": "v1", "served": true, "referenceable": true, "deprecationWarning": "x".repeat(257)});
        xrd["spec"]["versions"].as_array_mut().unwrap().push(version);
    });
    insta::assert_snapshot!(findings(&broken), @r#"
    error [definition-name] metadata.name: the name "wrong" is not "xDatabases.example.org"
    error [definition-names] spec.names.plural: the plural name "xDatabases" is not lower case
    error [definition-names] spec.claimNames.kind: "XDatabase" is already the name of the XR
    error [definition-scope] spec.claimNames: claims exist only with scope LegacyCluster, not Namespaced
    error [definition-scope] spec.connectionSecretKeys: connection secrets exist only with scope LegacyCluster, not Namespaced
    error [definition-versions] spec.versions[1].name: duplicate version "v1"
    error [definition-versions] spec.versions[1].deprecationWarning: the deprecation warning is longer than 256 characters
    error [definition-schema] spec.versions[1].schema: version "v1" has no schema
    error [definition-versions] spec.versions: exactly one version must be referenceable, found 2
    error [definition-conversion] spec.conversion: a conversion needs strategy Webhook and a webhook
    "#);
}

#[test]
fn groups_of_kubernetes_are_refused() {
    let check = |group: &str, is_refused: bool| {
        let found = findings(&xrd("v2", |xrd| {
            xrd["metadata"]["name"] = format!("xdatabases.{group}").into();
            xrd["spec"]["group"] = group.into();
        }));
        let refusal =
            format!("error [definition-group] spec.group: the group {group:?} belongs to Kubernetes");
        assert_eq!(found, if is_refused { refusal } else { String::new() });
    };
    for group in
        ["apps", "batch", "k8s.io", "rbac.authorization.k8s.io", "kubernetes.io", "new.kubernetes.io"]
    {
        check(group, true);
    }
    for group in ["example.org", "myk8s.io", "k8s.io.example.org", "database.mykubernetes.io"] {
        check(group, false);
    }
}

#[test]
fn keywords_without_effect_are_warned_of() {
    let object = xrd("v2", |xrd| {
        xrd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({
            "type": "object", "description": "kept", "anyOf": [],
            "properties": {
                "spec": {"type": "object", "oneOf": [], "additionalProperties": true},
                "status": {"x-kubernetes-preserve-unknown-fields": true},
            },
        });
    });
    insta::assert_snapshot!(findings(&object), @r"
    warning [definition-schema-dropped] spec.versions[0].schema.openAPIV3Schema.anyOf: anyOf has no effect here
    warning [definition-schema-dropped] spec.versions[0].schema.openAPIV3Schema.properties.spec.additionalProperties: additionalProperties has no effect here
    warning [definition-schema-dropped] spec.versions[0].schema.openAPIV3Schema.properties.status.x-kubernetes-preserve-unknown-fields: x-kubernetes-preserve-unknown-fields has no effect here
    ");
}

#[test]
fn unreadable_fields_are_named_by_their_path() {
    insta::assert_snapshot!(findings(&xrd("v1", |xrd| xrd["spec"]["versions"][0]["served"] = "yes".into())), @r#"error [composition-unreadable] spec.versions[0].served: cannot read spec.versions[0].served: invalid type: string "yes", expected a boolean"#);
    insta::assert_snapshot!(findings(&xrd("v1", |xrd| xrd["spec"]["scope"] = "Galaxy".into())), @"error [composition-unreadable] spec.scope: cannot read spec.scope: unknown variant `Galaxy`, expected one of `Namespaced`, `Cluster`, `LegacyCluster`");
    insta::assert_snapshot!(findings(&xrd("v3", |_| {})), @r#"error [composition-wrong-kind] -: expected a CompositeResourceDefinition, found "CompositeResourceDefinition" of "apiextensions.crossplane.io/v3""#);
}

#[test]
fn an_invalid_xrd_still_says_what_it_has_defined() {
    let check = |change: fn(&mut Value), expected: Option<(&str, Option<&str>)>| {
        let object = xrd("v1", |xrd| {
            xrd["spec"]["claimNames"] = json!({"plural": "databases", "kind": "Database"});
            change(xrd);
        });
        assert!(Definition::read(&object).is_err(), "{object:?}");
        let salvaged = Definition::salvaged(&object);
        let kinds = salvaged.map(|it| (it.composite.to_string(), it.claim.map(|claim| claim.to_string())));
        let expected = expected.map(|(xr, claim)| (xr.to_owned(), claim.map(str::to_owned)));
        assert_eq!(kinds, expected, "{object:?}");
    };
    let both = Some(("example.org/v1/XDatabase", Some("example.org/v1/Database")));
    check(|xrd| xrd["spec"]["versions"][0]["referenceable"] = false.into(), both);
    check(|xrd| xrd["spec"]["versions"][0]["schema"] = Value::Null, both);
    check(|xrd| xrd["spec"]["versions"] = json!("none"), both);
    check(|xrd| xrd["spec"]["defaultCompositionUpdatePolicy"] = json!("Never"), both);
    // Added to an XRD that had none.
    let no_claim = Some(("example.org/v1/XDatabase", None));
    check(|xrd| xrd["spec"]["claimNames"]["plural"] = "xdatabases".into(), no_claim);
    check(|xrd| xrd["spec"]["group"] = "apps.k8s.io".into(), None);
    check(|xrd| xrd["metadata"]["name"] = "others.example.org".into(), None);
    check(|xrd| xrd["spec"] = Value::Null, None);
}
