//! `tidings top`: the table of nodes over the whole screen, refreshed.
//!
//! The terminal is restored however the command ends: by a key, a signal, an error, a panic. If
//! standard input or output is not a terminal, it prints the table once, as `nodes` does.

use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
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
use tidings_control::Nodes;
use tidings_nodes::units::Unit;

use crate::Failure;
use crate::nodes::{Selection, SelectionOptions};
use crate::output::{self, Agent};

const AFTER_HELP: &str = concat!(
    "\
Keys:
  left, right   sort by the column to the left or right      r       reverse the order
  up, down, page up, page down, home                          scroll
  q, Esc, Ctrl-C                                              end

Examples:
  tidings top
  tidings top --sort load1:desc --where 'state == alive'
  tidings top --columns name,load1,psi_cpu,mem_available --every 5s",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// The longest time between two checks for a signal.
const SIGNAL_LOOK: Duration = Duration::from_millis(250);

/// The shortest time between two requests.
const EVERY_MIN: Duration = Duration::from_millis(100);

/// Lines of the screen that are not rows: title, headings, keys.
const FRAME_LINES: usize = 3;

/// Options of `tidings top`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(flatten)]
    selection: SelectionOptions,
    /// How often to ask the agent, at most every 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    every: Duration,
}

fn every(text: &str) -> Result<Duration, String> {
    let every = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if every < EVERY_MIN {
        return Err("the shortest time between two requests is 100ms".to_owned());
    }
    Ok(every)
}

/// Shows the table until a key or a signal ends it.
///
/// # Errors
/// A [`Failure`] of usage, of reaching the agent or of writing.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let mut selection = Selection::read(&options.selection)?;
    let mut nodes = agent.connect()?.nodes()?;
    if !output::is_terminal() || !io::stdin().is_terminal() {
        selection.select(&mut nodes);
        return output::print(&selection.table(&nodes.nodes, false));
    }
    let ended = signals()?;
    let _screen = FullScreen::enter()?;
    let mut scroll = 0;
    loop {
        let asked = Instant::now();
        loop {
            selection.select(&mut nodes);
            scroll = draw(&nodes, &selection, scroll)?;
            // Keys are read even if the time is over: an answer may take longer than that.
            let left = options.every.saturating_sub(asked.elapsed());
            for key in next_keys(left, &ended)? {
                match Action::of(key) {
                    Action::End => return Ok(()),
                    Action::Scroll(lines) => scroll = scroll.saturating_add_signed(lines),
                    Action::Home => scroll = 0,
                    Action::Sort(by) => sort_by_neighbour(&mut selection, by),
                    Action::Turn => selection.order.descending = !selection.order.descending,
                    Action::Nothing => {}
                }
            }
            if ended.load(Ordering::Relaxed) {
                return Ok(());
            }
            if left.is_zero() {
                break;
            }
        }
        // A connection of its own each time: the agent closes idle ones, and it may be restarted.
        nodes = agent.connect()?.nodes()?;
    }
}

/// A flag that a signal raises instead of ending the process before the terminal is restored.
/// SIGHUP keeps its usual effect: the terminal is gone, so there is nothing to restore.
fn signals() -> io::Result<Arc<AtomicBool>> {
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
fn next_keys(time: Duration, ended: &AtomicBool) -> io::Result<Vec<KeyEvent>> {
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

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    End,
    Scroll(isize),
    Home,
    Sort(isize),
    Turn,
    Nothing,
}

impl Action {
    fn of(key: KeyEvent) -> Self {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => Self::End,
            KeyCode::Char('q') | KeyCode::Esc => Self::End,
            KeyCode::Char('r') => Self::Turn,
            KeyCode::Left => Self::Sort(-1),
            KeyCode::Right => Self::Sort(1),
            KeyCode::Up => Self::Scroll(-1),
            KeyCode::Down => Self::Scroll(1),
            KeyCode::PageUp => Self::Scroll(-20),
            KeyCode::PageDown => Self::Scroll(20),
            KeyCode::Home => Self::Home,
            _ => Self::Nothing,
        }
    }
}

/// Sorts by the column `by` places to the right of the present one, wrapping around.
fn sort_by_neighbour(selection: &mut Selection, by: isize) {
    let columns = selection.columns();
    let here = columns.iter().position(|column| *column == selection.order.column);
    let count = columns.len() as isize;
    let next = here.map_or(0, |here| (here as isize + by).rem_euclid(count) as usize);
    selection.order.column = columns[next].clone();
}

/// Draws one frame; returns the scroll position, bounded by what there is.
fn draw(nodes: &Nodes, selection: &Selection, scroll: usize) -> io::Result<usize> {
    let (width, height) = output::terminal_size();
    let room = height.saturating_sub(FRAME_LINES);
    let table = selection.table(&nodes.nodes, true);
    let mut rows = table.lines();
    let headings = rows.next().unwrap_or("");
    let rows: Vec<&str> = rows.collect();
    let scroll = scroll.min(rows.len().saturating_sub(room));
    let cut = |line: &str| -> String { line.chars().take(width).collect() };
    let mut frame = Vec::new();
    queue!(frame, BeginSynchronizedUpdate, MoveTo(0, 0), Clear(ClearType::All))?;
    write!(frame, "{}\r\n", cut(&title(nodes, selection)))?;
    queue!(frame, SetAttribute(Attribute::Bold))?;
    write!(frame, "{}\r\n", cut(headings))?;
    queue!(frame, SetAttribute(Attribute::Reset))?;
    for row in rows.iter().skip(scroll).take(room) {
        write!(frame, "{}\r\n", cut(row))?;
    }
    let keys = "q ends   left/right: sort   r: reverse   up/down: scroll";
    write!(frame, "{}", cut(keys))?;
    queue!(frame, EndSynchronizedUpdate)?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(&frame)?;
    stdout.flush()?;
    Ok(scroll)
}

fn title(nodes: &Nodes, selection: &Selection) -> String {
    let direction = if selection.order.descending { "largest first" } else { "smallest first" };
    format!(
        "cluster {}: {} nodes as {} knows them, unit {}, by {}, {direction}",
        nodes.cluster,
        nodes.nodes.len(),
        nodes.observer,
        Unit::Milliseconds.humanise(nodes.interval_ms),
        selection.order.column.short_name(),
    )
}

/// The terminal in use by `top`; dropping it restores it.
struct FullScreen;

impl FullScreen {
    fn enter() -> io::Result<Self> {
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

    fn selection() -> Selection {
        let columns = ["name", "load1", "cores"].map(str::to_owned).into();
        let options = SelectionOptions { columns, condition: None, sort: None };
        Selection::read(&options).unwrap_or_else(|failure| panic!("{failure}"))
    }

    #[test]
    fn the_sort_column_wraps_around() {
        let mut selection = selection();
        let mut names = Vec::new();
        for by in [1, 1, 1, -1] {
            sort_by_neighbour(&mut selection, by);
            names.push(selection.order.column.name().to_owned());
        }
        assert_eq!(names, ["load1", "cores", "name", "cores"]);
    }

    #[test]
    fn requests_come_at_most_ten_times_per_second() {
        assert_eq!(every("100ms"), Ok(EVERY_MIN));
        assert!(every("0s").is_err() && every("99ms").is_err() && every("1").is_err());
    }

    #[test]
    fn keys_do_what_the_help_says() {
        let key = |code, modifiers| Action::of(KeyEvent::new(code, modifiers));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Action::End);
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), Action::Nothing);
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Action::End);
        assert_eq!(key(KeyCode::Left, KeyModifiers::NONE), Action::Sort(-1));
    }
}
