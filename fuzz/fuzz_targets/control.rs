//! libFuzzer target: requests to the agent. The body is `tidings_fuzz::control`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::control(bytes));
