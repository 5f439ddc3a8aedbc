//! Plans of the schema alone, as terraform-plugin-framework makes them.

use super::*;
use crate::schema::Nested;
use crate::testing::render;
use crate::types::Type;

fn schema() -> Schema {
    Schema::new()
        .attribute(Attribute::computed("id", Type::String).use_state_for_unknown())
        .attribute(Attribute::required("body", Type::String))
        .attribute(Attribute::optional("size", Type::Number).default_value(1))
        .attribute(Attribute::computed("digest", Type::String))
        .attribute(Attribute::optional("password", Type::String).write_only())
        .attribute(Attribute::optional_computed("zone", Type::String))
        .attribute(Attribute::optional(
            "target",
            Nested::single([
                Attribute::required("name", Type::String).requires_replace(),
                Attribute::optional("weight", Type::Number).default_value(5),
                Attribute::computed("uid", Type::String).use_state_for_unknown(),
            ]),
        ))
        .attribute(Attribute::optional(
            "ports",
            Nested::list([
                Attribute::required("port", Type::Number).requires_replace(),
                Attribute::computed("node_port", Type::Number),
            ]),
        ))
}

/// Plans as Terraform asks for it: the proposed new state is the configuration, with prior values for what is computed.
fn check(prior: Option<&[(&str, Value)]>, config: &[(&str, Value)], expected: &str, replaced: &[&str]) {
    let schema = schema();
    let complete = |entries: &[(&str, Value)]| {
        let object: Object = entries.iter().map(|(name, value)| (*name, value.clone())).collect();
        object.conform(&schema.ty()).unwrap()
    };
    let (prior, config) = (prior.map(complete), complete(config));
    let mut proposed = config.clone();
    for attribute in schema.attributes.iter().filter(|attribute| attribute.is_computed()) {
        if let (true, Some(prior)) = (config.get(&attribute.name).is_null(), &prior) {
            proposed.set(&attribute.name, prior.get(&attribute.name).clone());
        }
    }
    let plan = plan_by_schema(&schema, prior.as_ref(), &config, proposed);
    let known = plan.planned.iter().filter(|(_, value)| !value.is_null());
    let rendered: Vec<_> = known.map(|(name, value)| format!("{name}={}", render(value))).collect();
    assert_eq!(rendered.join(" "), expected);
    assert_eq!(plan.requires_replace.iter().map(Path::to_string).collect::<Vec<_>>(), replaced);
}

fn target(name: &str, weight: i64, uid: Value) -> Value {
    Object::from([("name", Value::from(name)), ("weight", weight.into()), ("uid", uid)]).into()
}

#[test]
fn a_create_leaves_computed_values_unknown() {
    check(None, &[("body", "x".into())], "body=\"x\" digest=unknown id=unknown size=1 zone=unknown", &[]);
    let named = Object::from([("name", "n")]);
    check(
        None,
        &[("body", "x".into()), ("zone", "a".into()), ("target", named.into())],
        r#"body="x" digest=unknown id=unknown size=1 target={"name": "n", "uid": unknown, "weight": 5} zone="a""#,
        &[],
    );
}

#[test]
fn without_a_change_nothing_becomes_unknown() {
    let prior = [
        ("id", "1".into()),
        ("body", "x".into()),
        ("size", 1.into()),
        ("digest", "d".into()),
        ("zone", "z".into()),
    ];
    let unchanged = r#"body="x" digest="d" id="1" size=1 zone="z""#;
    check(Some(&prior), &[("body", "x".into())], unchanged, &[]);
    // A write-only value is not part of the plan, so it is not a change either.
    check(Some(&prior), &[("body", "x".into()), ("password", "p".into())], unchanged, &[]);
}

#[test]
fn a_change_makes_computed_values_unknown_unless_they_use_the_state() {
    let prior = [
        ("id", "1".into()),
        ("body", "x".into()),
        ("size", 1.into()),
        ("digest", "d".into()),
        ("zone", "z".into()),
    ];
    check(
        Some(&prior),
        &[("body", "y".into())],
        r#"body="y" digest=unknown id="1" size=1 zone=unknown"#,
        &[],
    );
    check(
        Some(&prior),
        &[("body", Value::unknown()), ("size", 2.into()), ("zone", Value::unknown())],
        r#"body=unknown digest=unknown id="1" size=2 zone=unknown"#,
        &[],
    );
}

#[test]
fn plan_modifiers_apply_to_nested_attributes() {
    let prior = [("id", "1".into()), ("body", "x".into()), ("target", target("a", 5, "u".into()))];
    let renamed = Object::from([("name", "b")]);
    check(
        Some(&prior),
        &[("body", "x".into()), ("target", renamed.into())],
        r#"body="x" digest=unknown id="1" size=1 target={"name": "b", "uid": "u", "weight": 5} zone=unknown"#,
        &["target.name"],
    );
    // A new target changes its name, too, and has no uid to keep.
    let prior = [("id", "1".into()), ("body", "x".into())];
    let added = Object::from([("name", "b")]);
    check(
        Some(&prior),
        &[("body", "x".into()), ("target", added.into())],
        r#"body="x" digest=unknown id="1" size=1 target={"name": "b", "uid": unknown, "weight": 5} zone=unknown"#,
        &["target.name"],
    );
}

#[test]
fn elements_of_a_list_are_matched_by_position() {
    let port = |port: i64, node: Value| {
        Value::from(Object::from([("port", Value::from(port)), ("node_port", node)]))
    };
    let prior =
        [("body", "x".into()), ("ports", Value::from(vec![port(80, 30080.into()), port(81, 30081.into())]))];
    let config = vec![port(80, Value::Null), port(82, Value::Null), port(83, Value::Null)];
    check(
        Some(&prior),
        &[("body", "x".into()), ("ports", config.into())],
        r#"body="x" digest=unknown ports=[{"node_port": unknown, "port": 80}, {"node_port": unknown, "port": 82}, {"node_port": unknown, "port": 83}] size=1 zone=unknown"#,
        &["ports[1].port", "ports[2].port"],
    );
}
