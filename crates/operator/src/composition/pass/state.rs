//! The observed state that functions are given: an XR, its composed resources, and the connection details of both.

use std::collections::BTreeMap;
use std::sync::Arc;

use composition::composite::Composite;
use composition::connection;
use composition::event::Event;
use composition::health::{ReconcileFailure, Stage};
use composition::object;
use composition::observed::Observed;
use composition::protocol::{Object, SecretData, State};
use serde_json::Value;

use super::Actor;
use crate::runtime::client::ObjectClient;

/// The state of `xr`, with the connection details that `client` reads for it and `actor` for its resources. What is left out for
/// lack of control is added to `events`.
pub(in crate::composition) async fn observed_state(
    xr: Composite<'_>,
    observed: &Observed,
    client: &ObjectClient,
    actor: &Actor,
    events: &mut Vec<Event>,
) -> Result<Arc<State>, ReconcileFailure> {
    let what = "cannot fetch composite resource connection details";
    let own = published(client, xr.object, xr.connection_secret(), what, events).await?;
    let mut details = BTreeMap::new();
    // What has lost its controller is controlled again by the next apply.
    let controlled =
        observed.resources.iter().filter(|(_, child)| object::is_controlled_by(child, xr.object));
    for (key, child) in controlled {
        let kind = child.get("kind").and_then(Value::as_str).unwrap_or_default();
        let name = object::name(child).unwrap_or_default();
        let what =
            format!("cannot fetch connection details for composed resource {key:?} (a {kind} named {name})");
        let found = published(&actor.client, child, connection::secret_of(child), &what, events).await?;
        details.insert(key.clone(), found);
    }
    Ok(Arc::new(observed.state(xr.object, own, details)))
}

/// What `publisher` has published to `secret`; empty while that does not exist.
async fn published(
    client: &ObjectClient,
    publisher: &Object,
    secret: Option<(&str, &str)>,
    what: &str,
    events: &mut Vec<Event>,
) -> Result<SecretData, ReconcileFailure> {
    let Some((namespace, name)) = secret else { return Ok(SecretData::default()) };
    let read = client.read(&connection::secret_ref(namespace, name)).await;
    let read = read.map_err(|error| {
        let text = format!("{what}: {}", error.text());
        ReconcileFailure::engine(Stage::Compose, error.class(), text)
    })?;
    let Some(secret) = read else { return Ok(SecretData::default()) };
    Ok(connection::published(&secret, publisher).unwrap_or_else(|| {
        let uid = object::uid(publisher).unwrap_or_default();
        let text = format!("{what}: Secret {namespace}/{name} is not controlled by UID {uid:?}");
        events.push(Event::warning(Stage::Compose.event_reason(), text));
        SecretData::default()
    }))
}
