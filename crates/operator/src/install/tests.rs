use serde_json::json;

use super::*;

#[test]
fn a_definition_is_served_once_established_and_never_if_its_names_are_taken() {
    let check = |conditions: Value, expected: Check<()>| {
        let definition = json!({ "status": { "conditions": conditions } });
        assert_eq!(served(Some(&definition)), expected, "{definition}");
    };
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "message": kind });
    check(json!([]), Check::NotYet("the API server has not processed it yet".to_owned()));
    check(json!([condition("Established", "False")]), Check::NotYet("Established".to_owned()));
    check(json!([condition("NamesAccepted", "True"), condition("Established", "True")]), Check::Met(()));
    check(
        json!([condition("NamesAccepted", "False"), condition("Established", "True")]),
        Check::Never("NamesAccepted".to_owned()),
    );
}
