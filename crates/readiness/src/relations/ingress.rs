//! An Ingress works if its backends and its certificates exist, and the backends work.

use serde_json::Value;

use super::{Found, Neighbours, Question, Trouble, named, service};
use crate::object::Object;

pub(super) fn questions(ingress: Object<'_>) -> Vec<Question> {
    let namespace = ingress.text("/metadata/namespace");
    let class = Some(ingress.text("/spec/ingressClassName")).filter(|class| !class.is_empty());
    let class = class.map(|class| Question::one("networking.k8s.io", "IngressClass", None, class));
    let names = backends(ingress).into_iter().filter_map(|backend| backend["name"].as_str());
    let services = names.map(|name| Question::one("", "Service", Some(namespace), name));
    let secrets = certificates(ingress).map(|name| Question::one("", "Secret", Some(namespace), name));
    let pods = Question::all("", "Pod", namespace);
    class.into_iter().chain(services).chain(secrets).chain([pods]).collect()
}

/// The Services that an Ingress leads to.
fn backends(ingress: Object<'_>) -> Vec<&Value> {
    let paths =
        ingress.list("/spec/rules").iter().map(Object::from).flat_map(|rule| rule.list("/http/paths"));
    let backends = paths.filter_map(|path| path.get("backend")).chain(ingress.get("/spec/defaultBackend"));
    backends.filter_map(|backend| backend.get("service")).collect()
}

fn certificates(ingress: Object<'_>) -> impl Iterator<Item = &str> {
    ingress.list("/spec/tls").iter().filter_map(|tls| tls["secretName"].as_str())
}

pub(super) fn trouble(ingress: Object<'_>, neighbours: &Neighbours) -> Option<Trouble> {
    let namespace = Some(ingress.text("/metadata/namespace"));
    let class = ingress.text("/spec/ingressClassName");
    if !class.is_empty()
        && matches!(neighbours.find("networking.k8s.io", "IngressClass", None, class), Found::Missing)
    {
        return Some(Trouble::new(format!("{} does not exist", named("IngressClass", None, class))));
    }
    let services = backends(ingress);
    let first = services.iter().find_map(|backend| missing(backend, namespace, neighbours));
    first.or_else(|| missing_certificate(ingress, namespace, neighbours)).or_else(|| {
        services.iter().find_map(|backend| {
            let name = backend["name"].as_str()?;
            let Found::Here(found) = neighbours.find("", "Service", namespace, name) else { return None };
            service::trouble(found.into(), neighbours)?;
            let why = format!("its backend {} does not work", named("Service", namespace, name));
            Some(Trouble::because_of(why, found))
        })
    })
}

fn missing(backend: &Value, namespace: Option<&str>, neighbours: &Neighbours) -> Option<Trouble> {
    let name = backend["name"].as_str()?;
    let service = named("Service", namespace, name);
    match neighbours.find("", "Service", namespace, name) {
        Found::Missing => Some(Trouble::new(format!("its backend {service} does not exist"))),
        Found::Unknown => None,
        Found::Here(found) => {
            let wanted = &backend["port"];
            let is_it = |port: &Value| match (wanted["number"].as_i64(), wanted["name"].as_str()) {
                (Some(number), _) => port["port"] == number,
                (None, Some(name)) => port["name"] == name,
                (None, None) => true,
            };
            let has_it = Object::from(found).list("/spec/ports").iter().any(is_it);
            let port = wanted["name"].as_str().map_or_else(|| wanted["number"].to_string(), str::to_owned);
            (!has_it).then(|| Trouble::because_of(format!("its backend {service} has no port {port}"), found))
        }
    }
}

fn missing_certificate(
    ingress: Object<'_>,
    namespace: Option<&str>,
    neighbours: &Neighbours,
) -> Option<Trouble> {
    let is_missing = |name: &&str| matches!(neighbours.find("", "Secret", namespace, name), Found::Missing);
    let mut missing = certificates(ingress).filter(is_missing);
    missing.next().map(|name| {
        Trouble::new(format!("the {} of its certificate does not exist", named("Secret", namespace, name)))
    })
}
