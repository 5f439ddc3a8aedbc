//! What a token says without its issuer's key: when it expires.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;

/// The expiry of a JWT; none when it has none, or is not a JWT.
pub(super) fn expiry(token: &str) -> Option<Timestamp> {
    let payload = token.trim_start_matches("ST$").split('.').nth(1)?;
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&payload).ok()?;
    Timestamp::from_second(claims.get("exp")?.as_i64()?).ok()
}
