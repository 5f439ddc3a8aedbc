//! The token of an OpenID provider, as older kubeconfigs contain it (`auth-provider: oidc`).
//!
//! The token is used as is. Renewing it would mean writing the new refresh token back to the kubeconfig, because most
//! providers issue each refresh token once; that is up to the file's owner.

use std::collections::HashMap;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;

use super::ConnectError;
use super::credentials::Credentials;
use crate::Secret;

/// The credentials in the settings of an `oidc` provider.
pub(super) fn credentials(config: &HashMap<String, String>) -> Result<Credentials, ConnectError> {
    let token = config.get("id-token").filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| ConnectError::AuthProvider("oidc (without id-token)".to_owned()))?;
    Ok(Credentials::Token { token: Secret::from(token.as_str()), expires: expiry(token) })
}

/// The expiry of a JSON web token, if it has one. The server verifies the signature.
fn expiry(token: &str) -> Option<Timestamp> {
    #[derive(Deserialize)]
    struct Claims {
        exp: i64,
    }
    let claims = token.split('.').nth(1)?;
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    Timestamp::from_second(serde_json::from_slice::<Claims>(&claims).ok()?.exp).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expiry_of_a_token_is_optional() {
        let token = |claims: &str| format!("h.{}.s", BASE64_URL_SAFE_NO_PAD.encode(claims));
        let check = |token: &str, expected: Option<&str>| {
            assert_eq!(expiry(token).map(|time| time.to_string()).as_deref(), expected, "{token}");
        };
        check(&token(r#"{"exp":1700000000,"sub":"jane"}"#), Some("2023-11-14T22:13:20Z"));
        check(&token("{}"), None);
        check(&token(r#"{"exp":9223372036854775807}"#), None);
        check("opaque", None);
        check("a.!.c", None);
    }
}
