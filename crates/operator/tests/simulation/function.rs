//! A composition function in memory: it composes what the XR asks for, and fails, forgets a part or takes its time.

use std::sync::Arc;
use std::time::Duration;

use composition::protocol::{
    ConditionStatus, FunctionCondition, FunctionResult, Match, Object, Ready, Requirements, Resource,
    ResourceSelector, ResponseMeta, RunRequest, RunResponse, Severity, State, Target,
};
use composition::{FunctionRunner, RunError, RunErrorClass, RunFuture};
use serde_json::{Value, json};

use crate::network::{Life, Network};

/// How long an answer holds that lacks a part.
const INCOMPLETE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

pub(crate) struct SimulatedFunction {
    pub(crate) network: Arc<Network>,
    pub(crate) client: usize,
}

/// What the next call comes to.
enum Fate {
    Answers,
    /// One part is left out, by its place.
    Forgets(usize),
    Fails(RunErrorClass),
    Fatal,
    /// The operator dies while it waits.
    Never,
}

impl FunctionRunner for SimulatedFunction {
    fn run<'a>(&'a self, _function: &'a str, request: &'a RunRequest) -> RunFuture<'a> {
        Box::pin(async move {
            let (wait, fate) = self.fate(request);
            tokio::time::sleep(Duration::from_millis(wait)).await;
            while self.life() == Life::Frozen {
                tokio::time::sleep(LOOK).await;
            }
            match fate {
                _ if self.life() == Life::Dead => std::future::pending().await,
                Fate::Never => std::future::pending().await,
                Fate::Fails(class) => Err(RunError::new(class, "the simulation says so")),
                Fate::Fatal => {
                    let fatal = FunctionResult {
                        severity: Severity::Fatal,
                        message: "the simulation says so".to_owned(),
                        ..FunctionResult::default()
                    };
                    Ok(RunResponse { results: vec![fatal], ..RunResponse::default() })
                }
                Fate::Answers => Ok(self.answer(request, None)),
                Fate::Forgets(part) => Ok(self.answer(request, Some(part))),
            }
        })
    }
}

impl SimulatedFunction {
    fn life(&self) -> Life {
        self.network.lock().lives[self.client]
    }

    fn fate(&self, request: &RunRequest) -> (u64, Fate) {
        let mut world = self.network.lock();
        let xr = &request.observed.composite.object;
        let name = xr.get("metadata").and_then(|it| it["name"].as_str()).unwrap_or_default().to_owned();
        let key = world.key(self.client, &format!("function {name}"));
        let mut random = fastrand::Rng::with_seed(key);
        let wait = world.latency(&mut random);
        if world.strike(self.client, true).is_some() {
            let client = self.client;
            world.note(format_args!("operator {client} dies while a function runs"));
            return (wait, Fate::Never);
        }
        let weather = world.weather;
        let fate = match random.u8(..6) {
            _ if random.u32(..1000) >= 2 * weather.refused => Fate::Answers,
            0 => Fate::Fails(RunErrorClass::Unavailable),
            1 => Fate::Fails(RunErrorClass::TimedOut),
            2 => Fate::Fails(RunErrorClass::Failed),
            3 => Fate::Fatal,
            _ => Fate::Forgets(random.usize(..8)),
        };
        (wait, fate)
    }

    fn answer(&self, request: &RunRequest, forgotten: Option<usize>) -> RunResponse {
        let selector = ResourceSelector {
            api_version: "lib.example.org/v1".to_owned(),
            kind: "Shelf".to_owned(),
            matching: Match::Labels([("app".to_owned(), "lib".to_owned())].into()),
            namespace: None,
        };
        let requirements =
            Requirements { resources: [("shelves".to_owned(), selector)].into(), ..Requirements::default() };
        let meta = ResponseMeta { tag: request.meta.tag.clone(), ttl: None };
        let mut response = RunResponse { meta, requirements, ..RunResponse::default() };
        let Some(shelves) = request.required_resources.get("shelves") else { return response };
        let xr = &request.observed.composite.object;
        let text = |object: &Object, pointer: &str| {
            Value::Object(object.clone())
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let names: Vec<String> = shelves.iter().map(|it| text(&it.object, "/metadata/name")).collect();
        let colour = shelves.first().map(|it| text(&it.object, "/spec/colour")).unwrap_or_default();
        let edition = request.input.as_ref().map(|it| text(it, "/edition")).unwrap_or_default();
        let parts: Vec<char> = text(xr, "/spec/parts").chars().collect();
        let mut desired = State::default();
        for (place, part) in parts.iter().enumerate() {
            if forgotten == Some(place) {
                response.meta.ttl = Some(INCOMPLETE);
            } else {
                let observed = request.observed.resources.get(&part.to_string());
                desired.resources.insert(part.to_string(), composed(*part, &edition, &colour, observed));
            }
        }
        desired.composite = Resource::of(json!({"status": {"count": parts.len(), "edition": edition}}));
        let keys: Vec<String> = desired.resources.keys().cloned().collect();
        {
            let mut world = self.network.lock();
            let (now, client) = (world.now(), self.client);
            let named = text(xr, "/metadata/name");
            world.note(format_args!("{client}: a function composes {named} of {}", keys.concat()));
            let seen = format!("{edition} {}", content(request, shelves));
            // What a thawed leader learns no longer counts.
            let desired = (client + 1 == world.lives.len()).then_some(keys);
            world.rules.answered(client, now, &text(xr, "/metadata/uid"), desired, &names, &seen);
        }
        response.desired = desired;
        response.conditions = vec![FunctionCondition {
            kind: "PartsPrinted".to_owned(),
            status: ConditionStatus::True,
            reason: "Printed".to_owned(),
            message: None,
            target: Target::CompositeAndClaim,
        }];
        response
    }
}

/// What a call is about, without what changes with every write.
fn content(request: &RunRequest, shelves: &[Resource]) -> String {
    let observed = [&request.observed.composite].into_iter().chain(request.observed.resources.values());
    let content = |resource: &Resource| {
        let mut object = resource.object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
        Value::Object(object).to_string()
    };
    observed.chain(shelves).map(content).collect()
}

/// Parts up to m are ConfigMaps; the others are Things, which take a while to become ready and to go.
fn composed(part: char, edition: &str, colour: &str, observed: Option<&Resource>) -> Resource {
    let content = json!({"part": part.to_string(), "edition": edition, "colour": colour});
    if part <= 'm' {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"}, "data": content,
        });
        return Resource { ready: Ready::True, ..Resource::of(map) };
    }
    let thing = json!({
        "apiVersion": "lib.example.org/v1", "kind": "Thing", "metadata": {"namespace": "default"}, "spec": content,
    });
    let is_ready = observed.is_some_and(|observed| {
        let object = Value::Object(observed.object.clone());
        object["status"]["conditions"][0]["status"] == "True"
    });
    Resource { ready: if is_ready { Ready::True } else { Ready::False }, ..Resource::of(thing) }
}
