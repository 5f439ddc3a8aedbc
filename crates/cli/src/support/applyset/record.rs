//! The record of a set in the cluster: compressed, in Secrets that the parent owns. They are excluded from the
//! set, or an apply would prune them.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};

use aws_lc_rs::digest::{SHA256, digest};
use cluster::{Delete, Error, Session, Write};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use futures::future::try_join_all;
use manifest::{Namespace, ObjectRef, secret};
use plan::SetRecord;
use serde_json::{Value, json};

use super::MANAGER;

/// The id of the set that a Secret is the record of.
pub(crate) const OF_SET: &str = "plimsoll.dev/applyset-record";
/// What a Secret holds before base64 makes it a third longer: 512 KiB then.
const PART: usize = 384 << 10;
/// More is not a record of ours.
const MOST_BYTES: u64 = 256 << 20;

/// Where the record of a set is.
pub(crate) struct Place {
    set: String,
    namespace: Namespace,
}

/// A record as it was found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) record: Option<SetRecord>,
    parts: usize,
    digest: String,
}

impl Place {
    /// The record of a set is in the namespace of its parent; a parent that belongs to the cluster has none.
    pub(crate) fn of(set: &str, parent: &ObjectRef) -> Option<Self> {
        Some(Self { set: set.to_owned(), namespace: parent.namespace.clone()? })
    }

    /// The record of a set whose parent is not known, if it is in this namespace.
    pub(crate) fn inside(set: &str, namespace: &Namespace) -> Self {
        Self { set: set.to_owned(), namespace: namespace.clone() }
    }

    /// Reads the record. One that is incomplete, because an apply was interrupted, is none.
    pub(crate) async fn read(&self, session: &Session) -> Result<Found, Error> {
        let Some(first) = session.read(&self.part(0)).await? else { return Ok(Found::default()) };
        let text = |name: &str| {
            let value = secret::decoded_entry(first.object.as_object()?, name)?;
            String::from_utf8(value).ok()
        };
        let parts = text("parts").and_then(|parts| parts.parse().ok()).unwrap_or(1);
        let digest = text("digest").unwrap_or_default();
        let others = (1..parts).map(async |number| session.read(&self.part(number)).await);
        let others = try_join_all(others).await?;
        let mut bytes = Vec::new();
        for part in std::iter::once(Some(first)).chain(others).flatten() {
            let part = part.object.as_object().and_then(|part| secret::decoded_entry(part, "record"));
            bytes.extend(part.unwrap_or_default());
        }
        let is_whole = hex(&bytes) == digest;
        let record = unpack(&bytes).filter(|_| is_whole).and_then(|value| SetRecord::from_value(&value));
        Ok(Found { record, parts, digest })
    }

    /// Writes the record unless it is there already. `owner` is the parent as it is in the cluster.
    pub(crate) async fn write(
        &self,
        session: &Session,
        record: &SetRecord,
        found: &Found,
        owner: &Value,
    ) -> Result<(), Error> {
        let bytes = pack(&record.to_value());
        let digest = hex(&bytes);
        if digest == found.digest {
            return Ok(());
        }
        let chunks: Vec<&[u8]> = bytes.chunks(PART).collect();
        // The first part says which others belong to it, so it is written last.
        for (number, chunk) in chunks.iter().enumerate().rev() {
            let data = BTreeMap::from([
                ("record", secret::encoded(chunk)),
                ("parts", secret::encoded(chunks.len().to_string().as_bytes())),
                ("digest", secret::encoded(digest.as_bytes())),
            ]);
            let target = self.part(number);
            let body = json!({
                "apiVersion": "v1", "kind": "Secret", "type": OF_SET,
                "metadata": {
                    "name": target.name, "namespace": self.namespace.as_str(),
                    "labels": { OF_SET: self.set }, "ownerReferences": [owner_reference(owner)],
                },
                "data": data,
            });
            session.apply(&target, &body, Write::by(MANAGER).force()).await?;
        }
        for number in chunks.len()..found.parts {
            let target = self.part(number);
            session
                .delete(&target, &Delete { timeout: std::time::Duration::ZERO, ..Delete::of(&target) })
                .await?;
        }
        Ok(())
    }

    /// Ids of sets are no names of objects.
    fn part(&self, number: usize) -> ObjectRef {
        let hash = hex(self.set.as_bytes());
        let name = format!("plimsoll-applyset-{}-{number}", &hash[..16]);
        ObjectRef::new("v1/Secret".parse().expect("a fixed kind"), Some(self.namespace.clone()), name)
    }
}

fn owner_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    })
}

fn pack(value: &Value) -> Vec<u8> {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
    let written = packed.write_all(value.to_string().as_bytes());
    written.and_then(|()| packed.finish()).expect("a Vec takes everything")
}

fn unpack(bytes: &[u8]) -> Option<Value> {
    let mut text = Vec::new();
    let read: io::Result<usize> = DeflateDecoder::new(bytes).take(MOST_BYTES).read_to_end(&mut text);
    read.ok().and_then(|_| serde_json::from_slice(&text).ok())
}

fn hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_unpacks_to_the_same() {
        let value = json!({ "members": { "ConfigMap shop/a": { "fields": { "f:data": "abc" } } } });
        assert_eq!(unpack(&pack(&value)), Some(value));
        assert_eq!(unpack(b"no"), None);
        let place = Place::inside("applyset-A_b-v1", &Namespace::new("shop").unwrap());
        let name = place.part(0).name;
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(is_name), "{name}");
    }
}
