//! Chooses the proxy between us and a server.

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::{ConnectError, Environment};
use crate::Secret;

/// The proxy for `server`: the configured one, otherwise the environment's.
///
/// As in client-go, a configured proxy is always used; `NO_PROXY` and the exception for loopback apply only to the
/// environment's.
pub(crate) fn choose(
    server: &Uri,
    set: Option<&Secret>,
    environment: &Environment,
) -> Result<Option<Intercept>, ConnectError> {
    if let Some(url) = set {
        // Parsed here first, because the matcher treats an unusable URL as no proxy at all.
        let invalid =
            || ConnectError::InvalidUrl { what: "proxy_url", example: "http://proxy.example.com:3128" };
        let uri: Uri = url.expose().parse().map_err(|_| invalid())?;
        let scheme = uri.scheme_str().ok_or_else(invalid)?;
        if uri.host().is_none_or(str::is_empty) {
            return Err(invalid());
        }
        if !matches!(scheme, "http" | "https" | "socks5" | "socks5h") {
            return Err(ConnectError::ProxyScheme(scheme.to_owned()));
        }
        return Ok(Matcher::builder().all(url.expose()).build().intercept(server));
    }
    if is_loopback(server.host().unwrap_or_default()) {
        return Ok(None);
    }
    let matcher = Matcher::builder()
        .http(environment.http_proxy.clone().unwrap_or_default())
        .https(environment.https_proxy.clone().unwrap_or_default())
        .no(environment.no_proxy.clone().unwrap_or_default())
        .build();
    Ok(matcher.intercept(server))
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str, set: Option<&str>, environment: &Environment, expected: &str) {
        let set = set.map(Secret::from);
        let found = match choose(&server.parse().unwrap(), set.as_ref(), environment) {
            Ok(None) => "direct".to_owned(),
            Ok(Some(proxy)) => proxy.uri().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{server} through {set:?}");
    }

    #[test]
    fn a_configured_proxy_overrides_the_environment() {
        let environment = Environment { no_proxy: Some("*".to_owned()), ..Environment::default() };
        check("https://k8s", Some("http://proxy:3128"), &environment, "http://proxy:3128/");
        check("https://k8s", Some("https://proxy"), &environment, "https://proxy/");
        check("https://127.0.0.1", Some("socks5://proxy:1080"), &environment, "socks5://proxy:1080/");
        check(
            "https://k8s",
            Some("ftp://proxy"),
            &environment,
            "proxies of scheme \"ftp\" are not supported: use http, https or socks5",
        );
        for url in ["hunter2", "://", "/path", ""] {
            check(
                "https://k8s",
                Some(url),
                &environment,
                "proxy_url is not a URL such as http://proxy.example.com:3128",
            );
        }
    }

    #[test]
    fn the_environment_s_proxy_obeys_its_exceptions() {
        let environment = Environment {
            http_proxy: Some("http://plain:1".to_owned()),
            https_proxy: Some("http://tls:2".to_owned()),
            no_proxy: Some("internal.example.com,10.0.0.0/8".to_owned()),
            ..Environment::default()
        };
        check("https://k8s.example.com:6443", None, &environment, "http://tls:2/");
        check("http://k8s.example.com", None, &environment, "http://plain:1/");
        check("https://internal.example.com", None, &environment, "direct");
        check("https://a.internal.example.com", None, &environment, "direct");
        check("https://10.1.2.3", None, &environment, "direct");
        check("https://11.1.2.3", None, &environment, "http://tls:2/");
        check("https://localhost:6443", None, &environment, "direct");
        check("https://127.0.0.2", None, &environment, "direct");
        check("https://[::1]:6443", None, &environment, "direct");
        check("https://k8s", None, &Environment::default(), "direct");
    }

    #[test]
    fn a_proxy_s_password_stays_out_of_debug_output() {
        let proxy = choose(
            &"https://k8s".parse().unwrap(),
            Some(&"http://user:hunter2@proxy".into()),
            &Environment::default(),
        );
        let debug = format!("{proxy:?}");
        assert!(!debug.contains("hunter2"), "{debug}");
    }
}
