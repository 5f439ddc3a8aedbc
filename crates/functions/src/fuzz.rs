//! What holds for any bytes a function could answer with: property tests and cargo-fuzz both drive it.

use prost::Message as _;

use crate::r#gen::v1::RunFunctionResponse;
use crate::wire::{read_response, write_response};

/// Bytes are refused, or are a response that survives being written and read.
pub fn response(bytes: &[u8]) {
    let Ok(message) = RunFunctionResponse::decode(bytes) else { return };
    let Ok(response) = read_response(message) else { return };
    let again = read_response(write_response(response.clone())).expect("a response can be read again");
    assert_eq!(again, response);
}

#[cfg(test)]
proptest::proptest! {
    #[test]
    fn any_bytes_are_refused_or_survive(bytes: Vec<u8>) {
        response(&bytes);
    }
}
