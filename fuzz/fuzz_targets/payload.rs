//! libFuzzer target: payloads of any origin. The body is `tidings_fuzz::payload`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::payload(bytes));
