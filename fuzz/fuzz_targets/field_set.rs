//! Any bytes as FieldsV1.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fields::fuzz_field_set(data));
