//! The schema of a described kind: what a user may write, and what status shows.
//!
//! An absent field is left to the service and to other tools; a field that is present counts, including zero and the empty
//! string. Ranges are bounds in the schema rather than CEL rules: editors and `kubectl explain` read them there, and they
//! are cheap to check.

use kube::core::schema::StructuralSchemaRewriter;
use operations::{LegacyWorkRequestIds, Status};
use oraclecloud::Kind;
use oraclecloud::kind::{Field, JSON_DATA, Model, Shape};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::cel::escaped;

/// What a user asks for. Enumerations are closed, and what cannot change is refused.
pub(super) fn spec(kind: Kind) -> Value {
    let mut schema = object(kind, &kind.description().spec, Use::Request);
    let rules = rules(kind);
    if !rules.is_empty() {
        schema["x-kubernetes-validations"] = rules.into();
    }
    schema
}

/// The shared contract and the conditions, and the resource as it was last seen. A service may have new values, so
/// enumerations are open and nothing is required.
pub(super) fn status(kind: Kind) -> Value {
    let mut schema = derived::<Status>();
    let properties = schema["properties"].as_object_mut().expect("a struct has properties");
    if kind.legacy_work_request_ids {
        let ids = derived::<LegacyWorkRequestIds>();
        properties.extend(ids["properties"].as_object().cloned().unwrap_or_default());
    }
    let observed = properties_of(kind, &kind.description().status, Use::Response)
        .map(|(name, schema)| (observed_name(name).to_owned(), schema));
    properties.extend(observed.collect::<Map<_, _>>());
    schema
}

