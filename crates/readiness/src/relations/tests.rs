//! What is found of each relation, and that nothing is claimed about kinds that were not listed.

use serde_json::json;

use super::*;

fn object(api: &str, kind: &str, name: &str, rest: &Value) -> Value {
    let mut object =
        json!({ "apiVersion": api, "kind": kind, "metadata": { "name": name, "namespace": "shop" } });
    for (key, value) in rest.as_object().unwrap() {
        match key.as_str() {
            "labels" => object["metadata"]["labels"] = value.clone(),
            _ => object[key] = value.clone(),
        }
    }
    object
}

fn pod(name: &str, app: &str, ready: bool) -> Value {
    let status = if ready { "True" } else { "False" };
    object(
        "v1",
        "Pod",
        name,
        &json!({
            "labels": { "app": app },
            "spec": { "containers": [{ "name": "a", "ports": [{ "name": "http", "containerPort": 80 }] }] },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": status }] },
        }),
    )
}

fn service(app: &str, port: &Value) -> Value {
    object("v1", "Service", "web", &json!({ "spec": { "selector": { "app": app }, "ports": [port] } }))
}

/// What is wrong with an object, when `others` are all there are, and objects of the kinds in `unread` may not be read.
fn why(object: &Value, others: &[Value], unread: &[&str]) -> String {
    let mut neighbours = Neighbours::default();
    for question in questions(object).into_iter().filter(|question| !unread.contains(&&*question.kind)) {
        let is_answer = |other: &&Value| {
            other["kind"] == *question.kind
                && question.name.as_ref().is_none_or(|name| other["metadata"]["name"] == **name)
        };
        let answer: Vec<Value> = others.iter().filter(is_answer).cloned().collect();
        neighbours.add(question, answer);
    }
    let trouble = trouble(object, &neighbours);
    let cause = trouble.as_ref().and_then(|trouble| trouble.cause.as_ref());
    let cause = cause.map_or_else(String::new, |cause| format!(" [{cause}]"));
    trouble.map_or_else(String::new, |trouble| trouble.why + &cause)
}

#[test]
fn a_service_leads_to_ready_pods() {
    let check = |service: &Value, others: &[Value], unlisted: &[&str], expected: &str| {
        assert_eq!(why(service, others, unlisted), expected);
    };
    let web = service("web", &json!({ "port": 80 }));
    check(&web, &[pod("p", "web", true)], &[], "");
    check(&web, &[], &[], "its selector app=web matches no pod");
    check(&web, &[], &["Pod"], "");
    check(
        &web,
        &[pod("p", "shop", true)],
        &[],
        "its selector app=web matches no pod; pods here have app=shop",
    );
    check(&web, &[pod("p", "web", false)], &[], "the pod that it selects is not ready [Pod shop/p]");
    let named = |name: &str| service("web", &json!({ "port": 80, "targetPort": name }));
    check(&named("http"), &[pod("p", "web", true)], &[], "");
    check(
        &named("htp"),
        &[pod("p", "web", true)],
        &[],
        "its port 80 leads to \"htp\", which no pod that it selects has [Pod shop/p]",
    );
    let plain = object("v1", "Service", "db", &json!({ "spec": {} }));
    check(&plain, &[], &[], "it has no selector, and no EndpointSlice says where it leads");
    let slice = object(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        "s",
        &json!({ "labels": { "kubernetes.io/service-name": "db" } }),
    );
    check(&plain, &[slice], &[], "");
    check(&object("v1", "Service", "x", &json!({ "spec": { "type": "ExternalName" } })), &[], &[], "");
}

#[test]
fn an_ingress_leads_to_services_that_work() {
    let ingress = |port: Value| {
        let path = json!({ "path": "/", "backend": { "service": { "name": "web", "port": port } } });
        object(
            "networking.k8s.io/v1",
            "Ingress",
            "i",
            &json!({ "spec": {
            "ingressClassName": "nginx", "tls": [{ "secretName": "cert" }], "rules": [{ "http": { "paths": [path] } }],
        } }),
        )
    };
    let class = object("networking.k8s.io/v1", "IngressClass", "nginx", &json!({}));
    let cert = object("v1", "Secret", "cert", &json!({}));
    let (web, pod) = (service("web", &json!({ "name": "http", "port": 80 })), pod("p", "web", true));
    let all = [class.clone(), cert.clone(), web.clone(), pod.clone()];
    let by_number = ingress(json!({ "number": 80 }));
    assert_eq!(why(&by_number, &all, &[]), "");
    assert_eq!(why(&ingress(json!({ "name": "http" })), &all, &[]), "");
    assert_eq!(
        why(&ingress(json!({ "number": 81 })), &all, &[]),
        "its backend Service shop/web has no port 81 [Service shop/web]"
    );
    assert_eq!(why(&by_number, &all[1..], &[]), "IngressClass nginx does not exist");
    assert_eq!(why(&by_number, &all[1..], &["IngressClass"]), "");
    assert_eq!(
        why(&by_number, &[class.clone(), web.clone(), pod], &[]),
        "the Secret shop/cert of its certificate does not exist"
    );
    assert_eq!(
        why(&by_number, &[class.clone(), cert.clone()], &[]),
        "its backend Service shop/web does not exist"
    );
    assert_eq!(why(&by_number, &[class.clone(), cert.clone()], &["Service"]), "");
    assert_eq!(
        why(&by_number, &[class, cert, web], &[]),
        "its backend Service shop/web does not work [Service shop/web]"
    );
}

