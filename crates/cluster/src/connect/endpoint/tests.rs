use std::ffi::OsString;

use super::*;
use crate::Exec;

const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nAAECAw==\n-----END CERTIFICATE-----\n";
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nAAECAw==\n-----END PRIVATE KEY-----\n";

fn inline() -> Connection {
    Connection {
        host: Some("https://k8s.example.com:6443".to_owned()),
        cluster_ca_certificate: Some(CERTIFICATE.into()),
        token: Some("hunter2".into()),
        ..Connection::default()
    }
}

fn kubeconfig(user: &str, cluster: &str) -> Connection {
    Connection::from_kubeconfig(
        format!(
            "apiVersion: v1\ncontexts: [{{name: x, context: {{cluster: c, user: u, namespace: shop}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'https://k8s', {cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]"
        ),
        None,
    )
}

fn resolved(connection: &Connection) -> Endpoint {
    let endpoint = resolve(connection, &Environment::default()).unwrap();
    let debug = format!("{endpoint:?}");
    assert!(!debug.contains("hunter2") && !debug.contains("PRIVATE KEY"), "{debug}");
    endpoint
}

fn rejection(connection: &Connection) -> String {
    let error = resolve(connection, &Environment::default()).unwrap_err();
    let text = format!("{error} {error:?} {:?}", error.diagnostic());
    assert!(!text.contains("hunter2"), "{text}");
    error.to_string()
}

#[test]
fn an_inline_connection_uses_its_settings() {
    let endpoint = resolved(&inline());
    assert_eq!(endpoint.config.cluster_url, "https://k8s.example.com:6443/");
    assert_eq!(endpoint.config.root_cert, Some(vec![vec![0, 1, 2, 3]]));
    assert!(matches!(endpoint.credentials, Credentials::Token { token, .. } if token.expose() == "hunter2"));

    let mut with_certificate = inline();
    with_certificate.client_certificate = Some(CERTIFICATE.into());
    with_certificate.client_key = Some(KEY.into());
    with_certificate.tls_server_name = Some("kubernetes".to_owned());
    with_certificate.impersonate =
        Some(Impersonate { user: Some("jane".to_owned()), ..Impersonate::default() });
    let endpoint = resolved(&with_certificate);
    assert!(endpoint.identity.is_some());
    assert_eq!(endpoint.config.tls_server_name.as_deref(), Some("kubernetes"));
    assert_eq!(endpoint.impersonate.user.as_deref(), Some("jane"));
}

#[test]
fn an_invalid_inline_connection_names_the_setting() {
    let check = |change: fn(&mut Connection), expected: &str| {
        let mut connection = inline();
        change(&mut connection);
        assert_eq!(rejection(&connection), expected);
    };
    let url = "host is not a URL such as https://kubernetes.example.com:6443";
    check(|c| c.host = Some("k8s.example.com".to_owned()), url);
    check(|c| c.host = Some("ftp://k8s".to_owned()), url);
    check(|c| c.host = Some("https://".to_owned()), url);
    let port = "host has an invalid port: it must be a number up to 65535";
    check(|c| c.host = Some("https://127.0.0.1:99999".to_owned()), port);
    check(|c| c.host = Some("https://[::1]:99999".to_owned()), port);
    check(
        |c| c.cluster_ca_certificate = Some("hunter2!".into()),
        "cluster_ca_certificate is neither PEM nor base64-encoded PEM",
    );
    check(
        |c| {
            c.token = None;
            c.exec = Some(Exec {
                api_version: "client.authentication.k8s.io/v1alpha1".to_owned(),
                command: "aws".to_owned(),
                ..Exec::default()
            });
        },
        "exec plugin \"aws\": api version \"client.authentication.k8s.io/v1alpha1\" is not supported; use client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1",
    );
    check(
        |c| c.cluster_ca_certificate = None,
        "inline connection incomplete: neither cluster_ca_certificate nor insecure is set.\n\nSecure connections need cluster_ca_certificate.\nFor a development cluster, insecure = true skips the verification of the server's certificate.",
    );
}

#[test]
fn a_kubeconfig_s_user_may_use_every_authentication_method() {
    let check = |user: &str, expected: &str| {
        let endpoint = resolved(&kubeconfig(user, ""));
        let found = match &endpoint.credentials {
            Credentials::Anonymous => "anonymous".to_owned(),
            Credentials::Token { token, .. } => format!("token {}", token.expose()),
            Credentials::Basic { user, password } => format!("basic {user} {}", password.expose()),
            Credentials::TokenFile { path, fallback } => {
                format!("file {} {}", path.display(), fallback.is_some())
            }
            Credentials::Exec(_) => "exec".to_owned(),
            Credentials::OverridingExec(_) => "exec beside a kubeconfig".to_owned(),
        };
        assert_eq!(found, expected);
        assert_eq!(endpoint.config.default_namespace, "shop");
    };
    check("", "anonymous");
    check("token: ''", "anonymous");
    check("token: hunter2", "token hunter2");
    check("username: jane, password: hunter2", "basic jane hunter2");
    check("token: hunter2, tokenFile: /nowhere", "file /nowhere true");
    check("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}", "exec");
    check("auth-provider: {name: oidc, config: {id-token: hunter2}}", "token hunter2");

    assert_eq!(rejection(&kubeconfig("tokenFile: /nowhere", "")), "cannot read the token file /nowhere");
    assert_eq!(
        rejection(&kubeconfig("auth-provider: {name: gcp}", "")),
        "auth-provider \"gcp\" is no longer supported: use an exec credential plugin"
    );
    assert_eq!(
        rejection(&kubeconfig(
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Always}",
            ""
        )),
        "exec plugin \"aws\" requires a terminal (interactiveMode: Always), but there is none"
    );
    assert_eq!(
        rejection(&kubeconfig("client-key-data: aHVudGVyMg==", "")),
        "client-key-data is base64, but does not decode to PEM"
    );
    let certificate = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, CERTIFICATE);
    assert_eq!(
        rejection(&kubeconfig(&format!("client-certificate-data: {certificate}"), "")),
        "client-key must be set with client-certificate"
    );
}

