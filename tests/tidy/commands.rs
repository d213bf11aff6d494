//! Commands that README, guides and concepts show: each `make TARGET` and each `tidings SUBCOMMAND
//! --flag` exists.

use std::collections::BTreeSet;

use crate::Finding;
use crate::documents::code_blocks;

/// Languages of code blocks that hold commands; output and other text are marked `text`.
const SHELL: [&str; 5] = ["", "bash", "console", "sh", "shell"];

/// One command of a code block: its words and the line where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub line: usize,
    pub words: Vec<String>,
}

/// The `make` and `tidings` commands in the code blocks of a page.
pub(crate) fn in_page(page: &str) -> Vec<Used> {
    let mut used = Vec::new();
    for block in code_blocks(page).iter().filter(|b| SHELL.contains(&b.language.trim())) {
        for (at, line) in block.text.lines().enumerate() {
            let command = line.trim().trim_start_matches("$ ");
            let command = command.split(" #").next().unwrap_or_default();
            for part in command.split(['|', ';', '&']) {
                let words = program_and_arguments(part);
                if matches!(words.first().map(String::as_str), Some("make" | "tidings")) {
                    used.push(Used { line: block.line + at, words });
                }
            }
        }
    }
    used
}

/// The targets of a Makefile.
pub(crate) fn make_targets(makefile: &str) -> BTreeSet<String> {
    let rules = makefile.lines().filter(|line| !line.starts_with(['\t', '.', '#', ' ']));
    rules
        .filter_map(|line| line.split_once(':'))
        .filter(|(_, rest)| !rest.starts_with('='))
        .flat_map(|(names, _)| names.split_whitespace().map(str::to_owned))
        .collect()
}

/// `make X` where the Makefile has no X.
pub(crate) fn unknown_make_targets(
    page: &str,
    used: &[Used],
    targets: &BTreeSet<String>,
) -> Vec<Finding> {
    let of_make = used.iter().filter(|command| command.words[0] == "make");
    of_make
        .flat_map(|command| command.words[1..].iter().map(|word| (command.line, word)))
        .filter(|(_, word)| !word.starts_with('-') && !word.contains('='))
        .filter(|(_, word)| !targets.contains(*word))
        .map(|(line, word)| {
            Finding::new(page, line, format!("`make {word}`: the Makefile has no such target"))
        })
        .collect()
}

/// `tidings SUB --flag` where `tidings --help` has no SUB, or SUB's help no such flag. `help` gives
/// what `tidings ARGS --help` prints.
pub(crate) fn unknown_to_tidings(
    page: &str,
    used: &[Used],
    help: &impl Fn(&[&str]) -> Option<String>,
) -> Vec<Finding> {
    let of_tidings = used.iter().filter(|command| command.words[0] == "tidings");
    of_tidings.flat_map(|command| unknown_words(page, command, help)).collect()
}

fn unknown_words(
    page: &str,
    command: &Used,
    help: &impl Fn(&[&str]) -> Option<String>,
) -> Vec<Finding> {
    let finding = |remedy: String| Finding::new(page, command.line, remedy);
    let arguments: Vec<&str> = command.words[1..].iter().map(String::as_str).collect();
    let mut depth = 0;
    let mut text = help(&[]).unwrap_or_default();
    while lists_commands(&text) {
        let Some(word) = arguments.get(depth).filter(|word| !word.starts_with('-')) else { break };
        let found = lists_command(&text, word).then(|| help(&arguments[..=depth])).flatten();
        let Some(next) = found else {
            return vec![finding(format!(
                "`tidings {}` does not exist",
                arguments[..=depth].join(" ")
            ))];
        };
        text = next;
        depth += 1;
    }
    let subcommand = arguments[..depth].join(" ");
    arguments[depth..]
        .iter()
        .filter_map(|word| word.split('=').next().filter(|flag| flag.starts_with("--")))
        .filter(|flag| *flag != "--" && !has_flag(&text, flag))
        .map(|flag| finding(format!("`tidings {subcommand} --help` does not know `{flag}`")))
        .collect()
}

