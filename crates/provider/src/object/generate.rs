//! Generates the configuration of an imported object: what its author wrote, as far as the API server can tell.
//!
//! A default is what a dry-run create without the field returns. Such a dry run asks for the defaults of all fields at once:
//! those that come back as they are were defaults, the others have to be written.

use cluster::{Error, Session, Write};
use diag::Diagnostic;
use fields::{FieldPath, FieldSet, ListKind, PathElement, Positions, Schema, Shape};
use manifest::ObjectRef;
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
        let written = without_allocated(body.value);
        if !own.is_null() {
            diagnostics.add(connection_omitted(&target));
        }
        let reduced = match context.known_cluster(&own, NO_CLIENT) {
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
    let mut probe = Probe { body, schema: &schema, kept: FieldSet::new() };
    // Another name: the object itself exists.
    let probed = ObjectRef::new(target.gvk.clone(), target.namespace.clone(), probe_name(&target.name));
    for _ in 0..ROUNDS {
        let sent = probe.reduced();
        let mut named = sent.clone();
        named["metadata"]["name"] = probed.name.as_str().into();
        match session.create(&probed, &named, Write::by(MANAGER).dry_run()).await {
            Ok(reply) if probe.keep_changed(&reply.object) => {}
            Ok(_) => {
                let mut written = sent;
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
}

impl Probe<'_> {
    /// The fields that may be defaults: everything below `spec` and its like, except the keys of lists.
    fn candidates(&self) -> Vec<FieldPath> {
        let leaves = fields::written(self.body, self.schema).leaves().paths();
        let is_candidate = |path: &FieldPath| {
            let first = path.elements().first().and_then(PathElement::as_field);
            !matches!(first, None | Some("apiVersion" | "kind" | "metadata")) && !is_key(path)
        };
        leaves.into_iter().filter(is_candidate).collect()
    }

    /// The candidates that the next dry run omits.
    fn removed(&self) -> Vec<FieldPath> {
        self.candidates().into_iter().filter(|path| !self.kept.contains(path)).collect()
    }

    /// The body with what is kept only.
    fn reduced(&self) -> Json {
        let all = fields::written(self.body, self.schema).leaves();
        let removed: FieldSet = self.removed().into_iter().collect();
        let rest = all.recursive_difference(&removed).with_merge_keys();
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
        let is_named = |path: &&FieldPath| {
            let text = positions.print(path);
            causes.iter().any(|cause| is_at_or_below(&text, cause))
        };
        let mut named: Vec<&FieldPath> = removed.iter().filter(is_named).collect();
        if named.is_empty() {
            // The server names a field that the body does not have, or none: keep whatever is at the same place.
            let beside = |path: &&FieldPath| {
                let text = positions.print(path);
                causes.iter().any(|cause| {
                    cause.rsplit_once('.').is_some_and(|(above, _)| is_at_or_below(&text, above))
                })
            };
            named = removed.iter().filter(beside).collect();
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

/// Whether the field `path` is `field` or part of it, both as text.
fn is_at_or_below(path: &str, field: &str) -> bool {
    !field.is_empty()
        && path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The body without what the API server or a controller allocated: a new object would get its own.
fn without_allocated(mut body: Json) -> Json {
    let kind = body["kind"].as_str().unwrap_or_default().to_owned();
    let is_headless = body["spec"]["clusterIP"] == "None";
    let fields: &[&str] = match kind.as_str() {
        "Service" => &allocated::SERVICE,
        "PersistentVolumeClaim" => &["volumeName"],
        "Pod" => &["nodeName"],
        "Job" => &["selector"],
        _ => &[],
    };
    if let Some(spec) = body.get_mut("spec").and_then(Json::as_object_mut) {
        // A headless Service says so in this field.
        let is_written = |name: &str| is_headless && name == "clusterIP";
        spec.retain(|name, _| is_written(name) || !fields.contains(&name.as_str()));
    }
    if kind == "Service" {
        let ports = body.pointer_mut("/spec/ports").and_then(Json::as_array_mut);
        for port in ports.into_iter().flatten().filter_map(Json::as_object_mut) {
            port.remove(allocated::SERVICE_PORT);
        }
    }
    if kind == "Job" {
        let generated = |name: &str| name.ends_with("controller-uid") || name.ends_with("job-name");
        for pointer in ["/metadata/labels", "/spec/template/metadata/labels"] {
            if let Some(labels) = body.pointer_mut(pointer).and_then(Json::as_object_mut) {
                labels.retain(|name, _| !generated(name));
            }
        }
    }
    body
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
    }

    #[test]
    fn allocated_fields_are_not_written() {
        let service = json!({"kind": "Service", "spec": {
            "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "nodePort": 30080}],
        }});
        assert_eq!(without_allocated(service)["spec"], json!({"ports": [{"port": 80}]}));
        let headless = json!({"kind": "Service", "spec": {"clusterIP": "None", "clusterIPs": ["None"]}});
        assert_eq!(without_allocated(headless)["spec"], json!({"clusterIP": "None"}));
        let map = json!({"kind": "ConfigMap", "data": {"a": "b"}});
        assert_eq!(without_allocated(map.clone()), map);
    }

    #[test]
    fn what_comes_back_by_itself_is_not_kept() {
        let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"replicas": 3, "revisionHistoryLimit": 10}});
        let schema = Schema::of(&body);
        let mut probe = Probe { body: &body, schema: &schema, kept: FieldSet::new() };
        let answer = json!({"spec": {"replicas": 1, "revisionHistoryLimit": 10}});
        assert!(probe.keep_changed(&answer));
        assert_eq!(probe.reduced()["spec"], json!({"replicas": 3}));
        assert!(!probe.keep_changed(&answer));
    }
}
