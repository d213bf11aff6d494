//! Standard output, and the agent that a command asks.
//!
//! Text is made in full and written once, so a command either prints its whole answer or reports
//! why not. A closed pipe surfaces as an error of kind `BrokenPipe`, which ends the command
//! quietly.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use serde::Serialize;
use tidings_control::{Client, ClientError};

use crate::Failure;
use crate::paint::Paint;

/// The agent a command asks.
#[derive(Clone, Debug)]
pub struct Agent {
    runtime_dir: PathBuf,
}

impl Agent {
    /// The agent with this runtime directory, or the one that is found without a name.
    pub fn at(runtime_dir: Option<PathBuf>) -> Self {
        Self { runtime_dir: runtime_dir.unwrap_or_else(tidings_control::agent_dir) }
    }

    /// The path of its board, by default.
    pub fn board(&self) -> PathBuf {
        tidings_board::board_path(&self.runtime_dir)
    }

    /// Connects to it.
    ///
    /// # Errors
    /// See [`Client::connect`].
    pub fn connect(&self) -> Result<Client, ClientError> {
        Client::connect(&self.runtime_dir)
    }
}

/// Whether standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Columns and lines of the terminal; 80 by 24 where it does not report them, as on serial
/// consoles.
pub fn terminal_size() -> (usize, usize) {
    let (width, height) = crossterm::terminal::size().unwrap_or_default();
    let known = |count: u16, usual: usize| if count == 0 { usual } else { usize::from(count) };
    (known(width, 80), known(height, 24))
}

/// Prints `text`, which ends with its own newline, and flushes.
///
/// # Errors
/// [`Failure::Output`].
pub fn print(text: &str) -> Result<(), Failure> {
    Ok(write(text.as_bytes())?)
}

/// Prints a table. A terminal gets colours for states, and lines that are longer than it is wide
/// are cut there, as wrapped lines cannot be read; a pipe gets the text as it is.
///
/// # Errors
/// [`Failure::Output`].
pub fn print_table(text: &str) -> Result<(), Failure> {
    if !is_terminal() {
        return print(text);
    }
    let (width, _) = terminal_size();
    let paint = Paint::of_table(text.lines().next().unwrap_or_default());
    let line = |line: &str| paint.line(&cut(line, width)) + "\n";
    print(&text.lines().map(line).collect::<String>())
}

/// The line, or as much of it as fits, with a sign that something is missing.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let kept = line.chars().take(width.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// Writes bytes as they are to standard output, and flushes.
///
/// # Errors
/// What the system says.
pub fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Prints `value` as indented JSON with a newline.
///
/// # Errors
/// [`Failure::Output`].
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    text.push('\n');
    print(&text)
}

/// Prints `value` as JSON on one line.
///
/// # Errors
/// [`Failure::Output`].
pub fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string(value).map_err(io::Error::from)?;
    text.push('\n');
    print(&text)
}

/// Writes bytes as they are to standard error; a failure of that is ignored.
pub fn note(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Prints `message` on standard error; a failure of that is ignored.
pub fn complain(message: &str) {
    let _ = writeln!(io::stderr().lock(), "tidings: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_says_that_it_is_cut() {
        assert_eq!(cut("n01  alive", 10), "n01  alive");
        assert_eq!(cut("n01  alive", 9), "n01  ali…");
        assert_eq!(cut("größer", 3), "gr…");
    }
}
