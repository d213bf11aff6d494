//! `tidings help COMMAND` and `tidings version`: what `--help` and `--version` say, as words.

use std::ffi::OsString;

use clap::Args;

use crate::Failure;
use crate::output;

const HELP: &str = concat!(
    "\
Examples:
  tidings help
  tidings help nodes
  tidings help queue put",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

const VERSION: &str = concat!(
    "\
Example:
  tidings version",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings help`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct Options {
    /// The command, and the command within it; all commands are listed where none is named
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

/// Options of `tidings version`: none.
#[derive(Debug, Args)]
#[command(after_help = VERSION)]
pub struct VersionOptions {}

impl Options {
    /// The command line that asks the same by `--help`.
    pub fn as_option(&self, program: OsString) -> Vec<OsString> {
        let words = self.words.iter().map(OsString::from);
        std::iter::once(program).chain(words).chain([OsString::from("--help")]).collect()
    }
}

/// Prints the version, as `--version` does.
///
/// # Errors
/// [`Failure::Output`].
pub fn version() -> Result<(), Failure> {
    output::print(concat!("tidings ", env!("CARGO_PKG_VERSION"), "\n"))
}
