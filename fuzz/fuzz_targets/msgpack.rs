//! Any bytes as a value of Terraform.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tfplugin::fuzz::msgpack(data));
