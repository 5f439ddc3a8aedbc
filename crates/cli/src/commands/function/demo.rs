//! The function of the demo: composes a queue for every application, and a Deployment once its image is in the
//! catalogue.
//!
//! The catalogue is a ConfigMap named `images` beside the claim, with one image per line. The function requires it, so
//! a change to it triggers a reconcile of the composite.
//!
//! The input of its step may say `queue: false`, and `minReplicas` of every Deployment.

use composition::protocol::{Match, Ready, Resource, ResourceSelector, RunRequest, RunResponse};
use functions::response;
use serde_json::{Value, json};

/// The name under which the function requires the catalogue.
const CATALOGUE: &str = "images";
const QUEUE: &str = "queue";
const DEPLOYMENT: &str = "deployment";

/// The response for one composite.
pub(super) fn respond(request: &RunRequest) -> RunResponse {
    let mut answer = response::to(request);
    let composite = Value::Object(request.observed.composite.object.clone());
    let input = request.input.as_ref();
    let app = App::of(&composite, input.and_then(|input| input.get("minReplicas")?.as_i64()));
    let has_queue = input.and_then(|input| input.get("queue")?.as_bool()).unwrap_or(true);
    answer.requirements.resources.insert(CATALOGUE.to_owned(), app.catalogue());

    let queue = observed(request, QUEUE);
    let is_queue_ready = readiness::condition(&queue, "Ready", "True").is_ok();
    if has_queue {
        answer.desired.resources.insert(QUEUE.to_owned(), with_readiness(app.queue(), is_queue_ready));
    }
    let endpoint = queue["status"]["messagesEndpoint"].as_str().filter(|endpoint| !endpoint.is_empty());
    if let Some(endpoint) = endpoint {
        let composite = &mut answer.desired.composite.object;
        composite.insert("status".to_owned(), json!({ "endpoint": endpoint }));
    }

    // The catalogue is unknown until the engine has fetched it.
    let Some(catalogue) = request.required_resources.get(CATALOGUE) else { return answer };
    if !catalogue.iter().any(|images| lists(&images.object["data"], app.image)) {
        response::condition_false(&mut answer, "ImageReady", "NotFound")
            .with_message(format!(
                "Image {} is not in the catalogue. Ask the platform team to add it.",
                app.image
            ))
            .target_composite_and_claim();
        // The condition was about an earlier image.
        if readiness::condition(&composite, "Deployed", "True").is_ok() {
            response::condition_false(&mut answer, "Deployed", "ImageNotFound")
                .with_message("The application is waiting for its image.")
                .target_composite_and_claim();
        }
        return answer;
    }
    response::condition_true(&mut answer, "ImageReady", "Listed").target_composite_and_claim();
    let is_rolled_out = readiness::condition(&observed(request, DEPLOYMENT), "Available", "True").is_ok();
    answer.desired.resources.insert(DEPLOYMENT.to_owned(), with_readiness(app.deployment(), is_rolled_out));
    let is_queue_there = is_queue_ready && endpoint.is_some();
    if is_rolled_out && !has_queue {
        response::condition_true(&mut answer, "Deployed", "Success")
            .with_message("The application is running.")
            .target_composite_and_claim();
    } else if is_rolled_out && is_queue_there {
        response::condition_true(&mut answer, "Deployed", "Success")
            .with_message("The application is running and its queue accepts messages.")
            .target_composite_and_claim();
    } else {
        response::condition_false(&mut answer, "Deployed", "Progressing")
            .with_message("The application and its queue are being created.")
            .target_composite_and_claim();
    }
    answer
}

/// Whether one of the texts has the image on a line.
fn lists(data: &Value, image: &str) -> bool {
    let texts = data.as_object().into_iter().flat_map(|data| data.values()).filter_map(Value::as_str);
    texts.flat_map(str::lines).any(|line| line.trim() == image)
}

/// The fields of the composite that the function uses.
struct App<'o> {
    name: &'o str,
    namespace: &'o str,
    image: &'o str,
    replicas: i64,
    compartment: &'o str,
}

impl<'o> App<'o> {
    fn of(composite: &'o Value, min_replicas: Option<i64>) -> Self {
        let (spec, claim) = (&composite["spec"], &composite["spec"]["claimRef"]);
        let text = |value: &'o Value| value.as_str();
        Self {
            name: text(&claim["name"]).or(text(&composite["metadata"]["name"])).unwrap_or_default(),
            namespace: text(&claim["namespace"]).unwrap_or("default"),
            image: text(&spec["image"]).unwrap_or_default(),
            replicas: spec["replicas"].as_i64().unwrap_or(1).max(min_replicas.unwrap_or(1)),
            compartment: text(&spec["compartmentId"]).unwrap_or_default(),
        }
    }

