//! What is written wrongly is refused with code 2, by every command, before anything is done.

use std::process::{Output, Stdio};

use crate::programs::{Workplace, text};

/// Code of misuse (docs/reference/exit-codes.md).
const MISUSE: i32 = 2;

/// Runs a command where no agent is, with a store of its own.
fn output(place: &Workplace, words: &[&str]) -> Output {
    let mut command = place.tidings(words);
    let store = format!("file:{}", place.path().join("store").display());
    command.env("TIDINGS_STORE", store).stdin(Stdio::null());
    command.output().expect("tidings starts")
}

/// The help of a command, and its sub-commands as that names them.
fn described(place: &Workplace, path: &[&str]) -> (String, Vec<String>) {
    let help = text(&output(place, &[path, &["--help"]].concat()).stdout);
    let below = help.split_once("\nCommands:\n").map(|(_, rest)| rest).unwrap_or_default();
    let names = below.lines().take_while(|line| !line.starts_with(|c: char| c.is_alphanumeric()));
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned);
    (help.clone(), names.collect())
}

/// Calls `check` with each command and its help.
fn each(place: &Workplace, path: &[&str], check: &mut dyn FnMut(&[&str], &str)) {
    let (help, below) = described(place, path);
    check(path, &help);
    for name in &below {
        each(place, &[path, &[name.as_str()]].concat(), check);
    }
}

#[test]
fn every_command_refuses_an_option_that_it_has_not() {
    let (place, mut count) = (Workplace::new(), 0);
    each(&place, &[], &mut |path, _| {
        let refused = output(&place, &[path, &["--no-such-option"]].concat());
        assert_eq!(refused.status.code(), Some(MISUSE), "{path:?}: {refused:?}");
        let said = text(&refused.stderr);
        assert!(said.contains("--no-such-option"), "{path:?}: {said}");
        assert!(refused.stdout.is_empty(), "{path:?}: it goes on");
        count += 1;
    });
    assert!(count > 60, "only {count} commands");
    assert!(!place.path().join("store").exists(), "nothing was done");
}

/// Placeholders of values that any text is good for, or that name what may come into being.
const FREE: [&str; 6] = ["DIR", "FILE", "PATH", "SOCKET", "STORE", "FOLDER"];

#[test]
fn every_option_refuses_what_is_no_value_of_it() {
    let (place, mut refused, mut taken) = (Workplace::new(), 0, Vec::new());
    each(&place, &[], &mut |path, help| {
        for line in help.lines().filter(|line| line.trim_start().starts_with('-')) {
            let Some((option, rest)) = line.split_once(" <") else { continue };
            let option = option.split(' ').next_back().expect("a split has a part");
            let kind = rest.split_once('>').expect("it is closed").0;
            if FREE.contains(&kind) {
                continue;
            }
            let code = output(&place, &[path, &[option, "[\u{7}"]].concat()).status.code();
            match code {
                Some(MISUSE) => refused += 1,
                _ => taken.push(format!("{} {option} <{kind}>: {code:?}", path.join(" "))),
            }
        }
    });
    assert!(refused > 200, "only {refused} options");
    assert!(taken.is_empty(), "{taken:#?}");
}
