//! Generates the configuration of an imported object: what its author wrote, as far as the API server can tell.
//!
//! A default is what a dry-run create without the field returns. Such a dry run asks for the defaults of all fields at once:
//! those that come back as they are were defaults, the others have to be written.

mod authored;

use cluster::{Error, Session, Write};
use diag::Diagnostic;
use fields::{FieldPath, FieldSet, ListKind, PathElement, Positions, Schema, Shape};
use manifest::ObjectRef;
use ownership::Observed;
use plan::allocated;
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::provider::{GenerateRequest, GenerateResponse};
use tfplugin::value::Value;

use super::{MANAGER, NO_CLIENT, attributes, schema};
use crate::codes;
use crate::context::Context;

/// The most dry runs for one object.
const ROUNDS: usize = 12;

pub(super) async fn generate(context: &Context, request: GenerateRequest) -> GenerateResponse {
    // Generated configuration has no credentials.
    let own = request.state.get("cluster").clone();
    let state = request.state.with("cluster", Value::Null).with("delete_protection", Value::Null);
    let mut config = schema::schema().configurable(state.clone());
    let mut diagnostics = Diagnostics::new();
    if let Some(body) = attributes::body(&state) {
        let target = attributes::target(&state).unwrap_or_else(|| body.presumed_target());
        if !own.is_null() {
            diagnostics.add(connection_omitted(&target));
        }
        let cluster = context.known_cluster(&own, NO_CLIENT);
        let live = match &cluster {
            Ok(cluster) => cluster.session().read(&target).await.ok().flatten(),
            Err(_) => None,
        };
        let live = live.and_then(|live| Observed::new(live.object).ok());
        let written = authored::part_of(body.value, live.as_ref());
        let reduced = match cluster {
            Ok(cluster) => without_defaults(cluster.session(), &target, &written).await,
            Err(error) => Err(error),
        };
        let written = reduced.unwrap_or_else(|why| {
            diagnostics.add(kept(&target, &why));
            written
        });
        config.set("yaml_body", manifest::to_yaml(&written));
    }
    GenerateResponse { config: Some(config), diagnostics }
}

/// The body without the fields that the API server would set to the same values.
async fn without_defaults(
    session: &Session,
    target: &ObjectRef,
    body: &Json,
) -> Result<Json, Box<Diagnostic>> {
    let schema = Schema::of(body);
    let mut probe = Probe::new(body, &schema);
    // Another name: the object itself exists.
    let probed = ObjectRef::new(target.gvk.clone(), target.namespace.clone(), probe_name(&target.name));
    for _ in 0..ROUNDS {
        let mut named = probe.sent();
        named["metadata"]["name"] = probed.name.as_str().into();
        match session.create(&probed, &named, Write::by(MANAGER).dry_run()).await {
            Ok(reply) if probe.keep_changed(&reply.object) => {}
            Ok(_) => {
                let mut written = probe.reduced();
                without_key_defaults(&mut written, schema.root());
                return Ok(written);
            }
            Err(error) if probe.keep_required(&error) => {}
            Err(error) => return Err(Box::new(error.diagnostic("Generate"))),
        }
    }
    Err(Box::new(Diagnostic::error(codes::DEFAULTS_KEPT, "the defaults depend on each other")))
}

fn probe_name(name: &str) -> String {
    let stem: String = name.chars().take(40).collect();
    format!("{}-defaults", stem.trim_end_matches(['-', '.']))
}

/// A body, and which of its fields are no defaults.
struct Probe<'a> {
    body: &'a Json,
    schema: &'a Schema,
    kept: FieldSet,
    /// What only one object can have at a time: the addresses and ports of the Service itself.
    reserved: FieldSet,
}

impl<'a> Probe<'a> {
    fn new(body: &'a Json, schema: &'a Schema) -> Self {
        let is_reserved = |path: &FieldPath| {
            let is_headless = fields::value_at(body, path, schema).is_some_and(says_none);
            allocated::is_allocated(body, path) && !is_headless
        };
        let reserved =
            fields::written(body, schema).leaves().paths().into_iter().filter(is_reserved).collect();
        Self { body, schema, kept: FieldSet::new(), reserved }
    }

    /// The fields that may be defaults: everything below `spec` and its like, except the keys of lists.
    fn candidates(&self) -> Vec<FieldPath> {
        let leaves = fields::written(self.body, self.schema).leaves().paths();
        let is_candidate = |path: &FieldPath| {
            let first = path.elements().first().and_then(PathElement::as_field);
            let is_own = matches!(first, None | Some("apiVersion" | "kind" | "metadata"));
            !is_own && !is_key(path) && !self.reserved.contains(path)
        };
        leaves.into_iter().filter(is_candidate).collect()
    }

    /// The candidates that the next dry run omits.
    fn removed(&self) -> Vec<FieldPath> {
        self.candidates().into_iter().filter(|path| !self.kept.contains(path)).collect()
    }

    /// The body with what is kept only.
    fn reduced(&self) -> Json {
        self.without(&FieldSet::new())
    }

    /// The same for a dry run beside the object itself.
    fn sent(&self) -> Json {
        self.without(&self.reserved)
    }

    fn without(&self, fields: &FieldSet) -> Json {
        let all = fields::written(self.body, self.schema).leaves();
        let removed: FieldSet = self.removed().into_iter().collect();
        let rest = all.recursive_difference(&removed).recursive_difference(fields).with_merge_keys();
        fields::project(self.body, &rest, self.schema)
    }

