//! Any bytes as a manifest.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| manifest::fuzz::bytes(data));
