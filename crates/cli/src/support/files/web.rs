//! Manifests on web servers, as in `-f https://example.com/shop.yaml`.

use std::path::Path;

use cluster::{DownloadError, Environment};
use diag::{Diagnostic, Source, error_chain};
use manifest::Limits;

use super::decode;
use crate::codes;
use crate::support::connect::USER_AGENT;
use crate::support::exit::Failure;

/// The URL, if an argument is one.
pub(super) fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.starts_with("https://") || text.starts_with("http://"))
}

pub(super) async fn fetch(url: &str) -> Result<Source, Failure> {
    let limit = Limits::default().bytes;
    let content = cluster::download(url, &Environment::of_process(), USER_AGENT, limit).await;
    decode(&shown(url), &content.map_err(|error| failed(url, &error))?)
}

/// The URL without its user and its query, which may contain passwords and tokens.
fn shown(url: &str) -> String {
    let address = url.split(['?', '#']).next().unwrap_or(url);
    let (scheme, rest) = address.split_once("://").unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}/{path}")
}

fn failed(url: &str, error: &DownloadError) -> Failure {
    let title = format!("cannot read {}", shown(url));
    let diagnostic =
        Diagnostic::error(codes::FILE_UNREADABLE, title).detail(format!("Cause: {}.", error_chain(error)));
    match error {
        DownloadError::Status(_) => {
            diagnostic.hint("Check the address in a browser, and that it needs no login.")
        }
        DownloadError::Downgrade => {
            diagnostic.hint("Download the file with a program that you trust to follow the redirect.")
        }
        _ => diagnostic,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_in_a_url_are_not_shown() {
        assert_eq!(shown("https://a.org/b/c.yaml"), "https://a.org/b/c.yaml");
        assert_eq!(shown("https://me:hunter2@a.org:8443/b.yaml?token=t#x"), "https://a.org:8443/b.yaml");
        assert_eq!(shown("http://a.org"), "http://a.org/");
    }

    #[test]
    fn only_web_addresses_are_urls() {
        assert_eq!(url(Path::new("https://a.org/b")), Some("https://a.org/b"));
        assert_eq!(url(Path::new("https/b.yaml")), None);
    }
}
