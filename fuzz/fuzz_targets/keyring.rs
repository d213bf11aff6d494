//! libFuzzer target: key files as text. The body is `tidings_fuzz::keyring`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::keyring(bytes));
