use composition::naming::COMPOSED_MANAGER_PREFIX;
use serde_json::json;

use super::*;

fn check(scope: &Scope, namespace: Option<&str>, labels: Option<&str>, fields: Option<&str>) {
    let selection = scope.source().selection;
    assert_eq!(selection.namespace.as_ref().map(Namespace::as_str), namespace);
    assert_eq!((selection.labels.as_deref(), selection.fields.as_deref()), (labels, fields));
}

fn required(namespace: Option<&str>, matching: Match) -> Scope {
    let selector = ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        matching,
        namespace: namespace.map(str::to_owned),
    };
    Scope::required(&selector).unwrap()
}

#[test]
fn of_a_composed_resource_only_the_managed_fields_of_engines_are_kept() {
    let share = |manager: &str| {
        json!({
            "manager": manager, "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}},
        })
    };
    let engine = format!("{COMPOSED_MANAGER_PREFIX}/1a");
    let mut map = json!({"metadata": {"name": "a", "managedFields": [share("kubectl"), share(&engine)]}});
    let trim = Scope::composed(&child("v1/ConfigMap")).source().trim;
    trim(&mut map);
    let kept = json!([{
        "manager": engine, "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": r#"{"f:data":{"f:a":{}}}"#,
    }]);
    assert_eq!(map, json!({"metadata": {"name": "a", "managedFields": kept}}));
    let mut theirs = json!({"metadata": {"name": "a", "managedFields": [share("kubectl")]}});
    trim(&mut theirs);
    assert_eq!(theirs, json!({"metadata": {"name": "a"}}));
}

fn child(kind: &str) -> ObjectRef {
    ObjectRef::new(kind.parse().unwrap(), Namespace::new("shop"), "a")
}

#[test]
fn no_more_is_watched_than_is_needed() {
    let maps: GroupVersionKind = "v1/ConfigMap".parse().unwrap();
    check(&Scope::whole(maps), None, None, None);
    check(&Scope::composed(&child("v1/ConfigMap")), None, Some("crossplane.io/composite"), None);
    check(&Scope::composed(&child("v1/Secret")), Some("shop"), None, Some("metadata.name=a"));
    check(&required(Some("shop"), Match::Name("a".to_owned())), Some("shop"), None, Some("metadata.name=a"));
    let labels = [("a", "1"), ("b", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    check(&required(None, Match::Labels(BTreeMap::from(labels))), None, Some("a=1,b=2"), None);
    check(&required(Some(""), Match::All), None, None, None);
}
