//! The functions behind the Services of Crossplane's functions. For an XR they return what Crossplane got: the fields of composed objects
//! that it applied, the status and conditions that it did not make itself, and the connection details.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use composition::protocol::{ConditionStatus, Ready, Resource, RunRequest, RunResponse};
use functions::{Certificates, FunctionError, ServeOptions, Server, Transport, response};
use ownership::{FieldManager, Observed};
use serde_json::Value;

use crate::left_by_crossplane::{composed, composites, secrets};

/// Conditions that the engine makes itself.
const ENGINE: [&str; 3] = ["Synced", "Ready", "Responsive"];

/// What Crossplane's functions returned.
struct Record {
    composites: Vec<Value>,
    composed: Vec<Value>,
    secrets: Vec<Value>,
}

/// Serves all functions at one address, over mutual TLS, until the process ends.
pub(crate) async fn serve(certificates: PathBuf) -> SocketAddr {
    let transport = Transport::Tls(Certificates::Folder(certificates));
    let server = Server::bind(ServeOptions::new("127.0.0.1:0", transport)).await.unwrap();
    let address = server.address().unwrap();
    let record = Arc::new(Record { composites: composites(), composed: composed(), secrets: secrets() });
    let run = move |request: RunRequest| {
        let record = Arc::clone(&record);
        async move { Ok::<_, FunctionError>(record.respond(&request)) }
    };
    tokio::spawn(server.run(run, std::future::pending()));
    address
}

impl Record {
    /// The XR as Crossplane left it, or the one whose claim this XR has replaced.
    fn before(&self, xr: &Value) -> Option<&Value> {
        let name = &xr["metadata"]["name"];
        let is_same = |object: &&Value| object["kind"] == xr["kind"] && object["metadata"]["name"] == *name;
        let is_of_claim = |object: &&Value| object["spec"]["claimRef"]["name"] == *name;
        self.composites.iter().find(is_same).or_else(|| self.composites.iter().find(is_of_claim))
    }

    fn respond(&self, request: &RunRequest) -> RunResponse {
        let mut rsp = response::to(request);
        let xr = Value::Object(request.observed.composite.object.clone());
        // `function-auto-ready` comes last; what is desired is ready already.
        if !request.desired.resources.is_empty() {
            return rsp;
        }
        let Some(before) = self.before(&xr) else { return rsp };
        let is_its = |object: &Value| {
            let owner = &object["metadata"]["ownerReferences"][0];
            owner["kind"] == before["kind"] && owner["name"] == before["metadata"]["name"]
        };
        if before["spec"]["mode"] == "fatal" {
            response::fatal(&mut rsp, "cannot reach the secret backend at 10.0.0.7");
        }
        for composed in self.composed.iter().filter(|it| is_its(it) && is_wanted(it, &xr)) {
            let key = &composed["metadata"]["annotations"]["crossplane.io/composition-resource-name"];
            let resource = Resource { ready: Ready::True, ..Resource::of(applied(composed)) };
            rsp.desired.resources.insert(key.as_str().unwrap().to_owned(), resource);
        }
        let mut status = before["status"].as_object().unwrap().clone();
        status.retain(|key, _| {
            !["conditions", "claimConditionTypes", "connectionDetails"].contains(&key.as_str())
        });
        rsp.desired.composite.object.insert("status".to_owned(), status.into());
        let types = before["status"]["claimConditionTypes"].as_array().cloned().unwrap_or_default();
        for condition in before["status"]["conditions"].as_array().unwrap() {
            let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
            if ENGINE.contains(&text("type").as_str()) {
                continue;
            }
            let added = match ConditionStatus::parse(&text("status")) {
                ConditionStatus::True => response::condition_true(&mut rsp, &text("type"), &text("reason")),
                _ => response::condition_false(&mut rsp, &text("type"), &text("reason")),
            };
            let added =
                if condition["message"].is_string() { added.with_message(text("message")) } else { added };
            if types.contains(&condition["type"]) {
                added.target_composite_and_claim();
            }
        }
        let secret = self.secrets.iter().find(|secret| is_its(secret));
        if let Some(secret) = secret {
            for (key, value) in manifest::secret::decoded(secret.as_object().unwrap()) {
                rsp.desired.composite.connection_details.insert(key.clone(), value);
            }
        }
        rsp
    }
}

/// A Note has as many pages as its spec says.
fn is_wanted(composed: &Value, xr: &Value) -> bool {
    let page = composed["metadata"]["labels"]["page"].as_str().and_then(|page| page.parse::<i64>().ok());
    page.is_none_or(|page| xr["spec"]["pages"].as_i64().is_none_or(|pages| page < pages))
}

/// What Crossplane applied of an object, without what it adds itself.
fn applied(composed: &Value) -> Value {
    let manager = composed["metadata"]["managedFields"].as_array().unwrap();
    let manager = manager.iter().find(|entry| entry["operation"] == "Apply").unwrap()["manager"].as_str();
    let observed = Observed::new(composed.clone()).unwrap();
    let held = observed.held_by(&FieldManager::new(manager.unwrap()));
    let mut object = fields::project(composed, &held, observed.schema());
    for key in ["apiVersion", "kind"] {
        object[key] = composed[key].clone();
    }
    object["metadata"]["namespace"] = composed["metadata"]["namespace"].clone();
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|key, _| ["namespace", "labels", "annotations"].contains(&key.as_str()));
    for key in ["labels", "annotations"] {
        if let Some(entries) = metadata.get_mut(key).and_then(Value::as_object_mut) {
            entries.retain(|name, _| !name.starts_with("crossplane.io/"));
        }
    }
    object
}
