//! Any bytes as a JSONPath template and an object.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fields::jsonpath::fuzz(data));
