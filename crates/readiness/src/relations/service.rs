//! A Service works if it leads to pods that are ready.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Neighbours, Question, Trouble};
use crate::object::Object;
use crate::pod;

/// The label by which an `EndpointSlice` names its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

pub(super) fn questions(service: Object<'_>) -> Vec<Question> {
    let namespace = service.text("/metadata/namespace");
    let question = match selector(service) {
        Some(_) => Question::all("", "Pod", namespace),
        None => Question::all("discovery.k8s.io", "EndpointSlice", namespace),
    };
    vec![question]
}

pub(super) fn trouble(service: Object<'_>, neighbours: &Neighbours) -> Option<Trouble> {
    if service.text("/spec/type") == "ExternalName" {
        return None;
    }
    let namespace = service.text("/metadata/namespace");
    let Some(selector) = selector(service) else {
        let slices = neighbours.all("discovery.k8s.io", "EndpointSlice", namespace)?;
        let name = service.text("/metadata/name");
        let is_led = slices.iter().any(|slice| slice["metadata"]["labels"][SERVICE_NAME] == name);
        return (!is_led)
            .then(|| Trouble::new("it has no selector, and no EndpointSlice says where it leads"));
    };
    let all = neighbours.all("", "Pod", namespace)?;
    let is_selected = |pod: &&Value| {
        let labels = &pod["metadata"]["labels"];
        selector.iter().all(|(key, value)| labels[key] == *value)
    };
    let is_over = |pod: &&Value| matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let all: Vec<&Value> = all.into_iter().filter(|pod| !is_over(pod)).collect();
    let pods: Vec<&Value> = all.iter().copied().filter(|pod| is_selected(pod)).collect();
    if pods.is_empty() {
        let words: Vec<String> = selector
            .iter()
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect();
        let others = others(selector, &all);
        return Some(Trouble::new(format!("its selector {} matches no pod{others}", words.join(","))));
    }
    let is_ready = |pod: &&Value| pod::check(Object::from(*pod)).is_ok();
    let publishes_all = service.get("/spec/publishNotReadyAddresses").is_some_and(|value| value == true);
    if !publishes_all && !pods.iter().any(is_ready) {
        let count = match pods.len() {
            1 => "the pod that it selects is not ready".to_owned(),
            count => format!("none of the {count} pods that it selects is ready"),
        };
        return Some(Trouble::because_of(count, pods[0]));
    }
    service.list("/spec/ports").iter().find_map(|port| missing_port(port, &pods))
}

fn selector(service: Object<'_>) -> Option<&serde_json::Map<String, Value>> {
    service.get("/spec/selector").and_then(Value::as_object).filter(|selector| !selector.is_empty())
}

/// Which values pods have of the first label that no pod has as it is selected.
fn others(selector: &serde_json::Map<String, Value>, pods: &[&Value]) -> String {
    let label = |pod: &Value, key: &str| pod["metadata"]["labels"][key].as_str().map(str::to_owned);
    let missed = selector.iter().find(|(key, value)| {
        pods.iter().all(|pod| label(pod, key).as_deref() != value.as_str())
            && pods.iter().any(|pod| label(pod, key).is_some())
    });
    let Some((key, _)) = missed else { return String::new() };
    let found: BTreeSet<String> = pods.iter().filter_map(|pod| label(pod, key)).collect();
    let found: Vec<String> = found.into_iter().take(3).map(|value| format!("{key}={value}")).collect();
    format!("; pods here have {}", found.join(", "))
}

/// A port that leads to one by a name that no pod has.
fn missing_port(port: &Value, pods: &[&Value]) -> Option<Trouble> {
    let target = port["targetPort"].as_str()?;
    let has_it = |pod: &&Value| {
        let pod = Object::from(*pod);
        let containers =
            ["/spec/containers", "/spec/initContainers"].into_iter().flat_map(|list| pod.list(list));
        containers
            .flat_map(|container| Object::from(container).list("/ports"))
            .any(|port| port["name"] == target)
    };
    (!pods.iter().any(has_it)).then(|| {
        let why = format!("its port {} leads to {target:?}, which no pod that it selects has", port["port"]);
        Trouble::because_of(why, pods[0])
    })
}
