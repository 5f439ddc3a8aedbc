//! A served provider, with a client in Terraform's place.

use rcgen::{
    BasicConstraints, CertificateParams, IsCa, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P521_SHA512,
};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;
use tonic::transport::Channel;

use super::*;
use crate::r#gen::plugin::Empty;
use crate::r#gen::plugin::grpc_controller_client::GrpcControllerClient;
use crate::r#gen::plugin::grpc_stdio_client::GrpcStdioClient;
use crate::r#gen::tfplugin6 as proto;
use crate::msgpack;
use crate::provider::{ApplyRequest, ApplyResponse, BoxFuture, ReadRequest, ReadResponse, Resource};
use crate::schema::{Attribute, Schema};
use crate::types::Type;
use crate::value::Object;
use proto::provider_client::ProviderClient;

/// A certificate like go-plugin's: self-signed, an authority, on the curve P-521.
struct Certificate {
    key: KeyPair,
    certificate: rcgen::Certificate,
}

impl Certificate {
    fn new(algorithm: &'static rcgen::SignatureAlgorithm) -> Self {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self { key, certificate }
    }
}

/// A served provider, and what a client needs to find it.
struct Served {
    address: std::path::PathBuf,
    own: Option<rustls::pki_types::CertificateDer<'static>>,
    /// Notified when a resource is being read.
    reading: Arc<Notify>,
    task: tokio::task::JoinHandle<Result<(), ServeError>>,
}

impl Served {
    fn start(client: Option<&Certificate>) -> Self {
        let listener = Listener::bind(None, &(0..=0)).unwrap();
        let address = listener.address.address.clone().into();
        let pinned = client.map(|client| tls::pinned(&client.certificate.pem()).unwrap());
        let own = pinned.as_ref().map(|pinned| pinned.certificate.clone());
        let reading = Arc::new(Notify::new());
        let waiting = Waiting(reading.clone());
        let factory: Factory = Box::new(|| Arc::new(waiting));
        let task =
            tokio::spawn(serve_on(listener, pinned.map(|pinned| pinned.config), factory, Lifetime::Client));
        Self { address, own, reading, task }
    }

    async fn connect(&self, shown: Option<&Certificate>) -> Result<Channel, tonic::transport::Error> {
        let tls = self.own.as_ref().map(|own| {
            let mut roots = RootCertStore::empty();
            roots.add(own.clone()).unwrap();
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let config = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots);
            let mut config = match shown {
                None => config.with_no_client_auth(),
                Some(shown) => {
                    let key = PrivateKeyDer::Pkcs8(shown.key.serialize_der().into());
                    config.with_client_auth_cert(vec![shown.certificate.der().clone()], key).unwrap()
                }
            };
            config.alpn_protocols = vec![b"h2".to_vec()];
            TlsConnector::from(Arc::new(config))
        });
        let address = self.address.clone();
        let connector = tower::service_fn(move |_| {
            let (address, tls) = (address.clone(), tls.clone());
            async move {
                let stream = UnixStream::connect(address).await?;
                let io: incoming::Connection = match tls {
                    None => Box::new(stream),
                    Some(tls) => {
                        Box::new(tls.connect(ServerName::try_from("localhost").unwrap(), stream).await?)
                    }
                };
                Ok::<_, std::io::Error>(hyper_util::rt::TokioIo::new(io))
            }
        });
        tonic::transport::Endpoint::from_static("http://localhost").connect_with_connector(connector).await
    }
}

/// A provider whose one resource is read until it is stopped.
#[derive(Clone, Default)]
struct Waiting(Arc<Notify>);

impl Provider for Waiting {
    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![Arc::new(self.clone())]
    }
}

impl Resource for Waiting {
    fn type_name(&self) -> &'static str {
        "test_waiting"
    }

    fn schema(&self) -> Schema {
        Schema::new().attribute(Attribute::required("text", Type::String))
    }

    fn apply(&self, request: ApplyRequest) -> BoxFuture<'_, ApplyResponse> {
        Box::pin(async { ApplyResponse { state: request.change.into_planned(), ..ApplyResponse::default() } })
    }

    fn read(&self, request: ReadRequest) -> BoxFuture<'_, ReadResponse> {
        Box::pin(async {
            self.0.notify_one();
            request.stop.cancelled().await;
            request.unchanged()
        })
    }
}

async fn schema(channel: Channel) -> Result<proto::get_provider_schema::Response, tonic::Status> {
    let request = proto::get_provider_schema::Request {};
    Ok(ProviderClient::new(channel).get_provider_schema(request).await?.into_inner())
}

#[expect(clippy::unnecessary_wraps, reason = "the messages have optional fields")]
fn state(text: &str) -> Option<proto::DynamicValue> {
    let msgpack =
        msgpack::encode(Object::from([("text", text)]).into(), &Resource::schema(&Waiting::default()).ty())
            .unwrap();
    Some(proto::DynamicValue { msgpack, json: Vec::new() })
}

