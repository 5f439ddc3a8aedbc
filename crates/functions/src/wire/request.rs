//! Requests: written by the engine, with their tag, and read by a function.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use composition::naming::hex;
use composition::protocol::{
    Capability, Object, RequestMeta, Resource, RunRequest, Schema, SecretData, State,
};
use prost::Message;
use sha2::{Digest, Sha256};

use super::{
    Struct, ValueError, WireEnum, object, read_object, read_resource, read_state, write_resource, write_state,
};
use crate::r#gen::v1 as pb;

pub(crate) struct Encoded {
    /// SHA-256 in hex over the encoding without meta, as in Crossplane. Maps are ordered, so the encoding is
    /// deterministic.
    pub(crate) tag: String,
    /// The whole message, the same for v1 and v1beta1.
    pub(crate) bytes: Bytes,
}

/// Encodes a request with its tag; the tag it carries is ignored.
pub(crate) fn encode(request: &RunRequest) -> Encoded {
    let body = write_body(request).encode_to_vec();
    let tag = hex(&Sha256::digest(&body));
    let capabilities = request.meta.capabilities.iter().copied().map(WireEnum::write).collect();
    let meta = Some(pb::RequestMeta { tag: tag.clone(), capabilities });
    let meta = pb::RunFunctionRequest { meta, ..pb::RunFunctionRequest::default() };
    // A message is the concatenation of its fields and meta is the first, so nothing is encoded twice.
    let mut bytes = BytesMut::with_capacity(meta.encoded_len() + body.len());
    meta.encode(&mut bytes).expect("the buffer grows");
    bytes.extend_from_slice(&body);
    Encoded { tag, bytes: bytes.freeze() }
}

fn write_body(request: &RunRequest) -> pb::RunFunctionRequest {
    let resources = |all: &BTreeMap<String, Vec<Resource>>| {
        let write = |(name, items): (&String, &Vec<Resource>)| {
            (name.clone(), pb::Resources { items: items.iter().map(write_resource).collect() })
        };
        all.iter().map(write).collect()
    };
    let schema = |(name, schema): (&String, &Schema)| {
        (name.clone(), pb::Schema { openapi_v3: schema.openapi_v3.as_ref().map(Struct::new) })
    };
    let credentials = |(name, data): (&String, &SecretData)| {
        let data = pb::CredentialData { data: data.clone().into_inner() };
        let source = Some(pb::credentials::Source::CredentialData(data));
        (name.clone(), pb::Credentials { source })
    };
    // Functions that use the deprecated field, `extra_resources`, expect their resources in it.
    pb::RunFunctionRequest {
        meta: None,
        observed: write_state(&request.observed),
        desired: write_state(&request.desired),
        input: request.input.as_ref().map(Struct::new),
        context: request.context.as_ref().map(Struct::new),
        extra_resources: resources(&request.extra_resources),
        credentials: request.credentials.iter().map(credentials).collect(),
        required_resources: resources(&request.required_resources),
        required_schemas: request.required_schemas.iter().map(schema).collect(),
    }
}

/// Drops capabilities this version does not know.
pub(crate) fn read_request(request: pb::RunFunctionRequest) -> Result<RunRequest, ValueError> {
    let meta = request.meta.unwrap_or_default();
    let capabilities = meta.capabilities.into_iter().filter_map(Capability::read).collect();
    let resources = |all: BTreeMap<String, pb::Resources>, field: &str| {
        let read = |(name, resources): (String, pb::Resources)| {
            let items = resources.items.into_iter().map(read_resource).collect::<Result<_, _>>();
            match items {
                Ok(items) => Ok((name, items)),
                Err(error) => Err(error.within(format!("[{name}]")).within(field)),
            }
        };
        all.into_iter().map(read).collect::<Result<_, _>>()
    };
    let schema = |(name, schema): (String, pb::Schema)| match read_object(schema.openapi_v3, "openapi_v3") {
        Ok(openapi_v3) => Ok((name, Schema { openapi_v3 })),
        Err(error) => Err(error.within(format!("[{name}]")).within("required_schemas")),
    };
    let credentials = |(name, credentials): (String, pb::Credentials)| {
        let pb::credentials::Source::CredentialData(data) = credentials.source?;
        Some((name, SecretData::from(data.data)))
    };
    // Older engines use the deprecated field, `extra_resources`.
    Ok(RunRequest {
        meta: RequestMeta { tag: meta.tag, capabilities },
        observed: read_state(request.observed, "observed")?.into(),
        desired: read_state(request.desired, "desired")?,
        input: read_object(request.input, "input")?,
        context: read_object(request.context, "context")?,
        extra_resources: resources(request.extra_resources, "extra_resources")?,
        required_resources: resources(request.required_resources, "required_resources")?,
        required_schemas: request.required_schemas.into_iter().map(schema).collect::<Result<_, _>>()?,
        credentials: request.credentials.into_iter().filter_map(credentials).collect(),
    })
}

/// The integers in a request that the protocol rounds, each with its path.
pub(crate) fn inexact(request: &RunRequest) -> Vec<String> {
    let mut found = Vec::new();
    let mut look = |place: &str, object: &Object| {
        let numbers = object::inexact(object).into_iter();
        found.extend(numbers.map(|(path, number)| format!("{number} at {place}.{path}")));
    };
    let state = |place: &str, state: &State, look: &mut dyn FnMut(&str, &Object)| {
        look(&format!("{place}.composite"), &state.composite.object);
        for (name, resource) in &state.resources {
            look(&format!("{place}.resources[{name}]"), &resource.object);
        }
    };
    state("observed", &request.observed, &mut look);
    state("desired", &request.desired, &mut look);
    for (name, object) in [("input", &request.input), ("context", &request.context)] {
        if let Some(object) = object {
            look(name, object);
        }
    }
    for (name, resources) in request.required_resources.iter().chain(&request.extra_resources) {
        for resource in resources {
            look(&format!("required_resources[{name}]"), &resource.object);
        }
    }
    found
}
