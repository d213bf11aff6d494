//! libFuzzer target: records and messages of tasks. The body is `tidings_fuzz::records`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::records(bytes));
