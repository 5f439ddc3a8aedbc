//! Terraform's calls, without a connection.

use proto::provider_server::Provider as _;
use tonic::Code;

use super::*;
use crate::diagnostics::Diagnostics;
use crate::path::Path;
use crate::provider::{
    Action, ApplyRequest, ApplyResponse, BoxFuture, Deferral, EphemeralResource, Function, IdentityAttribute,
    IdentitySchema, ImportRequest, ImportResponse, ImportTarget, Imported, ListResource, PlanRequest,
    PlanResponse, ReadRequest, ReadResponse, Resource,
};
use crate::schema::{Attribute, Kind, Schema};
use crate::types::Type;
use crate::value::{Object, Value};
use crate::{codes, msgpack, panics};

mod beside;

/// A provider whose one resource behaves by its `mode`.
struct Gadgets;

impl Provider for Gadgets {
    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![Arc::new(Gadget)]
    }

    fn ephemeral_resources(&self) -> Vec<Arc<dyn EphemeralResource>> {
        vec![Arc::new(beside::Key)]
    }

    fn functions(&self) -> Vec<Arc<dyn Function>> {
        vec![Arc::new(beside::Shout)]
    }

    fn list_resources(&self) -> Vec<Arc<dyn ListResource>> {
        vec![Arc::new(beside::Gadgets)]
    }

    fn actions(&self) -> Vec<Arc<dyn Action>> {
        vec![Arc::new(beside::Wind)]
    }
}

struct Gadget;

impl Resource for Gadget {
    fn type_name(&self) -> &'static str {
        "test_gadget"
    }

    fn schema(&self) -> Schema {
        let quiet = |value: &Value, _: &Path| match value.as_str() {
            Some("loud") => diag::Diagnostic::error(codes::INVALID_VALUE, "too loud").into(),
            _ => Diagnostics::new(),
        };
        let part = Kind::nested([Attribute::required("name", Type::String).validate(quiet)]);
        Schema::new()
            .version(2)
            .attribute(Attribute::computed("id", Type::String))
            .attribute(Attribute::required("mode", Type::String))
            .attribute(Attribute::optional("old", Type::String).deprecated("Use mode."))
            .attribute(Attribute::optional("part", part))
            .attribute(Attribute::optional("secret", Type::String).write_only())
    }

    fn identity(&self) -> Option<IdentitySchema> {
        let id = IdentityAttribute {
            name: "id".to_owned(),
            ty: Type::String,
            required_for_import: true,
            description: String::new(),
        };
        Some(IdentitySchema { version: 0, attributes: vec![id] })
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        if config.get("mode").is_unknown() {
            return diag::Diagnostic::warning(codes::DEPRECATED, "mode is not known").into();
        }
        Diagnostics::new()
    }

    fn plan(&self, request: PlanRequest) -> BoxFuture<'_, PlanResponse> {
        Box::pin(async {
            let deferral_allowed = request.deferral_allowed;
            let mut response = request.accept();
            if let Some(planned) = &mut response.planned {
                match planned.text("mode") {
                    Some("overrule") => planned.set("mode", "something else"),
                    Some("misshape") => planned.set("mode", 7),
                    Some("defer") if deferral_allowed => {
                        response.deferred = Some(Deferral::ResourceConfigUnknown);
                    }
                    Some("rename") => response.identity = Some(Object::from([("id", "another")])),
                    _ => {}
                }
            }
            response
        })
    }

    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse> {
        Box::pin(async move {
            let Some(planned) = request.change.into_planned() else { return ApplyResponse::default() };
            match planned.text("mode") {
                Some("panic") => panic!("the gadget is {}", "broken"),
                Some("forget") => ApplyResponse::default(),
                Some("fail") => ApplyResponse {
                    state: Some(planned.with("id", "partial")),
                    diagnostics: diag::Diagnostic::error(codes::MISSING_STATE, "half done").into(),
                    ..ApplyResponse::default()
                },
                Some("keep unknown") => ApplyResponse { state: Some(planned), ..ApplyResponse::default() },
                _ => {
                    let secret = request.config.unwrap_or_default().get("secret").clone();
                    let state = planned.with("id", "1").with("secret", secret);
                    ApplyResponse { state: Some(state), ..ApplyResponse::default() }
                }
            }
        })
    }

    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse> {
        Box::pin(async {
            let mut response = request.unchanged();
            response.identity = Some(Object::from([("id", "1")]));
            response
        })
    }

    fn import(&self, request: ImportRequest) -> BoxFuture<'_, ImportResponse> {
        Box::pin(async {
            let id = match request.target {
                ImportTarget::Id(id) => id,
                ImportTarget::Identity(identity) => format!("identified as {}", identity.text("id").unwrap()),
            };
            let imported = Imported { state: Object::from([("id", id)]), ..Imported::default() };
            ImportResponse { imported: Some(imported), diagnostics: Diagnostics::new() }
        })
    }
}