#[test]
fn a_pod_needs_what_it_refers_to() {
    let needing = |optional: bool| {
        let mut pod = pod("p", "web", false);
        pod["spec"]["volumes"] =
            json!([{ "name": "v", "secret": { "secretName": "login", "optional": optional } }]);
        pod["spec"]["containers"][0]["envFrom"] = json!([{ "configMapRef": { "name": "settings" } }]);
        pod
    };
    let settings = object("v1", "ConfigMap", "settings", &json!({}));
    let login = object("v1", "Secret", "login", &json!({}));
    assert_eq!(why(&needing(false), &[settings.clone(), login.clone()], &[]), "");
    assert_eq!(
        why(&needing(false), std::slice::from_ref(&settings), &[]),
        "it needs Secret shop/login, which does not exist"
    );
    assert_eq!(why(&needing(false), std::slice::from_ref(&settings), &["Secret"]), "");
    assert_eq!(why(&needing(true), &[settings], &[]), "");
    assert_eq!(why(&needing(true), &[login], &[]), "it needs ConfigMap shop/settings, which does not exist");
}

#[test]
fn budgets_and_quotas_hold_others_up() {
    let budget = |expected: u8, desired: u8, healthy: u8, allowed: u8| {
        let status = json!({ "observedGeneration": 1, "expectedPods": expected, "desiredHealthy": desired,
                             "currentHealthy": healthy, "disruptionsAllowed": allowed });
        why(&object("policy/v1", "PodDisruptionBudget", "b", &json!({ "status": status })), &[], &[])
    };
    assert_eq!(budget(3, 2, 3, 1), "");
    assert_eq!(budget(0, 0, 0, 0), "it selects no pods");
    assert_eq!(budget(1, 1, 1, 0), "it never allows an eviction: it wants 1 of 1 pods to be healthy");
    assert_eq!(budget(3, 2, 2, 0), "it allows no eviction now: 2 of 3 pods are healthy, and 2 have to be");
    let quota = |used: &str| {
        let status = json!({ "hard": { "requests.cpu": "2", "pods": "9" }, "used": { "requests.cpu": used, "pods": "1" } });
        why(&object("v1", "ResourceQuota", "q", &json!({ "status": status })), &[], &[])
    };
    assert_eq!(quota("1900m"), "");
    assert_eq!(quota("2000m"), "it is used up: requests.cpu (2000m of 2)");
}

#[test]
fn autoscalers_and_webhooks_need_what_they_name() {
    let scaler = object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "h",
        &json!({
            "spec": { "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" } },
        }),
    );
    assert_eq!(why(&scaler, &[], &[]), "its target Deployment shop/web does not exist");
    assert_eq!(why(&scaler, &[object("apps/v1", "Deployment", "web", &json!({}))], &[]), "");
    let hook = |policy: &str| {
        let webhook = json!({ "name": "a.example.org", "failurePolicy": policy, "clientConfig": { "service": { "namespace": "shop", "name": "web" } } });
        let mut hook = object(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            "hooks",
            &json!({ "webhooks": [webhook] }),
        );
        hook["metadata"].as_object_mut().unwrap().remove("namespace");
        hook
    };
    let refused =
        "webhook a.example.org cannot be called, and what it would review is refused: Service shop/web";
    assert_eq!(why(&hook("Fail"), &[], &[]), format!("{refused} does not exist"));
    let web = service("web", &json!({ "port": 443 }));
    assert_eq!(
        why(&hook("Fail"), std::slice::from_ref(&web), &[]),
        format!("{refused} does not work [Service shop/web]")
    );
    assert!(why(&hook("Ignore"), &[], &[]).contains("what it would review passes"));
    assert_eq!(why(&hook("Fail"), &[web.clone(), pod("p", "web", true)], &[]), "");
}
