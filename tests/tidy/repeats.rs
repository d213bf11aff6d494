//! Runs of lines that stand twice: one piece of code can serve both.
//!
//! Lines are compared as they are, without the space around them. Blank lines, imports, closing
//! brackets on a line of their own and the licence at the head of a file do not count, nor does
//! code that is for tests or generated.

use std::collections::{BTreeMap, BTreeSet};

use crate::Finding;
use crate::functions::language;
use crate::ratchet::Breach;
use crate::rust_modules::lines_for_tests;

/// How many lines make a run.
const RUN: usize = 12;

/// The languages that are read, by the end of a file's name; a script may have none.
const LANGUAGES: [&str; 7] = ["rs", "c", "h", "py", "js", "go", "sh"];

/// What only a licence says.
const LICENCE: [&str; 3] = ["SPDX-License-Identifier", "Copyright", "Licensed under"];

/// What a generator writes at the head of a file.
const GENERATED: [&str; 2] = ["@generated", "DO NOT EDIT"];

/// A line that counts: its number, from 1, and what stands in it.
type Line<'a> = (usize, &'a str);

/// The same lines in two places: how many, and the first line of each.
struct Shared {
    lines: usize,
    here: usize,
    there: usize,
}

/// The pairs of files, or the files, with a run of twelve lines that stands twice in them.
pub(crate) fn repeated(files: &[(String, String)]) -> Vec<Breach> {
    let sources = files.iter().filter(|(file, text)| is_read(file, text));
    let sources: Vec<(&str, Vec<Line<'_>>)> =
        sources.map(|(file, text)| (file.as_str(), counted(file, text))).collect();
    let pairs = equal_windows(&sources);
    pairs
        .iter()
        .map(|((here, there), windows)| {
            let ((file, own), (other, others)) = (&sources[*here], &sources[*there]);
            let runs = joined(windows, own, others);
            breach(file, other, &runs)
        })
        .collect()
}

/// Whether a file is code outside tests that someone wrote.
fn is_read(file: &str, text: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let in_tests = file.split('/').any(|part| part == "tests" || part == "tests.rs");
    let generated =
        text.lines().take(5).any(|line| GENERATED.iter().any(|mark| line.contains(mark)));
    let is_code = LANGUAGES.contains(&language(file, text));
    !in_tests && !generated && !name.ends_with("_test.go") && is_code
}

/// The lines of a file that count.
fn counted<'a>(file: &str, text: &'a str) -> Vec<Line<'a>> {
    let is_rust = file.rsplit_once('.').is_some_and(|(_, language)| language == "rs");
    let of_tests = if is_rust { lines_for_tests(file, text) } else { BTreeSet::new() };
    let mut open_import = 0;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate().skip(licence(text)) {
        let (number, line) = (at + 1, line.trim());
        if open_import > 0 || is_import(line) {
            open_import = (open_import + opened(line)).max(0);
        } else if !of_tests.contains(&number) && !line.chars().all(|c| ")]};,".contains(c)) {
            lines.push((number, line));
        }
    }
    lines
}

/// How many lines the licence at the head of a file takes, with what stands in the same comment.
fn licence(text: &str) -> usize {
    let is_comment = |line: &&str| line.trim().starts_with(['/', '*', '#']);
    let head: Vec<&str> = text.lines().take_while(is_comment).collect();
    let states = head.iter().any(|line| LICENCE.iter().any(|words| line.contains(words)));
    if states { head.len() } else { 0 }
}

/// Whether the line begins to import something, in any of the languages.
fn is_import(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(3).collect();
    let plain = ["use", "import", "source", ".", "#include"];
    match *words.as_slice() {
        ["from", _, third] => third == "import",
        [first, second, ..] => {
            plain.contains(&first) || first.starts_with("pub") && second == "use"
        }
        _ => false,
    }
}

/// How many more brackets a line opens than it closes.
fn opened(line: &str) -> i32 {
    line.chars().fold(0, |depth, c| match c {
        '(' | '{' => depth + 1,
        ')' | '}' => depth - 1,
        _ => depth,
    })
}

