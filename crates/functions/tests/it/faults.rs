//! Functions that are down, send too much or send garbage: the engine reports what is wrong and recovers by itself.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use composition::RunErrorClass;
use composition::protocol::{Resource, RunRequest, RunResponse};
use functions::{FunctionError, Options, ServeOptions, Transport, response};
use futures::future::{Ready, ready};
use http::{HeaderMap, HeaderValue};
use http_body_util::StreamBody;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use tonic::body::Body;
use tonic::server::NamedService;

use crate::fixture::{Engine, impatient, patient, request, serve, serve_with};

async fn echo(request: RunRequest) -> Result<RunResponse, FunctionError> {
    Ok(response::to(&request))
}

fn unix(folder: &tempfile::TempDir) -> ServeOptions {
    ServeOptions::new(format!("unix:{}", folder.path().join("fn.sock").display()), Transport::Insecure)
}

#[tokio::test]
async fn an_unreachable_function_is_reported_with_its_address_and_cause() {
    // Nothing listens on port 1 of any machine.
    let engine = Engine::of(impatient(None), "dns:///127.0.0.1:1");
    let error = engine.call().await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::Unavailable);
    assert_eq!(
        error.message,
        "rpc error: code = Unavailable desc = cannot reach the function at 127.0.0.1:1: 127.0.0.1:1: cannot connect: \
         Connection refused (os error 111)"
    );
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_reported() {
    let engine = Engine::of(impatient(None), "dns:///fn.invalid:9443");
    let error = engine.call().await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::Unavailable);
    assert!(
        error.message.contains("cannot reach the function at fn.invalid:9443: cannot resolve the name"),
        "{error}"
    );
}

#[tokio::test]
async fn waiting_calls_continue_the_moment_the_function_is_up() {
    let folder = tempfile::tempdir().unwrap();
    let options = unix(&folder);
    let engine = Engine::of(patient(None), &options.address);
    let (response, _served) = tokio::join!(biased; engine.call(), serve_with(echo, options));
    response.unwrap();
}

#[tokio::test]
async fn a_caller_that_saw_it_down_can_wait_until_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let options = unix(&folder);
    let engine = Engine::of(impatient(None), &options.address);
    assert_eq!(engine.call().await.unwrap_err().class, RunErrorClass::Unavailable);
    let _served = serve_with(echo, options).await;
    engine.functions.reachable("fn").await.unwrap();
    engine.call().await.unwrap();
}

#[test]
fn a_function_that_dies_during_a_call_is_reconnected() {
    let folder = tempfile::tempdir().unwrap();
    let options = unix(&folder);
    let (started, mut starts) = mpsc::unbounded_channel();
    let process = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let hung = move |_: RunRequest| {
        started.send(()).unwrap();
        std::future::pending::<Result<RunResponse, FunctionError>>()
    };
    let served = process.block_on(serve_with(hung, options.clone()));
    let engine_side = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    engine_side.block_on(async {
        let engine = Engine::of(patient(None), &options.address);
        let (response, ()) = tokio::join!(engine.call(), async {
            starts.recv().await.unwrap();
            process.shutdown_background();
        });
        let error = response.unwrap_err();
        assert_eq!(error.class, RunErrorClass::Unavailable);
        let expected =
            "rpc error: code = Unavailable desc = the connection was lost before the function responded: ";
        assert!(error.message.starts_with(expected), "{error}");

        std::fs::remove_file(folder.path().join("fn.sock")).unwrap();
        let _served = serve_with(echo, options).await;
        engine.call().await.unwrap();
    });
    drop(served);
}

#[tokio::test]
async fn messages_that_are_too_large_are_reported() {
    let large = || Resource::of(json!({"text": "x".repeat(4096)}));
    let inflate = move |request: RunRequest| {
        let mut rsp = response::to(&request);
        if request.input.is_none() {
            rsp.desired.composite = large();
        }
        async { Ok::<_, FunctionError>(rsp) }
    };
    let served = serve(inflate, None).await;
    let engine = Engine::of(Options { max_message: 2048, ..patient(None) }, &served.endpoint);
    let error = engine.call().await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::TooLarge);
    assert!(error.message.contains("code = ResourceExhausted desc = a message is too large"), "{error}");
    assert!(error.message.contains("the limit is: 2048 bytes"), "{error}");

    let mut oversized = request();
    oversized.input = Some(large().object);
    let error = engine.run("fn", &oversized).await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::TooLarge);
    assert!(error.message.contains("the request has 4"), "{error}");
    assert!(error.message.contains("bytes and the limit is 2048"), "{error}");

    // The function's own limit.
    let options = ServeOptions { max_message: 2048, ..ServeOptions::new("127.0.0.1:0", Transport::Insecure) };
    let served = serve_with(echo, options).await;
    engine.move_to("strict", &served.endpoint);
    let engine = Engine::of(patient(None), &served.endpoint);
    let error = engine.run("fn", &oversized).await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::TooLarge);
    assert!(error.message.contains("--max-recv-message-size"), "{error}");
    engine.call().await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_speak_grpc_is_reported_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let speak = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"220 mail.example.org ESMTP ready for your letters\r\n").await.unwrap();
        }
    });
    let engine = Engine::of(impatient(None), &address);
    let error = engine.call().await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::Unavailable);
    assert!(error.message.contains("the server does not speak gRPC in plaintext"), "{error}");
    speak.abort();
}

/// A service of raw responses that counts its calls.
#[derive(Clone)]
struct Raw<const BETA: bool> {
    calls: Arc<AtomicUsize>,
    status: Arc<Mutex<&'static str>>,
    body: Bytes,
}

