//! Asks what a creation would give before the object that has the name is deleted: if the API server refuses it, the object
//! has to stay.

use cluster::{Class, Error, Session, Write};
use manifest::ObjectRef;
use ownership::Observed;
use serde_json::{Map, Value, json};

use super::resolve::ResolvedObject;

/// What would be created in the place of `live`, or that it is not known. An error means that nothing would be created.
///
/// Two dry runs: under its own name, the object passes validation, webhooks and quotas before the API server finds that the name
/// is taken; and only under another name does it say what the object would be like.
pub(super) async fn rehearse(
    session: &Session,
    object: &ResolvedObject,
    live: &Observed,
    write: Write<'_>,
) -> Result<Option<Value>, Error> {
    let write = write.dry_run();
    let mut body = object.body.clone();
    let mut created = session.create(&object.target, &body, write).await;
    if created.as_ref().is_err_and(is_taken_by_live) {
        release_allocated(&mut body);
        created = session.create(&object.target, &body, write).await;
    }
    match created {
        // It is gone already.
        Ok(reply) => return Ok(Some(reply.object)),
        Err(error) if error.class() == Class::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let uid = live.object()["metadata"]["uid"].as_str().unwrap_or("object");
    let name = format!("plimsoll-{}", &uid[..uid.len().min(8)]);
    let probe = ObjectRef::new(object.target.gvk.clone(), object.target.namespace.clone(), &name);
    body["metadata"]["name"] = name.as_str().into();
    // Some kinds allow certain names only.
    let Ok(reply) = session.apply(&probe, &body, write).await else { return Ok(None) };
    let mut created = reply.object;
    let new_uid = created["metadata"]["uid"].as_str().map(str::to_owned);
    rename(&mut created, &name, &object.target.name);
    if let Some(new_uid) = new_uid {
        rename(&mut created, &new_uid, uid);
    }
    choose_allocated(&mut created, &object.body);
    Ok(Some(created))
}

/// Whether all that is wrong is that the live object has the addresses or ports that the new one is to have.
fn is_taken_by_live(error: &Error) -> bool {
    let refused = error.refused_fields();
    !refused.is_empty() && refused.iter().all(|(_, message)| message.contains("already allocated"))
}

/// Removes the addresses and ports of a Service, which no two objects can have.
fn release_allocated(body: &mut Value) {
    let Some(spec) = body["spec"].as_object_mut() else { return };
    spec.retain(|name, value| value == "None" || !plan::allocated::SERVICE.contains(&name.as_str()));
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        port.as_object_mut().and_then(|port| port.remove(plan::allocated::SERVICE_PORT));
    }
}

/// Gives a Service the addresses and ports that its file chooses.
fn choose_allocated(created: &mut Value, body: &Value) {
    if (&body["apiVersion"], &body["kind"]) != (&"v1".into(), &"Service".into()) {
        return;
    }
    let chosen = plan::allocated::SERVICE.iter().copied().chain(["ports"]);
    let chosen = chosen.filter_map(|name| Some((name.to_owned(), body["spec"].get(name)?.clone())));
    let mut chosen: Map<String, Value> = chosen.collect();
    if let Some(address) = chosen.get("clusterIP").cloned() {
        chosen.entry("clusterIPs").or_insert_with(|| vec![address].into());
    }
    plan::lay_over(created, &json!({ "spec": chosen }), fields::Schema::of(body).root());
}

/// Replaces a name in all texts, such as the labels that are made of it.
fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename(value, from, to)),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_the_name_is_renamed() {
        let mut job = json!({ "metadata": { "name": "probe" }, "labels": { "job-name": "probe", "probe": 1 }, "list": ["a-probe"] });
        rename(&mut job, "probe", "job");
        assert_eq!(
            job,
            json!({ "metadata": { "name": "job" }, "labels": { "job-name": "job", "probe": 1 }, "list": ["a-job"] })
        );
    }

    #[test]
    fn other_kinds_are_created_as_the_server_says() {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": {} });
        let mut created = map.clone();
        choose_allocated(&mut created, &map);
        assert_eq!(created, map);
    }

    #[test]
    fn addresses_and_ports_are_left_out_of_the_question_and_put_back() {
        let check = |spec: &Value, released: &Value| {
            let body = json!({ "apiVersion": "v1", "kind": "Service", "spec": spec });
            let mut asked = body.clone();
            release_allocated(&mut asked);
            assert_eq!(asked["spec"], *released);
            choose_allocated(&mut asked, &body);
            asked["spec"].as_object_mut().unwrap().remove("clusterIPs");
            assert_eq!(asked, body);
        };
        check(
            &json!({ "clusterIP": "10.0.0.1", "ports": [{ "port": 80, "nodePort": 30001 }] }),
            &json!({ "ports": [{ "port": 80 }] }),
        );
        check(
            &json!({ "clusterIP": "None", "type": "ClusterIP" }),
            &json!({ "clusterIP": "None", "type": "ClusterIP" }),
        );
    }
}