/// Each command, with its subcommands of all depths, and what its `--help` prints.
pub(crate) fn all_helps(help: &impl Fn(&[&str]) -> Option<String>) -> Vec<(String, String)> {
    let mut helps = Vec::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let text = help(&arguments).expect("a listed command has a help");
        let below = listed(&text).filter_map(|line| line.split_whitespace().next());
        open.extend(below.map(|name| [command.as_slice(), &[name.to_owned()]].concat()));
        helps.push((["tidings"].into_iter().chain(arguments).collect::<Vec<_>>().join(" "), text));
    }
    helps
}

/// The words of a command from its program on: `sudo`, settings and the program's folder left out.
fn program_and_arguments(command: &str) -> Vec<String> {
    let words = command.split_whitespace();
    let mut words: Vec<String> = words
        .skip_while(|word| *word == "sudo" || word.contains('=') && !word.starts_with('-'))
        .map(str::to_owned)
        .collect();
    if let Some(program) = words.first_mut() {
        *program = program.rsplit('/').next().unwrap_or_default().to_owned();
    }
    words
}

fn lists_commands(help: &str) -> bool {
    help.lines().any(|line| line.trim_end() == "Commands:")
}

fn lists_command(help: &str, name: &str) -> bool {
    listed(help).any(|line| line.split_whitespace().next() == Some(name))
}

/// The lines of the commands that a help lists.
fn listed(help: &str) -> impl Iterator<Item = &str> {
    let after = help.lines().skip_while(|line| line.trim_end() != "Commands:").skip(1);
    let lines = after.take_while(|line| !line.is_empty());
    // A long sentence goes on below its first line, further to the right.
    lines.filter(|line| line.strip_prefix("  ").is_some_and(|line| !line.starts_with(' ')))
}

fn has_flag(help: &str, flag: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    help.split(|c| !is_part(c)).any(|word| word == flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Tidings\n\n```console\n$ make demo DEMO_ARGS=-x\n$ tidings nodes \
        --sort load1 | head # all\n$ PREFIX=/opt sudo make install\n```\n\n```text\nmake believe\n```\n";

    fn help(args: &[&str]) -> Option<String> {
        match args {
            [] => Some(
                "Usage\n\nCommands:\n  nodes  list\n  keys   make\n\nOptions:\n  --no x\n".into(),
            ),
            ["nodes"] => Some("Usage\n      --sort <COLUMN>  order\n".into()),
            ["keys"] => Some("Commands:\n  generate  one key\n".into()),
            ["keys", "generate"] => Some("Usage".into()),
            _ => None,
        }
    }

    fn unknown(command: &str) -> usize {
        let page = format!("```sh\n{command}\n```");
        unknown_to_tidings("README.md", &in_page(&page), &help).len()
    }

    #[test]
    fn commands_are_read_from_code_blocks_of_shells() {
        let used = in_page(PAGE);
        let lines: Vec<usize> = used.iter().map(|command| command.line).collect();
        assert_eq!(lines, [4, 5, 6]);
        assert_eq!(used[1].words, ["tidings", "nodes", "--sort", "load1"]);
        assert_eq!(used[2].words, ["make", "install"]);
    }

    #[test]
    fn a_target_that_the_makefile_lacks_is_found() {
        let targets = make_targets("A := x\n.PHONY: install\ndemo test: build\n\t@echo no: x\n");
        assert_eq!(targets.into_iter().collect::<Vec<_>>(), ["demo", "test"]);
        let targets = make_targets("demo: x ## install\n");
        let findings = unknown_make_targets("README.md", &in_page(PAGE), &targets);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 6);
    }

    #[test]
    fn a_subcommand_or_flag_that_help_does_not_know_is_found() {
        assert_eq!(unknown("tidings watch"), 1);
        assert_eq!(unknown("tidings keys rotate"), 1);
        assert_eq!(unknown("tidings nodes --sorted load1"), 1);
        assert_eq!(unknown("tidings --sort"), 1);
        assert_eq!(unknown("target/release/tidings nodes --where=x --sort"), 1);
    }

    #[test]
    fn helps_of_subcommands_are_found_too() {
        let mut found: Vec<String> =
            all_helps(&help).into_iter().map(|(command, _)| command).collect();
        found.sort();
        assert_eq!(found, ["tidings", "tidings keys", "tidings keys generate", "tidings nodes"]);
    }

    #[test]
    fn commands_that_exist_pass() {
        for command in ["tidings nodes --sort load1", "tidings keys generate > k", "tidings --no"] {
            assert_eq!(unknown(command), 0, "{command}");
        }
    }
}
