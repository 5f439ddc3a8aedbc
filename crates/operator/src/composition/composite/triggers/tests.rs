use serde_json::json;

use super::*;

fn check(before: Option<Value>, after: Option<Value>, urgent: bool) {
    let key = Key { namespace: None, name: "a".to_owned() };
    let change = Change { key, before: before.map(Arc::new), after: after.map(Arc::new) };
    assert_eq!(is_beside_status(&change), urgent, "{change:?}");
}

#[test]
fn changes_beside_the_status_are_urgent() {
    let object = |version: &str, data: &str, status: &str| {
        Some(json!({
            "metadata": {"name": "a", "resourceVersion": version, "generation": version},
            "data": {"color": data}, "status": {"phase": status},
        }))
    };
    check(object("1", "blue", "new"), object("2", "blue", "old"), false);
    check(object("1", "blue", "new"), object("2", "red", "new"), true);
    check(None, object("1", "blue", "new"), false);
    check(object("1", "blue", "new"), None, true);
    let mut labelled = object("2", "blue", "new").unwrap();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    check(object("1", "blue", "new"), Some(labelled), true);
}
