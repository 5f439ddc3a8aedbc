//! Converts between the messages of fn v1 and the plain types of `composition::protocol`.
//!
//! Enum numbers that the protocol does not define read as unspecified, like absent fields.

mod object;
mod request;
mod response;

pub(crate) use object::{Struct, ValueError};
pub(crate) use request::{encode, inexact, read_request};
pub(crate) use response::{read_response, write_response};

use std::collections::BTreeMap;
use std::fmt;

use composition::protocol::{
    Capability, ConditionStatus, Object, Ready, Resource, SecretData, Severity, State, Target,
};

use crate::r#gen::v1 as pb;

/// Omits the content, which may be a Secret.
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

/// An enum with a number on the wire.
trait WireEnum: Sized {
    fn write(self) -> i32;
    fn read(number: i32) -> Option<Self>;
}

macro_rules! wire_enums {
    ($($plain:ident as $wire:ident { $($variant:ident = $number:ident),* })*) => {
        $(impl WireEnum for $plain {
            fn write(self) -> i32 {
                match self { $(Self::$variant => pb::$wire::$number),* }.into()
            }

            fn read(number: i32) -> Option<Self> {
                match pb::$wire::try_from(number) {
                    $(Ok(pb::$wire::$number) => Some(Self::$variant),)*
                    _ => None,
                }
            }
        })*
    };
}

wire_enums! {
    Ready as Ready { Unspecified = Unspecified, True = True, False = False }
    Severity as Severity { Unspecified = Unspecified, Fatal = Fatal, Warning = Warning, Normal = Normal }
    ConditionStatus as Status { Unknown = ConditionUnknown, True = ConditionTrue, False = ConditionFalse }
    Target as Target { Composite = Composite, CompositeAndClaim = CompositeAndClaim }
    Capability as Capability {
        Capabilities = Capabilities, RequiredResources = RequiredResources, Credentials = Credentials,
        Conditions = Conditions, RequiredSchemas = RequiredSchemas
    }
}

fn read_object(object: Option<Struct>, field: &str) -> Result<Option<Object>, ValueError> {
    object.map(Struct::into_object).transpose().map_err(|error| error.within(field))
}

fn write_state(state: &State) -> Option<pb::State> {
    let composite = (!state.composite.is_empty()).then(|| write_resource(&state.composite));
    let resources = state.resources.iter();
    let resources: BTreeMap<_, _> =
        resources.map(|(name, resource)| (name.clone(), write_resource(resource))).collect();
    (composite.is_some() || !resources.is_empty()).then_some(pb::State { composite, resources })
}

fn read_state(state: Option<pb::State>, field: &str) -> Result<State, ValueError> {
    let state = state.unwrap_or_default();
    let composite = state.composite.map(read_resource).transpose();
    let composite = composite.map_err(|error| error.within("composite").within(field))?.unwrap_or_default();
    let read = |(name, resource)| match read_resource(resource) {
        Ok(resource) => Ok((name, resource)),
        Err(error) => Err(error.within(format!("[{name}]")).within("resources").within(field)),
    };
    let resources = state.resources.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok(State { composite, resources })
}

fn write_resource(resource: &Resource) -> pb::Resource {
    pb::Resource {
        resource: (!resource.object.is_empty()).then(|| Struct::new(&resource.object)),
        connection_details: resource.connection_details.clone().into_inner(),
        ready: resource.ready.write(),
    }
}

fn read_resource(resource: pb::Resource) -> Result<Resource, ValueError> {
    Ok(Resource {
        object: resource.resource.map(Struct::into_object).transpose()?.unwrap_or_default(),
        ready: Ready::read(resource.ready).unwrap_or_default(),
        connection_details: SecretData::from(resource.connection_details),
    })
}

#[cfg(test)]
mod tests;
