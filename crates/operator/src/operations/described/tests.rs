mod contract;
mod every;
mod queue;
mod stream;

use oraclecloud::{Catalogue, Kind};
use serde_json::Value;

use super::*;
use crate::operations::observed::observed;

fn kind(path: &str) -> Kind {
    Catalogue::standard().get(path).unwrap()
}

/// A service that is never called.
fn service(path: &str) -> Described {
    Described::new(kind(path), Err(CallError::default()), &Metrics::new())
}

fn shown_in_status(path: &str, body: &Value) -> Value {
    observed(kind(path), body).into()
}

/// The object `base`, with `fields` set in it.
fn with(mut base: Value, fields: Value) -> Value {
    match (&mut base, fields) {
        (Value::Object(base), Value::Object(fields)) => base.extend(fields),
        (base, fields) => panic!("{base} and {fields} should be objects"),
    }
    base
}
