//! libFuzzer target: aggregates of any origin, and of any nodes. The body is
//! `tidings_fuzz::aggregate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::aggregate(bytes));
