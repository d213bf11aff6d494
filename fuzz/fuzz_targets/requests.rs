//! libFuzzer target: requests to a coordinator of tasks. The body is `tidings_fuzz::requests`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::requests(bytes));
