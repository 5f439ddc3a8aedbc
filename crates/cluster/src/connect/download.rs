//! Downloads a manifest from a web server, over the same proxies and TLS as requests to a cluster.

use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::client::Body;
use kube::config::Config;
use tower::ServiceExt as _;

use super::endpoint::{Endpoint, anonymous};
use super::streams::ResponseBody;
use super::transport::{Transport, TransportError};
use super::{ConnectError, Environment, proxy};

/// How many redirects browsers follow.
const MAX_REDIRECTS: usize = 20;
/// As in kubectl.
const ATTEMPTS: usize = 3;
const PAUSE: Duration = Duration::from_secs(1);
/// For one attempt, from the connection to the last byte.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Why a download failed. No variant repeats the URL, whose query may contain a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    #[error("it is not a URL such as https://example.com/manifests.yaml")]
    InvalidUrl,
    #[error("the connection cannot be set up")]
    Connect(#[from] ConnectError),
    #[error("no response from the server")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the server answers {0}")]
    Status(StatusCode),
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the server redirects more than {MAX_REDIRECTS} times")]
    TooManyRedirects,
    #[error("the server redirects from https to http")]
    Downgrade,
    #[error("no complete response within {} seconds", TIMEOUT.as_secs())]
    TimedOut,
}

impl DownloadError {
    /// Whether another attempt may succeed.
    fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::TimedOut => true,
            Self::Status(status) => status.is_server_error(),
            _ => false,
        }
    }
}

/// The content at `url`, at most `limit` bytes. Redirects are followed, but never from https to http.
pub async fn download(
    url: &str,
    environment: &Environment,
    user_agent: &str,
    limit: usize,
) -> Result<Bytes, DownloadError> {
    let start = web_address(url).ok_or(DownloadError::InvalidUrl)?;
    let mut attempt = 1;
    loop {
        let downloading = follow(start.clone(), environment, user_agent, limit);
        let outcome = tokio::time::timeout(TIMEOUT, downloading).await;
        match outcome.unwrap_or(Err(DownloadError::TimedOut)) {
            Err(error) if error.is_transient() && attempt < ATTEMPTS => attempt += 1,
            outcome => return outcome,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn follow(
    mut place: Uri,
    environment: &Environment,
    user_agent: &str,
    limit: usize,
) -> Result<Bytes, DownloadError> {
    for _ in 0..=MAX_REDIRECTS {
        let response = get(&place, environment, user_agent).await?;
        let status = response.status();
        let location = response.headers().get(LOCATION).filter(|_| status.is_redirection());
        if let Some(location) = location {
            let location = location.to_str().map_err(|_| DownloadError::InvalidUrl)?;
            let next = resolve(&place, location).ok_or(DownloadError::InvalidUrl)?;
            if place.scheme_str() == Some("https") && next.scheme_str() != Some("https") {
                return Err(DownloadError::Downgrade);
            }
            place = next;
            continue;
        }
        if !status.is_success() {
            return Err(DownloadError::Status(status));
        }
        return match Limited::new(response.into_body(), limit).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(DownloadError::TooLarge(limit)),
            Err(error) => Err(DownloadError::Unreachable(error)),
        };
    }
    Err(DownloadError::TooManyRedirects)
}

async fn get(
    place: &Uri,
    environment: &Environment,
    user_agent: &str,
) -> Result<Response<ResponseBody>, DownloadError> {
    let mut server = place.clone().into_parts();
    server.path_and_query = Some("/".parse().expect("a path"));
    let server = Uri::from_parts(server).map_err(|_| DownloadError::InvalidUrl)?;
    let proxy = proxy::choose(&server, None, environment)?;
    let endpoint = Endpoint { proxy, ..anonymous(Config::new(server)) };
    let path = place.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path).body(Body::empty()).map_err(|_| DownloadError::InvalidUrl)?;
    let answer = Transport::new(endpoint, user_agent)?.oneshot(request).await;
    answer.map_err(|error: TransportError| DownloadError::Unreachable(error.into()))
}

fn web_address(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok()?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    (is_web && uri.host().is_some_and(|host| !host.is_empty())).then_some(uri)
}

/// Where `location` leads from `place`.
fn resolve(place: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or_default();
    let (scheme, authority) = (place.scheme_str()?, place.authority()?);
    if location.contains("://") {
        return web_address(location);
    }
    if let Some(rest) = location.strip_prefix("//") {
        return web_address(&format!("{scheme}://{rest}"));
    }
    let path = if location.starts_with('/') {
        location.to_owned()
    } else {
        let (folder, _) = place.path().rsplit_once('/')?;
        format!("{folder}/{location}")
    };
    web_address(&format!("{scheme}://{authority}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_leads_to_an_address_or_to_a_path() {
        let place: Uri = "https://example.org:8443/a/b.yaml?x=1".parse().unwrap();
        let check = |location: &str, expected: Option<&str>| {
            assert_eq!(
                resolve(&place, location).map(|uri| uri.to_string()).as_deref(),
                expected,
                "{location}"
            );
        };
        check("https://other.org/c.yaml?t=2#top", Some("https://other.org/c.yaml?t=2"));
        check("//other.org/c.yaml", Some("https://other.org/c.yaml"));
        check("/c.yaml", Some("https://example.org:8443/c.yaml"));
        check("c.yaml", Some("https://example.org:8443/a/c.yaml"));
        check("ftp://other.org/c.yaml", None);
    }

    #[test]
    fn only_web_addresses_are_downloaded() {
        for text in ["http://a/b", "https://a"] {
            assert!(web_address(text).is_some(), "{text}");
        }
        for text in ["a/b", "ftp://a/b", "https://", "file:///etc/passwd", ""] {
            assert!(web_address(text).is_none(), "{text}");
        }
    }
}
