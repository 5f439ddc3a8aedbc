//! Every described kind, from create to delete: what the client sends, the emulator accepts, and the other way round.

use oraclecloud::kind::{Embedded, PhaseName, State};
use oraclecloud_emulator::{Options, serve};
use serde_json::Map;

use crate::*;

/// A client of one service; several have the same versions and paths.
fn client_of(server: &Server, service: &str) -> Client {
    let mut endpoints = Endpoints::default();
    endpoints.add(&format!("{}/{service}", server.url())).unwrap();
    let settings =
        Settings { deadline: Duration::from_secs(60), endpoints, limiter: RateLimiter::new(100_000.0) };
    let credentials = Credentials::from_config_file(server.config_file(), None, &no_variables);
    Client::new(credentials, Connections::new(), settings, &no_variables).unwrap()
}

/// Reads the resource until its state means this.
async fn until(resources: &Resources<'_>, kind: Kind, id: &str, wanted: State) -> Value {
    for _ in 0..10 {
        let shown = resources.get(id).await.unwrap_or_else(|error| panic!("{kind:?}: {error}")).body;
        if kind.states.get(shown["lifecycleState"].as_str().unwrap_or_default()) == Some(&wanted) {
            return shown;
        }
    }
    panic!("{kind:?} never is {wanted:?}");
}

#[tokio::test]
async fn every_kind_is_created_listed_updated_and_deleted() {
    let kinds: Catalogue = Catalogue::matching(&["*".parse().unwrap()]);
    let key_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("oci-server-keys"));
    let server = serve(Options { key_dir, kinds, ..Options::default() }).await.unwrap();
    for embedded in Embedded::all() {
        let client = client_of(&server, embedded.service);
        for kind in embedded.read().kinds() {
            exercise(&client, kind).await;
        }
    }
}

async fn exercise(client: &Client, kind: Kind) {
    let mut spec = kind.example(&kind.spec);
    for name in kind.scope[0].iter().chain([&kind.name_field]) {
        spec.entry(name.clone()).or_insert_with(|| json!("example"));
    }
    let parents: Vec<&str> = kind.parents().collect();
    let body: Map<String, Value> = spec
        .iter()
        .filter(|(name, _)| !parents.contains(&name.as_str()) && !kind.spec[*name].late)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let spec = Value::Object(spec);
    let resources = client.resources(kind).within(&spec);
    let created = resources.create(&body.into(), Some(&kind.path()), None).await;
    let created = created.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    let id = if let Some(body) = created.body {
        text(&body["id"])
    } else {
        let work =
            created.work_request_id.unwrap_or_else(|| panic!("{kind:?}: neither a body nor a work request"));
        let work = resources.work_request(&work).await.unwrap().body;
        text(&work["resources"][0]["identifier"])
    };
    let shown = until(&resources, kind, &id, State::Ready).await;
    for (name, _) in kind.status.iter().filter(|(_, field)| field.required) {
        assert!(shown.get(name).is_some(), "{kind:?} lacks {name}");
    }
    let names = kind.scope[0].iter().filter(|name| kind.list.parameters().all(|it| it != name.as_str()));
    let scope: Scope = names.map(|name| (name.clone(), text(&spec[name]))).collect();
    let listed = resources.list(&scope).await.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    assert!(listed.body.iter().any(|entry| entry["id"] == json!(id)), "{kind:?} is not listed");
    let tags = json!({"freeformTags": {"team": "web"}});
    if kind.spec["freeformTags"].update {
        resources.update(&id, &tags, None).await.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        let shown = until(&resources, kind, &id, State::Ready).await;
        assert_eq!(shown["freeformTags"], tags["freeformTags"], "{kind:?}");
    }
    let deleted = resources.delete(&id, None).await.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    let names_work = kind.work_requests.contains(&PhaseName::Delete);
    assert_eq!(deleted.work_request_id.is_some(), names_work, "{kind:?}");
}
