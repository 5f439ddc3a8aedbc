//! Bytes by name that must never be shown: connection details and credentials.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The data of a Secret. Printing it shows the keys only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretData(BTreeMap<String, Vec<u8>>);

impl SecretData {
    /// The data itself, to be encoded.
    pub fn into_inner(self) -> BTreeMap<String, Vec<u8>> {
        self.0
    }
}

impl From<BTreeMap<String, Vec<u8>>> for SecretData {
    fn from(data: BTreeMap<String, Vec<u8>>) -> Self {
        Self(data)
    }
}

impl FromIterator<(String, Vec<u8>)> for SecretData {
    fn from_iter<T: IntoIterator<Item = (String, Vec<u8>)>>(iter: T) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl Deref for SecretData {
    type Target = BTreeMap<String, Vec<u8>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for SecretData {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Debug for SecretData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Resource;

    #[test]
    fn debug_output_shows_keys_and_no_values() {
        let details: SecretData = [("password".to_owned(), b"hunter2".to_vec())].into_iter().collect();
        let object = serde_json::json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"token": "hunter2"},
            "metadata": {"namespace": "shop", "name": "db"}});
        let shown = format!("{:?}", Resource { connection_details: details, ..Resource::of(object) });
        insta::assert_snapshot!(shown, @r#"Resource { api_version: "v1", kind: "Secret", namespace: "shop", name: "db", connection_details: {"password"}, ready: Unspecified }"#);
    }
}