/// The name under which status shows a field of the service: those of the contract are taken, and OSOK renames them so.
pub(crate) fn observed_name(name: &str) -> &str {
    match name {
        "status" => "sdkStatus",
        "conditions" => "sdkConditions",
        "observedGeneration" => "sdkObservedGeneration",
        _ => name,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Request,
    Response,
}

fn object(kind: Kind, model: &Model, purpose: Use) -> Value {
    let mut properties: Map<String, Value> =
        properties_of(kind, model, purpose).map(|(name, schema)| (name.clone(), schema)).collect();
    let is_one_of_several =
        model.discriminator.is_some() && !std::ptr::eq(model, &raw const kind.description().spec);
    let is_implied = |name: &String, field: &Field| {
        model.discriminator.as_ref() == Some(name) && (is_one_of_several || field.default.is_some())
    };
    let required: Vec<&String> = model
        .iter()
        .filter(|(name, field)| (field.required || field.always) && !is_implied(name, field))
        .map(|(name, _)| name)
        .collect();
    if is_one_of_several && purpose == Use::Request {
        properties.entry(JSON_DATA).or_insert_with(|| json!({"type": "string"}));
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if purpose == Use::Request && !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The schemas of fields; a response shows no secret.
fn properties_of(kind: Kind, model: &Model, purpose: Use) -> impl Iterator<Item = (&String, Value)> {
    let fields =
        model.iter().filter(move |(_, field)| purpose == Use::Request || field.shape != Shape::Secret);
    fields.map(move |(name, field)| (name, described(kind, field, purpose)))
}

fn described(kind: Kind, field: &Field, purpose: Use) -> Value {
    let mut schema = shaped(kind, &field.shape, purpose);
    let bounds = [("minimum", field.minimum), ("maximum", field.maximum), ("minLength", field.min_length)];
    for (name, bound) in bounds.into_iter().filter_map(|(name, bound)| Some((name, bound?))) {
        schema[name] = json!(bound);
    }
    if let Some(doc) = &field.doc {
        schema["description"] = json!(doc);
    }
    schema
}

fn shaped(kind: Kind, shape: &Shape, purpose: Use) -> Value {
    match shape {
        Shape::Integer => json!({"type": "integer", "format": "int64"}),
        Shape::Number => json!({"type": "number", "format": "double"}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Time if purpose == Use::Request => json!({"type": "string", "format": "date-time"}),
        Shape::OneOf(values) if purpose == Use::Request => json!({"type": "string", "enum": values}),
        Shape::Text | Shape::Time | Shape::OneOf(_) => json!({"type": "string"}),
        Shape::Secret => secret(),
        Shape::Any => json!({"x-kubernetes-preserve-unknown-fields": true}),
        Shape::List(of) => json!({"type": "array", "items": shaped(kind, of, purpose)}),
        Shape::Map(of) => json!({"type": "object", "additionalProperties": shaped(kind, of, purpose)}),
        Shape::Model(name) => {
            let model = kind.model(name).expect("descriptions are checked when they are read");
            let mut schema = object(kind, model, purpose);
            if let Some(doc) = &model.doc {
                schema["description"] = json!(doc);
            }
            schema
        }
    }
}

/// A value in a Secret of the object's namespace, named as OSOK names it.
fn secret() -> Value {
    json!({
        "type": "object",
        "required": ["secret"],
        "properties": {"secret": {
            "type": "object",
            "required": ["secretName"],
            "properties": {"secretName": {"type": "string", "minLength": 1}},
        }},
    })
}

fn rules(kind: Kind) -> Vec<Value> {
    let noun = kind.noun();
    let spec = &kind.description().spec;
    let fixed: Vec<(&String, &Field)> = spec
        .iter()
        .filter(|(name, field)| {
            !field.update && (*name != "compartmentId" || !kind.can_move()) && is_scalar(&field.shape)
        })
        .collect();
    let is_exclusive = |name: &String| kind.exclusive.iter().flatten().any(|it| it == name);
    let exclusive = kind.exclusive.iter().map(|group| {
        let (first, second) = (&group[0], &group[1]);
        json!({
            "rule": format!("has(self.{}) != has(self.{})", escaped(first), escaped(second)),
            "message": format!("exactly one of {first} and {second} must be set"),
        })
    });
    let required = fixed.iter().filter(|(_, field)| field.required).map(|(name, _)| {
        let field = escaped(name);
        json!({
            "rule": format!("self.{field} == oldSelf.{field}"),
            "message": format!("{name} cannot be changed after the {noun} is created"),
            "fieldPath": format!(".{name}"),
        })
    });
    let optional = fixed.iter().filter(|(name, field)| !field.required && !is_exclusive(name));
    let optional = optional.map(|(name, _)| {
        let field = escaped(name);
        json!({
            "rule": format!("!has(oldSelf.{field}) || has(self.{field}) && self.{field} == oldSelf.{field}"),
            "message": format!("{name} can be neither changed nor removed after the {noun} is created"),
        })
    });
    let replaceable = fixed.iter().filter(|(name, field)| !field.required && is_exclusive(name));
    let replaceable = replaceable.map(|(name, _)| {
        let field = escaped(name);
        json!({
            "rule": format!("!has(oldSelf.{field}) || !has(self.{field}) || self.{field} == oldSelf.{field}"),
            "message": format!("{name} cannot be changed after the {noun} is created"),
            "fieldPath": format!(".{name}"),
        })
    });
    let own = kind.rules.iter().map(|rule| json!({"rule": rule.rule, "message": rule.message}));
    let of_types =
        spec.discriminator.iter().flat_map(|by| spec.keys().flat_map(|name| of_types(spec, by, name)));
    exclusive.chain(required).chain(optional).chain(replaceable).chain(of_types).chain(own).collect()
}

/// The rules of a field that not all types have, or that only some require.
fn of_types(spec: &Model, by: &str, name: &str) -> Vec<Value> {
    let with: Vec<(&str, bool)> = spec.variants_with(name).collect();
    let rule = |types: Vec<&str>, rule: fn(&str, &str) -> String, what: &str| {
        let type_field = escaped(by);
        let is_one =
            types.iter().map(|it| format!("self.{type_field} == '{it}'")).collect::<Vec<_>>().join(" || ");
        let is_one = format!("has(self.{type_field}) && ({is_one})");
        let message = format!("{name} is {what} if {by} is {}", types.join(" or "));
        (!types.is_empty()).then(|| json!({"rule": rule(&is_one, &escaped(name)), "message": message}))
    };
    let requiring = with.iter().filter(|(_, required)| *required).map(|(it, _)| *it).collect();
    let all =
        if with.len() < spec.variants.len() { with.iter().map(|(it, _)| *it).collect() } else { Vec::new() };
    let allowed = rule(all, |is_one, name| format!("!has(self.{name}) || {is_one}"), "allowed only");
    let needed = rule(requiring, |is_one, name| format!("has(self.{name}) || !({is_one})"), "required");
    allowed.into_iter().chain(needed).collect()
}

/// Whether comparing two values costs an API server next to nothing; other fields are compared by the controller.
const fn is_scalar(shape: &Shape) -> bool {
    !matches!(shape, Shape::Any | Shape::List(_) | Shape::Map(_) | Shape::Model(_) | Shape::Secret)
}

/// The schema of a Rust type, as Kubernetes wants it. Null is not allowed: it would bypass the rules that keep a field from
/// being removed. There are no defaults: those of Rust types would become fields that the user did not write. Number
/// formats are ones that Kubernetes knows, since it warns about others.
fn derived<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let generator = settings
        .with_transform(StructuralSchemaRewriter)
        .with_transform(kube::core::schema::OptionalEnum)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    polish(&mut schema);
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
    }
    schema
}

fn polish(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    schema.remove("nullable");
    schema.remove("default");
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
        schema.insert("format".to_owned(), json!("int64"));
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(name) {
            polish(below);
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(Map::values_mut).for_each(polish);
}
