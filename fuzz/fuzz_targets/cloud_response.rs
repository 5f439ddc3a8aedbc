//! Any bytes as Oracle Cloud's response.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oraclecloud::fuzz::response(data));
