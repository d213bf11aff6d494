//! Habits of a Rust file: its place, columns, the module doc, no skipped test, no sleeping test.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::Finding;
use crate::tokens::{each_level, group, is_ident, is_punct, lex, paths};

const MAX_COLUMNS: usize = 100;

/// Lines of more than a hundred columns, string literals and table rows of docs not counted.
pub(crate) fn long_lines(file: &str, text: &str) -> Vec<Finding> {
    let literals = literal_columns(&lex(file, text));
    let in_literals = |line: usize| -> usize {
        literals.iter().filter(|(at, _)| *at == line).map(|(_, columns)| columns).sum()
    };
    let mut findings = Vec::new();
    for (at, content) in text.lines().enumerate() {
        let (line, columns) = (at + 1, content.chars().count());
        let comment = content.trim_start().strip_prefix("//");
        let is_table_row =
            comment.is_some_and(|c| c.trim_start_matches(['/', '!', ' ']).starts_with('|'));
        if columns > MAX_COLUMNS
            && !is_table_row
            && (comment.is_some() || columns.saturating_sub(in_literals(line)) > MAX_COLUMNS)
        {
            let remedy = format!("{columns} columns, at most {MAX_COLUMNS}: wrap it");
            findings.push(Finding::new(file, line, remedy));
        }
    }
    findings
}

/// A module `x.rs` beside the folder `x` with its files.
///
/// A program of tests is no module: the folder beside it holds what it reads.
pub(crate) fn beside_their_folder(files: &[String]) -> Vec<Finding> {
    let is_program =
        |path: &str| path.rsplit('/').nth(1) == Some("tests") && !path.contains("src/");
    let modules = files.iter().filter_map(|file| Some((file, file.strip_suffix(".rs")?)));
    modules
        .filter(|(_, path)| !is_program(path))
        .filter(|(_, path)| {
            let inside = |f: &String| f.strip_prefix(path).is_some_and(|f| f.starts_with('/'));
            files.iter().any(inside)
        })
        .map(|(file, path)| Finding::new(file, 1, format!("move it to {path}/mod.rs")))
        .collect()
}

/// A file that does not open with `//!`.
pub(crate) fn missing_module_doc(file: &str, text: &str) -> Vec<Finding> {
    let opens_with_doc = text.lines().next().is_some_and(|line| {
        line.strip_prefix("//!").is_some_and(|doc| doc.split_whitespace().count() >= 3)
    });
    let remedy = "open the file with a `//!` doc: what it is, the intuition, the invariants";
    (!opens_with_doc).then(|| Finding::new(file, 1, remedy)).into_iter().collect()
}

/// Tests marked `#[ignore]`, plainly or through `cfg_attr`.
pub(crate) fn ignored_tests(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    each_level(&lex(file, text), &mut |level| {
        for pair in level.windows(2) {
            let Some(attribute) = group(&pair[1], Delimiter::Bracket) else { continue };
            if is_punct(&pair[0], '#') && ignores(&attribute.stream()) {
                let line = pair[0].span().start().line;
                let remedy = "a skipped test proves nothing: make it run everywhere, or remove it";
                findings.push(Finding::new(file, line, remedy));
            }
        }
    });
    findings
}

/// Calls that sleep, in files below a folder of tests.
pub(crate) fn sleeping_tests(file: &str, text: &str) -> Vec<Finding> {
    if !file.split('/').any(|folder| folder == "tests") {
        return Vec::new();
    }
    paths(&lex(file, text))
        .into_iter()
        .filter(|path| path.text.ends_with("thread::sleep") || path.text.ends_with("time::sleep"))
        .map(|path| {
            let remedy = format!("`{}` in a test: wait for the event instead", path.text);
            Finding::new(file, path.line, remedy)
        })
        .collect()
}

fn ignores(attribute: &TokenStream) -> bool {
    let mut tokens = attribute.clone().into_iter();
    match tokens.next() {
        Some(first) if is_ident(&first, "ignore") => true,
        Some(first) if is_ident(&first, "cfg_attr") => tokens.any(|token| {
            group(&token, Delimiter::Parenthesis)
                .is_some_and(|g| g.stream().into_iter().any(|inner| is_ident(&inner, "ignore")))
        }),
        _ => false,
    }
}

