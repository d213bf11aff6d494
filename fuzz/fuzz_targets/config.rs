//! libFuzzer target: configuration files of the agent. The body is in `fuzz/src/configurations.rs`.
#![no_main]

#[path = "../src/configurations.rs"]
mod configurations;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| configurations::config(bytes));
