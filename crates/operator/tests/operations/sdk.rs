//! Oracle's own SDK for Python, a client that we did not write: it creates, lists, updates, moves and deletes each kind, and
//! its models take what our operator sends and give the same back.

use std::process::Stdio;

use operations::{ExternalService as _, Lifecycle};
use operator::operations::Described;
use operator::runtime::metrics::Metrics;
use oraclecloud::kind::{Embedded, Extent, Shape};
use oraclecloud::{Catalogue, Kind};
use oraclecloud_emulator::{Options, serve};
use serde_json::{Map, Value, json};
use testkit::seed;

use super::bench::key_dir;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/operations/sdk.py");

/// What `cargo test` drives: one of each shape. `cargo xtask full` drives all kinds.
const SAMPLE: [&str; 7] = [
    "containerengine/Cluster",
    "core/Vcn",
    "databasemigration/Connection",
    "nosql/Table",
    "objectstorage/Bucket",
    "redis/RedisCluster",
    "vault/Secret",
];

/// Kinds of which a part is not emulated as the SDK has it, and why. None of them is installed by default.
const PARTLY: [(&str, &str); 4] = [
    ("databasetools/DatabaseToolsMcpToolset", "its listing has types of its own"),
    ("goldengate/Pipeline", "its listing has types of its own"),
    ("marketplacepublisher/ListingRevisionAttachment", "its types have types"),
    ("oda/Channel", "a create answers with more than a read does"),
];

fn described(kind: Kind) -> Described {
    Described::new(kind, Err(operations::CallError::default()), &Metrics::new())
}

/// A spec of a type; its passwords are plain, since only what is sent has them.
fn spec(kind: Kind, variant: Option<&str>, extent: Extent) -> Value {
    let model = &kind.description().spec;
    let mut spec = kind.example(model, variant, extent);
    for name in kind.scope[0].iter().chain([&kind.name_field]) {
        if model.of_variant(model.variant(&spec.clone())).any(|(it, _)| it == name) {
            spec.entry(name.clone()).or_insert_with(|| json!("example"));
        }
    }
    for group in &kind.exclusive {
        group.iter().skip(1).for_each(|name| _ = spec.remove(name));
    }
    spec.into()
}

/// What the script needs to know of a kind: its calls, and the bodies of the operator.
fn job(kind: Kind) -> Value {
    let model = &kind.description().spec;
    let variants: Vec<Option<&str>> = match model.variants.keys().next() {
        None => vec![None],
        Some(_) => model.variants.keys().map(|variant| Some(variant.as_str())).collect(),
    };
    let service = described(kind);
    let first = spec(kind, variants[0], Extent::Required);
    let mut bodies = vec![service.create_body(&first, "uid-1")];
    let (mut updates, mut others) = (Vec::new(), Vec::new());
    if model.get("freeformTags").is_some_and(|field| field.update) {
        updates.push(service.update_body(&first, &json!({"freeformTags": {"team": "web"}})));
    }
    for variant in &variants {
        let whole = spec(kind, *variant, Extent::Everything);
        bodies.push(service.create_body(&whole, "uid-1"));
        let changes = whole.as_object().unwrap().iter().filter(|(name, _)| model[*name].update);
        let changes = changes.map(|(name, value)| {
            let value = match &model[name].updated {
                Some(shape @ Shape::OneOf(_)) if model.discriminator.as_ref() != Some(name) => {
                    kind.shaped(shape, Extent::Required, 0)
                }
                _ => value.clone(),
            };
            (name.clone(), value)
        });
        let changes: Map<String, Value> = changes.filter(|(name, _)| name != "compartmentId").collect();
        // A resource stays of its type.
        let into = if *variant == variants[0] { &mut updates } else { &mut others };
        into.push(service.update_body(&first, &changes.into()));
    }
    let mut calls = json!({
        "create": kind.create.name, "get": kind.get.name, "list": kind.list.name, "update": kind.update.name,
        "delete": kind.delete.name,
    });
    let mut named = json!({});
    for (verb, route) in [("get", &kind.get), ("update", &kind.update), ("delete", &kind.delete)] {
        named[verb] = json!(route.parameters().last());
    }
    if let Some(route) = &kind.change_compartment {
        calls["move"] = json!(route.name);
        named["move"] = json!(route.parameters().last());
    }
    let words = |meaning: Lifecycle| -> Vec<&str> {
        kind.decisions.states.iter().filter(|(_, it)| *it == meaning).map(|(name, _)| *name).collect()
    };
    let of = |names: &[String]| -> Map<String, Value> {
        names.iter().map(|name| (name.clone(), first[name].clone())).collect()
    };
    let path: Vec<&str> = kind.get.parameters().collect();
    let create_path: Vec<&str> = kind.create.parameters().collect();
    let mut parents: Vec<String> = path.iter().chain(&create_path).map(|name| (*name).to_owned()).collect();
    parents.retain(|name| first.get(name).is_some());
    json!({
        "name": kind.path(), "service": kind.service.name, "calls": calls, "bodies": bodies, "updates": updates, "otherUpdates": others,
        "named": named, "knowsTypes": !kind.operation_types.is_empty(),
        "workRequest": kind.service.work_requests.as_ref().map(|calls| &calls.get.name),
        "shared": kind.service.work_requests.as_ref().is_some_and(|calls| calls.service.is_some()), "path": path, "createPath": create_path, "parents": of(&parents), "scope": of(&kind.scope[0]),
        "address": kind.address.as_ref().map(|name| first[name].clone()), "idField": kind.id_field,
        "ready": words(Lifecycle::Ready), "scheduled": words(Lifecycle::Scheduled),
        "schedulesDelete": kind.delete.method != "DELETE",
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oracles_sdk_drives_every_kind_and_takes_what_the_operator_sends() {
    let Some(python) = tokio::task::spawn_blocking(testkit::python::with_oci_sdk).await.unwrap() else {
        return;
    };
    let kinds: Catalogue = Catalogue::matching(&["*".parse().unwrap()]);
    let server = serve(Options { key_dir: Some(key_dir()), kinds, ..Options::default() }).await.unwrap();
    let chosen: Vec<Kind> = if seed::is_whole() {
        let all = Embedded::all().iter().flat_map(|embedded| embedded.read().kinds());
        all.filter(|kind| PARTLY.iter().all(|(path, _)| *path != kind.path())).collect()
    } else {
        SAMPLE.iter().map(|path| Embedded::kind(path).unwrap()).collect()
    };
    let jobs: Vec<Value> = chosen.iter().map(|kind| job(*kind)).collect();
    let settings = json!({"url": server.url(), "configFile": server.config_file(), "kinds": jobs});
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), settings.to_string()).unwrap();
    let output = tokio::process::Command::new(python)
        .arg(SCRIPT)
        .arg(file.path())
        // A configured proxy must not intercept local servers.
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {stdout}{stderr}", output.status);
    let driven: Vec<&str> = stdout.lines().collect();
    assert_eq!(driven, chosen.iter().map(|kind| kind.path()).collect::<Vec<_>>());
}
