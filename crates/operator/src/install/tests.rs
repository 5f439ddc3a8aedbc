use serde_json::json;

use super::*;

#[test]
fn a_definition_is_served_once_established_and_never_if_its_names_are_taken() {
    let check = |conditions: Value, expected: Serving| {
        let definition = json!({ "status": { "conditions": conditions } });
        assert_eq!(Serving::of(&definition), expected, "{definition}");
    };
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "message": kind });
    check(json!([]), Serving::NotYet("the API server has not processed it yet".to_owned()));
    check(json!([condition("Established", "False")]), Serving::NotYet("Established".to_owned()));
    check(json!([condition("NamesAccepted", "True"), condition("Established", "True")]), Serving::Served);
    check(
        json!([condition("NamesAccepted", "False"), condition("Established", "True")]),
        Serving::Never("NamesAccepted".to_owned()),
    );
}
