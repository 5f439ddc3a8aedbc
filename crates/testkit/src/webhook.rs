//! A webhook server that an API server on the same machine can call, and that can be down.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// How long a test waits for a call.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Admits every object, and converts by nothing but changing `apiVersion`. Dropping it ends it.
pub struct Webhook {
    address: SocketAddr,
    certificate: String,
    is_up: watch::Sender<bool>,
    /// How many connections were closed at once, because the webhook was down.
    refused: watch::Sender<usize>,
    task: JoinHandle<()>,
}

impl Webhook {
    /// A webhook that is down: it closes every connection at once.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = listener.local_addr().expect("a listener has an address");
        let (acceptor, certificate) = tls();
        let (is_up, mut wanted) = watch::channel(false);
        let refused = watch::Sender::new(0);
        let count = refused.clone();
        let task = tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = refuse(&listener, &count) => return,
                    up = wanted.wait_for(|up| *up) => if up.is_err() { return },
                }
                tokio::select! {
                    () = serve(&listener, &acceptor) => return,
                    down = wanted.wait_for(|up| !up) => if down.is_err() { return },
                }
            }
        });
        Self { address, certificate, is_up, refused, task }
    }

    pub fn set_up(&self, is_up: bool) {
        self.is_up.send_replace(is_up);
    }

    /// Waits until it is called once more while it is down.
    ///
    /// # Panics
    ///
    /// If it is not called.
    pub async fn until_refused(&self) {
        let mut refused = self.refused.subscribe();
        let before = *refused.borrow_and_update();
        let called = tokio::time::timeout(TIMEOUT, refused.wait_for(|count| *count > before)).await;
        assert!(matches!(called, Ok(Ok(_))), "the webhook was not called within {TIMEOUT:?}");
    }

    /// What a webhook configuration or a CRD has as `clientConfig`.
    pub fn client_config(&self) -> Value {
        let bundle = base64::prelude::BASE64_STANDARD.encode(&self.certificate);
        json!({ "url": format!("https://{}/", self.address), "caBundle": bundle })
    }

    /// A configuration that has every write of `resources` in `group` admitted, on condition that it is in `namespace`.
    pub fn admission(&self, name: &str, (group, resources): (&str, &str), namespace: &str) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": name },
            "webhooks": [{
                "name": format!("{name}.example.org"),
                "clientConfig": self.client_config(),
                "rules": [{
                    "apiGroups": [group], "apiVersions": ["*"], "resources": [resources],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                }],
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }],
        })
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The server side of TLS, and its own certificate, which is all that has to be trusted.
fn tls() -> (TlsAcceptor, String) {
    // The only possible failure is that a provider is already installed.
    let _: Result<(), _> = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let key = KeyPair::generate().expect("a new key");
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a valid name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate with its key");
    (TlsAcceptor::from(Arc::new(config)), certificate.pem())
}

async fn refuse(listener: &TcpListener, count: &watch::Sender<usize>) {
    while let Ok((connection, _)) = listener.accept().await {
        drop(connection);
        count.send_modify(|count| *count += 1);
    }
}

/// Serves connections; dropping the future closes all of them.
async fn serve(listener: &TcpListener, acceptor: &TlsAcceptor) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(respond));
            // The API server closes connections whenever it likes.
            let _closed = served.await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    let review = review(serde_json::from_slice(&body).unwrap_or_default());
    let response = Response::builder().header("content-type", "application/json");
    Ok(response.body(Full::from(review.to_string())).expect("a valid response"))
}

/// The answer to an `AdmissionReview` or a `ConversionReview`.
fn review(mut review: Value) -> Value {
    let mut request = review["request"].take();
    let mut response = json!({ "uid": request["uid"] });
    if review["kind"] == "AdmissionReview" {
        response["allowed"] = true.into();
    } else {
        let wanted = request["desiredAPIVersion"].take();
        let mut objects = request["objects"].take();
        for object in objects.as_array_mut().into_iter().flatten() {
            object["apiVersion"] = wanted.clone();
        }
        response["convertedObjects"] = objects;
        response["result"] = json!({ "status": "Success" });
    }
    json!({ "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response })
}
