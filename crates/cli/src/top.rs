//! `tidings top`: the table of nodes over the whole screen, refreshed.
//!
//! The terminal is restored however the command ends: by a key, a signal, an error, a panic. If
//! standard input or output is not a terminal, it prints the table once, as `nodes` does.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use crossterm::event::{KeyCode, KeyEvent};
use tidings_control::Nodes;
use tidings_nodes::units::Unit;

use crate::Failure;
use crate::full_screen::{self, Frame, FullScreen, Move, every, next_keys};
use crate::nodes::{Selection, SelectionOptions};
use crate::output::{self, Agent};
use crate::summary::{counts, totals};

const AFTER_HELP: &str = concat!(
    "\
Keys:
  <, >          sort by the column to the left or right      r       reverse the order
  left, right   show columns farther to the left or right; the first one stays
  up, down, page up, page down, home                          scroll
  q, Esc, Ctrl-C                                              end

Examples:
  tidings top
  tidings top --sort load1:desc --where 'state == alive'
  tidings top --columns name,load1,psi_cpu,mem_available --every 5s",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// What the keys do.
const KEYS: &str = "q ends   </>: sort   r: reverse   arrows: scroll";

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

/// Shows the table until a key or a signal ends it.
///
/// # Errors
/// A [`Failure`] of usage, of reaching the agent or of writing.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let mut selection = Selection::read(&options.selection)?;
    let mut nodes = agent.connect()?.nodes()?;
    if !full_screen::is_possible() {
        selection.complain(&nodes);
        selection.select(&mut nodes);
        return output::print(&selection.table(&nodes.nodes, false));
    }
    let ended = full_screen::signals()?;
    let _screen = FullScreen::enter()?;
    let (mut scroll, mut aside) = (0, 0);
    loop {
        let asked = Instant::now();
        loop {
            selection.select(&mut nodes);
            scroll = draw(&nodes, &selection, scroll, aside)?;
            // Keys are read even if the time is over: an answer may take longer than that.
            let left = options.every.saturating_sub(asked.elapsed());
            for key in next_keys(left, &ended)? {
                match Action::of(key) {
                    Action::Move(Move::End) => return Ok(()),
                    Action::Move(by) => scroll = by.from(scroll),
                    Action::Sort(by) => sort_by_neighbour(&mut selection, by),
                    Action::Aside(by) => aside = moved_aside(&selection, aside, by),
                    Action::Turn => selection.order.descending = !selection.order.descending,
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

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Move(Move),
    Sort(isize),
    /// Shows columns farther to the right.
    Aside(isize),
    Turn,
}

impl Action {
    fn of(key: KeyEvent) -> Self {
        match key.code {
            KeyCode::Char('r') => Self::Turn,
            KeyCode::Char('<') => Self::Sort(-1),
            KeyCode::Char('>') => Self::Sort(1),
            KeyCode::Left => Self::Aside(-1),
            KeyCode::Right => Self::Aside(1),
            _ => Self::Move(Move::of(key)),
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

/// How many columns are left out then: one is always shown beside the first.
fn moved_aside(selection: &Selection, aside: usize, by: isize) -> usize {
    aside.saturating_add_signed(by).min(selection.columns().len().saturating_sub(2))
}

/// Draws one frame; returns the scroll position, bounded by what there is.
fn draw(nodes: &Nodes, selection: &Selection, scroll: usize, aside: usize) -> io::Result<usize> {
    let table = selection.table_without(aside, &nodes.nodes, true);
    let (headings, rows) = table.split_once('\n').unwrap_or((&table, ""));
    let title = format!("{}\n{}", title(nodes, selection), totals(&nodes.nodes));
    Frame { title: &title, headings, rows, keys: KEYS }.draw(scroll)
}

fn title(nodes: &Nodes, selection: &Selection) -> String {
    let direction = if selection.order.descending { "largest first" } else { "smallest first" };
    format!(
        "cluster {}: {} as {} knows them, unit {}, by {}, {direction}",
        nodes.cluster,
        counts(&nodes.nodes),
        nodes.observer,
        Unit::Milliseconds.humanise(nodes.interval_ms),
        selection.order.column.short_name(),
    )
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;
    use tidings_control::NodeReport;

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
    fn columns_move_aside_up_to_the_last_and_the_first_stays() {
        let selection = selection();
        assert_eq!(moved_aside(&selection, 0, -1), 0);
        assert_eq!((moved_aside(&selection, 0, 1), moved_aside(&selection, 1, 1)), (1, 1));
        let nodes = [NodeReport { name: "a".into(), cores: Some(8), ..NodeReport::default() }];
        assert_eq!(selection.table_without(1, &nodes, true), "name  cores\na         8\n");
    }

    #[test]
    fn keys_do_what_the_help_says() {
        let key = |code| Action::of(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(key(KeyCode::Char('q')), Action::Move(Move::End));
        assert_eq!(key(KeyCode::Char('r')), Action::Turn);
        assert_eq!(key(KeyCode::Char('<')), Action::Sort(-1));
        assert_eq!(key(KeyCode::Right), Action::Aside(1));
    }
}
