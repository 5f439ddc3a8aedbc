//! HTTP signatures of Oracle Cloud, which prove that a request comes unchanged from the holder of a key.
//!
//! The scheme is draft-cavage-http-signatures-08 in its "version 1". Both sides are here: the client signs, and the
//! emulator parses the same header and builds the same string.

use std::fmt;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HOST, HeaderMap, HeaderName, HeaderValue,
};
use http::{Method, Request, Uri};
use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use secrecy::{ExposeSecret as _, SecretString};

use crate::key::PrivateKey;

/// The header with the hash of the body.
pub const CONTENT_SHA256: HeaderName = HeaderName::from_static("x-content-sha256");

/// The pseudo header for method and target.
const REQUEST_TARGET: &str = "(request-target)";
/// What every signature covers, in this order.
const ALWAYS: [&str; 3] = ["date", REQUEST_TARGET, "host"];
/// What the signature of a method with a body covers in addition.
const WITH_BODY: [&str; 3] = ["content-length", "content-type", "x-content-sha256"];

pub struct Signer {
    /// Secret, because a token may be part of it.
    key_id: SecretString,
    key: PrivateKey,
}

impl Signer {
    pub(crate) fn new(key_id: String, key: PrivateKey) -> Self {
        Self { key_id: key_id.into(), key }
    }

    pub(crate) const fn key_id(&self) -> &SecretString {
        &self.key_id
    }

    /// Completes the headers of a request with this body and signs it.
    ///
    /// The address must be sent exactly as it is: escapes are part of what is signed.
    pub(crate) fn sign<B>(&self, request: &mut Request<B>, body: &[u8], now: Timestamp) {
        self.sign_covering(&ALWAYS, request, body, now);
    }

    /// The same without the host, for a service that has many names.
    pub(crate) fn sign_for_any_host<B>(&self, request: &mut Request<B>, body: &[u8], now: Timestamp) {
        self.sign_covering(&ALWAYS[..2], request, body, now);
    }

    fn sign_covering<B>(
        &self,
        names: &[&'static str],
        request: &mut Request<B>,
        body: &[u8],
        now: Timestamp,
    ) {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let headers = request.headers_mut();
        headers.insert(DATE, header(&http_date(now)));
        headers.insert(HOST, header(uri.authority().map_or("", http::uri::Authority::as_str)));
        let mut names = names.to_vec();
        if has_body(&method) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
            headers.insert(CONTENT_SHA256, header(&content_sha256(body)));
            names.extend(WITH_BODY);
        }
        let text = signing_string(&method, &uri, headers, &names).expect("every signed header was set above");
        let signature = BASE64_STANDARD.encode(self.key.sign(text.as_bytes()));
        let mut value = header(&format!(
            r#"Signature version="1",headers="{}",keyId="{}",algorithm="rsa-sha256",signature="{signature}""#,
            names.join(" "),
            self.key_id.expose_secret(),
        ));
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Whether the signature of this method covers the body, even an empty one.
pub fn has_body(method: &Method) -> bool {
    [Method::POST, Method::PUT, Method::PATCH].contains(method)
}

/// The string to sign: one line per name, in this order.
pub fn signing_string(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    names: &[&str],
) -> Result<String, MissingHeader> {
    let mut lines = Vec::with_capacity(names.len());
    for name in names {
        let value = if *name == REQUEST_TARGET {
            let target = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
            format!("{} {target}", method.as_str().to_ascii_lowercase())
        } else {
            let values: Option<Vec<&str>> =
                headers.get_all(*name).into_iter().map(|value| value.to_str().ok().map(str::trim)).collect();
            match values {
                Some(values) if !values.is_empty() => values.join(", "),
                _ => return Err(MissingHeader((*name).to_owned())),
            }
        };
        lines.push(format!("{name}: {value}"));
    }
    Ok(lines.join("\n"))
}

/// SHA-256 of a body, in Base64.
pub fn content_sha256(body: &[u8]) -> String {
    BASE64_STANDARD.encode(digest::digest(&digest::SHA256, body))
}

/// A time as HTTP writes it: `Thu, 02 Jan 2014 21:31:40 GMT`.
pub fn http_date(time: Timestamp) -> String {
    DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&time)
        .expect("a current time has a year of four digits")
}

/// The time in an HTTP header. A wrong day of the week is accepted.
pub fn parse_http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text.trim()).ok()
}

/// The signature covers a header that the request lacks, or that is not text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature covers {0}, which the request does not have as text")]
pub struct MissingHeader(pub String);

/// A parsed `Authorization` header of this scheme.
pub struct Authorization {
    pub key_id: SecretString,
    /// `rsa-sha256`.
    pub algorithm: String,
    /// The names of the signed headers, in order.
    pub headers: Vec<String>,
    pub signature: Vec<u8>,
}

impl Authorization {
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let (scheme, rest) = text.trim().split_once(' ').ok_or(Malformed("it has no parameters"))?;
        if !scheme.eq_ignore_ascii_case("signature") {
            return Err(Malformed("its scheme is not Signature"));
        }
        let parameter = |name: &str| {
            rest.split(',').find_map(|part| {
                let (key, value) = part.trim().split_once('=')?;
                (key == name).then(|| value.strip_prefix('"')?.strip_suffix('"')).flatten()
            })
        };
        if parameter("version").is_some_and(|version| version != "1") {
            return Err(Malformed("its version is not 1"));
        }
        let signature = parameter("signature").ok_or(Malformed("it has no signature"))?;
        Ok(Self {
            key_id: parameter("keyId").ok_or(Malformed("it has no keyId"))?.into(),
            algorithm: parameter("algorithm").ok_or(Malformed("it has no algorithm"))?.to_owned(),
            // The draft's default.
            headers: parameter("headers").unwrap_or("date").split(' ').map(str::to_ascii_lowercase).collect(),
            signature: BASE64_STANDARD
                .decode(signature)
                .map_err(|_| Malformed("its signature is not Base64"))?,
        })
    }

    /// The headers that a request of this method must sign and does not.
    pub fn missing(&self, method: &Method) -> Vec<&'static str> {
        let mut required = ALWAYS.to_vec();
        if has_body(method) {
            required.extend(WITH_BODY);
        }
        // `x-date` may replace `date`, which some HTTP stacks do not let users set.
        required.retain(|name| {
            !self.headers.iter().any(|signed| signed == name || (*name == "date" && signed == "x-date"))
        });
        required
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the Authorization header cannot be read: {0}")]
pub struct Malformed(&'static str);

/// Our header values are printable; a key id that is not was refused before.
fn header(text: &str) -> HeaderValue {
    HeaderValue::try_from(text).expect("signed header values are printable ASCII")
}

#[cfg(test)]
mod tests;
