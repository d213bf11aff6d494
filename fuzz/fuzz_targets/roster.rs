//! libFuzzer target: rosters as text. The body is `tidings_fuzz::roster`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::roster(bytes));
