//! libFuzzer target: entries as changes by bases, of any origin and in any order. The body is
//! `tidings_fuzz::delta`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tidings_fuzz::delta(bytes));
