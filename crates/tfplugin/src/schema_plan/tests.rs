//! Plans of the schema alone, as terraform-plugin-framework makes them.

use super::*;
use crate::testing::render;
use crate::types::Type;

fn schema() -> Schema {
    Schema::new()
        .attribute(Attribute::computed("id", Type::String).use_state_for_unknown())
        .attribute(Attribute::required("body", Type::String))
        .attribute(Attribute::optional("size", Type::Number))
        .attribute(Attribute::computed("digest", Type::String))
        .attribute(Attribute::optional("password", Type::String).write_only())
        .attribute(Attribute::optional(
            "target",
            Kind::nested([
                Attribute::required("name", Type::String).requires_replace(),
                Attribute::optional("weight", Type::Number),
                Attribute::computed("uid", Type::String).use_state_for_unknown(),
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

#[test]
fn a_create_leaves_computed_values_unknown() {
    check(None, &[("body", "x".into())], "body=\"x\" digest=unknown id=unknown", &[]);
    let named = Object::from([("name", "n")]);
    check(
        None,
        &[("body", "x".into()), ("size", 1.into()), ("target", named.into())],
        r#"body="x" digest=unknown id=unknown size=1 target={"name": "n", "uid": unknown, "weight": null}"#,
        &[],
    );
}

#[test]
fn without_a_change_nothing_becomes_unknown() {
    let prior = [("id", "1".into()), ("body", "x".into()), ("size", 1.into()), ("digest", "d".into())];
    let config = [("body", "x".into()), ("size", 1.into())];
    check(Some(&prior), &config, r#"body="x" digest="d" id="1" size=1"#, &[]);
    // A write-only value is not part of the plan, so it is not a change either.
    let config = [("body", "x".into()), ("size", 1.into()), ("password", "p".into())];
    check(Some(&prior), &config, r#"body="x" digest="d" id="1" size=1"#, &[]);
}

#[test]
fn a_change_makes_computed_values_unknown_unless_they_use_the_state() {
    let prior = [("id", "1".into()), ("body", "x".into()), ("size", 1.into()), ("digest", "d".into())];
    let config = [("body", "y".into()), ("size", 1.into())];
    check(Some(&prior), &config, r#"body="y" digest=unknown id="1" size=1"#, &[]);
    let config = [("body", Value::unknown()), ("size", Value::unknown())];
    check(Some(&prior), &config, r#"body=unknown digest=unknown id="1" size=unknown"#, &[]);
}

#[test]
fn plan_modifiers_apply_to_nested_attributes() {
    let target = Object::from([("name", Value::from("a")), ("weight", 5.into()), ("uid", "u".into())]);
    let prior = [("id", "1".into()), ("body", "x".into()), ("target", target.into())];
    let renamed = Object::from([("name", Value::from("b")), ("weight", 5.into())]);
    check(
        Some(&prior),
        &[("body", "x".into()), ("target", renamed.into())],
        r#"body="x" digest=unknown id="1" target={"name": "b", "uid": "u", "weight": 5}"#,
        &["target.name"],
    );
    // A new target changes its name, too, and has no uid to keep.
    let prior = [("id", "1".into()), ("body", "x".into())];
    let added = Object::from([("name", "b")]);
    check(
        Some(&prior),
        &[("body", "x".into()), ("target", added.into())],
        r#"body="x" digest=unknown id="1" target={"name": "b", "uid": unknown, "weight": null}"#,
        &["target.name"],
    );
    // Where the configuration is unknown, so is the plan, whatever the state holds.
    check(
        Some(&prior),
        &[("body", "x".into()), ("target", Value::unknown())],
        r#"body="x" digest=unknown id="1" target=unknown"#,
        &[],
    );
}
