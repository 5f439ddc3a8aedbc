//! An object as the API server returned it. Everything that asks who holds what takes it from here.

use std::fmt;

use fields::{FieldSet, Schema};
use serde_json::Value;

use crate::managed::{ManagedFields, ManagedFieldsError};
use crate::manager::FieldManager;

/// A live object or the answer to an apply, with its managedFields parsed.
///
/// Parsing takes the object over, and there is no other way to parse managedFields: each object is parsed once.
pub struct Observed {
    object: Value,
    managed: ManagedFields,
    schema: Schema,
}

impl Observed {
    pub fn new(object: Value) -> Result<Self, ManagedFieldsError> {
        let managed = ManagedFields::of(&object)?;
        let schema = managed.schema(&object);
        Ok(Self { object, managed, schema })
    }

    /// The same object with other managers.
    pub(crate) fn held_as(&self, managed: ManagedFields) -> Self {
        let schema = managed.schema(&self.object);
        Self { object: self.object.clone(), managed, schema }
    }

    pub fn object(&self) -> &Value {
        &self.object
    }

    pub fn into_object(self) -> Value {
        self.object
    }

    pub fn managed(&self) -> &ManagedFields {
        &self.managed
    }

    /// What is known about the kind, with what managedFields tell about how its lists are keyed.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Everything `manager` holds, by whichever operation.
    pub fn held_by(&self, manager: &FieldManager) -> FieldSet {
        self.managed.held_by(manager)
    }

    pub fn is_being_deleted(&self) -> bool {
        self.object["metadata"].get("deletionTimestamp").is_some()
    }
}

/// Leaves the object out, which may be a Secret.
impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed").field("managed", &self.managed).finish_non_exhaustive()
    }
}
