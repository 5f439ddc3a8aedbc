//! Between the messages of fn v1 and the plain types of `composition::run`.
//!
//! Enum numbers the protocol does not define read as unspecified, and so do absent fields.

mod answer;
mod object;
mod request;

pub(crate) use answer::{read_answer, write_answer, write_schema_selector, write_selector};
pub(crate) use object::{Fault, Struct};
pub(crate) use request::{encode, inexact, read_request};

use std::collections::BTreeMap;
use std::fmt;

use composition::run::{Ready, Resource, SecretData, State};

use crate::r#gen::v1 as pb;

/// Names what it is and leaves the content out: it may be a Secret.
impl fmt::Debug for pb::Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resource")
    }
}

/// Shows the keys only.
impl fmt::Debug for pb::CredentialData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.data.keys()).finish()
    }
}

fn write_state(state: &State) -> Option<pb::State> {
    let composite = (!state.composite.is_empty()).then(|| write_resource(&state.composite));
    let resources = state.resources.iter();
    let resources: BTreeMap<_, _> =
        resources.map(|(name, resource)| (name.clone(), write_resource(resource))).collect();
    (composite.is_some() || !resources.is_empty()).then_some(pb::State { composite, resources })
}

fn read_state(state: Option<pb::State>) -> Result<State, Fault> {
    let state = state.unwrap_or_default();
    let composite = state.composite.map(read_resource).transpose();
    let composite = composite.map_err(|fault| fault.within("composite"))?.unwrap_or_default();
    let read = |(name, resource)| match read_resource(resource) {
        Ok(resource) => Ok((name, resource)),
        Err(fault) => Err(fault.within(format!("[{name}]")).within("resources")),
    };
    let resources = state.resources.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok(State { composite, resources })
}

fn write_resource(resource: &Resource) -> pb::Resource {
    let ready = match resource.ready {
        Ready::Unspecified => pb::Ready::Unspecified,
        Ready::True => pb::Ready::True,
        Ready::False => pb::Ready::False,
    };
    pb::Resource {
        resource: (!resource.object.is_empty()).then(|| Struct::new(&resource.object)),
        connection_details: resource.connection_details.clone().into_inner(),
        ready: ready.into(),
    }
}

fn read_resource(resource: pb::Resource) -> Result<Resource, Fault> {
    Ok(Resource {
        object: resource.resource.map(Struct::into_object).transpose()?.unwrap_or_default(),
        ready: match pb::Ready::try_from(resource.ready) {
            Ok(pb::Ready::True) => Ready::True,
            Ok(pb::Ready::False) => Ready::False,
            Ok(pb::Ready::Unspecified) | Err(_) => Ready::Unspecified,
        },
        connection_details: SecretData::from(resource.connection_details),
    })
}

#[cfg(test)]
mod tests;
