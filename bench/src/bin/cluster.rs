//! What the client adds to the bytes it sends, and how long an object waits for its kind.
//!
//! Needs a cluster: `plimsoll sandbox exec -- cargo run --release -p bench --bin cluster`, or any `KUBECONFIG`.

use std::error::Error;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cluster::{Check, Connection, Delete, Environment, Session, Write};
use futures::{StreamExt as _, stream};
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt as _;
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let _inside = runtime.enter();
    let session =
        Session::connect(&Connection::from_environment(None), &Environment::of_process(), "plimsoll-bench")?;
    applies(&runtime, &session)?;
    runtime.block_on(late_kinds(&session))
}

/// 500 dry runs with 10 in flight, against a bare hyper client that sends the same bytes and reads the same answers.
fn applies(runtime: &tokio::runtime::Runtime, session: &Session) -> Outcome<()> {
    const REQUESTS: usize = 500;
    const IN_FLIGHT: usize = 10;
    let object = config_map();
    let target = reference("v1/ConfigMap", "plimsoll-bench");
    let config = runtime.block_on(kube::Config::infer())?;
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let connector = config.rustls_https_connector_with_connector(tcp)?;
    let client = Client::builder(TokioExecutor::new()).build::<_, Full<Bytes>>(connector);
    let bare = Arc::new(Bare::new(&config, &object)?);
    let in_flight = |number: usize| {
        let (client, bare) = (client.clone(), Arc::clone(&bare));
        async move { bare.send(&client, number).await }
    };
    bench::compare(
        "500 dry-run applies, 10 in flight",
        1.5,
        || runtime.block_on(stream::iter(0..REQUESTS).map(in_flight).buffer_unordered(IN_FLIGHT).count()),
        || {
            let applies = stream::iter(0..REQUESTS).map(|_| async {
                session
                    .apply(&target, &object, Write::by("bench").dry_run())
                    .await
                    .expect("a sound ConfigMap")
            });
            runtime.block_on(applies.buffer_unordered(IN_FLIGHT).count())
        },
    )?;
    Ok(())
}

/// The request that an apply comes down to.
struct Bare {
    url: String,
    body: Bytes,
    authorization: Option<HeaderValue>,
}

impl Bare {
    fn new(config: &kube::Config, object: &Value) -> Outcome<Self> {
        let path = "api/v1/namespaces/default/configmaps/plimsoll-bench";
        let query = "fieldManager=bench&fieldValidation=Strict&dryRun=All";
        let url = format!("{}{path}?{query}", config.cluster_url);
        let token = config.auth_info.token.as_ref();
        let authorization = token
            .map(|token| {
                HeaderValue::try_from(format!("Bearer {}", secrecy::ExposeSecret::expose_secret(token)))
            })
            .transpose()?;
        Ok(Self { url, body: Bytes::from(object.to_string()), authorization })
    }

    async fn send<C>(&self, client: &Client<C, Full<Bytes>>, _: usize) -> usize
    where
        C: Connect + Clone + Send + Sync + 'static,
    {
        let mut request = Request::patch(&self.url)
            .header(CONTENT_TYPE, "application/apply-patch+yaml")
            .body(Full::new(self.body.clone()))
            .expect("a sound request");
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        let answer = client.request(request).await.expect("the cluster answers");
        assert!(answer.status().is_success(), "{}", answer.status());
        answer.into_body().collect().await.expect("a whole answer").to_bytes().len()
    }
}

/// From the moment a CRD is established to the moment an object that waits for it is applied; median of ten.
async fn late_kinds(session: &Session) -> Outcome<()> {
    const ROUNDS: u32 = 10;
    const LATE: Duration = Duration::from_secs(3);
    const BAR: Duration = Duration::from_millis(300);
    let mut waits = Vec::new();
    for round in 0..ROUNDS {
        let group = format!("bench-{}-{round}.example.com", std::process::id());
        let definition = definition(&group);
        let kind = reference("apiextensions.k8s.io/v1/CustomResourceDefinition", &format!("widgets.{group}"));
        let widget = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": "w", "namespace": "default" },
        });
        let target = reference(&format!("{group}/v1/Widget"), "w");
        let begin = Instant::now();
        let (applied, established) = tokio::join!(
            async {
                session
                    .apply_when_possible(&target, &widget, Write::by("bench"))
                    .await
                    .map(|_| begin.elapsed())
            },
            async {
                tokio::time::sleep(LATE).await;
                session.apply(&kind, &definition, Write::by("bench")).await?;
                session
                    .wait_until(&kind, Duration::from_secs(30), is_established)
                    .await
                    .map(|_| begin.elapsed())
            }
        );
        waits.push(applied?.saturating_sub(established?));
        session.delete(&kind, &Delete::of(&kind)).await?;
    }
    waits.sort();
    let median = waits[waits.len() / 2];
    writeln!(io::stdout(), "applied after its CRD is established: {median:?} (of {waits:?}), bar {BAR:?}")?;
    Ok(())
}

fn is_established(definition: Option<&Value>) -> Check<()> {
    let conditions = definition.and_then(|definition| definition["status"]["conditions"].as_array());
    let is = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
    if conditions.is_some_and(|conditions| conditions.iter().any(is)) {
        Check::Met(())
    } else {
        Check::NotYet("it is not established".to_owned())
    }
}

fn reference(gvk: &str, name: &str) -> ObjectRef {
    ObjectRef::new(gvk.parse().expect("a sound kind"), Namespace::new("default"), name)
}

/// About 10 kB, as settings files are.
fn config_map() -> Value {
    let data: serde_json::Map<String, Value> =
        (0..100).map(|number| (format!("key-{number}"), Value::String("value ".repeat(16)))).collect();
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "plimsoll-bench", "namespace": "default" }, "data": data })
}

fn definition(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    })
}
