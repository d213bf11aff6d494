//! A table over the whole terminal, drawn again and again, and the keys that move within it.
//!
//! The terminal is restored however the command ends: by a key, a signal, an error, a panic. A
//! frame is written at once and over the one before it, so nothing flickers.

use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use rustix::event::{PollFd, PollFlags, Timespec, poll as wait};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::output;
use crate::paint::Paint;

/// The longest time between two checks for a signal.
const SIGNAL_LOOK: Duration = Duration::from_millis(250);

/// The shortest time between two requests.
const EVERY_MIN: Duration = Duration::from_millis(100);

/// Lines of the screen that are neither rows nor title: headings, keys.
const FRAME_LINES: usize = 2;

/// How often to ask, as it is written in an option.
pub(crate) fn every(text: &str) -> Result<Duration, String> {
    let every = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if every < EVERY_MIN {
        return Err("the shortest time between two requests is 100ms".to_owned());
    }
    Ok(every)
}

/// Whether standard input and output are a terminal.
pub(crate) fn is_possible() -> bool {
    output::is_terminal() && io::stdin().is_terminal()
}

/// A flag that a signal raises instead of ending the process before the terminal is restored.
/// SIGHUP keeps its usual effect: the terminal is gone, so there is nothing to restore.
pub(crate) fn signals() -> io::Result<Arc<AtomicBool>> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    Ok(ended)
}

/// The keys pressed by the time the first one is, within `time`. Returns early, without one, when
/// the window changes; raises `ended` when the terminal has gone.
///
/// This waits for standard input itself: crossterm reads for ever at its end.
pub(crate) fn next_keys(time: Duration, ended: &AtomicBool) -> io::Result<Vec<KeyEvent>> {
    let begin = Instant::now();
    let stdin = io::stdin();
    while !ended.load(Ordering::Relaxed) {
        let left = time.saturating_sub(begin.elapsed());
        let look = Timespec::try_from(left.min(SIGNAL_LOOK)).map_err(io::Error::other)?;
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        match wait(&mut input, Some(&look)) {
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
            Ok(0) if left.is_zero() => return Ok(Vec::new()),
            Ok(0) => {}
            Ok(_) if input[0].revents() == PollFlags::IN => return pressed(),
            Ok(_) => ended.store(true, Ordering::Relaxed),
        }
    }
    Ok(Vec::new())
}

/// The keys that can be read without waiting.
fn pressed() -> io::Result<Vec<KeyEvent>> {
    let mut keys = Vec::new();
    while poll(Duration::ZERO)? {
        if let Event::Key(key) = read()? {
            keys.extend((key.kind != KeyEventKind::Release).then_some(key));
        }
    }
    Ok(keys)
}

/// What a key does to a table that may be longer than the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    End,
    Scroll(isize),
    Home,
    Nothing,
}

impl Move {
    pub(crate) fn of(key: KeyEvent) -> Self {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => Self::End,
            KeyCode::Char('q') | KeyCode::Esc => Self::End,
            KeyCode::Up => Self::Scroll(-1),
            KeyCode::Down => Self::Scroll(1),
            KeyCode::PageUp => Self::Scroll(-20),
            KeyCode::PageDown => Self::Scroll(20),
            KeyCode::Home => Self::Home,
            _ => Self::Nothing,
        }
    }

    /// The first row that is shown then.
    pub(crate) fn from(self, scroll: usize) -> usize {
        match self {
            Self::Scroll(lines) => scroll.saturating_add_signed(lines),
            Self::Home => 0,
            Self::End | Self::Nothing => scroll,
        }
    }
}

/// What is on the screen: lines of text, of which those that do not fit are cut or left out.
pub(crate) struct Frame<'f> {
    /// One line, or several.
    pub(crate) title: &'f str,
    pub(crate) headings: &'f str,
    pub(crate) rows: &'f str,
    pub(crate) keys: &'f str,
}

impl Frame<'_> {
    /// Draws it from the row `scroll` on; returns that, bounded by what there is.
    pub(crate) fn draw(&self, scroll: usize) -> io::Result<usize> {
        let (width, height) = output::terminal_size();
        let room = height.saturating_sub(FRAME_LINES + self.title.lines().count());
        let rows: Vec<&str> = self.rows.lines().collect();
        let scroll = scroll.min(rows.len().saturating_sub(room));
        let mut frame = Vec::new();
        queue!(frame, BeginSynchronizedUpdate, MoveTo(0, 0))?;
        for title in self.title.lines() {
            line(&mut frame, title, width)?;
        }
        queue!(frame, SetAttribute(Attribute::Bold))?;
        line(&mut frame, self.headings, width)?;
        queue!(frame, SetAttribute(Attribute::Reset))?;
        let paint = Paint::of_table(self.headings);
        for row in rows.iter().skip(scroll).take(room) {
            painted(&mut frame, row, width, paint)?;
        }
        queue!(frame, Clear(ClearType::FromCursorDown))?;
        write!(frame, "{}", cut(self.keys, width))?;
        queue!(frame, EndSynchronizedUpdate)?;
        output::write(&frame)?;
        Ok(scroll)
    }
}

fn line(frame: &mut Vec<u8>, text: &str, width: usize) -> io::Result<()> {
    painted(frame, text, width, Paint::none())
}

fn painted(frame: &mut Vec<u8>, text: &str, width: usize, paint: Paint) -> io::Result<()> {
    let text = cut(text, width);
    write!(frame, "{}", paint.line(&text))?;
    // Behind a full line the terminal still stands on its last character.
    if text.chars().count() < width {
        queue!(frame, Clear(ClearType::UntilNewLine))?;
    }
    write!(frame, "\r\n")
}

fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// The terminal in use; dropping it restores it.
pub(crate) struct FullScreen;

impl FullScreen {
    pub(crate) fn enter() -> io::Result<Self> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |report| {
            restore();
            before(report);
        }));
        enable_raw_mode()?;
        let screen = Self;
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal as far as possible; a failure is ignored.
fn restore() {
    let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_at_most_ten_times_per_second() {
        assert_eq!(every("100ms"), Ok(EVERY_MIN));
        assert!(every("0s").is_err() && every("99ms").is_err() && every("1").is_err());
    }

    #[test]
    fn keys_move_and_end() {
        let key = |code, modifiers| Move::of(KeyEvent::new(code, modifiers));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Move::End);
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), Move::Nothing);
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Move::End);
        assert_eq!(key(KeyCode::Down, KeyModifiers::NONE).from(3), 4);
        assert_eq!(key(KeyCode::PageUp, KeyModifiers::NONE).from(3), 0);
    }
}
