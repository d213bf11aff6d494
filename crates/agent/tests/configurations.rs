//! The fuzz target `config` over seeded inputs; `make fuzz` continues with libFuzzer.

#[path = "../../../fuzz/src/configurations.rs"]
#[allow(unreachable_pub, reason = "libFuzzer's binary includes the same file")]
mod configurations;

use tidings_tests::mutations::{fuzz, inputs_of};

#[test]
fn config() {
    fuzz("config", configurations::config);
}

/// Some of the inputs are right and some wrong, or the target would show little.
#[test]
fn the_inputs_are_of_both_kinds() {
    let inputs = inputs_of("config");
    let is_right = |input: &&Vec<u8>| configurations::is_right(&String::from_utf8_lossy(input));
    let right = inputs.iter().filter(is_right).count();
    assert!((inputs.len() / 50..inputs.len() / 2).contains(&right), "{right} of {}", inputs.len());
}
