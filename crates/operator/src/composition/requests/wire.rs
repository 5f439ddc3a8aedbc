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
/// The most XRs that one question may be about.
pub const MAX_XRS: usize = 100;
/// The text of a question, unpacked.
pub(super) const MAX_PLAN_TEXT: usize = 4 << 20;
/// The text of a question about one object.
pub(super) const MAX_INSPECT_TEXT: usize = 16 << 10;
/// The memory that the values of a question may take. Text of a few bytes may stand for a hundred times as many.
const MAX_VALUES: usize = 48 << 20;
/// The text of an answer, which the user unpacks.
const MAX_ANSWER_TEXT: usize = 64 << 20;

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
    #[serde(default)]
    pub requester: Requester,
    /// The public key that the answer is encrypted for.
    pub key: String,
    /// The question of the operation, packed.
    #[serde(default)]
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
    /// How often a copy of the operator has taken it over from one that ended while it worked on it.
    pub takeovers: u32,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// The text of compressed JSON, of at most `limit` bytes.
fn decompress(packed: &[u8], limit: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    // One byte more shows that there is more.
    GzDecoder::new(packed).take(limit as u64 + 1).read_to_end(&mut text)?;
    if text.len() > limit {
        return Err(io::Error::other(format!("it is larger than {limit} bytes")));
    }
    Ok(text)
}

/// The memory that the values of a JSON text take at most, counted without making them.
fn memory(text: &[u8]) -> usize {
    let of = |byte: &u8| match byte {
        // A map, however small, has room for eleven entries.
        b'{' => 700,
        b'[' => 160,
        // An element of a list that may have grown to twice its size.
        b',' => 100,
        b':' => 40,
        _ => 1,
    };
    text.iter().map(of).sum()
}

/// A question as text.
pub fn pack(question: &impl Serialize) -> io::Result<String> {
    Ok(BASE64_STANDARD.encode(compress(question)?))
}

/// A question whose text has at most `limit` bytes. It comes from users who may have no other right than to ask.
pub(super) fn unpack<T: DeserializeOwned>(packed: &str, limit: usize) -> io::Result<T> {
    let text = decompress(&BASE64_STANDARD.decode(packed).map_err(io::Error::other)?, limit)?;
    if memory(&text) > MAX_VALUES {
        return Err(io::Error::other("it has too many values"));
    }
    Ok(serde_json::from_slice(&text)?)
}

/// An answer, compressed.
pub(super) fn unpack_answer<T: DeserializeOwned>(packed: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(&decompress(packed, MAX_ANSWER_TEXT)?)?)
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
        let read: PlanQuestion = unpack(&text, MAX_PLAN_TEXT).unwrap();
        assert_eq!((read.changed, read.xrs), (changed, xrs));
        for broken in ["", "no base64", "AAAA"] {
            assert!(unpack::<PlanQuestion>(broken, MAX_PLAN_TEXT).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn a_question_that_would_take_much_memory_is_not_read() {
        let check = |question: &str, limit: usize, expected: &str| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::best());
            packed.write_all(question.as_bytes()).unwrap();
            let packed = BASE64_STANDARD.encode(packed.finish().unwrap());
            assert!(packed.len() < MAX_QUESTION, "{} bytes can be sent", packed.len());
            let refused = unpack::<PlanQuestion>(&packed, limit).unwrap_err().to_string();
            assert_eq!(refused, expected);
        };
        let changed = |values: &str| format!(r#"{{"changed":[{{"a":[{values}]}}],"xrs":[]}}"#);
        let repeated = |one: &str, bytes: usize| changed(&[&one.repeat(bytes / one.len()), "0"].concat());
        let (large, many) = ("it is larger than 4194304 bytes", "it has too many values");
        check(&repeated("0,", 8 << 20), MAX_PLAN_TEXT, large);
        check(&repeated("0,", 4_000_000), MAX_PLAN_TEXT, many);
        check(&repeated(r#"{"":0},"#, 1 << 20), MAX_PLAN_TEXT, many);
        check(&repeated("[],", 1 << 20), MAX_PLAN_TEXT, many);
        check(&repeated("0,", 20_000), MAX_INSPECT_TEXT, "it is larger than 16384 bytes");
    }

    #[test]
    fn a_large_schema_is_read() {
        let property =
            json!({"type": "string", "description": "What the size of the database is, in gigabytes."});
        let properties: Map<String, Value> =
            (0..20_000).map(|number| (format!("property{number}"), property.clone())).collect();
        let changed = vec![composition::object::object(json!({"kind": "X", "properties": properties}))];
        let text = pack(&PlanQuestion { changed: changed.clone(), xrs: Vec::new() }).unwrap();
        assert_eq!(unpack::<PlanQuestion>(&text, MAX_PLAN_TEXT).unwrap().changed, changed);
    }
}
