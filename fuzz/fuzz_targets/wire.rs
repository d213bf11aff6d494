//! libFuzzer target: a Node that receives what the bytes say. The body is `tidings_fuzz::wire`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::wire(bytes));