/// Where windows of [`RUN`] lines are equal, by the two files: the distance of the two places, and
/// the first place.
fn equal_windows(
    sources: &[(&str, Vec<Line<'_>>)],
) -> BTreeMap<(usize, usize), BTreeSet<(usize, usize)>> {
    let mut places: BTreeMap<Vec<&str>, Vec<(usize, usize)>> = BTreeMap::new();
    for (source, (_, lines)) in sources.iter().enumerate() {
        for (at, window) in lines.windows(RUN).enumerate() {
            let window = window.iter().map(|(_, line)| *line).collect();
            places.entry(window).or_default().push((source, at));
        }
    }
    let mut pairs: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for places in places.values() {
        for (before, (there, other)) in places.iter().enumerate() {
            for (here, at) in &places[..before] {
                let overlaps = here == there && at + RUN > *other;
                if !overlaps {
                    let distance = other + sources[*here].1.len() - at;
                    pairs.entry((*here, *there)).or_default().insert((distance, *at));
                }
            }
        }
    }
    pairs
}

/// The windows joined to runs as long as they are.
fn joined(
    windows: &BTreeSet<(usize, usize)>,
    own: &[Line<'_>],
    others: &[Line<'_>],
) -> Vec<Shared> {
    let mut runs: Vec<Shared> = Vec::new();
    let mut last = None;
    for (distance, at) in windows {
        match runs.last_mut() {
            Some(run) if last == Some((*distance, *at)) => run.lines += 1,
            _ => {
                let there = others[distance + at - own.len()].0;
                runs.push(Shared { lines: RUN, here: own[*at].0, there });
            }
        }
        last = Some((*distance, at + 1));
    }
    runs
}

fn breach(file: &str, other: &str, runs: &[Shared]) -> Breach {
    let places: Vec<String> = runs
        .iter()
        .map(|run| format!("{} lines from {} on at {other}:{}", run.lines, run.here, run.there))
        .collect();
    let line = runs.first().map_or(1, |run| run.here);
    let remedy =
        format!("it stands twice, {}: let one piece of code serve both", places.join(", "));
    let amount = runs.iter().map(|run| run.lines).sum();
    Breach { what: format!("{file} ~ {other}"), amount, finding: Finding::new(file, line, remedy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(from: usize, to: usize) -> String {
        (from..=to).map(|n| format!("    call({n});")).collect::<Vec<_>>().join("\n") + "\n"
    }

    fn found(files: &[(&str, String)]) -> Vec<(String, usize, usize)> {
        let files: Vec<(String, String)> =
            files.iter().map(|(file, text)| ((*file).to_owned(), text.clone())).collect();
        let breaches = repeated(&files).into_iter();
        breaches.map(|breach| (breach.what, breach.amount, breach.finding.line)).collect()
    }

    #[test]
    fn a_run_of_twelve_lines_is_found_and_one_of_eleven_is_not() {
        for file in ["b.rs", "b.c", "b.h", "b.py", "b.js", "b.go", "b.sh"] {
            let other = |last| (file, format!("x();\n{}y();\n", lines(1, last)));
            let own = ("a.c", format!("// Why.\n{}", lines(1, 20)));
            let expected = [(format!("a.c ~ {file}"), 12, 2)];
            assert_eq!(found(&[own.clone(), other(12)]), expected, "{file}");
            assert_eq!(found(&[own, other(11)]), [], "{file}");
        }
        let script = |shell: &str| format!("#!{shell}\n{}", lines(1, 12));
        let both = [("run", script("/bin/sh")), ("draw", script("/usr/bin/env python3"))];
        assert_eq!(found(&both)[0].1, 12);
        assert_eq!(found(&[("run", script("/bin/sh")), ("page", lines(1, 12))]), []);
    }

    #[test]
    fn a_run_that_stands_twice_in_a_file_is_found_and_equal_lines_are_not() {
        let text = format!("{}other();\n{}", lines(1, 14), lines(1, 14));
        assert_eq!(found(&[("a.py", text)]), [("a.py ~ a.py".to_owned(), 14, 1)]);
        assert_eq!(found(&[("a.py", "    0,\n".repeat(23))]), []);
    }

    #[test]
    fn each_run_of_a_pair_counts() {
        let own = format!("{}other();\n{}", lines(1, 12), lines(20, 32));
        let other = format!("{}x();\n{}", lines(20, 32), lines(1, 12));
        assert_eq!(found(&[("a.c", own), ("b.c", other)])[0].1, 25);
    }

    #[test]
    fn what_does_not_count_does_not_end_a_run() {
        let own = lines(1, 13);
        for between in
            ["\n", "}\n  });\n", "import b from \"b\";\n", "import {\n  b,\n} from \"b\";\n"]
        {
            let other = own.replace("(6);\n", &format!("(6);\n{between}\t"));
            let pair = [("a.js", own.clone()), ("b.js", other)];
            assert_eq!(found(&pair)[0].1, 13, "{between}");
        }
    }

    #[test]
    fn imports_and_licences_do_not_count() {
        for import in ["use a::b;", "pub(crate) use a::b;", "#include <a.h>", "from a import b"] {
            let text = format!("{import}\n").repeat(30);
            assert_eq!(counted("a.py", &text), [], "{import}");
        }
        let group = format!("from a import (\n{})\nx = 1\n", lines(1, 12));
        assert_eq!(counted("a.py", &group), [(15, "x = 1")]);
        let licence = format!("// Copyright A\n{}\nf();\n", "// May be used.\n".repeat(12));
        assert_eq!(counted("a.c", &licence), [(15, "f();")]);
        assert_eq!(counted("a.c", "// May be used.\n"), [(1, "// May be used.")]);
    }

    #[test]
    fn tests_and_generated_files_may_repeat() {
        let own = ("src/a.rs", format!("fn f() {{\n{}}}\n", lines(1, 12)));
        for file in ["tests/b.rs", "crates/a/tests/b.rs", "src/tests.rs", "python/tests/b.py"] {
            assert_eq!(found(&[own.clone(), (file, own.1.clone())]), [], "{file}");
        }
        let module = format!("#[cfg(test)]\nmod tests {{\n{}}}\nfn g() {{}}\n", own.1);
        assert_eq!(found(&[own.clone(), ("src/b.rs", module)]), []);
        let generated = format!("// @generated by a.py\n{}", own.1);
        assert_eq!(found(&[own.clone(), ("src/b.rs", generated)]), []);
        assert_eq!(found(&[own.clone(), ("src/b.rs", own.1)]).len(), 1);
    }
}
