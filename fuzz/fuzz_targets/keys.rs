//! Any bytes as a key or certificate.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oraclecloud::fuzz::keys(data));
