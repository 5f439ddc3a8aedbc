//! Our client against the emulator over real connections: every operation, every rule, every fault.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

mod calls;
mod every;
mod faults;
mod listings;
mod principals;
mod queues;
mod sdk;
mod signatures;
mod streams;

use std::path::Path;
use std::time::Duration;

use operations::Scope;
use oraclecloud::{
    Catalogue, Client, Connections, Credentials, Endpoints, Error, Kind, RateLimiter, Resources, Settings,
};
use oraclecloud_emulator::{Operation, Options, Outcome, Script, Server, Timeline, TimelineRule, serve};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// A server with reproducible identifiers.
///
/// Generating a key takes longer than most tests, so these servers share one.
async fn server(script: Script) -> Server {
    static FIRST: Mutex<()> = Mutex::const_new(());
    let _alone = FIRST.lock().await;
    let key_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("oci-server-keys"));
    serve(Options { script, key_dir, seed: Some(1), retry_after: Some(2), ..Options::default() })
        .await
        .unwrap()
}

/// A client with the credentials of the server's configuration file.
fn client(server: &Server) -> Client {
    client_as(
        server,
        Credentials::from_config_file(server.config_file(), None, &no_variables),
        Duration::from_secs(60),
    )
}

fn client_as(server: &Server, credentials: Credentials, deadline: Duration) -> Client {
    let mut endpoints = Endpoints::default();
    endpoints.add(&server.url()).unwrap();
    let settings = Settings { deadline, endpoints, limiter: RateLimiter::new(10_000.0) };
    Client::new(credentials, Connections::new(), settings, &no_variables).unwrap()
}

fn no_variables(_: &str) -> Option<String> {
    None
}

fn kind(path: &str) -> Kind {
    Catalogue::standard().get(path).unwrap()
}

fn queue_api(client: &Client) -> Resources<'_> {
    client.resources(kind("queue/Queue"))
}

fn stream_api(client: &Client) -> Resources<'_> {
    client.resources(kind("streaming/Stream"))
}

/// The listing of a compartment.
fn within(compartment: &str) -> Scope {
    Scope::from([("compartmentId".to_owned(), compartment.to_owned())])
}

/// The listing of a stream pool.
fn in_pool(pool: &str) -> Scope {
    Scope::from([("streamPoolId".to_owned(), pool.to_owned())])
}

fn queue_body(name: &str) -> Value {
    json!({"displayName": name, "compartmentId": oraclecloud_emulator::COMPARTMENT})
}

fn stream_body(name: &str) -> Value {
    json!({"name": name, "partitions": 2, "compartmentId": oraclecloud_emulator::COMPARTMENT})
}

/// A script with a timeline for one operation.
fn script_with(operation: Operation, timeline: Timeline) -> Script {
    let timelines = vec![TimelineRule { operation, name: None, times: None, timeline }];
    Script { timelines, ..Script::default() }
}

/// A timeline without steps: the operation has ended at the first poll.
fn instant() -> Timeline {
    Timeline { steps: Vec::new(), ..Timeline::default() }
}

/// A script in which every operation has ended at the first poll.
fn instant_script() -> Script {
    let operations = [
        Operation::CreateQueue,
        Operation::UpdateQueue,
        Operation::DeleteQueue,
        Operation::ChangeQueueCompartment,
        Operation::CreateStream,
        Operation::UpdateStream,
        Operation::DeleteStream,
    ];
    let timelines = operations
        .map(|operation| TimelineRule { operation, name: None, times: None, timeline: instant() })
        .to_vec();
    Script { timelines, ..Script::default() }
}

fn failing(message: &str) -> Timeline {
    let outcome = Outcome::Fail { code: "OutOfCapacity".to_owned(), message: message.to_owned() };
    Timeline { outcome, ..instant() }
}

/// Creates a queue; returns its id and its work request.
async fn create_queue(client: &Client, name: &str) -> (String, String) {
    let accepted = queue_api(client).create(&queue_body(name), None, None).await.unwrap();
    let work = accepted.work_request_id.unwrap();
    let shown = queue_api(client).work_request(&work).await.unwrap().body;
    (text(&shown["resources"][0]["identifier"]), work)
}

async fn create_stream(client: &Client, name: &str) -> String {
    let created = stream_api(client).create(&stream_body(name), None, None).await.unwrap();
    text(&created.body.unwrap()["id"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The status and code of an error response.
fn rejection<T: std::fmt::Debug>(result: Result<T, Error>) -> (u16, String) {
    let error = result.unwrap_err();
    (error.response().unwrap().status, error.code().to_owned())
}

fn not_found() -> (u16, String) {
    (404, "NotAuthorizedOrNotFound".to_owned())
}
