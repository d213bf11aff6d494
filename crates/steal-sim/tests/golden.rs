//! A trace as it is written, byte by byte, and its working phases, which the reader in Python has
//! to find too. `TIDINGS_BLESS=1` writes both again, when the format or the rules have changed.

#![allow(clippy::disallowed_methods, reason = "this is test code: it reads its own files")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tidings_steal::trace::{File, Tree};
use tidings_steal::{Config, config};
use tidings_steal_sim::programs::finishes::Random;
use tidings_steal_sim::{Setting, run};

/// A program with finishes among six workers, with delays that let messages overtake each other.
fn file() -> Vec<u8> {
    let mut config = Config::new(config::lifelines(), 20);
    config.sharing.keep_ns = 0;
    let usual = Setting::new(6, config, 6);
    let setting = Setting { jitter_ns: 300_000, ..usual };
    let traces = run(&setting, &mut Random::new(6, 9)).swap_remove(0).traces;
    File { program: 6, traces }.encode()
}

/// An array of JSON for each working phase.
fn phases(file: &[u8]) -> String {
    let (_, events) = File::decode(file).expect("it was just written");
    let mut lines = String::new();
    for phase in Tree::of(&events).expect("the phase was complete").phases {
        let parent = phase.parent.map_or("null".to_owned(), |parent| parent.to_string());
        let (begin, end) = phase.time_us;
        let _ = writeln!(
            lines,
            "[{}, {parent}, {}, {begin}, {end}, {}, {}]",
            phase.worker, phase.depth, phase.steps, phase.gifts
        );
    }
    lines
}

#[test]
fn a_trace_is_written_as_it_always_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let (file, lines) = (file(), phases(&file()));
    if std::env::var_os("TIDINGS_BLESS").is_some() {
        fs::write(folder.join("six.trace"), &file).expect("the folder is writable");
        fs::write(folder.join("six.phases.jsonl"), &lines).expect("the folder is writable");
    }
    let remedy = "if the format was meant to change, run this test with TIDINGS_BLESS=1";
    assert!(fs::read(folder.join("six.trace")).is_ok_and(|golden| golden == file), "{remedy}");
    let golden = fs::read_to_string(folder.join("six.phases.jsonl"));
    assert_eq!(golden.unwrap_or_default(), lines, "{remedy}");
}
