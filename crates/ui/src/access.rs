//! Who may see the page: browsers that have the token, by a host name that is ours. Everything else is refused.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::views;

/// Nothing from elsewhere, nothing inline, and no other site may frame the page or send it a form.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// A random secret that is in the printed URL, and then in a cookie.
pub struct Token(String);

impl Token {
    pub(crate) fn random() -> Self {
        let mut random = [0; 16];
        aws_lc_rs::rand::fill(&mut random).expect("the system has random numbers");
        let mut text = String::new();
        for byte in random {
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    fn is(&self, given: &str) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), given.as_bytes()).is_ok()
    }
}

pub(crate) struct Access {
    token: Token,
    port: u16,
    hosts: Vec<String>,
}

impl Access {
    pub(crate) fn new(token: Token, port: u16, hosts: Vec<String>) -> Arc<Self> {
        Arc::new(Self { token, port, hosts })
    }

    /// Cookies are shared by all ports of a host, and there may be several servers.
    fn cookie(&self) -> String {
        format!("plimsoll-{}", self.port)
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie();
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|value| value.split("; ")).filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).any(|(_, value)| self.token.is(value))
    }

    /// Whether the browser reached us by a name of ours. A name of another site that resolves to this machine is how a
    /// foreign page would read this one (DNS rebinding); an address cannot be rebound.
    fn is_our_host(&self, headers: &HeaderMap) -> bool {
        let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => name,
            _ => host,
        };
        let is_address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
        let mut ours = self.hosts.iter().map(String::as_str).chain(["localhost"]);
        is_address || ours.any(|ours| ours.eq_ignore_ascii_case(name))
    }
}

/// Checks every request, and adds the headers that confine the page.
pub(crate) async fn check(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let mut response = answer(&access, request, next).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn answer(access: &Access, request: Request, next: Next) -> Response {
    if !access.is_our_host(request.headers()) {
        let why = "This server does not answer to that host name. Pass it with --host to allow it.\n";
        return (StatusCode::MISDIRECTED_REQUEST, why).into_response();
    }
    // Pages of other ports of this host have the cookie as well.
    if request.method() == Method::POST && !is_own_origin(request.headers()) {
        return (StatusCode::FORBIDDEN, "This form was sent by another page.\n").into_response();
    }
    // They contain nothing of the cluster, and the page that asks for a token uses them.
    if request.uri().path().starts_with("/assets/") {
        return next.run(request).await;
    }
    if let Some((given, location)) = token_of(&request) {
        if !access.token.is(&given) {
            return (StatusCode::UNAUTHORIZED, views::locked(true)).into_response();
        }
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", access.cookie(), access.token.0);
        let headers = [(LOCATION, location), (SET_COOKIE, cookie)];
        return (StatusCode::SEE_OTHER, headers).into_response();
    }
    if !access.has_token(request.headers()) {
        return (StatusCode::UNAUTHORIZED, views::locked(false)).into_response();
    }
    next.run(request).await
}

/// Whether a request comes from a page of ours, or from a program that names no page. A browser may have reached us through
/// something that speaks HTTPS.
fn is_own_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let (Some((scheme, origin)), Some(host)) = (origin, host) else { return false };
    let usual_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return false,
    };
    // A browser leaves out the usual port; a proxy need not.
    let [origin, host] = [origin, host].map(|it| it.strip_suffix(usual_port).unwrap_or(it));
    origin.eq_ignore_ascii_case(host)
}

/// The token in the URL, and the URL without it.
fn token_of(request: &Request) -> Option<(String, String)> {
    let query = request.uri().query()?;
    let pairs = || form_urlencoded::parse(query.as_bytes());
    let (_, token) = pairs().find(|(key, _)| key == "token")?;
    let rest = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs().filter(|(key, _)| key != "token"))
        .finish();
    // One slash only: a browser takes two of them for the beginning of a host.
    let path = format!("/{}", request.uri().path().trim_start_matches(['/', '\\']));
    let location = if rest.is_empty() { path } else { format!("{path}?{rest}") };
    Some((token.into_owned(), location))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn only_addresses_and_our_own_names_are_hosts() {
        let access = Access::new(Token::random(), 8080, vec!["ops.example.org".to_owned()]);
        let check = |host: &str, expected: bool| {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]);
            assert_eq!(access.is_our_host(&headers), expected, "{host}");
        };
        for ours in ["127.0.0.1:8080", "localhost:8080", "localhost", "[::1]:8080", "ops.example.org:8080"] {
            check(ours, true);
        }
        for ours in ["Localhost:8080", "OPS.example.org"] {
            check(ours, true);
        }
        for other in ["evil.example.org:8080", "127.0.0.1.evil.example.org", "localhost.evil.org", ""] {
            check(other, false);
        }
        assert!(!access.is_our_host(&HeaderMap::new()));
    }

    #[test]
    fn only_our_own_pages_send_forms() {
        let check_at = |host: &'static str, origin: Option<&str>, expected: bool| {
            let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
            }
            assert_eq!(is_own_origin(&headers), expected, "{host} {origin:?}");
        };
        let check = |origin: Option<&str>, expected: bool| check_at("127.0.0.1:8080", origin, expected);
        check(None, true);
        check(Some("http://127.0.0.1:8080"), true);
        check(Some("http://127.0.0.1:4444"), false);
        check(Some("http://evil.example.org"), false);
        check(Some("null"), false);
        check(Some("https://127.0.0.1:8080"), true);
        check(Some("ftp://127.0.0.1:8080"), false);
        check_at("ops.example.org", Some("https://ops.example.org"), true);
        check_at("Ops.Example.org:443", Some("https://ops.example.org"), true);
        check_at("ops.example.org:443", Some("http://ops.example.org"), false);
        check_at("ops.example.org", Some("https://ops.example.org.evil.org"), false);
    }

    #[test]
    fn the_token_leaves_the_address() {
        let check = |uri: &str, expected: Option<(&str, &str)>| {
            let request = Request::get(uri).body(Body::empty()).unwrap();
            let found = token_of(&request);
            assert_eq!(
                found.as_ref().map(|(token, rest)| (token.as_str(), rest.as_str())),
                expected,
                "{uri}"
            );
        };
        check("/?token=abc", Some(("abc", "/")));
        check("/tree/shop/pod/a?x=1&token=abc&y=2", Some(("abc", "/tree/shop/pod/a?x=1&y=2")));
        check("//evil.example.org/?token=abc", Some(("abc", "/evil.example.org/")));
        check("/?q=token", None);
    }

    #[test]
    fn only_the_cookie_of_this_server_counts() {
        let access = Access::new(Token::random(), 8080, Vec::new());
        let token = access.token.0.clone();
        let check = |cookie: &str, expected: bool| {
            let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(cookie).unwrap())]);
            assert_eq!(access.has_token(&headers), expected, "{cookie}");
        };
        check(&format!("a=b; plimsoll-8080={token}"), true);
        check(&format!("plimsoll-8081={token}"), false);
        check("plimsoll-8080=", false);
        check(&format!("plimsoll-8080={token}0"), false);
    }
}