    fn catalogue(&self) -> ResourceSelector {
        ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            matching: Match::Name("images".to_owned()),
            namespace: Some(self.namespace.to_owned()),
        }
    }

    fn queue(&self) -> Value {
        json!({
            "apiVersion": "queue.oracle.com/v1beta1", "kind": "Queue",
            "metadata": { "name": self.name, "namespace": self.namespace },
            "spec": { "displayName": self.name, "compartmentId": self.compartment },
        })
    }

    fn deployment(&self) -> Value {
        let labels = json!({ "app": self.name });
        let container = json!({ "name": "app", "image": self.image });
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": self.name, "namespace": self.namespace },
            "spec": {
                "replicas": self.replicas, "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
            },
        })
    }
}

fn observed(request: &RunRequest, name: &str) -> Value {
    let resource = request.observed.resources.get(name);
    resource.map_or(Value::Null, |resource| Value::Object(resource.object.clone()))
}

fn with_readiness(object: Value, is_ready: bool) -> Resource {
    Resource { ready: if is_ready { Ready::True } else { Ready::False }, ..Resource::of(object) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use composition::protocol::State;

    use super::*;

    fn request(catalogue: Option<Value>, resources: &[(&str, Value)]) -> RunRequest {
        let composite = json!({
            "apiVersion": "demo.plimsoll.dev/v1", "kind": "XApp", "metadata": { "name": "web-x7" },
            "spec": {
                "image": "nginx:2", "replicas": 2, "compartmentId": "c",
                "claimRef": { "name": "web", "namespace": "shop" },
            },
        });
        let resources = resources
            .iter()
            .map(|(name, object)| ((*name).to_owned(), Resource::of(object.clone())))
            .collect();
        RunRequest {
            observed: Arc::new(State { composite: Resource::of(composite), resources }),
            required_resources: catalogue
                .into_iter()
                .map(|data| ("images".to_owned(), vec![Resource::of(json!({ "data": data }))]))
                .collect(),
            ..RunRequest::default()
        }
    }

    fn conditions(answer: &RunResponse) -> Vec<String> {
        answer
            .conditions
            .iter()
            .map(|it| format!("{} {:?} {} {:?}", it.kind, it.status, it.reason, it.target))
            .collect()
    }

    #[test]
    fn an_application_without_its_image_gets_a_queue_and_a_condition() {
        let first = respond(&request(None, &[]));
        assert_eq!(first.desired.resources.keys().collect::<Vec<_>>(), ["queue"]);
        assert_eq!(first.requirements.resources["images"].namespace.as_deref(), Some("shop"));
        assert!(conditions(&first).is_empty());
        let answer = respond(&request(Some(json!({ "catalogue": "nginx:1\nnginx:3\n" })), &[]));
        assert_eq!(answer.desired.resources.keys().collect::<Vec<_>>(), ["queue"]);
        assert_eq!(conditions(&answer), ["ImageReady False NotFound CompositeAndClaim"]);
    }

    #[test]
    fn the_input_may_leave_out_the_queue_and_ask_for_replicas() {
        let mut request = request(Some(json!({ "catalogue": "nginx:2\n" })), &[]);
        request.input = json!({ "queue": false, "minReplicas": 3 }).as_object().cloned();
        let answer = respond(&request);
        assert_eq!(answer.desired.resources.keys().collect::<Vec<_>>(), ["deployment"]);
        assert_eq!(answer.desired.resources["deployment"].object["spec"]["replicas"], 3);
    }

    #[test]
    fn removing_the_image_from_the_catalogue_resets_deployed() {
        let mut request = request(Some(json!({ "catalogue": "nginx:1\n" })), &[]);
        let state = Arc::make_mut(&mut request.observed);
        let deployed = json!({ "conditions": [{ "type": "Deployed", "status": "True" }] });
        state.composite.object.insert("status".to_owned(), deployed);
        let expected =
            ["ImageReady False NotFound CompositeAndClaim", "Deployed False ImageNotFound CompositeAndClaim"];
        assert_eq!(conditions(&respond(&request)), expected);
    }

    #[test]
    fn an_application_with_its_image_is_deployed_and_reports_success() {
        let listed = || Some(json!({ "catalogue": "nginx:1\nnginx:2\n" }));
        let begun = respond(&request(listed(), &[]));
        assert_eq!(begun.desired.resources["deployment"].object["spec"]["replicas"], 2);
        assert_eq!(begun.desired.resources["deployment"].object["metadata"]["namespace"], "shop");
        assert_eq!(conditions(&begun)[1], "Deployed False Progressing CompositeAndClaim");
        let is = |kind: &str| json!([{ "type": kind, "status": "True" }]);
        let queue = json!({ "status": { "messagesEndpoint": "https://q", "conditions": is("Ready") } });
        let deployment = json!({ "status": { "conditions": is("Available") } });
        let done = respond(&request(listed(), &[("queue", queue), ("deployment", deployment)]));
        assert_eq!(done.desired.composite.object["status"]["endpoint"], "https://q");
        assert_eq!(conditions(&done)[1], "Deployed True Success CompositeAndClaim");
        assert!(done.desired.resources.values().all(|resource| resource.ready == Ready::True));
    }
}
