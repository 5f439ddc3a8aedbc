//! Any bytes as a function's response.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| functions::fuzz::response(data));