fn server() -> Server {
    panics::install_hook();
    Server::new(Box::new(|| Arc::new(Gadgets)))
}

fn ty() -> Type {
    Gadget.schema().ty()
}

#[expect(clippy::unnecessary_wraps, reason = "the messages have optional fields")]
fn wire(entries: &[(&str, Value)]) -> Option<proto::DynamicValue> {
    let object: Object = entries.iter().map(|(name, value)| (*name, value.clone())).collect();
    Some(proto::DynamicValue { msgpack: msgpack::encode(object.into(), &ty()).unwrap(), json: Vec::new() })
}

fn read(value: Option<&proto::DynamicValue>) -> Option<Object> {
    match msgpack::decode(&value?.msgpack, &ty()).unwrap() {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the messages have optional fields")]
fn identity(id: &str) -> Option<proto::ResourceIdentityData> {
    let ty = Gadget.identity().unwrap().ty();
    let msgpack = msgpack::encode(Object::from([("id", id)]).into(), &ty).unwrap();
    Some(proto::ResourceIdentityData {
        identity_data: Some(proto::DynamicValue { msgpack, json: Vec::new() }),
    })
}

/// Severity, title, attribute.
fn render(diagnostics: &[proto::Diagnostic]) -> Vec<String> {
    let path = |path: &proto::AttributePath| {
        use proto::attribute_path::step::Selector;
        let steps = path.steps.iter().map(|step| match step.selector.as_ref().unwrap() {
            Selector::AttributeName(name) | Selector::ElementKeyString(name) => name.clone(),
            Selector::ElementKeyInt(index) => index.to_string(),
        });
        steps.collect::<Vec<_>>().join(".")
    };
    let line = |d: &proto::Diagnostic| {
        let at = d.attribute.as_ref().map(|p| format!(" @{}", path(p))).unwrap_or_default();
        format!("{} {}{at}", ["?", "error:", "warning:"][usize::try_from(d.severity).unwrap()], d.summary)
    };
    diagnostics.iter().map(line).collect()
}

fn name() -> String {
    "test_gadget".to_owned()
}

async fn apply(mode: &str, prior: Option<proto::DynamicValue>) -> proto::apply_resource_change::Response {
    let planned = wire(&[("mode", mode.into()), ("id", Value::unknown())]);
    let request = proto::apply_resource_change::Request {
        type_name: name(),
        prior_state: prior,
        planned_state: planned,
        config: wire(&[("mode", mode.into())]),
        planned_private: b"{\"k\":\"MQ==\"}".to_vec(),
        ..proto::apply_resource_change::Request::default()
    };
    server().apply_resource_change(Request::new(request)).await.unwrap().into_inner()
}

async fn plan(mode: &str) -> proto::plan_resource_change::Response {
    plan_for(mode, None).await
}

async fn plan_for(
    mode: &str,
    client_capabilities: Option<proto::ClientCapabilities>,
) -> proto::plan_resource_change::Response {
    let config = wire(&[("mode", mode.into())]);
    let request = proto::plan_resource_change::Request {
        type_name: name(),
        prior_state: wire(&[("mode", "before".into()), ("id", "1".into())]),
        proposed_new_state: wire(&[("mode", mode.into()), ("id", "1".into())]),
        config,
        prior_identity: identity("1"),
        client_capabilities,
        ..proto::plan_resource_change::Request::default()
    };
    server().plan_resource_change(Request::new(request)).await.unwrap().into_inner()
}

#[tokio::test]
async fn a_panic_is_reported_with_its_location_and_loses_no_state() {
    let prior = wire(&[("mode", "before".into()), ("id", "1".into())]);
    let response = apply("panic", prior.clone()).await;
    assert_eq!(render(&response.diagnostics), ["error: The provider panicked"]);
    let detail = &response.diagnostics[0].detail;
    assert!(
        detail.starts_with("ApplyResourceChange panicked at crates/tfplugin/src/rpc/tests.rs:"),
        "{detail}"
    );
    assert!(detail.contains("the gadget is broken"), "{detail}");
    assert_eq!((response.new_state, response.private), (prior, b"{\"k\":\"MQ==\"}".to_vec()));
}

#[tokio::test]
async fn a_panic_while_creating_the_provider_is_reported_as_well() {
    panics::install_hook();
    let server = Server::new(Box::new(|| panic!("no provider today")));
    for _ in 0..2 {
        let response = server.get_provider_schema(Request::new(proto::get_provider_schema::Request {})).await;
        let diagnostics = response.unwrap().into_inner().diagnostics;
        assert_eq!(render(&diagnostics), ["error: The provider panicked"]);
    }
}

#[tokio::test]
async fn the_state_of_a_failed_apply_is_saved() {
    let response = apply("fail", None).await;
    assert_eq!(render(&response.diagnostics), ["error: half done"]);
    assert_eq!(read(response.new_state.as_ref()).unwrap().text("id"), Some("partial"));
}

#[tokio::test]
async fn responses_that_terraform_would_refuse_are_errors_in_debug_builds() {
    let broken = "error: The provider violated a rule of Terraform";
    assert_eq!(render(&plan("fine").await.diagnostics), [""; 0]);
    assert_eq!(render(&plan("overrule").await.diagnostics), [format!("{broken} @mode")]);
    assert_eq!(render(&apply("keep unknown", None).await.diagnostics), [format!("{broken} @id")]);
    // These are errors in every build.
    assert_eq!(render(&apply("forget", None).await.diagnostics), ["error: The provider returned no state"]);
    assert_eq!(
        render(&plan("misshape").await.diagnostics),
        ["error: A value does not match the provider's schema"]
    );
    assert_eq!(render(&plan("rename").await.diagnostics), ["error: Unexpected Identity Change"]);
}

#[tokio::test]
async fn a_plan_makes_computed_values_unknown_and_keeps_private_state() {
    let response = plan("fine").await;
    let planned = read(response.planned_state.as_ref()).unwrap();
    assert!(planned.get("id").is_unknown());
    assert_eq!(response.planned_identity, identity("1"));
}

#[tokio::test]
async fn a_plan_is_deferred_only_for_a_client_that_allows_it() {
    let client = proto::ClientCapabilities { deferral_allowed: true, ..Default::default() };
    let deferred = plan_for("defer", Some(client)).await.deferred.unwrap();
    assert_eq!(deferred.reason(), proto::deferred::Reason::ResourceConfigUnknown);
    assert_eq!(plan("defer").await.deferred, None);
}

#[tokio::test]
async fn the_state_of_a_resource_has_no_write_only_value() {
    let request = proto::apply_resource_change::Request {
        type_name: name(),
        planned_state: wire(&[("mode", "fine".into()), ("id", Value::unknown())]),
        config: wire(&[("mode", "fine".into()), ("secret", "hunter2".into())]),
        ..proto::apply_resource_change::Request::default()
    };
    let response = server().apply_resource_change(Request::new(request)).await.unwrap().into_inner();
    assert_eq!(render(&response.diagnostics), [""; 0]);
    assert!(read(response.new_state.as_ref()).unwrap().get("secret").is_null());
}

#[tokio::test]
async fn a_generated_configuration_has_only_what_can_be_set() {
    let state = [("mode", "m".into()), ("id", "1".into()), ("old", "o".into())];
    let request = proto::generate_resource_config::Request { type_name: name(), state: wire(&state) };
    let response = server().generate_resource_config(Request::new(request)).await.unwrap().into_inner();
    assert_eq!(response.config, wire(&[("mode", "m".into())]));
    let request = proto::generate_resource_config::Request { type_name: name(), state: None };
    let response = server().generate_resource_config(Request::new(request)).await.unwrap().into_inner();
    let refused = "error: Terraform sent no state to generate a configuration from";
    assert_eq!(render(&response.diagnostics), [refused]);
}

#[tokio::test]
async fn a_configuration_is_validated_by_schema_and_resource() {
    let validate = async |config: &[(&str, Value)], write_only: bool, expected: &[&str]| {
        let capabilities =
            proto::ClientCapabilities { write_only_attributes_allowed: write_only, ..Default::default() };
        let request = proto::validate_resource_config::Request {
            type_name: name(),
            config: wire(config),
            client_capabilities: Some(capabilities),
        };
        let response = server().validate_resource_config(Request::new(request)).await.unwrap().into_inner();
        assert_eq!(render(&response.diagnostics), expected);
    };
    validate(&[("secret", "s".into())], true, &[]).await;
    validate(&[("secret", "s".into())], false, &["error: WriteOnly Attribute Not Allowed @secret"]).await;
    let check = async |config: &[(&str, Value)], expected: &[&str]| validate(config, true, expected).await;
    let part = |name: Value| Value::from(Object::from([("name", name)]));
    check(&[("mode", "m".into())], &[]).await;
    check(&[("mode", Value::unknown())], &["warning: mode is not known"]).await;
    check(&[("old", "o".into())], &["warning: Attribute Deprecated @old"]).await;
    check(&[("old", Value::unknown())], &[]).await;
    check(&[("part", part("loud".into()))], &["error: too loud @part.name"]).await;
    for silent in [part("quiet".into()), part(Value::unknown()), part(Value::Null), Value::unknown()] {
        check(&[("part", silent)], &[]).await;
    }
}

#[tokio::test]
async fn a_state_of_the_current_version_is_read_leniently_and_others_need_an_upgrade() {
    let check = async |version: i64, json: &str, expected: Result<&str, &str>| {
        let request = proto::upgrade_resource_state::Request {
            type_name: name(),
            version,
            raw_state: Some(proto::RawState { json: json.as_bytes().to_vec(), ..Default::default() }),
        };
        let response = server().upgrade_resource_state(Request::new(request)).await.unwrap().into_inner();
        match expected {
            Ok(mode) => assert_eq!(read(response.upgraded_state.as_ref()).unwrap().text("mode"), Some(mode)),
            Err(summary) => assert_eq!(render(&response.diagnostics), [format!("error: {summary}")]),
        }
    };
    check(2, r#"{"mode":"m","removed_since":1}"#, Ok("m")).await;
    check(1, r#"{"mode":"m"}"#, Err("Unable to Upgrade Resource State")).await;
    let unreadable = "Unable to Read Previously Saved State for UpgradeResourceState";
    check(2, r#"{"mode":{}}"#, Err(unreadable)).await;
    check(2, "", Err(unreadable)).await;
}

#[tokio::test]
async fn the_read_after_an_import_may_change_the_identity() {
    let import = async |id: &str, identity: Option<proto::ResourceIdentityData>| {
        let request = proto::import_resource_state::Request {
            type_name: name(),
            id: id.to_owned(),
            identity,
            client_capabilities: None,
        };
        let response = server().import_resource_state(Request::new(request)).await.unwrap().into_inner();
        assert_eq!(render(&response.diagnostics), [""; 0]);
        response.imported_resources.into_iter().next().unwrap()
    };
    let by_identity = import("", identity("7")).await;
    assert_eq!(read(by_identity.state.as_ref()).unwrap().text("id"), Some("identified as 7"));
    let imported = import("1", None).await;
    assert_eq!(imported.private, br#"{".import_before_read":"dHJ1ZQ=="}"#);

    let read = async |private: Vec<u8>| {
        let request = proto::read_resource::Request {
            type_name: name(),
            current_state: imported.state.clone(),
            private,
            current_identity: identity("0"),
            ..proto::read_resource::Request::default()
        };
        server().read_resource(Request::new(request)).await.unwrap().into_inner()
    };
    let first = read(imported.private.clone()).await;
    assert_eq!(render(&first.diagnostics), [""; 0]);
    assert_eq!(first.private, b"");
    assert_eq!(first.new_identity, identity("1"));
    assert_eq!(render(&read(Vec::new()).await.diagnostics), ["error: Unexpected Identity Change"]);
    assert_eq!(render(&read(b"[]".to_vec()).await.diagnostics), ["error: Error Decoding Private State"]);
}

#[tokio::test]
async fn an_unsupported_move_reports_its_source() {
    let request = proto::move_resource_state::Request {
        target_type_name: name(),
        source_type_name: "other_thing".to_owned(),
        ..proto::move_resource_state::Request::default()
    };
    let response = server().move_resource_state(Request::new(request)).await.unwrap().into_inner();
    assert_eq!(render(&response.diagnostics), ["error: Unable to Move Resource State"]);
    assert!(response.diagnostics[0].detail.contains("Source Resource Type: other_thing"));
}

#[tokio::test]
async fn unknown_types_and_features_are_reported() {
    let server = server();
    let request = proto::read_resource::Request { type_name: "test_gizmo".to_owned(), ..Default::default() };
    let response = server.read_resource(Request::new(request)).await.unwrap().into_inner();
    assert_eq!(render(&response.diagnostics), ["error: This provider has no resource test_gizmo"]);
    let lock = server.lock_state(Request::new(proto::lock_state::Request::default())).await;
    assert_eq!(lock.unwrap_err().code(), Code::Unimplemented);
}

#[tokio::test]
async fn metadata_and_schemas_are_complete() {
    let server = server();
    let metadata =
        server.get_metadata(Request::new(proto::get_metadata::Request {})).await.unwrap().into_inner();
    assert_eq!(metadata.resources[0].type_name, "test_gadget");
    let schemas =
        server.get_provider_schema(Request::new(proto::get_provider_schema::Request {})).await.unwrap();
    let schemas = schemas.into_inner();
    assert!(schemas.provider.is_some());
    assert_eq!(schemas.resource_schemas["test_gadget"].version, 2);
    assert_eq!(schemas.server_capabilities, metadata.server_capabilities);
    let request = proto::get_resource_identity_schemas::Request {};
    let identities = server.get_resource_identity_schemas(Request::new(request)).await.unwrap().into_inner();
    let attribute = &identities.identity_schemas["test_gadget"].identity_attributes[0];
    assert_eq!((attribute.name.as_str(), &attribute.r#type[..]), ("id", &b"\"string\""[..]));
}
