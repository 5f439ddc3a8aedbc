use cluster::{Class, Impersonate, Secret};
use serde_json::json;

use super::*;

/// The kubeconfig's content and its current context, which is ignored in content.
fn content() -> Connection {
    let content = std::fs::read_to_string(Sandbox::shared().kubeconfig()).unwrap();
    let context = Sandbox::shared().kubectl(&["config", "current-context"]).stdout;
    Connection::from_kubeconfig(content, Some(String::from_utf8(context).unwrap().trim().to_owned()))
}

#[tokio::test]
async fn a_kubeconfig_may_be_content_or_a_path() {
    let namespace =
        reference(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "kube-system" } }));
    let by_content = Session::connect(&content(), &Environment::default(), "test").unwrap();
    let (a, b) = (by_content.read(&namespace).await.unwrap(), session().read(&namespace).await.unwrap());
    assert_eq!(a.unwrap().object["metadata"]["uid"], b.unwrap().object["metadata"]["uid"]);
}

#[tokio::test]
async fn a_wrong_token_is_rejected() {
    let mut connection = content();
    connection.context.as_mut().unwrap().push_str("-token");
    connection.token = Some(Secret::from("expired"));
    let session = Session::connect(&connection, &Environment::default(), "test").unwrap();
    let map = reference(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }));
    let error = session.read(&map).await.unwrap_err();
    assert_eq!(error.class(), Class::AuthenticationFailed);
    assert!(error.retries().is_empty());
}

#[tokio::test]
async fn another_user_is_impersonated() {
    let namespace = Sandbox::shared().namespace("impersonate").await;
    let impersonate = Impersonate {
        user: Some("jane".to_owned()),
        groups: vec!["system:authenticated".to_owned()],
        ..Impersonate::default()
    };
    let connection = Connection {
        config_paths: vec![Sandbox::shared().kubeconfig()],
        impersonate: Some(impersonate),
        ..Connection::default()
    };
    let session = Session::connect(&connection, &Environment::default(), "test").unwrap();
    let error = session.read(&reference(&config_map(&namespace, "a", &json!({})))).await.unwrap_err();
    assert_eq!(error.class(), Class::InsufficientPermissions);
    assert!(error.status().unwrap().message.contains("User \"jane\""));
}

#[tokio::test]
async fn a_wrong_ca_is_rejected_and_the_message_names_the_server() {
    let wrong = rcgen::generate_simple_self_signed(["elsewhere".to_owned()]).unwrap();
    let connection = Connection {
        host: Some(Sandbox::shared().status().server.clone()),
        cluster_ca_certificate: Some(Secret::from(wrong.cert.pem())),
        token: Some(Secret::from("t")),
        ..Connection::default()
    };
    let session = Session::connect(&connection, &Environment::default(), "test").unwrap();
    let map = reference(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }));
    let error = session.read(&map).await.unwrap_err();
    assert_eq!(error.class(), Class::ConnectionFailed);
    assert!(error.retries().is_empty());
    let diagnostic = error.diagnostic("Read");
    assert!(diagnostic.detail.contains(&Sandbox::shared().status().server), "{}", diagnostic.detail);
    assert!(diagnostic.hint.unwrap().contains("cluster_ca_certificate"));
}
