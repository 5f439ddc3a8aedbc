//! What can be read in a token without its issuer's key: when it runs out.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;

/// The time at which a JWT expires; nothing when it does not say, or is none.
pub(super) fn expiry(token: &str) -> Option<Timestamp> {
    let payload = token.trim_start_matches("ST$").split('.').nth(1)?;
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&payload).ok()?;
    Timestamp::from_second(claims.get("exp")?.as_i64()?).ok()
}