    /// Keeps the removed fields that `answer` does not have as the body has them; returns whether there are any.
    fn keep_changed(&mut self, answer: &Json) -> bool {
        let removed = self.removed().into_iter();
        let changed: Vec<FieldPath> = removed
            .filter(|path| {
                let value = |object| fields::value_at(object, path, self.schema);
                value(answer) != value(self.body)
            })
            .collect();
        for path in &changed {
            self.kept.insert(path);
        }
        !changed.is_empty()
    }

    /// Keeps the fields that the API server requires; returns whether there are any that were removed.
    fn keep_required(&mut self, error: &Error) -> bool {
        let Some(status) = error.status() else { return false };
        let positions = Positions::of(self.body, self.schema);
        let removed = self.removed();
        let causes: Vec<&str> = status.details.causes.iter().map(|cause| cause.field.as_str()).collect();
        // The server may name a field that the body does not have: then keep what is at the same place, as close as there is.
        let at = |fields: &[&str]| -> Vec<&FieldPath> {
            let is_named = |path: &&FieldPath| {
                let text = positions.print(path);
                fields.iter().any(|field| is_at_or_below(&text, field))
            };
            removed.iter().filter(is_named).collect()
        };
        let mut fields: Vec<&str> = causes;
        let mut named = at(&fields);
        while named.is_empty() && fields.iter().any(|field| !field.is_empty()) {
            fields = fields.into_iter().map(above).collect();
            named = at(&fields);
        }
        if named.is_empty() {
            named = removed.iter().collect();
        }
        let any = !named.is_empty();
        for path in named {
            self.kept.insert(path);
        }
        any
    }
}

/// Whether this is the address of a headless Service, or the list of it.
fn says_none(address: &Json) -> bool {
    *address == "None" || address.as_array().is_some_and(|all| all.iter().any(says_none))
}

/// Whether the field is part of the key of its list item. Without keys there would be no items.
fn is_key(path: &FieldPath) -> bool {
    match path.elements() {
        [.., PathElement::Key(key), PathElement::Field(name)] => key.get(name).is_some(),
        _ => false,
    }
}

/// The body without key fields that have their default, such as the protocol of a port.
fn without_key_defaults(body: &mut Json, shape: Shape<'_>) {
    match body {
        Json::Object(fields) => {
            fields.iter_mut().for_each(|(name, value)| without_key_defaults(value, shape.field(name)));
        }
        Json::Array(items) => {
            let keys = if let ListKind::Keyed(keys) = shape.list_kind() { keys } else { &[] };
            for item in items {
                without_key_defaults(item, shape.element());
                let Some(fields) = item.as_object_mut() else { continue };
                for key in keys.iter().filter(|key| key.default.is_some()) {
                    if fields.get(&*key.name) == key.default.as_ref() {
                        fields.remove(&*key.name);
                    }
                }
            }
        }
        _ => {}
    }
}

/// The field that has `field`, as text; empty for a field of the object itself.
fn above(field: &str) -> &str {
    field.rfind(['.', '[']).map_or("", |end| &field[..end])
}

/// Whether the field `path` is `field` or part of it, both as text.
fn is_at_or_below(path: &str, field: &str) -> bool {
    !field.is_empty()
        && path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn connection_omitted(target: &ObjectRef) -> Diagnostic {
    Diagnostic::warning(codes::CONNECTION_OMITTED, "Connection Left Out")
        .detail(format!(
            "The import id of {target} has a context, so its connection is not the provider's. The configuration has no \
             `cluster`, because that would contain credentials."
        ))
        .object(target.to_string())
        .hint("Add `cluster` to the resource, or give the provider block a `cluster` that leads to the same cluster.")
}

fn kept(target: &ObjectRef, why: &Diagnostic) -> Diagnostic {
    Diagnostic::warning(codes::DEFAULTS_KEPT, "Defaults Not Removed")
        .detail(format!(
            "The configuration of {target} has every field, because its defaults are not known. {}: {}",
            why.summary, why.detail
        ))
        .object(target.to_string())
        .hint("Remove the fields that you do not want to manage.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_at_or_below_the_ones_that_a_server_names() {
        assert!(is_at_or_below("spec.selector.matchLabels.app", "spec.selector"));
        assert!(is_at_or_below("spec.ports[0].port", "spec.ports"));
        assert!(is_at_or_below("spec.replicas", "spec.replicas"));
        assert!(!is_at_or_below("spec.selectors", "spec.selector"));
        assert!(!is_at_or_below("spec.a", ""));
        assert_eq!(above("spec.resources[storage]"), "spec.resources");
        assert_eq!(above("spec.resources"), "spec");
        assert_eq!(above("spec"), "");
    }

    #[test]
    fn what_comes_back_by_itself_is_not_kept() {
        let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"replicas": 3, "revisionHistoryLimit": 10}});
        let schema = Schema::of(&body);
        let mut probe = Probe::new(&body, &schema);
        let answer = json!({"spec": {"replicas": 1, "revisionHistoryLimit": 10}});
        assert!(probe.keep_changed(&answer));
        assert_eq!(probe.reduced()["spec"], json!({"replicas": 3}));
        assert!(!probe.keep_changed(&answer));
    }
}
