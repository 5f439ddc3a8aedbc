//! What holds for any bytes Terraform could send: property tests and cargo-fuzz both drive it.

use crate::msgpack::{decode, encode};
use crate::types::Type;

/// Bytes are refused, or are a value that survives being encoded and decoded. The first byte chooses the type.
pub fn msgpack(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let object =
        || Type::object([("a", Type::list(Type::String)), ("b", Type::Number), ("c", Type::Dynamic)]);
    let ty = match choice % 8 {
        0 => Type::Bool,
        1 => Type::Number,
        2 => Type::String,
        3 => Type::set(Type::Number),
        4 => Type::map(Type::Dynamic),
        5 => Type::Tuple(vec![Type::String, Type::list(Type::Bool)]),
        6 => Type::list(object()),
        _ => object(),
    };
    let Ok(value) = decode(bytes, &ty) else { return };
    let encoded = encode(value, &ty).expect("a decoded value can be encoded");
    let again = decode(&encoded, &ty).expect("an encoded value can be decoded");
    assert_eq!(encode(again, &ty).expect("it was encoded before"), encoded, "{ty}");
}

#[cfg(test)]
proptest::proptest! {
    #[test]
    fn any_bytes_are_refused_or_survive(bytes: Vec<u8>) {
        msgpack(&bytes);
    }
}
