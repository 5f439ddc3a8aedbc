//! Retry tokens and body hashes: what makes a repeated create the same create.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The longest retry token that the provider accepts.
const MAX_LENGTH: usize = 64;

/// The retry token of an attempt: the same after a crash, and never the same for two attempts. The provider remembers
/// tokens for a day and rejects a token whose resource is gone.
pub fn retry_token(uid: &str, generation: i64, attempt: u32) -> String {
    let token = format!("{uid}-{generation}-{attempt}");
    if token.len() <= MAX_LENGTH { token } else { sha256(token.as_bytes()) }
}

/// SHA-256 of a body in hexadecimal. `serde_json` sorts keys, so equal bodies have equal hashes.
pub fn body_hash(body: &Value) -> String {
    sha256(body.to_string().as_bytes())
}

fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_token_consists_of_uid_generation_and_attempt() {
        let uid = "6f1c0b52-7a0e-4d36-9a53-2a3d0f1f8f11";
        assert_eq!(retry_token(uid, 3, 2), "6f1c0b52-7a0e-4d36-9a53-2a3d0f1f8f11-3-2");
    }

    #[test]
    fn a_long_token_is_hashed_to_what_the_provider_accepts() {
        let uid = "u".repeat(60);
        assert_eq!(retry_token(&uid, 1, 1).len(), 64);
        assert_eq!(retry_token(&uid, 1, 1), format!("{uid}-1-1"));
        let hashed = retry_token(&uid, 10, 1);
        assert_eq!(hashed.len(), 64);
        assert!(hashed.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hashed}");
        assert_ne!(hashed, retry_token(&uid, 10, 2));
    }

    #[test]
    fn a_body_hash_does_not_depend_on_the_order_of_keys() {
        let hash = body_hash(&json!({"b": 1, "a": 2}));
        assert_eq!(hash, body_hash(&json!({"a": 2, "b": 1})));
        assert_ne!(hash, body_hash(&json!({"a": 2, "b": 2})));
        assert_eq!(body_hash(&json!({})), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    }
}
