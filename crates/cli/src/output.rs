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

/// The agent a command asks.
#[derive(Clone, Debug)]
pub struct Agent {
    runtime_dir: PathBuf,
}

impl Agent {
    /// The agent with this runtime directory, or with this user's default one.
    pub fn at(runtime_dir: Option<PathBuf>) -> Self {
        Self { runtime_dir: runtime_dir.unwrap_or_else(tidings_control::runtime_dir) }
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