#[tokio::test]
async fn a_client_with_the_pinned_certificate_is_served() {
    for algorithm in [&PKCS_ECDSA_P521_SHA512, &PKCS_ECDSA_P256_SHA256] {
        let client = Certificate::new(algorithm);
        let served = Served::start(Some(&client));
        let channel = served.connect(Some(&client)).await.unwrap();
        assert!(schema(channel).await.unwrap().resource_schemas.contains_key("test_waiting"));
    }
}

#[tokio::test]
async fn other_clients_are_refused() {
    let client = Certificate::new(&PKCS_ECDSA_P521_SHA512);
    let served = Served::start(Some(&client));
    let stranger = Certificate::new(&PKCS_ECDSA_P521_SHA512);
    for shown in [Some(&stranger), None] {
        // In TLS 1.3 a client learns of its refusal only with the first response.
        let refused = match served.connect(shown).await {
            Ok(channel) => schema(channel).await.is_err(),
            Err(_) => true,
        };
        assert!(refused, "{}", if shown.is_some() { "another certificate" } else { "no certificate" });
    }
    // A refused client does not delay others.
    assert!(schema(served.connect(Some(&client)).await.unwrap()).await.is_ok());
}

#[test]
fn an_invalid_certificate_is_refused() {
    assert!(matches!(tls::pinned("not PEM"), Err(tls::TlsError::ClientCertificate(_))));
}

#[tokio::test]
async fn the_plugin_is_healthy_until_a_shutdown_ends_it() {
    let served = Served::start(None);
    let channel = served.connect(None).await.unwrap();
    let mut health = tonic_health::pb::health_client::HealthClient::new(channel.clone());
    let request = tonic_health::pb::HealthCheckRequest { service: "plugin".to_owned() };
    let status = health.check(request).await.unwrap().into_inner().status;
    assert_eq!(status, i32::from(tonic_health::pb::health_check_response::ServingStatus::Serving));

    let mut stdio = GrpcStdioClient::new(channel.clone()).stream_stdio(()).await.unwrap().into_inner();
    let open = tokio::time::timeout(Duration::from_millis(20), stdio.message()).await;
    assert!(open.is_err(), "the stream stays open");

    GrpcControllerClient::new(channel).shutdown(Empty {}).await.unwrap();
    served.task.await.unwrap().unwrap();
    assert!(!served.address.exists());
}

#[tokio::test]
async fn stopping_cancels_work_in_progress() {
    let served = Served::start(None);
    let channel = served.connect(None).await.unwrap();
    let mut client = ProviderClient::new(channel.clone());
    let reading = tokio::spawn(async move {
        let request = proto::read_resource::Request {
            type_name: "test_waiting".to_owned(),
            current_state: state("x"),
            ..proto::read_resource::Request::default()
        };
        client.read_resource(request).await.unwrap().into_inner()
    });
    served.reading.notified().await;
    let stopped = ProviderClient::new(channel).stop_provider(proto::stop_provider::Request {}).await.unwrap();
    assert_eq!(stopped.into_inner().error, "");
    assert_eq!(reading.await.unwrap().new_state, state("x"));
}

#[tokio::test]
async fn an_apply_after_a_stop_does_not_begin_until_the_provider_is_configured_again() {
    let served = Served::start(None);
    let mut client = ProviderClient::new(served.connect(None).await.unwrap());
    let request = || proto::apply_resource_change::Request {
        type_name: "test_waiting".to_owned(),
        prior_state: state("old"),
        planned_state: state("new"),
        config: state("new"),
        planned_private: b"{}".to_vec(),
        ..proto::apply_resource_change::Request::default()
    };
    client.stop_provider(proto::stop_provider::Request {}).await.unwrap();
    let response = client.apply_resource_change(request()).await.unwrap().into_inner();
    assert_eq!(response.diagnostics[0].summary, "Interrupted");
    assert_eq!((response.new_state, response.private), (state("old"), b"{}".to_vec()), "nothing is lost");

    // In reattach mode another command follows.
    let msgpack = msgpack::encode(Object::new().into(), &Schema::new().ty()).unwrap();
    let configure = proto::configure_provider::Request {
        config: Some(proto::DynamicValue { msgpack, json: Vec::new() }),
        ..proto::configure_provider::Request::default()
    };
    client.configure_provider(configure).await.unwrap();
    let response = client.apply_resource_change(request()).await.unwrap().into_inner();
    assert_eq!((response.diagnostics, response.new_state), (vec![], state("new")));
}

#[tokio::test]
async fn messages_may_be_far_larger_than_grpc_allows_by_default() {
    let served = Served::start(None);
    let mut client = ProviderClient::new(served.connect(None).await.unwrap())
        .max_decoding_message_size(64 << 20)
        .max_encoding_message_size(64 << 20);
    let large = state(&"x".repeat(16 << 20));
    let request = proto::apply_resource_change::Request {
        type_name: "test_waiting".to_owned(),
        planned_state: large.clone(),
        config: large.clone(),
        ..proto::apply_resource_change::Request::default()
    };
    let response = client.apply_resource_change(request).await.unwrap().into_inner();
    assert!(response.diagnostics.is_empty());
    assert!(response.new_state == large);
}
