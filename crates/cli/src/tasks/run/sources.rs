//! Sources of arguments: what stands behind `:::`, the lines of files behind `::::`, the numbers of
//! `--array`, the lines of standard input. Rows have one argument of each, in every combination,
//! the last one changing fastest.

use std::fs::File;
use std::io;

use super::values::{self, Values};

/// The most rows of a run.
pub(super) const MAX_ROWS: usize = 10_000_000;

/// The longest line of a file of arguments, and the longest argument, in bytes: what the kernel
/// lets a program have.
const MAX_ARGUMENT_BYTES: usize = 128 * 1024 - 1;

/// Why there are no rows.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No command stands before the arguments.
    #[error("no command: write tidings run -- COMMAND ::: ARGUMENTS")]
    NoCommand,
    /// A whole line of a shell, where a program is expected.
    #[error(
        "`{0}` is one word with spaces: write its words apart, or have a shell run it: --shell"
    )]
    ShellLine(String),
    /// A file cannot be read.
    #[error("{file}: {source}")]
    File {
        /// As given; `-` is standard input.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// It is not text.
    #[error("{file}:{line}: the line is not text in UTF-8, or longer than 131,071 bytes")]
    Line {
        /// As given.
        file: String,
        /// From 1.
        line: usize,
    },
    /// `::::` without a file.
    #[error("`::::` names no file of arguments: write `:::: FILE`, `-` for standard input")]
    NoFile,
    /// The numbers cannot be read.
    #[error("--array {0}: write numbers and ranges such as 1-1000, 0-15:4 or 1,3,5-7")]
    Array(String),
    /// There are too many.
    #[error("{0} rows of arguments: a run has at most 10,000,000; split it")]
    TooMany(u128),
}

/// A command's words, and the arguments for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Given {
    pub(super) command: Vec<String>,
    pub(super) sources: Vec<Values>,
}

impl Given {
    /// Parts the words of a command line at each `:::` and `::::`, and reads the files.
    pub(super) fn read(words: &[String]) -> Result<Self, SourceError> {
        let is_mark = |word: &String| word == ":::" || word == "::::";
        let end = words.iter().position(is_mark).unwrap_or(words.len());
        let (command, mut rest) = words.split_at(end);
        if command.is_empty() {
            return Err(SourceError::NoCommand);
        }
        let mut sources = Vec::new();
        while let Some((mark, behind)) = rest.split_first() {
            let end = behind.iter().position(is_mark).unwrap_or(behind.len());
            let (given, next) = behind.split_at(end);
            match mark.as_str() {
                ":::" => sources.push(given.iter().map(String::as_str).collect()),
                _ if given.is_empty() => return Err(SourceError::NoFile),
                _ => {
                    for file in given {
                        sources.push(lines(file)?);
                    }
                }
            }
            rest = next;
        }
        Ok(Self { command: command.to_vec(), sources })
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> Result<usize, SourceError> {
        let all =
            self.sources.iter().try_fold(1_u128, |all, one| all.checked_mul(one.len() as u128));
        match all {
            Some(all) if all <= MAX_ROWS as u128 => Ok(all as usize),
            all => Err(SourceError::TooMany(all.unwrap_or(u128::MAX))),
        }
    }

    /// The row of this place, from 0.
    pub(super) fn row(&self, mut place: usize) -> Vec<String> {
        let mut row = vec![String::new(); self.sources.len()];
        for (argument, source) in row.iter_mut().zip(&self.sources).rev() {
            *argument = source.get(place % source.len());
            place /= source.len();
        }
        row
    }
}

/// The lines of a file, of standard input for `-`. A last newline ends the last line.
pub(super) fn lines(file: &str) -> Result<Values, SourceError> {
    let read = match file {
        "-" => values::read(io::stdin().lock()),
        path => File::open(path).and_then(values::read),
    };
    let bytes = read.map_err(|source| SourceError::File { file: file.to_owned(), source })?;
    values::lines(bytes, MAX_ARGUMENT_BYTES)
        .map_err(|line| SourceError::Line { file: file.to_owned(), line })
}

/// The numbers of `1-1000`, `0-15:4` or `1,3,5-7`, as Slurm's `--array` has them.
pub(super) fn numbers(text: &str) -> Result<Values, SourceError> {
    let numbers = values::numbers(text, MAX_ROWS);
    let numbers = numbers.map_err(|count| SourceError::TooMany(count as u128))?;
    numbers.ok_or_else(|| SourceError::Array(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn given(line: &str) -> Result<Given, SourceError> {
        Given::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn rows_have_one_argument_of_each_source_and_the_last_changes_fastest() {
        let given = given("./sim -v {} ::: a b ::: 1 2 3").unwrap();
        assert_eq!(given.command, ["./sim", "-v", "{}"]);
        assert_eq!(given.rows().unwrap(), 6);
        let rows: Vec<String> = (0..6).map(|place| given.row(place).concat()).collect();
        assert_eq!(rows, ["a1", "a2", "a3", "b1", "b2", "b3"]);
        assert_eq!(self::given("true").unwrap().rows().unwrap(), 1);
        assert_eq!(self::given("echo ::: ::: a").unwrap().rows().unwrap(), 0);
    }

    #[test]
    fn lines_of_files_are_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows");
        let name = file.to_str().unwrap();
        fs::write(&file, "a b\nc\n").unwrap();
        let given = given(&format!("echo :::: {name}")).unwrap();
        assert_eq!(given.sources, [["a b", "c"].into_iter().collect()]);
        fs::write(&file, b"fine\n\xff\n").unwrap();
        let error = lines(name).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{name}:2: ")), "{error}");
    }

    #[test]
    fn what_gives_no_rows_is_refused() {
        assert!(matches!(given("::: a"), Err(SourceError::NoCommand)));
        assert!(matches!(given("echo ::::"), Err(SourceError::NoFile)));
        assert!(matches!(given("echo :::: /no/such"), Err(SourceError::File { .. })));
        let many: Vec<Values> = vec![numbers("1-4096").unwrap(); 2];
        let given = Given { command: vec![], sources: many };
        assert!(matches!(given.rows(), Err(SourceError::TooMany(16_777_216))));
    }

    #[test]
    fn arrays_are_written_as_for_slurm() {
        let given = Given { command: vec![], sources: vec![numbers("0-15:4").unwrap()] };
        assert_eq!((given.rows().unwrap(), given.row(3).concat()), (4, "12".to_owned()));
        assert!(matches!(numbers("1-"), Err(SourceError::Array(_))));
        assert!(matches!(numbers("0-4294967295"), Err(SourceError::TooMany(_))));
    }
}
