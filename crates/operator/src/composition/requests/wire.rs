//! A request of a user and its answer, as they are written to the API server.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The longest question and the longest answer. Both together fit into an object of etcd.
pub const MAX_QUESTION: usize = 400_000;
pub(super) const MAX_ANSWER: usize = 900_000;
/// What a question may take once it is unpacked.
const MAX_UNPACKED: u64 = 64 << 20;

/// The kind of requests.
pub fn request_kind() -> GroupVersionKind {
    "plimsoll.dev/v1alpha1/Request".parse().expect("a valid kind")
}

/// What a user asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestSpec {
    pub operation: Operation,
    /// Who asks. An admission policy makes sure that it is true.
    pub requester: Requester,
    /// The public key that the answer is encrypted for.
    pub key: String,
    /// The question of the operation, packed.
    pub question: String,
    /// How long the user waits at most.
    pub timeout_seconds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Renders XRs with a changed platform.
    Plan,
    /// Records the next pass over an XR.
    Inspect,
}

/// A user as the API server knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Requester {
    pub username: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

/// How far a request has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<RequestState>,
    /// Which copy of the operator has taken it up.
    pub operator: String,
    /// Counts on while the operator works on it.
    pub beats: u64,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The encrypted answer of the operation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestState {
    Running,
    Answered,
    /// The user may not know, or it does not exist.
    Refused,
    /// The answer does not fit into an object: ask for less.
    TooLarge,
}

/// Which XRs are rendered with which platform.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanQuestion {
    /// Compositions, XRDs and Functions as they would be.
    pub changed: Vec<Map<String, Value>>,
    pub xrs: Vec<Named>,
}

/// The XR whose next pass is recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InspectQuestion {
    pub xr: Named,
}

/// Which object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    pub api_version: String,
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
}

impl Named {
    pub fn of(object: &Map<String, Value>) -> Option<Self> {
        ObjectRef::of(object).ok().as_ref().map(Self::from)
    }

    /// The object, if it can be one.
    pub fn target(&self) -> Option<ObjectRef> {
        let gvk = GroupVersionKind::new(self.api_version.parse().ok()?, &self.kind).ok()?;
        Some(ObjectRef::new(gvk, self.namespace.as_deref().and_then(Namespace::new), self.name.clone()))
    }
}

impl From<&ObjectRef> for Named {
    fn from(object: &ObjectRef) -> Self {
        Self {
            api_version: object.api_version().to_string(),
            kind: object.kind().to_owned(),
            namespace: object.namespace.as_ref().map(|namespace| namespace.as_str().to_owned()),
            name: object.name.clone(),
        }
    }
}

/// A value as compressed JSON.
pub(super) fn compress(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut packed, value)?;
    packed.flush()?;
    packed.finish()
}

pub(super) fn decompress<T: DeserializeOwned>(packed: &[u8]) -> io::Result<T> {
    let limited = io::BufReader::new(GzDecoder::new(packed).take(MAX_UNPACKED));
    Ok(serde_json::from_reader(limited)?)
}

/// A question as text.
pub fn pack(question: &impl Serialize) -> io::Result<String> {
    Ok(BASE64_STANDARD.encode(compress(question)?))
}

pub(super) fn unpack<T: DeserializeOwned>(text: &str) -> io::Result<T> {
    decompress(&BASE64_STANDARD.decode(text).map_err(io::Error::other)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_survives_the_way() {
        let changed =
            vec![composition::object::object(json!({"kind": "Composition", "spec": {"a": [1, "ü"]}}))];
        let xrs = vec![Named {
            api_version: "e.org/v1".into(),
            kind: "X".into(),
            namespace: Some("shop".into()),
            name: "x".into(),
        }];
        let text = pack(&PlanQuestion { changed: changed.clone(), xrs: xrs.clone() }).unwrap();
        let read: PlanQuestion = unpack(&text).unwrap();
        assert_eq!((read.changed, read.xrs), (changed, xrs));
        for broken in ["", "no base64", "AAAA"] {
            assert!(unpack::<PlanQuestion>(broken).is_err(), "{broken:?}");
        }
    }
}
