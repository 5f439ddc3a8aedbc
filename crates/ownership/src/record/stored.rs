//! How a record is stored. Of a field whose value came out as it was written, and that is held by the first of `by`, there is
//! only the hash; of others a list of the hash of what was written, the hash of the value (true if it is the same, null if
//! there is none), the place of the holders in `by`, and whether the field was ignored.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use manifest::secret::MaskKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Entry, Record};
use crate::baseline::{Baseline, BaselineField, Remembered};
use crate::field_tree;
use crate::manager::FieldManager;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    uid: String,
    manager: FieldManager,
    api_version: String,
    time: String,
    by: Vec<Vec<FieldManager>>,
    fields: Map<String, Value>,
}

pub(super) fn write(record: &Record) -> Value {
    let Record { baseline, written, uid, entry, .. } = record;
    let mut stored = Stored {
        uid: uid.clone(),
        manager: entry.manager.clone(),
        api_version: entry.api_version.clone(),
        time: entry.time.clone(),
        by: Vec::new(),
        fields: Map::new(),
    };
    for ((path, field), written) in baseline.paths.paths().iter().zip(&baseline.fields).zip(written) {
        let known = stored.by.iter().position(|managers| *managers == field.managers);
        let by = known.unwrap_or_else(|| {
            stored.by.push(field.managers.clone());
            stored.by.len() - 1
        });
        let value = match field.value {
            Remembered::Hash(hash) if hash == *written => json!(true),
            Remembered::Hash(hash) => text(hash).into(),
            _ => Value::Null,
        };
        let entry = if value == json!(true) && by == 0 && !field.ignored {
            text(*written).into()
        } else {
            json!([text(*written), value, by, field.ignored])
        };
        field_tree::insert(&mut stored.fields, path.elements(), entry);
    }
    serde_json::to_value(stored).expect("a record has only string keys")
}

pub(super) fn read(value: &Value, key: &MaskKey) -> Option<Record> {
    let stored = Stored::deserialize(value).ok()?;
    let fields = field_tree::collect(&stored.fields, &|entry| field(entry, &stored.by)).ok()?;
    let (paths, fields): (_, Vec<(BaselineField, u64)>) = fields.into_iter().unzip();
    let (fields, written) = fields.into_iter().unzip();
    let entry = Entry { manager: stored.manager, api_version: stored.api_version, time: stored.time };
    Some(Record { key: key.clone(), baseline: Baseline { paths, fields }, written, uid: stored.uid, entry })
}

fn field(entry: &Value, by: &[Vec<FieldManager>]) -> Result<(BaselineField, u64), Failure> {
    let usual = json!([entry, true, 0, false]);
    let entry = if entry.is_string() { &usual } else { entry };
    let (hash, value, place, ignored) = <(String, Value, usize, bool)>::deserialize(entry)?;
    let hash = number(&hash)?;
    let value = match value {
        Value::Bool(true) => Remembered::Hash(hash),
        Value::String(text) => Remembered::Hash(number(&text)?),
        _ => Remembered::Absent,
    };
    let managers = by.get(place).cloned().ok_or("holders that are not listed")?;
    Ok((BaselineField { managers, value, ignored }, hash))
}

/// The 40 bits of a hash as text.
fn text(hash: u64) -> String {
    BASE64_STANDARD_NO_PAD.encode(&hash.to_be_bytes()[3..])
}

fn number(text: &str) -> Result<u64, Failure> {
    let bytes = BASE64_STANDARD_NO_PAD.decode(text)?;
    let bytes: [u8; 5] = bytes.try_into().map_err(|_| "a hash has five bytes")?;
    Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
