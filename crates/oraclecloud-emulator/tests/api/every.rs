//! Every described kind, from create to delete: what the client sends, the emulator accepts, and the other way round.

use oraclecloud::kind::{Embedded, Extent, Lifecycle, Phase};
use oraclecloud_emulator::{Options, serve};
use serde_json::Map;

use crate::*;

/// A client that names the service in each path; several have the same versions and paths.
fn client_of_all(server: &Server) -> Client {
    let mut endpoints = Endpoints::default();
    endpoints.add(&format!("{}/{{service}}", server.url())).unwrap();
    let settings =
        Settings { deadline: Duration::from_secs(60), endpoints, limiter: RateLimiter::new(100_000.0) };
    let credentials = Credentials::from_config_file(server.config_file(), None, &no_variables);
    Client::new(credentials, Connections::new(), settings, &no_variables).unwrap()
}

/// Reads the resource until its state means this.
async fn until(resources: &Resources<'_>, kind: Kind, id: &str, wanted: Lifecycle) -> Value {
    for _ in 0..10 {
        let shown = resources.get(id).await.unwrap_or_else(|error| panic!("{kind:?}: {error}")).body;
        if kind.decisions.lifecycle(shown["lifecycleState"].as_str()) == Some(wanted) {
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
    let client = client_of_all(&server);
    for embedded in Embedded::all() {
        for kind in embedded.read().kinds() {
            exercise(&client, kind).await;
        }
    }
}

async fn exercise(client: &Client, kind: Kind) {
    let described = &kind.description().spec;
    let named = || kind.scope[0].iter().chain([&kind.name_field]);
    // Of a type that has all that it is listed by.
    let mut variants = described.variants.keys();
    let has = |variant: &str, name: &String| described.of_variant(Some(variant)).any(|(it, _)| it == name);
    let variant = variants.find(|variant| named().all(|name| has(variant, name)));
    let mut spec = kind.example(described, variant.map(String::as_str), Extent::Required);
    for name in named() {
        spec.entry(name.clone()).or_insert_with(|| json!("example"));
    }
    let taken = |name: &String| !kind.is_place(name) && !described[name].late;
    let body: Map<String, Value> = spec
        .iter()
        .filter(|(name, _)| taken(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let spec = Value::Object(spec);
    let resources = client.resources(kind).within(&spec);
    let created = resources.create(&body.into(), Some(&kind.path()), None).await;
    let created = created.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    let names = kind.scope[0].iter().filter(|name| kind.list.parameters().all(|it| it != name.as_str()));
    let scope: Scope = names.map(|name| (name.clone(), text(&spec[name]))).collect();
    let id = if let Some(body) = created.body {
        text(&body[&kind.id_field])
    } else if kind.address.is_some() {
        text(&resources.get("by its name").await.unwrap().body[&kind.id_field])
    } else if let Some(work) = created.work_request_id {
        let work = resources.work_request(&work).await.unwrap().body;
        text(&work["resources"][0]["identifier"])
    } else {
        // A create that answers with nothing is followed by listing.
        let listed = resources.list(&scope).await.unwrap();
        let ours = listed.body.iter().find(|entry| entry[&kind.name_field] == spec[&kind.name_field]);
        text(&ours.unwrap_or_else(|| panic!("{kind:?} is not listed"))[&kind.id_field])
    };
    let shown = until(&resources, kind, &id, Lifecycle::Ready).await;
    for (name, _) in kind.status.iter().filter(|(_, field)| field.required) {
        assert!(shown.get(name).is_some(), "{kind:?} lacks {name}");
    }
    let listed = resources.list(&scope).await.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    let named = kind.address.as_ref().unwrap_or(&kind.id_field);
    assert!(listed.body.iter().any(|entry| entry[named] == shown[named]), "{kind:?} is not listed");
    let tags = json!({"team": "web"});
    if described.get("freeformTags").is_some_and(|field| field.update) {
        let always = described.iter().filter(|(_, field)| field.always);
        let mut change: Map<String, Value> =
            always.map(|(name, _)| (name.clone(), spec[name].clone())).collect();
        change.insert("freeformTags".to_owned(), tags.clone());
        resources.update(&id, &change.into(), None).await.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        let shown = until(&resources, kind, &id, Lifecycle::Ready).await;
        assert_eq!(shown["freeformTags"], tags, "{kind:?}");
    }
    let elsewhere = json!({"compartmentId": "elsewhere"});
    if kind.change_compartment.is_some() {
        resources.update(&id, &elsewhere, None).await.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        until(&resources, kind, &id, Lifecycle::Ready).await;
    }
    let deleted = resources.delete(&id, None).await.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    let names_work = kind.work_requests.contains(&Phase::Delete);
    assert_eq!(deleted.work_request_id.is_some(), names_work, "{kind:?}");
}
