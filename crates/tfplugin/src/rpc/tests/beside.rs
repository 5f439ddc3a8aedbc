//! What a provider has beside resources: ephemeral resources, functions, lists and actions.

use futures::StreamExt;
use proto::invoke_action::event;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::provider::{
    Action, ActionRequest, EphemeralResource, Function, FunctionError, ListRequest, ListResource, Listed,
    OpenRequest, OpenResponse, Parameter, PlanActionResponse, Progress, Results, Signature,
};

pub(super) struct Key;

impl EphemeralResource for Key {
    fn type_name(&self) -> &'static str {
        "test_key"
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .attribute(Attribute::required("lock", Type::String))
            .attribute(Attribute::computed("key", Type::String))
    }

    fn open(&self, request: OpenRequest) -> BoxFuture<'_, OpenResponse> {
        Box::pin(async move {
            match request.config.text("lock") {
                Some("unknown") if request.deferral_allowed => OpenResponse {
                    deferred: Some(Deferral::ResourceConfigUnknown),
                    ..OpenResponse::default()
                },
                Some("broken") => OpenResponse::default(),
                _ => {
                    OpenResponse { result: Some(request.config.with("key", "k")), ..OpenResponse::default() }
                }
            }
        })
    }
}

pub(super) struct Shout;

impl Function for Shout {
    fn name(&self) -> &'static str {
        "shout"
    }

    fn signature(&self) -> Signature {
        let text = Parameter { name: "text".to_owned(), ty: Type::String, description: String::new() };
        Signature {
            summary: "In capitals.".to_owned(),
            description: String::new(),
            parameters: vec![text],
            result: Type::String,
        }
    }

    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        match arguments[0].as_str().unwrap_or_default() {
            "panic" => panic!("too loud"),
            "" => Err(FunctionError {
                argument: Some(0),
                diagnostic: Box::new(diag::Diagnostic::error(codes::INVALID_VALUE, "nothing to shout")),
            }),
            text => Ok(text.to_uppercase().into()),
        }
    }
}

pub(super) struct Gadgets;

impl ListResource for Gadgets {
    fn type_name(&self) -> &'static str {
        "test_gadget"
    }

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::optional("mode", Type::String))
    }

    fn list(&self, request: ListRequest, results: Results) -> BoxFuture<'_, Diagnostics> {
        Box::pin(async move {
            for number in 1..=request.limit {
                assert!(request.config.text("mode") != Some("panic") || number != 2, "the list is broken");
                let id = number.to_string();
                let resource =
                    request.include_resource.then(|| Object::from([("id", id.as_str()), ("mode", "listed")]));
                let identity = Object::from([("id", id.as_str())]);
                if !results.send(Listed { identity, display_name: format!("gadget {id}"), resource }).await {
                    break;
                }
            }
            match request.config.text("mode") {
                Some("forever") => std::future::pending().await,
                Some("warn") => diag::Diagnostic::warning(codes::DEPRECATED, "not all").into(),
                _ => Diagnostics::new(),
            }
        })
    }
}

/// Winds the clock, and stops when it is asked to.
pub(super) struct Wind;

impl Action for Wind {
    fn type_name(&self) -> &'static str {
        "test_wind"
    }

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::required("mode", Type::String))
    }

    fn plan(&self, request: ActionRequest) -> BoxFuture<'_, PlanActionResponse> {
        Box::pin(async move {
            let unknown = request.config.get("mode").is_unknown();
            let deferred = (unknown && request.deferral_allowed).then_some(Deferral::ResourceConfigUnknown);
            PlanActionResponse { deferred, ..PlanActionResponse::default() }
        })
    }

    fn invoke(&self, request: ActionRequest, progress: Progress) -> BoxFuture<'_, Diagnostics> {
        Box::pin(async move {
            progress.report("winding");
            match request.config.text("mode") {
                Some("panic") => panic!("the spring broke"),
                Some("wait") => {
                    request.stop.cancelled().await;
                    progress.report("stopping");
                    interrupted()
                }
                _ => Diagnostics::new(),
            }
        })
    }
}

