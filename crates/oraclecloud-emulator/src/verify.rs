//! Verifies request signatures completely, with a reason for every rejection.

use aws_lc_rs::digest::{self, Algorithm};
use http::request::Parts;
use jiff::{SignedDuration, Timestamp};
use oraclecloud::key::PublicKey;
use oraclecloud::sign::{
    Authorization, CONTENT_SHA256, content_sha256, has_body, parse_http_date, signing_string,
};
use secrecy::ExposeSecret as _;

use crate::ids::TENANCY;
use crate::keys::Keys;
use crate::reply::ApiError;
use crate::route::header;

/// Oracle's limit for clock skew.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// Checks that a known key signed this very request recently; the tenancy that it names.
pub(crate) fn verify(
    parts: &Parts,
    body: &[u8],
    keys: &mut Keys,
    now: Timestamp,
) -> Result<String, ApiError> {
    let (authorization, signed) = read(parts, body, now, &[])?;
    let key_id = authorization.key_id.expose_secret();
    let (tenancy, key) = if let Some(token) = key_id.strip_prefix("ST$") {
        let key = keys.by_token(token, now);
        (TENANCY, key.ok_or_else(|| refuse("The token is unknown or has expired."))?)
    } else {
        let parts: Vec<&str> = key_id.split('/').collect();
        let [tenancy, user, fingerprint] = parts.as_slice() else {
            return Err(refuse("keyId is neither tenancy/user/fingerprint nor a token."));
        };
        if tenancy.is_empty() || user.is_empty() {
            return Err(refuse("keyId lacks a tenancy or a user."));
        }
        let key = keys.by_fingerprint(fingerprint);
        (*tenancy, key.ok_or_else(|| refuse("The key is unknown."))?)
    };
    check(key, &signed, &authorization)?;
    Ok(tenancy.to_owned())
}

/// Checks that the key of a certificate signed the request; the host may differ.
pub(crate) fn verify_certificate(
    parts: &Parts,
    body: &[u8],
    tenancy: &str,
    certificate: &[u8],
    key: &PublicKey,
    now: Timestamp,
) -> Result<(), ApiError> {
    let (authorization, signed) = read(parts, body, now, &["host"])?;
    let fingerprint = |algorithm: &'static Algorithm| {
        let digest = digest::digest(algorithm, certificate);
        digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
    };
    let names = [
        format!("{tenancy}/fed-x509-sha256/{}", fingerprint(&digest::SHA256)),
        format!("{tenancy}/fed-x509/{}", fingerprint(&digest::SHA1_FOR_LEGACY_USE_ONLY)),
    ];
    if !names.iter().any(|name| name.eq_ignore_ascii_case(authorization.key_id.expose_secret())) {
        return Err(refuse("keyId is not the tenancy and the fingerprint of the certificate."));
    }
    check(key, &signed, &authorization)
}

fn check(key: &PublicKey, signed: &str, authorization: &Authorization) -> Result<(), ApiError> {
    if key.verifies(signed.as_bytes(), &authorization.signature) {
        Ok(())
    } else {
        Err(refuse("The signature does not match the request."))
    }
}

fn refuse(message: impl Into<String>) -> ApiError {
    ApiError::unauthenticated(message)
}

/// The signature and the string it signs, which must match the request. Headers in `optional` need not be signed.
fn read(
    parts: &Parts,
    body: &[u8],
    now: Timestamp,
    optional: &[&str],
) -> Result<(Authorization, String), ApiError> {
    let text = |name: &str| header(&parts.headers, name);
    let authorization = text("authorization").ok_or_else(|| refuse("The request is not signed."))?;
    let authorization = Authorization::parse(authorization).map_err(|error| refuse(error.to_string()))?;
    if authorization.algorithm != "rsa-sha256" {
        return Err(refuse("The algorithm of the signature is not rsa-sha256."));
    }
    let mut missing = authorization.missing(&parts.method);
    missing.retain(|name| !optional.contains(name));
    if !missing.is_empty() {
        return Err(refuse(format!("The signature does not cover {}.", missing.join(", "))));
    }
    let signs = |name: &str| authorization.headers.iter().any(|signed| signed == name);
    let date = text(if signs("x-date") { "x-date" } else { "date" })
        .and_then(parse_http_date)
        .ok_or_else(|| refuse("The date of the request is missing or malformed."))?;
    if now.duration_since(date).abs() > TOLERANCE {
        return Err(refuse(format!(
            "The date {date} is more than 5 minutes from {now:.0}, the time of the server."
        )));
    }
    if has_body(&parts.method) {
        if text(CONTENT_SHA256.as_str()) != Some(content_sha256(body).as_str()) {
            return Err(refuse("x-content-sha256 is not the hash of the body."));
        }
        if text("content-length") != Some(body.len().to_string().as_str()) {
            return Err(refuse("content-length is not the length of the body."));
        }
    }
    let names: Vec<&str> = authorization.headers.iter().map(String::as_str).collect();
    let signed = signing_string(&parts.method, &parts.uri, &parts.headers, &names)
        .map_err(|error| refuse(error.to_string()))?;
    Ok((authorization, signed))
}