/// The lines of each string literal, with the columns it takes there.
fn literal_columns(tokens: &TokenStream) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    each_level(tokens, &mut |level| {
        for token in level {
            let TokenTree::Literal(literal) = token else { continue };
            if !literal.to_string().ends_with(['"', '#']) {
                continue;
            }
            let (start, end) = (literal.span().start(), literal.span().end());
            for line in start.line..=end.line {
                let from = if line == start.line { start.column } else { 0 };
                let to = if line == end.line { end.column } else { usize::MAX / 4 };
                found.push((line, to.saturating_sub(from)));
            }
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_long_line_is_found_unless_a_literal_makes_it_long() {
        let words = "x".repeat(101);
        assert_eq!(lines_of(&long_lines("a.rs", &format!("fn f() {{}}\n// {words}\n"))), [2]);
        assert_eq!(lines_of(&long_lines("a.rs", &format!("fn {words}() {{}}\n"))), [1]);
        assert!(long_lines("a.rs", &format!("const A: &str = \"{words}\";\n")).is_empty());
        let both = format!("const {words}: &str = \"{words}\";\n");
        assert_eq!(lines_of(&long_lines("a.rs", &both)), [1]);
        assert_eq!(lines_of(&long_lines("a.rs", &format!("/// {words}\nfn f() {{}}"))), [1]);
        assert_eq!(
            lines_of(&long_lines("a.rs", &format!("const A: u8 = {};", "1".repeat(90)))),
            [1]
        );
        assert!(long_lines("a.rs", &format!("//! | {words} | row |\n")).is_empty());
    }

    #[test]
    fn columns_are_characters_not_bytes() {
        assert!(long_lines("a.rs", &format!("// {}\n", "é".repeat(97))).is_empty());
    }

    #[test]
    fn a_module_beside_its_folder_is_found() {
        let found = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            beside_their_folder(&files)
                .into_iter()
                .map(|finding| finding.remedy)
                .collect::<Vec<_>>()
        };
        let remedy = ["move it to a/src/b/mod.rs"];
        assert_eq!(found(&["a/src/b.rs", "a/src/b/c.rs"]), remedy);
        assert_eq!(found(&["a/src/b/page.html", "a/src/b.rs"]), remedy);
        let in_tests = ["a/src/tests/b.rs", "a/src/tests/b/c.rs"];
        assert_eq!(found(&in_tests), ["move it to a/src/tests/b/mod.rs"]);
        assert_eq!(found(&["a/src/b/mod.rs", "a/src/b/c.rs", "a/src/bc.rs"]), [""; 0]);
        assert_eq!(found(&["a/tests/golden.rs", "a/tests/golden/window.hex"]), [""; 0]);
    }

    #[test]
    fn a_file_without_a_module_doc_is_found() {
        assert_eq!(missing_module_doc("a.rs", "use a::b;\n//! late doc here").len(), 1);
        assert_eq!(missing_module_doc("a.rs", "").len(), 1);
        assert_eq!(missing_module_doc("a.rs", "//! x\n").len(), 1);
        assert!(missing_module_doc("a.rs", "//! The order of entries.\n").is_empty());
    }

    #[test]
    fn an_ignored_test_is_found_in_each_form() {
        for attribute in ["#[ignore]", "#[ignore = \"slow\"]", "#[cfg_attr(miri, ignore)]"] {
            let source = format!("#[test]\n{attribute}\nfn f() {{}}");
            assert_eq!(lines_of(&ignored_tests("a.rs", &source)), [2], "{attribute}");
        }
        assert!(ignored_tests("a.rs", "#[test]\nfn ignore() {}\n// #[ignore]").is_empty());
    }

    #[test]
    fn a_sleep_is_found_in_a_folder_of_tests_only() {
        let source = "fn f() {\n    std::thread::sleep(d);\n    tokio::time::sleep(d).await;\n}";
        assert_eq!(lines_of(&sleeping_tests("crates/a/tests/b.rs", source)), [2, 3]);
        assert_eq!(lines_of(&sleeping_tests("tests/src/lib.rs", source)), [2, 3]);
        assert!(sleeping_tests("crates/agent/src/main.rs", source).is_empty());
        let imported = "use std::thread::{self, sleep};";
        assert_eq!(lines_of(&sleeping_tests("tests/a.rs", imported)), [1]);
    }
}
