//! The attributes of `cluster` on resources, data sources and the provider.

use diag::{Diagnostic, Source};
use manifest::Limits;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::schema::{Attribute, Kind};
use tfplugin::types::Type;
use tfplugin::value::Value;

use crate::codes;

/// `cluster` of a resource, with the checks of its parts.
pub(crate) fn resource_attribute() -> Attribute {
    Attribute::optional("cluster", Kind::nested(attributes().into_iter().map(with_checks))).description(
        "The connection to the cluster. By default the provider's `cluster` is used, and no credentials are stored in the state.",
    )
}

/// `cluster` of a data source, whose parts are checked when it is read.
pub(crate) fn data_attribute() -> Attribute {
    Attribute::optional("cluster", Kind::nested(attributes()))
        .description("The connection to the cluster. By default the provider's `cluster` is used.")
}

/// `cluster` of the provider: the attributes of a resource's, and those that only make sense once.
pub(crate) fn provider_attribute() -> Attribute {
    let more = [
        Attribute::optional("config_paths", Type::list(Type::String))
            .description("Paths of kubeconfig files, merged as kubectl merges them."),
        Attribute::optional("in_cluster", Type::Bool)
            .description("Use the service account of the pod that Terraform runs in."),
        Attribute::optional("tls_server_name", Type::String)
            .description("The name to expect in the server's certificate, if it is not the host's."),
        Attribute::optional(
            "impersonate",
            Kind::nested([
                Attribute::optional("user", Type::String).description("The user to impersonate."),
                Attribute::optional("groups", Type::list(Type::String))
                    .description("The groups to impersonate."),
            ]),
        )
        .description("The user and groups to impersonate."),
    ];
    let attributes = attributes().into_iter().map(with_checks).chain(more);
    Attribute::optional("cluster", Kind::nested(attributes)).description(
        "The connection for resources without their own. `cluster = {}` uses what kubectl would use: `KUBECONFIG`, \
         `~/.kube/config`, or the service account of the pod.",
    )
}

/// The attributes, without checks.
fn attributes() -> Vec<Attribute> {
    let text = |name: &str, about: &str| Attribute::optional(name, Type::String).description(about);
    let secret = |name: &str, about: &str| text(name, about).sensitive();
    vec![
        text("host", "The URL of the API server."),
        secret("cluster_ca_certificate", "The certificate authority of the server: PEM, or PEM in base64."),
        secret("kubeconfig", "The content of a kubeconfig file, for instance `file(\"~/.kube/config\")`."),
        text(
            "context",
            "The context of the kubeconfig. By default its `current-context`, or its only context.",
        ),
        secret("token", "A bearer token."),
        secret("client_certificate", "A client certificate: PEM, or PEM in base64."),
        secret("client_key", "The key of the client certificate: PEM, or PEM in base64."),
        Attribute::optional("insecure", Type::Bool)
            .description("Accept any server certificate. For development only."),
        text("proxy_url", "A proxy for requests to the API server: `http`, `https` or `socks5`."),
        Attribute::optional(
            "exec",
            Kind::nested([
                Attribute::required("api_version", Type::String).description(
                    "`client.authentication.k8s.io/v1` or `client.authentication.k8s.io/v1beta1`.",
                ),
                Attribute::required("command", Type::String).description("The program to run."),
                Attribute::optional("args", Type::list(Type::String)).description("Its arguments."),
                Attribute::optional("env", Type::map(Type::String))
                    .description("Environment variables to add to the provider's own."),
            ]),
        )
        .sensitive()
        .description("A program that prints credentials."),
    ]
}

fn with_checks(attribute: Attribute) -> Attribute {
    match attribute.name.as_str() {
        "host" | "proxy_url" => attribute.validate(check_url),
        "kubeconfig" => attribute.validate(check_kubeconfig),
        _ => attribute,
    }
}

fn check_url(value: &Value, path: &Path) -> Diagnostics {
    match value.as_str() {
        Some(text) if !has_scheme(text) => Diagnostic::error(codes::INVALID_URL, "Invalid URL")
            .detail(format!("{path} is not a URL with a scheme."))
            .hint("Write it like https://api.example.com:6443.")
            .into(),
        _ => Diagnostics::new(),
    }
}

/// Whether the text looks like a URL with a scheme.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'))
        && !rest.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// Errors do not quote the text, because it contains credentials.
fn check_kubeconfig(value: &Value, path: &Path) -> Diagnostics {
    let Some(text) = value.as_str() else { return Diagnostics::new() };
    let source = Source::new("kubeconfig", text);
    let stream = manifest::read(&source, &Limits::default());
    let Some(Err(broken)) = stream.documents.into_iter().next() else { return Diagnostics::new() };
    let place = broken.problems.iter().find_map(|problem| problem.location.as_ref()).map_or_else(
        String::new,
        |location| {
            let position = location.position();
            format!(" (line {}, column {})", position.line, position.column)
        },
    );
    Diagnostic::error(codes::INVALID_KUBECONFIG, "Invalid Kubeconfig")
        .detail(format!("{path} is not valid YAML{place}."))
        .hint("Give the content of a kubeconfig file, for instance with file(\"~/.kube/config\").")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme() {
        let check = |text: &str, expected: bool| assert_eq!(has_scheme(text), expected, "{text}");
        check("https://host:6443", true);
        check("socks5://proxy", true);
        check("HTTPS://host/path", true);
        check("host:6443", false);
        check("://host", false);
        check("1http://host", false);
        check("https://a b", false);
        check("", false);
    }

    #[test]
    fn a_kubeconfig_is_yaml_and_is_never_quoted() {
        let check =
            |text: &str| check_kubeconfig(&Value::from(text), &Path::of("cluster").attribute("kubeconfig"));
        assert!(check("apiVersion: v1\nclusters: []\n").is_empty());
        let refused = check("token: hunter2\n  bad: [\n");
        assert!(refused.has_errors());
        assert!(!format!("{refused:?}").contains("hunter2"), "{refused:?}");
    }
}
