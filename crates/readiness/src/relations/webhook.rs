//! A webhook that cannot be called refuses, or lets pass unseen, everything that it concerns.

use serde_json::Value;

use super::{Found, Neighbours, Question, Trouble, named, service};
use crate::object::Object;

pub(super) fn questions(configuration: Object<'_>) -> Vec<Question> {
    let services =
        configuration.list("/webhooks").iter().filter_map(|it| it.pointer("/clientConfig/service"));
    let questions = services.map(Object::from).flat_map(|service| {
        let (namespace, name) = (service.text("/namespace"), service.text("/name"));
        [Question::one("", "Service", Some(namespace), name), Question::all("", "Pod", namespace)]
    });
    questions.collect()
}

pub(super) fn trouble(configuration: Object<'_>, neighbours: &Neighbours) -> Option<Trouble> {
    configuration.list("/webhooks").iter().find_map(|webhook| {
        let Trouble { why, cause } = unreachable(webhook, neighbours)?;
        let outcome = if webhook["failurePolicy"] == "Ignore" {
            "what it would review passes"
        } else {
            "what it would review is refused"
        };
        let name = webhook["name"].as_str().unwrap_or_default();
        Some(Trouble { why: format!("webhook {name} cannot be called, and {outcome}: {why}"), cause })
    })
}

fn unreachable(webhook: &Value, neighbours: &Neighbours) -> Option<Trouble> {
    let service = Object::from(webhook.pointer("/clientConfig/service")?);
    let (namespace, name) = (Some(service.text("/namespace")), service.text("/name"));
    let words = named("Service", namespace, name);
    match neighbours.find("", "Service", namespace, name) {
        Found::Missing => Some(Trouble::new(format!("{words} does not exist"))),
        Found::Unknown => None,
        Found::Here(found) => service::trouble(found.into(), neighbours)
            .map(|_| Trouble::because_of(format!("{words} does not work"), found)),
    }
}
