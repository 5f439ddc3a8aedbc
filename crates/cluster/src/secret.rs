//! Text that must never be shown: tokens, keys, kubeconfigs.

use std::fmt;
use std::hash::{Hash, Hasher};

use secrecy::{ExposeSecret, SecretString};

/// A text that is wiped from memory when dropped and that `Debug` does not show.
///
/// Unlike [`SecretString`] it can be compared and hashed, so a connection can be the key of the session cache without
/// being joined or hashed into something that could collide.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// The text itself. Every call is a place to review when asking where secrets go.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(SecretString::from(text))
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(SecretString::from(text))
    }
}

impl From<SecretString> for Secret {
    fn from(text: SecretString) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl Hash for Secret {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expose().hash(state);
    }
}
