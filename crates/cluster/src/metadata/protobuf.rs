//! Kubernetes' protobuf of lists of metadata, read without copying. The numbers are those of
//! `k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Metadata, Owner, Page};

/// What a message in this format begins with.
const MAGIC: &[u8] = b"k8s\0";

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("a protobuf message ends early")]
    EndsEarly,
    #[error("a protobuf message has a field of an unknown type")]
    UnknownType,
    #[error("a protobuf message has a text that is not UTF-8")]
    NotUtf8,
}

/// The content of a message in this format; nothing if it has another one.
pub(super) fn content(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(MAGIC)
}

/// The list in an envelope (`runtime.Unknown`).
pub(super) fn page<T: for<'a> From<Metadata<'a>>>(envelope: &[u8]) -> Result<Page<T>, Malformed> {
    let mut page = Page { items: Vec::new(), resource_version: String::new(), next: String::new() };
    for field in Fields(envelope) {
        if let (2, Field::Bytes(list)) = field? {
            read_list(list, &mut page)?;
        }
    }
    Ok(page)
}

fn read_list<T: for<'a> From<Metadata<'a>>>(list: &[u8], page: &mut Page<T>) -> Result<(), Malformed> {
    for field in Fields(list) {
        match field? {
            (1, Field::Bytes(metadata)) => {
                for field in Fields(metadata) {
                    match field? {
                        (2, Field::Bytes(version)) => page.resource_version = text(version)?.into_owned(),
                        (3, Field::Bytes(token)) => page.next = text(token)?.into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Field::Bytes(item)) => {
                for field in Fields(item) {
                    if let (1, Field::Bytes(object)) = field? {
                        page.items.push(T::from(metadata(object)?));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// `ObjectMeta`
fn metadata(bytes: &[u8]) -> Result<Metadata<'_>, Malformed> {
    let mut metadata = Metadata::default();
    for field in Fields(bytes) {
        let (number, Field::Bytes(bytes)) = field? else { continue };
        match number {
            1 => metadata.name = text(bytes)?,
            3 => metadata.namespace = text(bytes)?,
            5 => metadata.uid = text(bytes)?,
            6 => metadata.resource_version = text(bytes)?,
            8 => metadata.creation_timestamp = time(bytes)?,
            9 => metadata.deletion_timestamp = time(bytes)?,
            11 => insert(&mut metadata.labels, bytes)?,
            12 => insert(&mut metadata.annotations, bytes)?,
            13 => metadata.owner_references.push(owner(bytes)?),
            _ => {}
        }
    }
    Ok(metadata)
}

/// `OwnerReference`
fn owner(bytes: &[u8]) -> Result<Owner<'_>, Malformed> {
    let mut owner = Owner::default();
    for field in Fields(bytes) {
        if let (4, Field::Bytes(uid)) = field? {
            owner.uid = text(uid)?;
        }
    }
    Ok(owner)
}

/// An entry of a map.
fn insert<'a>(map: &mut BTreeMap<Cow<'a, str>, Cow<'a, str>>, bytes: &'a [u8]) -> Result<(), Malformed> {
    let (mut key, mut value) = (Cow::Borrowed(""), Cow::Borrowed(""));
    for field in Fields(bytes) {
        match field? {
            (1, Field::Bytes(bytes)) => key = text(bytes)?,
            (2, Field::Bytes(bytes)) => value = text(bytes)?,
            _ => {}
        }
    }
    map.insert(key, value);
    Ok(())
}

/// A `Time` as JSON writes it.
fn time(bytes: &[u8]) -> Result<Cow<'static, str>, Malformed> {
    let mut seconds = 0;
    for field in Fields(bytes) {
        if let (1, Field::Number(number)) = field? {
            seconds = number.cast_signed();
        }
    }
    Ok(Timestamp::from_second(seconds).map_or_else(|_| Cow::default(), |time| time.to_string().into()))
}

fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Malformed> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| Malformed::NotUtf8)
}

/// The value of a field.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Number(u64),
    /// A text, bytes, or a message.
    Bytes(&'a [u8]),
}

/// The fields of a message with their numbers, in order. Ends after a malformed one.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u64, Field<'a>), Malformed> {
        let key = self.number()?;
        let field = match key & 7 {
            0 => Field::Number(self.number()?),
            1 => Field::Bytes(self.take(8)?),
            2 => {
                let length = usize::try_from(self.number()?).map_err(|_| Malformed::EndsEarly)?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Bytes(self.take(4)?),
            _ => return Err(Malformed::UnknownType),
        };
        Ok((key >> 3, field))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed::EndsEarly)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number in groups of seven bits, the lowest first.
    fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take(1)? else { return Err(Malformed::EndsEarly) };
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed::UnknownType)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}
