//! Sizes of source files, whatever their language: lines of a file, of a function, columns.
//!
//! Rust's columns are for [`crate::layout`], which knows what a literal is.

use crate::Finding;
use crate::functions::{functions, language};
use crate::ratchet::Breach;

const MAX_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 60;
const MAX_COLUMNS: usize = 100;

/// The languages whose files are measured.
pub(crate) const LANGUAGES: [&str; 8] = ["rs", "c", "h", "py", "js", "go", "sh", "f90"];

/// A file of more than five hundred lines.
pub(crate) fn long_file(file: &str, text: &str) -> Vec<Breach> {
    let lines = text.lines().count();
    let remedy = format!("{lines} lines, at most {MAX_FILE_LINES}: split it by concept");
    let finding = Finding::new(file, lines, remedy);
    let breach = Breach { what: file.to_owned(), amount: lines, finding };
    Some(breach).filter(|_| lines > MAX_FILE_LINES).into_iter().collect()
}

/// Functions of more than sixty lines, from the signature to the end of the body.
pub(crate) fn long_functions(file: &str, text: &str) -> Vec<Breach> {
    let long = functions(file, text).into_iter().filter(|f| f.lines > MAX_FUNCTION_LINES);
    long.map(|function| {
        let (name, lines) = (function.name, function.lines);
        let remedy = format!(
            "`{name}` has {lines} lines, at most {MAX_FUNCTION_LINES}: take its steps apart"
        );
        let what = format!("{file} {name}");
        Breach { what, amount: lines, finding: Finding::new(file, function.line, remedy) }
    })
    .collect()
}

/// Lines of more than a hundred columns; rows of tables pass, and so do commands of a shell and
/// Fortran, where a line that goes on below is harder to read.
pub(crate) fn wide_lines(file: &str, text: &str) -> Vec<Finding> {
    if ["rs", "sh", "f90"].contains(&language(file, text)) {
        return Vec::new();
    }
    let is_row = |line: &str| line.trim_start_matches([' ', '*', '#']).starts_with('|');
    let columns = text.lines().map(|line| if is_row(line) { 0 } else { line.chars().count() });
    columns
        .enumerate()
        .filter(|(_, columns)| *columns > MAX_COLUMNS)
        .map(|(at, columns)| {
            let remedy = format!("{columns} columns, at most {MAX_COLUMNS}: wrap it");
            Finding::new(file, at + 1, remedy)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_501_lines_is_long_and_one_of_500_is_not() {
        for language in LANGUAGES {
            let file = format!("a{language}");
            assert_eq!(long_file(&file, &"\n".repeat(501))[0].amount, 501);
            assert_eq!(long_file(&file, &"\n".repeat(500)), []);
        }
    }

    #[test]
    fn a_function_of_61_lines_is_long_and_one_of_60_is_not() {
        let of_lines = |n: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(n - 2));
        let long = &long_functions("a.rs", &of_lines(61))[0];
        assert_eq!((long.what.as_str(), long.amount, long.finding.line), ("a.rs f", 61, 1));
        assert_eq!(long_functions("a.rs", &of_lines(60)), []);
    }

    #[test]
    fn a_line_of_101_columns_is_wide_and_columns_are_characters() {
        assert_eq!(wide_lines("a.c", &format!("int x;\n/* {} */", "x".repeat(95)))[0].line, 2);
        assert_eq!(wide_lines("a.py", &format!("# {}", "é".repeat(98))), []);
        assert_eq!(wide_lines("a.h", &format!(" * | {} |", "x".repeat(100))), []);
    }
}
