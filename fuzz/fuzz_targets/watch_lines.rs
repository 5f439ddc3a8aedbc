//! Any bytes as the response to a watch.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cluster::fuzz::watch_lines(data));
