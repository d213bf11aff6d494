//! libFuzzer target: data under the cluster's key. The body is `tidings_fuzz::seals`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::seals(bytes));
