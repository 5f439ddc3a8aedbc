use serde_json::json;

use super::*;

#[test]
fn a_definition_is_served_once_established_and_never_if_its_names_are_taken() {
    let check = |conditions: Value, expected: Result<(), &str>| {
        let definition = json!({ "metadata": { "generation": 2 }, "status": { "conditions": conditions } });
        let found = match served(Some(&definition)) {
            Check::Met(()) => Ok(()),
            Check::NotYet(why) => Err(format!("not yet: {why}")),
            Check::Never(why) => Err(format!("never: {why}")),
        };
        assert_eq!(found, expected.map_err(str::to_owned), "{definition}");
    };
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status, "reason": "R" });
    check(json!([]), Err("not yet: there is no condition \"Established\" yet"));
    check(json!([condition("Established", "False")]), Err("not yet: condition \"Established\" is False (R)"));
    check(json!([condition("NamesAccepted", "True"), condition("Established", "True")]), Ok(()));
    check(
        json!([condition("NamesAccepted", "False"), condition("Established", "True")]),
        Err("never: condition \"NamesAccepted\" is False (R)"),
    );
    let stale = json!({ "type": "Established", "status": "True", "observedGeneration": 1 });
    check(json!([stale]), Err("not yet: the controller has observed generation 1 of 2"));
}
