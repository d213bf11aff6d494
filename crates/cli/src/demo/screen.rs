//! Where the demo shows itself: in place on a terminal, one line per second into a pipe, or
//! nowhere.
//!
//! In place means that each drawing replaces the last one without leaving the scroll-back, so the
//! final table stays to be read. What changes modes of the terminal is `keys`.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crossterm::Command;
use crossterm::cursor::MoveToPreviousLine;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};

use super::table::View;
use crate::output;

/// The form of what is shown.
#[derive(Debug)]
pub enum Screen {
    /// A table in place on a terminal: standard output, or standard error beside `--json`.
    Live {
        /// Whether it is standard error.
        stderr: bool,
        /// Lines of the last drawing.
        drawn: u16,
    },
    /// One line per second on standard output.
    Plain {
        /// Whether the heading has been printed.
        begun: bool,
    },
    /// Nothing: `--json` without a terminal.
    Silent,
}

impl Screen {
    /// The form that fits the output.
    pub fn choose(json: bool) -> Self {
        match (json, io::stdout().is_terminal(), io::stderr().is_terminal()) {
            (true, _, true) => Self::Live { stderr: true, drawn: 0 },
            (true, _, false) => Self::Silent,
            (false, true, _) => Self::Live { stderr: false, drawn: 0 },
            (false, false, _) => Self::Plain { begun: false },
        }
    }

    /// How often it is drawn; `None` for never.
    pub fn period(&self) -> Option<Duration> {
        match self {
            Self::Live { .. } => Some(Duration::from_millis(250)),
            Self::Plain { .. } => Some(Duration::from_secs(1)),
            Self::Silent => None,
        }
    }

    /// Whether it is the terminal whose keys the demo takes.
    pub fn takes_keys(&self) -> bool {
        matches!(self, Self::Live { stderr: false, .. })
    }

    /// Whether rows of single nodes are shown.
    pub fn has_rows(&self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// Shows the view.
    ///
    /// # Errors
    /// What the system says; `BrokenPipe` when the reader has gone.
    pub fn draw(&mut self, view: &View<'_>) -> io::Result<()> {
        match self {
            Self::Live { stderr, drawn } => {
                let (width, height) = output::terminal_size();
                let lines = fit(&view.lines(width, height.saturating_sub(1)), width, height);
                let frame = frame(&lines, *drawn);
                *drawn = lines.len() as u16;
                match stderr {
                    true => write_all(&mut io::stderr().lock(), &frame),
                    false => write_all(&mut io::stdout().lock(), &frame),
                }
            }
            Self::Plain { begun } => {
                let mut text = String::new();
                if !std::mem::replace(begun, true) {
                    let _ = writeln!(text, "{}", View::plain_heading());
                }
                let _ = writeln!(text, "{}", view.plain_line());
                write_all(&mut io::stdout().lock(), &text)
            }
            Self::Silent => Ok(()),
        }
    }
}

fn write_all(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What a terminal of this size can show: lines cut at its edge, the last ones omitted.
fn fit(lines: &[String], width: usize, height: usize) -> Vec<String> {
    let cut = |line: &String| line.chars().take(width.saturating_sub(1)).collect();
    lines.iter().take(height.saturating_sub(1)).map(cut).collect()
}

/// The bytes that put `lines` over the `drawn` lines above the cursor.
fn frame(lines: &[String], drawn: u16) -> String {
    let mut frame = String::new();
    ansi(&mut frame, &BeginSynchronizedUpdate);
    if drawn > 0 {
        ansi(&mut frame, &MoveToPreviousLine(drawn));
    }
    ansi(&mut frame, &Clear(ClearType::FromCursorDown));
    for line in lines {
        frame.push_str(line);
        frame.push('\n');
    }
    ansi(&mut frame, &EndSynchronizedUpdate);
    frame
}

fn ansi(frame: &mut String, command: &impl Command) {
    // Writing into a string does not fail.
    let _ = command.write_ansi(frame);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_replaces_the_last_one() {
        let lines = ["a".to_owned(), "b".to_owned()];
        assert!(!frame(&lines, 0).contains("\u{1b}[2F"));
        assert!(frame(&lines, 2).contains("\u{1b}[2F\u{1b}[Ja\nb\n"));
    }

    #[test]
    fn a_small_terminal_shows_the_beginning() {
        let lines: Vec<String> = ["abcdef", "gh", "ij"].map(str::to_owned).into();
        assert_eq!(fit(&lines, 4, 3), ["abc", "gh"]);
    }
}
