//! The names of everything that controllers of cloud resources tell people, beside what deciding tells.

use diag::Code;

/// A Secret stands where an endpoint Secret should be.
pub const ENDPOINT_SECRET: Code = Code::new(
    "operation-endpoint-secret",
    "The Secret that would say where a cloud resource can be reached belongs to somebody else, so it is left alone.",
);

/// Every code, for the book's reference.
pub const CODES: &[Code] = &[ENDPOINT_SECRET];