fn interrupted() -> Diagnostics {
    diag::Diagnostic::error(codes::INTERRUPTED, "half wound").into()
}

fn config(ty: &Type, mode: &str, attribute: &str) -> proto::DynamicValue {
    let object = Object::from([(attribute, mode)]);
    proto::DynamicValue { msgpack: msgpack::encode(object.into(), ty).unwrap(), json: Vec::new() }
}

#[tokio::test]
async fn an_ephemeral_resource_gives_a_result_or_a_reason() {
    let open = async |lock: &str, deferral_allowed: bool| {
        let request = proto::open_ephemeral_resource::Request {
            type_name: "test_key".to_owned(),
            config: Some(config(&Key.schema().ty(), lock, "lock")),
            client_capabilities: Some(proto::ClientCapabilities { deferral_allowed, ..Default::default() }),
        };
        server().open_ephemeral_resource(Request::new(request)).await.unwrap().into_inner()
    };
    let opened = open("front", false).await;
    assert_eq!(render(&opened.diagnostics), [""; 0]);
    assert_eq!(opened.renew_at, None);
    let result = msgpack::decode(&opened.result.unwrap().msgpack, &Key.schema().ty()).unwrap();
    assert_eq!(result.as_object().unwrap().text("key"), Some("k"));
    let missing = ["error: The provider returned no state"];
    assert_eq!(render(&open("broken", true).await.diagnostics), missing);
    let deferred = open("unknown", true).await;
    assert_eq!((render(&deferred.diagnostics).len(), deferred.deferred.is_some()), (0, true));
    let close = proto::close_ephemeral_resource::Request { type_name: "test_key".to_owned(), private: None };
    let closed = server().close_ephemeral_resource(Request::new(close)).await.unwrap().into_inner();
    assert_eq!(render(&closed.diagnostics), [""; 0]);
}

#[tokio::test]
async fn a_function_returns_a_value_or_an_error_about_an_argument() {
    let call = async |name: &str, text: &str| {
        let msgpack = msgpack::encode(text.into(), &Type::String).unwrap();
        let arguments = vec![proto::DynamicValue { msgpack, json: Vec::new() }];
        let request = proto::call_function::Request { name: name.to_owned(), arguments };
        let response = server().call_function(Request::new(request)).await.unwrap().into_inner();
        match (response.result, response.error) {
            (Some(result), None) => Ok(msgpack::decode(&result.msgpack, &Type::String).unwrap()),
            (None, Some(error)) => Err((error.function_argument, error.text)),
            both => panic!("{both:?}"),
        }
    };
    assert_eq!(call("shout", "hey").await, Ok("HEY".into()));
    assert_eq!(call("shout", "").await, Err((Some(0), "nothing to shout".to_owned())));
    let (argument, text) = call("shout", "panic").await.unwrap_err();
    assert!(argument.is_none() && text.contains("too loud"), "{text}");
    assert!(call("whisper", "hey").await.unwrap_err().1.contains("no function whisper"));
    let declared = server().get_functions(Request::new(proto::get_functions::Request {})).await.unwrap();
    let declared = declared.into_inner().functions;
    assert!(!declared["shout"].parameters[0].allow_unknown_values);
}

/// What each event of a list says: an instance, or diagnostics.
async fn list(mode: &str, include_resource_object: bool, limit: i64) -> Vec<String> {
    let request = proto::list_resource::Request {
        type_name: name(),
        config: Some(config(&Gadgets.schema().ty(), mode, "mode")),
        include_resource_object,
        limit,
    };
    let events = server().list_resource(Request::new(request)).await.unwrap().into_inner();
    let shown = events.map(|event| {
        let event = event.unwrap();
        match event.identity {
            Some(_) if event.resource_object.is_some() => format!("{} with its state", event.display_name),
            Some(_) => event.display_name,
            None => render(&event.diagnostic).join(", "),
        }
    });
    shown.collect().await
}

