use serde_json::{Value, json};

use super::*;
use crate::composite::Layout;
use crate::object::object;

fn account_of(
    layout: Layout,
    xr: Value,
    named: Option<&str>,
    default: Option<&str>,
) -> Result<Option<String>, InvalidAccount> {
    let (xr, annotations) = (object(xr), json!({ANNOTATION_SERVICE_ACCOUNT: named}));
    let composition = object(json!({"kind": "Composition", "metadata": {"annotations": annotations}}));
    let found = ServiceAccount::of(Composite::new(&xr, layout), Some(&composition), default)?;
    Ok(found.map(|account| account.user()))
}

#[test]
fn the_account_is_of_the_namespace_that_an_xr_serves() {
    let namespaced = || json!({"metadata": {"name": "x", "namespace": "team"}});
    let labelled = || json!({"metadata": {"name": "x", "labels": {LABEL_CLAIM_NAMESPACE: "team"}}});
    let claimed = || {
        let claim = json!({"apiVersion": "example.org/v1", "kind": "App", "namespace": "team", "name": "c"});
        json!({"metadata": {"name": "x"}, "spec": {"claimRef": claim}})
    };
    let user = |name: &str| Ok(Some(format!("system:serviceaccount:team:{name}")));
    for (layout, xr) in
        [(Layout::Modern, namespaced as fn() -> Value), (Layout::Legacy, claimed), (Layout::Legacy, labelled)]
    {
        assert_eq!(account_of(layout, xr(), None, None), Ok(None));
        assert_eq!(account_of(layout, xr(), None, Some("composer")), user("composer"));
        assert_eq!(account_of(layout, xr(), Some("dba"), Some("composer")), user("dba"));
        assert_eq!(account_of(layout, xr(), Some("dba"), None), user("dba"));
    }
    // An XR that serves no namespace is composed by the operator itself.
    assert_eq!(
        account_of(Layout::Modern, json!({"metadata": {"name": "x"}}), Some("dba"), Some("composer")),
        Ok(None)
    );
}

#[test]
fn no_name_leads_to_another_namespace() {
    let check = |namespace: &str, name: &str| {
        let claim =
            json!({"apiVersion": "example.org/v1", "kind": "App", "namespace": namespace, "name": "c"});
        let xr = json!({"metadata": {"name": "x"}, "spec": {"claimRef": claim}});
        let account = ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() };
        assert_eq!(account_of(Layout::Legacy, xr, Some(name), None), Err(InvalidAccount(account)));
    };
    for wrong in
        ["kube-system:admin", "A", "a b", "-a", "a.", "a\nImpersonate-Group: system:masters", "\u{e4}"]
    {
        check("team", wrong);
        check(wrong, "composer");
    }
    let account = ServiceAccount { namespace: "team".to_owned(), name: "A".to_owned() };
    insta::assert_snapshot!(InvalidAccount(account), @"team/A is not the namespace and name of a ServiceAccount. Correct the annotation plimsoll.dev/service-account, the flag or the XR");
}