impl NamedService for Raw<false> {
    const NAME: &'static str = "apiextensions.fn.proto.v1.FunctionRunnerService";
}

impl NamedService for Raw<true> {
    const NAME: &'static str = "apiextensions.fn.proto.v1beta1.FunctionRunnerService";
}

impl<const BETA: bool> tower::Service<http::Request<Body>> for Raw<BETA> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let trailers = HeaderMap::from_iter([(
            http::HeaderName::from_static("grpc-status"),
            HeaderValue::from_static(*self.status.lock().unwrap()),
        )]);
        let mut frames = Vec::new();
        if !self.body.is_empty() {
            frames.push(hyper::body::Frame::data(self.body.clone()));
        }
        frames.push(hyper::body::Frame::trailers(trailers));
        let frames = futures::stream::iter(frames.into_iter().map(Ok::<_, Infallible>));
        let response = http::Response::builder().header("content-type", "application/grpc");
        ready(Ok(response.body(Body::new(StreamBody::new(frames))).unwrap()))
    }
}

/// A message as gRPC frames it.
fn frame(message: &[u8]) -> Bytes {
    let mut bytes = vec![0];
    bytes.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    bytes.extend(message);
    bytes.into()
}

/// A length-delimited field.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
    bytes.extend(content);
    bytes
}

/// Serves raw responses to v1 and v1beta1 on a socket.
fn serve_raw(folder: &tempfile::TempDir, v1: Raw<false>, beta: Raw<true>) -> String {
    let path = folder.path().join("fn.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let incoming = futures::stream::unfold(listener, async |listener| {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    });
    let server = tonic::transport::Server::builder().add_service(v1).add_service(beta);
    tokio::spawn(server.serve_with_incoming(incoming));
    format!("unix:{}", path.display())
}

fn raw<const BETA: bool>(status: &'static str, body: Bytes) -> Raw<BETA> {
    Raw { calls: Arc::default(), status: Arc::new(Mutex::new(status)), body }
}

#[tokio::test]
async fn garbage_is_reported_with_what_is_wrong() {
    let not_a_number: Vec<u8> = [vec![0x11], f64::NAN.to_le_bytes().to_vec()].concat();
    let entry = [field(1, b"replicas"), field(2, &not_a_number)].concat();
    let resource = field(1, &field(1, &entry));
    let cases = BTreeMap::from([
        ("not a RunFunctionResponse", frame(&[0xff, 0xff, 0xff])),
        ("desired.resources[web].replicas is a number that JSON does not have", {
            let entry = [field(1, b"web"), field(2, &resource)].concat();
            frame(&field(2, &field(2, &entry)))
        }),
        ("desired.composite.replicas is a number that JSON does not have", {
            frame(&field(2, &field(1, &resource)))
        }),
        ("protocol error", Bytes::from_static(&[7, 0, 0, 0, 1, 0])),
        ("Missing response message", Bytes::new()),
    ]);
    for (expected, body) in cases {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = serve_raw(&folder, raw("0", body), raw("12", Bytes::new()));
        let error = Engine::of(patient(None), &endpoint).call().await.unwrap_err();
        assert_eq!(error.class, RunErrorClass::BadAnswer, "{expected}: {error}");
        assert!(error.message.starts_with("cannot read the function's response: "), "{error}");
        assert!(error.message.contains(expected), "{expected}: {error}");
    }
}

#[tokio::test]
async fn a_v1beta1_function_is_called_in_v1beta1_until_it_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (v1, beta) = (raw("12", frame(&[])), raw("0", frame(&[])));
    let (v1_status, beta_status) = (Arc::clone(&v1.status), Arc::clone(&beta.status));
    let calls = [Arc::clone(&v1.calls), Arc::clone(&beta.calls)];
    let engine = Engine::of(patient(None), &serve_raw(&folder, v1, beta));
    for _ in 0..3 {
        engine.call().await.unwrap();
    }
    assert_eq!(calls.each_ref().map(|calls| calls.load(Ordering::SeqCst)), [1, 3]);

    // Until it is replaced by one that serves only v1.
    *v1_status.lock().unwrap() = "0";
    *beta_status.lock().unwrap() = "12";
    for _ in 0..2 {
        engine.call().await.unwrap();
    }
    assert_eq!(calls.map(|calls| calls.load(Ordering::SeqCst)), [3, 4]);
}

#[tokio::test]
async fn a_server_of_neither_version_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = serve_raw(&folder, raw("12", Bytes::new()), raw("12", Bytes::new()));
    let error = Engine::of(patient(None), &endpoint).call().await.unwrap_err();
    assert_eq!(error.class, RunErrorClass::Failed);
    let expected = "rpc error: code = Unimplemented desc = the function serves neither fn v1 nor v1beta1";
    assert!(error.message.starts_with(expected), "{error}");
}

#[tokio::test]
async fn our_server_serves_v1beta1_as_well() {
    let served = serve(echo, None).await;
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", served.endpoint)).unwrap();
    let mut grpc = tonic::client::Grpc::new(endpoint.connect().await.unwrap());
    for version in ["v1", "v1beta1"] {
        let path = format!("/apiextensions.fn.proto.{version}.FunctionRunnerService/RunFunction");
        let codec = tonic_prost::ProstCodec::<(), ()>::default();
        grpc.ready().await.unwrap();
        grpc.unary(tonic::Request::new(()), path.parse().unwrap(), codec).await.unwrap();
    }
}