#[test]
fn settings_override_the_kubeconfig_s_cluster() {
    let endpoint = resolved(&kubeconfig(
        "token: old, as: jane, as-groups: [dev], as-user-extra: {team: [a]}",
        "insecure-skip-tls-verify: true, tls-server-name: name, proxy-url: 'http://user:hunter2@proxy'",
    ));
    assert!(endpoint.config.accept_invalid_certs && endpoint.proxy.unwrap().uri() == "http://proxy/");
    assert_eq!(endpoint.config.tls_server_name.as_deref(), Some("name"));
    assert_eq!(endpoint.impersonate.groups, ["dev"]);
    assert_eq!(endpoint.impersonate.extra["team"], ["a"]);

    let mut connection = kubeconfig("token: old", "");
    connection.token = Some("hunter2".into());
    connection.insecure = true;
    connection.proxy_url = Some("socks5://proxy".into());
    let endpoint = resolved(&connection);
    assert!(matches!(endpoint.credentials, Credentials::Token { token, .. } if token.expose() == "hunter2"));
    assert!(endpoint.config.accept_invalid_certs && endpoint.proxy.unwrap().uri() == "socks5://proxy/");
}

#[test]
fn the_environment_is_read_as_kubectl_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let kube = folder.path().join(".kube");
    std::fs::create_dir(&kube).unwrap();
    let content = "current-context: b\ncontexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b}}]\n\
                   clusters: [{name: a, cluster: {server: 'https://a'}}, {name: b, cluster: {server: 'https://b'}}]";
    std::fs::write(kube.join("config"), content).unwrap();
    let home = Environment { home: Some(folder.path().to_owned()), ..Environment::default() };
    let server = |context: Option<&str>, environment: &Environment| {
        resolve(&Connection::from_environment(context.map(str::to_owned)), environment)
            .map(|endpoint| endpoint.config.cluster_url.to_string())
            .map_err(|error| error.to_string())
    };
    assert_eq!(server(None, &home).unwrap(), "https://b/");
    assert_eq!(server(Some("a"), &home).unwrap(), "https://a/");

    let by_path = Connection { config_paths: vec!["~/.kube/config".into()], ..Connection::default() };
    assert_eq!(resolve(&by_path, &home).unwrap().config.cluster_url, "https://b/");

    // An unset variable means the default path, a set one replaces it; empty entries are ignored.
    let elsewhere = folder.path().join("elsewhere");
    let mut list = OsString::from(":");
    list.push(&elsewhere);
    let set = Environment { kubeconfig: Some(list), ..home.clone() };
    assert_eq!(
        server(None, &set).unwrap_err(),
        format!(
            "no cluster is configured: {} does not exist, and this process does not run in a pod",
            elsewhere.display()
        )
    );
    std::fs::write(&elsewhere, content.replace("current-context: b", "current-context: a")).unwrap();
    assert_eq!(server(None, &set).unwrap(), "https://a/");
}

#[test]
fn a_pod_finds_its_service_account() {
    let folder = tempfile::tempdir().unwrap();
    let pod = Environment {
        service_host: Some("fd00::1".to_owned()),
        service_port: Some("443".to_owned()),
        service_account: folder.path().to_owned(),
        ..Environment::default()
    };
    let connection = Connection { in_cluster: true, ..Connection::default() };
    assert_eq!(
        resolve(&connection, &Environment::default()).unwrap_err().to_string(),
        "in_cluster is set, but this process does not run in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
    );
    assert!(matches!(resolve(&connection, &pod), Err(ConnectError::ReadFile { .. })));
    for (name, content) in [("token", "hunter2\n"), ("ca.crt", CERTIFICATE), ("namespace", "shop\n")] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let endpoint = resolve(&connection, &pod).unwrap();
    assert_eq!(endpoint.config.cluster_url, "https://[fd00::1]:443/");
    assert_eq!(endpoint.config.default_namespace, "shop");
    assert!(matches!(endpoint.credentials, Credentials::TokenFile { .. }));
    assert!(endpoint.config.root_cert_file.is_some());

    // Without a kubeconfig, the environment also means the pod.
    let endpoint = resolve(&Connection::from_environment(None), &pod).unwrap();
    assert_eq!(endpoint.config.cluster_url, "https://[fd00::1]:443/");
}
