//! What the client adds to the bytes it sends, and how long an object waits for its kind.
//!
//! Needs a cluster: `plimsoll sandbox exec -- cargo run --profile dist -p bench --bin cluster`, or any `KUBECONFIG`.

use std::time::{Duration, Instant};

use bench::{OURS, Outcome, Role, Run, bare, compare, say};
use bytes::Bytes;
use cluster::{Check, Connection, Delete, Environment, Session, Write};
use futures::{StreamExt as _, stream};
use manifest::{Namespace, ObjectRef};
use serde_json::{Value, json};

fn main() -> Outcome<()> {
    let mut run = Run::begin()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let _inside = runtime.enter();
    let session =
        Session::connect(&Connection::from_environment(None), &Environment::of_process(), "plimsoll-bench")?;
    applies(&mut run, &runtime, &session)?;
    runtime.block_on(late_kinds(&mut run, &session))?;
    run.end()
}

/// 500 dry runs with 10 in flight, against a bare hyper client that sends the same bytes and reads the same answers.
fn applies(run: &mut Run, runtime: &tokio::runtime::Runtime, session: &Session) -> Outcome<()> {
    const REQUESTS: usize = 500;
    const IN_FLIGHT: usize = 10;
    let object = config_map();
    let target = reference("v1/ConfigMap", "plimsoll-bench");
    let config = runtime.block_on(kube::Config::infer())?;
    let bare = bare::connect(&config)?;
    let body = Bytes::from(object.to_string());
    let path = "/api/v1/namespaces/default/configmaps/plimsoll-bench?fieldManager=bench&fieldValidation=Strict&dryRun=All";
    let in_flight = |_| bare.apply(path, body.clone());
    let floor =
        || runtime.block_on(stream::iter(0..REQUESTS).map(in_flight).buffer_unordered(IN_FLIGHT).count());
    compare(run, "500 dry-run applies, 10 in flight", 1.5, ("bare client", Role::Floor, floor), || {
        let applies = stream::iter(0..REQUESTS).map(|_| async {
            session.apply(&target, &object, Write::by("bench").dry_run()).await.expect("a sound ConfigMap")
        });
        runtime.block_on(applies.buffer_unordered(IN_FLIGHT).count())
    })
}

/// From the moment a CRD is established to the moment an object that waits for it is applied; median of ten.
async fn late_kinds(run: &mut Run, session: &Session) -> Outcome<()> {
    const ROUNDS: u32 = 10;
    const LATE: Duration = Duration::from_secs(3);
    const BAR: f64 = 0.3;
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
    say(format_args!("applied after its CRD is established: {waits:?}"))?;
    run.time("applied after its CRD is established", OURS, Role::Ours, median);
    run.at_most("applied after its CRD is established, median in s", median.as_secs_f64(), BAR)
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
