//! What a token says without its issuer's key: when it expires, and for which tenancy it was issued.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;

/// The expiry of a JWT; none when it has none, or is not a JWT.
pub(super) fn expiry(token: &str) -> Option<Timestamp> {
    Timestamp::from_second(claims(token)?.get("exp")?.as_i64()?).ok()
}

/// The tenancy in a key id, which is that of a user's key or a token; none for a token that does not name one.
pub(super) fn tenancy(key_id: &str) -> Option<String> {
    if !key_id.starts_with("ST$") {
        return key_id.split('/').next().filter(|tenancy| !tenancy.is_empty()).map(str::to_owned);
    }
    let claims = claims(key_id)?;
    // The token of a resource principal names the tenancy of the resource.
    let tenancy = claims.get("res_tenant").or_else(|| claims.get("tenant"))?;
    tenancy.as_str().map(str::to_owned)
}

fn claims(token: &str) -> Option<serde_json::Value> {
    let payload = token.trim_start_matches("ST$").split('.').nth(1)?;
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&payload).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_id_names_its_tenancy() {
        let token = |claims: &str| format!("ST$h.{}.s", BASE64_URL_SAFE_NO_PAD.encode(claims));
        let check = |key_id: &str, expected: Option<&str>| {
            assert_eq!(tenancy(key_id).as_deref(), expected, "{key_id}");
        };
        check("t1/u1/aa:bb", Some("t1"));
        check(&token(r#"{"tenant":"t1"}"#), Some("t1"));
        check(&token(r#"{"tenant":"t1","res_tenant":"t2"}"#), Some("t2"));
        check(&token(r#"{"sub":"u1"}"#), None);
        check("ST$opaque", None);
        check("/u1/aa:bb", None);
    }
}
