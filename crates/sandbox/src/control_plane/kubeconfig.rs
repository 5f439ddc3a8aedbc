//! Kubeconfig files with inline credentials.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::credentials::Credentials;
use super::layout::Name;

/// The contexts of a sandbox's kubeconfig: with the client certificate, which is current, and with the token.
pub fn contexts(name: &Name) -> [String; 2] {
    [format!("plimsoll-{name}"), format!("plimsoll-{name}-token")]
}

pub(crate) fn render(name: &Name, server: &str, credentials: &Credentials) -> String {
    let [with_certificate, with_token] = contexts(name);
    let cluster = &with_certificate;
    let encode = |pem: &str| STANDARD.encode(pem);
    let context = |name: &str| json!({ "name": name, "context": { "cluster": cluster, "user": name } });
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": with_certificate,
        "clusters": [{
            "name": cluster,
            "cluster": { "server": server, "certificate-authority-data": encode(&credentials.authority) },
        }],
        "contexts": [context(&with_certificate), context(&with_token)],
        "users": [
            {
                "name": with_certificate,
                "user": {
                    "client-certificate-data": encode(&credentials.client.certificate),
                    "client-key-data": encode(&credentials.client.key),
                },
            },
            { "name": with_token, "user": { "token": credentials.token } },
        ],
    });
    // JSON is valid YAML.
    format!("{config:#}\n")
}

#[cfg(test)]
mod tests {
    use kube::config::Kubeconfig;

    use super::*;

    #[test]
    fn both_contexts_reach_the_server_with_different_credentials() {
        let credentials = Credentials::generate().unwrap();
        let text = render(&"x".parse().unwrap(), "https://127.0.0.1:6443", &credentials);
        let config = Kubeconfig::from_yaml(&text).unwrap();
        assert_eq!(config.current_context.as_deref(), Some("plimsoll-x"));
        let contexts: Vec<_> = config.contexts.iter().map(|context| context.name.as_str()).collect();
        assert_eq!(contexts, ["plimsoll-x", "plimsoll-x-token"]);
        for context in &config.contexts {
            let context = context.context.as_ref().unwrap();
            let cluster = config.clusters.iter().find(|cluster| cluster.name == context.cluster).unwrap();
            assert_eq!(cluster.cluster.as_ref().unwrap().server.as_deref(), Some("https://127.0.0.1:6443"));
            let user =
                config.auth_infos.iter().find(|user| Some(&user.name) == context.user.as_ref()).unwrap();
            let user = user.auth_info.as_ref().unwrap();
            assert!(user.token.is_some() != user.client_certificate_data.is_some());
        }
    }
}