#[tokio::test]
async fn a_list_streams_instances_and_ends_with_diagnostics() {
    assert_eq!(list("all", false, 2).await, ["gadget 1", "gadget 2"]);
    assert_eq!(list("all", true, 1).await, ["gadget 1 with its state"]);
    assert_eq!(list("all", false, 100).await.len(), 100);
    assert_eq!(list("warn", false, 1).await, ["gadget 1", "warning: not all"]);
    assert_eq!(list("panic", false, 3).await, ["gadget 1", "error: The provider panicked"]);
}

#[tokio::test]
async fn a_list_ends_when_terraform_stops_the_provider() {
    let server = server();
    let request = proto::list_resource::Request {
        type_name: name(),
        config: Some(config(&Gadgets.schema().ty(), "forever", "mode")),
        include_resource_object: false,
        limit: 1,
    };
    let mut events = server.list_resource(Request::new(request)).await.unwrap().into_inner();
    assert_eq!(events.next().await.unwrap().unwrap().display_name, "gadget 1");
    server.stop.stop();
    assert_eq!(render(&events.next().await.unwrap().unwrap().diagnostic), ["error: Interrupted"]);
    assert!(events.next().await.is_none());
}

fn wind(mode: &str) -> Request<proto::invoke_action::Request> {
    Request::new(proto::invoke_action::Request {
        action_type: "test_wind".to_owned(),
        config: Some(config(&Wind.schema().ty(), mode, "mode")),
        client_capabilities: None,
    })
}

fn shown(event: Result<proto::invoke_action::Event, Status>) -> String {
    match event.unwrap().r#type.unwrap() {
        event::Type::Progress(progress) => progress.message,
        event::Type::Completed(completed) => {
            format!("completed {}", render(&completed.diagnostics).join(", ")).trim_end().to_owned()
        }
    }
}

#[tokio::test]
async fn an_action_reports_progress_and_completes_once() {
    let invoke = async |mode: &str| -> Vec<String> {
        let events = server().invoke_action(wind(mode)).await.unwrap().into_inner();
        events.map(shown).collect().await
    };
    assert_eq!(invoke("fine").await, ["winding", "completed"]);
    assert_eq!(invoke("panic").await, ["winding", "completed error: The provider panicked"]);
    let server = server();
    let mut events = server.invoke_action(wind("wait")).await.unwrap().into_inner();
    assert_eq!(shown(events.next().await.unwrap()), "winding");
    server.stop.stop();
    let rest: Vec<String> = events.map(shown).collect().await;
    assert_eq!(rest, ["stopping", "completed error: half wound"]);
    let events = server.invoke_action(wind("fine")).await.unwrap().into_inner();
    assert_eq!(events.map(shown).collect::<Vec<_>>().await, ["completed error: Interrupted"]);
}

#[tokio::test]
async fn an_action_is_checked_by_its_plan() {
    let check = async |mode: Value, deferral_allowed: bool, deferred: bool| {
        let object = Object::new().with("mode", mode);
        let msgpack = msgpack::encode(object.into(), &Wind.schema().ty()).unwrap();
        let request = proto::plan_action::Request {
            action_type: "test_wind".to_owned(),
            config: Some(proto::DynamicValue { msgpack, json: Vec::new() }),
            client_capabilities: Some(proto::ClientCapabilities { deferral_allowed, ..Default::default() }),
        };
        let response = server().plan_action(Request::new(request)).await.unwrap().into_inner();
        assert_eq!(response.deferred.is_some(), deferred);
    };
    check("fine".into(), true, false).await;
    check(Value::unknown(), true, true).await;
    check(Value::unknown(), false, false).await;
}

#[tokio::test]
async fn a_reader_that_leaves_does_not_end_an_action() {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    drop(receiver);
    let config = Object::from([("mode", "fine")]);
    let request = ActionRequest { config, deferral_allowed: false, stop: CancellationToken::new() };
    assert!(Wind.invoke(request, Progress(sender)).await.is_empty());
}
