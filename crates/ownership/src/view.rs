//! An object as ownership looks at it: Secrets in their stored form and masked, so that no value can leak from here.

use std::borrow::Cow;

use fields::{FieldSet, Schema};
use manifest::secret;
use serde_json::Value;

/// The object to look at, and whether its values may be shown.
pub(crate) struct View<'a> {
    pub(crate) object: Cow<'a, Value>,
}

impl<'a> View<'a> {
    pub(crate) fn of(object: &'a Value) -> Self {
        if !secret::is_secret(object) {
            return Self { object: Cow::Borrowed(object) };
        }
        let mut stored = object.clone();
        secret::normalise(&mut stored);
        Self { object: Cow::Owned(secret::masked(&stored)) }
    }

    /// The fields it writes that somebody can hold: everything but what says which object it is.
    pub(crate) fn fields(&self, schema: &Schema) -> FieldSet {
        fields::written(&self.object, schema).leaves().difference(&fields::identity())
    }
}
