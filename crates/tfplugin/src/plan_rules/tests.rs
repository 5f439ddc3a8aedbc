//! Each rule, with what satisfies and what violates it.

use super::*;
use crate::schema::{Attribute, Kind};
use crate::types::Type;
use crate::value::Refinement;

fn schema() -> Schema {
    let port = [Attribute::required("port", Type::Number), Attribute::computed("node", Type::Number)];
    Schema::new()
        .attribute(Attribute::computed("id", Type::String))
        .attribute(Attribute::required("body", Type::String))
        .attribute(Attribute::optional("label", Type::String))
        .attribute(Attribute::optional("args", Type::list(Type::String)))
        .attribute(Attribute::optional("tags", Type::set(Type::String)))
        .attribute(Attribute::optional("one", Kind::nested(port)))
        .attribute(Attribute::optional("map", Type::map(Type::Number)))
        .attribute(Attribute::computed("any", Type::Dynamic))
        .attribute(Attribute::optional("secret", Type::String).write_only())
}

type Entries<'e> = &'e [(&'e str, Value)];

fn object(entries: Entries<'_>) -> Object {
    entries
        .iter()
        .map(|(name, value)| (*name, value.clone()))
        .collect::<Object>()
        .conform(&schema().ty())
        .unwrap()
}

fn port(port: i64, node: impl Into<Value>) -> Value {
    Object::from([("port", Value::from(port)), ("node", node.into())]).into()
}

fn render(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(Violation::to_string).collect()
}

#[test]
fn a_plan_has_configured_or_prior_values() {
    let check = |prior: Option<Entries<'_>>, config: Entries<'_>, planned: Entries<'_>, expected: &[&str]| {
        let (prior, config, planned) = (prior.map(object), object(config), object(planned));
        let plan = Plan { planned: Some(&planned), requires_replace: &[] };
        assert_eq!(render(&check_plan(&schema(), prior.as_ref(), Some(&config), plan)), expected);
    };
    let x = || ("body", Value::from("x"));
    let null = Value::Null;

    // As configured, or computed and not configured.
    check(None, &[x()], &[x()], &[]);
    check(None, &[x()], &[x(), ("id", Value::unknown()), ("any", Value::unknown())], &[]);
    check(None, &[("body", Value::unknown())], &[("body", Value::unknown_with(Refinement::not_null()))], &[]);
    check(None, &[("body", "e\u{301}".into())], &[("body", "é".into())], &[]);
    check(None, &[x(), ("tags", Value::set(["a".into()]))], &[x(), ("tags", Value::set(["a".into()]))], &[]);

    // As in the prior state: a mere change of formatting.
    check(Some(&[("body", " x".into())]), &[x()], &[("body", " x".into())], &[]);
    check(
        Some(&[]),
        &[x()],
        &[("body", null.clone())],
        &["body: a configured attribute is planned as configured or as in the prior state"],
    );

    // Neither.
    let as_configured = "a configured attribute is planned as configured or as in the prior state";
    check(None, &[x()], &[("body", "y".into())], &[&format!("body: {as_configured}")]);
    check(None, &[x()], &[("body", Value::unknown())], &[&format!("body: {as_configured}")]);
    check(None, &[("body", Value::unknown())], &[x()], &[&format!("body: {as_configured}")]);
    check(
        None,
        &[x()],
        &[x(), ("label", "l".into())],
        &["label: an attribute that is neither configured nor computed is null in a plan"],
    );

    // A write-only value is in the configuration only.
    check(None, &[x(), ("secret", "s".into())], &[x()], &[]);
    check(
        None,
        &[x(), ("secret", "s".into())],
        &[x(), ("secret", "s".into())],
        &["secret: a write-only attribute is null in a plan"],
    );

    // Nested attributes are checked one by one.
    let (open, unknown) = (|| port(1, Value::Null), || port(1, Value::unknown()));
    check(None, &[x(), ("one", open())], &[x(), ("one", unknown())], &[]);
    check(
        None,
        &[x(), ("one", open())],
        &[x(), ("one", Value::unknown())],
        &["one: a configured nested attribute is not wholly unknown"],
    );
    check(
        None,
        &[x(), ("one", open())],
        &[x(), ("one", port(2, 3))],
        &[&format!("one.port: {as_configured}")],
    );
}

#[test]
fn a_resource_is_planned_if_it_is_configured() {
    let some = object(&[("body", "x".into())]);
    let check = |config, planned, paths: &[Path], expected: &[&str]| {
        let plan = Plan { planned, requires_replace: paths };
        assert_eq!(render(&check_plan(&schema(), Some(&some), config, plan)), expected);
    };
    check(None, None, &[], &[]);
    check(None, Some(&some), &[], &["the resource: a destroy has no planned state"]);
    check(Some(&some), None, &[], &["the resource: a configured resource has a planned state"]);
    check(Some(&some), Some(&some), &[Path::of("one").attribute("port")], &[]);
    check(
        Some(&some),
        Some(&some),
        &[Path::of("bodi")],
        &["bodi: only an attribute of the schema can require a replacement"],
    );
    let misshapen = Object::from([("body", 1)]);
    check(
        Some(&some),
        Some(&misshapen),
        &[],
        &["body: a value has the type of its schema: expected a string, found a number"],
    );
}

#[test]
fn an_apply_returns_what_was_planned() {
    let check = |planned: Option<Entries<'_>>, state: Option<Entries<'_>>, expected: &str| {
        let (planned, state) = (planned.map(object), state.map(object));
        let violations = check_apply(&schema(), planned.as_ref(), state.as_ref());
        assert_eq!(render(&violations).join("; "), expected);
    };
    let one = |name: &'static str, value: Value| vec![(name, value)];
    check(None, None, "");
    check(None, Some(&[]), "the resource: a destroyed resource has no state");
    check(Some(&[]), None, "the resource: a created or updated resource has a state");
    check(Some(&one("id", Value::unknown())), Some(&one("id", "1".into())), "");
    check(Some(&one("id", Value::unknown())), Some(&[]), "");
    check(
        Some(&one("id", Value::unknown_with(Refinement::prefix("a-")))),
        Some(&one("id", "b".into())),
        "id: an unknown value becomes one that its refinement allows",
    );
    check(
        Some(&one("id", "1".into())),
        Some(&one("id", Value::unknown())),
        "id: nothing is unknown in a state; id: a known planned value stays known",
    );
    check(
        Some(&one("id", Value::unknown())),
        Some(&one("id", Value::unknown())),
        "id: nothing is unknown in a state",
    );
    check(Some(&one("body", "e\u{301}".into())), Some(&one("body", "é".into())), "");
    check(
        Some(&one("body", "x".into())),
        Some(&one("body", "y".into())),
        "body: a known planned value does not change",
    );
    let args = |texts: &[&str]| one("args", texts.to_vec().into());
    check(Some(&args(&["a"])), Some(&args(&["a", "b"])), "args: elements are neither added nor removed");
    check(
        Some(&args(&["a", "b"])),
        Some(&args(&["a", "c"])),
        "args[1]: a known planned value does not change",
    );
    check(Some(&one("args", Value::unknown())), Some(&args(&["a", "b"])), "");
    let map = |number: i64| one("map", Object::from([("a.b", number)]).into());
    check(Some(&map(1)), Some(&map(2)), "map[\"a.b\"]: a known planned value does not change");
    check(
        Some(&map(1)),
        Some(&one("map", Object::new().into())),
        "map: elements are neither added nor removed",
    );
    let tags = |values: Vec<Value>| one("tags", Value::set(values));
    check(
        Some(&tags(vec![Value::unknown(), Value::unknown(), "a".into()])),
        Some(&tags(vec!["a".into(), "b".into()])),
        "",
    );
    check(
        Some(&tags(vec!["a".into()])),
        Some(&tags(vec!["b".into()])),
        "tags: elements of a set are neither added nor removed",
    );
    check(
        Some(&tags(vec!["a".into()])),
        Some(&tags(vec!["a".into(), "b".into()])),
        "tags: elements of a set are neither added nor removed",
    );
    let any = |value: Value| one("any", Value::dynamic(value));
    check(Some(&any(1.into())), Some(&any(1.into())), "");
    check(Some(&any(1.into())), Some(&any("1".into())), "any: a known planned value does not change");
    check(Some(&one("any", Value::unknown())), Some(&any("1".into())), "");
}

#[test]
fn a_state_is_wholly_known() {
    let check = |state: Entries<'_>, expected: &str| {
        assert_eq!(render(&check_read(&schema(), &object(state))).join("; "), expected);
    };
    check(&[("body", "x".into())], "");
    check(&[("one", port(1, Value::unknown()))], "one.node: nothing is unknown in a state");
    check(&[("args", vec![Value::unknown()].into())], "args[0]: nothing is unknown in a state");
}
