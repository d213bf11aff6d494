//! `tidings top`: the table of nodes over the whole screen, refreshed.
//!
//! The terminal is restored however the command ends: by a key, a signal, an error, a panic. If
//! standard input or output is not a terminal, it prints the table once, as `nodes` does.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tidings_control::Nodes;
use tidings_nodes::units::Unit;

use crate::Failure;
use crate::full_screen::{self, Frame, FullScreen, Move, every, next_keys};
use crate::nodes::{Selection, SelectionOptions};
use crate::output::{self, Agent};
use crate::prompt::{Prompt, Typed};
use crate::summary::{counts, totals};
use crate::table;

const AFTER_HELP: &str = concat!(
    "\
Keys:
  <, >          sort by the column to the left or right      r       reverse the order
  /             type a condition, as for --where: Enter takes it, Esc leaves the one before
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
const KEYS: &str = "q ends   /: condition   </>: sort   r: reverse   arrows: scroll";

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
    let selection = Selection::read(&options.selection)?;
    let mut nodes = agent.connect()?.nodes()?;
    if !full_screen::is_possible() {
        selection.complain(&nodes);
        selection.select(&mut nodes);
        return output::print(&selection.table(&nodes.nodes, false));
    }
    let ended = full_screen::signals()?;
    let _screen = FullScreen::enter()?;
    let condition = options.selection.condition.clone().unwrap_or_default();
    let mut top = Top { selection, condition, scroll: 0, aside: 0, prompt: None, complaint: None };
    loop {
        match top.show(nodes, options.every, &ended)? {
            Next::End => return Ok(()),
            // A connection of its own each time: the agent closes idle ones, and may be restarted.
            Next::Ask => nodes = agent.connect()?.nodes()?,
        }
    }
}

/// What comes after a list of nodes has been shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    End,
    Ask,
}

/// The table, and how it is looked at.
struct Top {
    selection: Selection,
    /// The condition of the selection, as it was written.
    condition: String,
    scroll: usize,
    /// Columns left out behind the first.
    aside: usize,
    /// The condition that is being typed.
    prompt: Option<Prompt>,
    /// What is wrong with the one that was typed last.
    complaint: Option<String>,
}

impl Top {
    /// Shows these nodes until the next are due, or something needs them now.
    fn show(&mut self, mut nodes: Nodes, every: Duration, ended: &AtomicBool) -> io::Result<Next> {
        let asked = Instant::now();
        loop {
            self.selection.select(&mut nodes);
            self.draw(&nodes)?;
            // Keys are read even if the time is over: an answer may take longer than that.
            let left = every.saturating_sub(asked.elapsed());
            for key in next_keys(left, ended)? {
                if let Some(next) = self.press(key) {
                    return Ok(next);
                }
            }
            if ended.load(Ordering::Relaxed) {
                return Ok(Next::End);
            }
            if left.is_zero() {
                return Ok(Next::Ask);
            }
        }
    }

    /// Takes a key; returns what it leads to beside another drawing.
    fn press(&mut self, key: KeyEvent) -> Option<Next> {
        let is_interrupt =
            key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
        match self.prompt.take() {
            Some(prompt) if !is_interrupt => self.type_in(prompt, key),
            _ => self.act(key),
        }
    }

    fn type_in(&mut self, mut prompt: Prompt, key: KeyEvent) -> Option<Next> {
        self.complaint = None;
        match prompt.press(key) {
            Typed::More => self.prompt = Some(prompt),
            Typed::Abandoned => {}
            Typed::Done(text) => match self.selection.set_condition(&text) {
                // Nodes that the one before has left out are shown again.
                Ok(()) => {
                    (self.condition, self.scroll) = (text.trim().to_owned(), 0);
                    return Some(Next::Ask);
                }
                Err(error) => {
                    self.complaint = error.to_string().lines().next().map(str::to_owned);
                    self.prompt = Some(Prompt::with(&text));
                }
            },
        }
        None
    }

    fn act(&mut self, key: KeyEvent) -> Option<Next> {
        match Action::of(key) {
            Action::Move(Move::End) => return Some(Next::End),
            Action::Move(by) => self.scroll = by.from(self.scroll),
            Action::Sort(by) => sort_by_neighbour(&mut self.selection, by),
            Action::Aside(by) => self.aside = moved_aside(&self.selection, self.aside, by),
            Action::Turn => self.selection.order.descending = !self.selection.order.descending,
            Action::Condition => self.prompt = Some(Prompt::with(&self.condition)),
        }
        None
    }

    /// Draws one frame; the scroll position is bounded by what there is.
    fn draw(&mut self, nodes: &Nodes) -> io::Result<()> {
        let table = self.selection.table_without(self.aside, &nodes.nodes, true);
        let (headings, rows) = table.split_once('\n').unwrap_or((&table, ""));
        let mut title = format!("{}\n{}", title(nodes, &self.selection), totals(&nodes.nodes));
        if !self.condition.is_empty() {
            title = format!("{title}\nwhere {}", table::one_line(&self.condition));
        }
        let keys = self.last_line();
        self.scroll = Frame { title: &title, headings, rows, keys: &keys }.draw(self.scroll)?;
        Ok(())
    }

    /// What the keys do, or what is being typed and what is wrong with it.
    fn last_line(&self) -> String {
        let Some(prompt) = &self.prompt else { return KEYS.to_owned() };
        let complaint = self.complaint.as_ref().map(|why| format!("   ({why})"));
        format!("where: {}_{}", table::one_line(prompt.text()), complaint.unwrap_or_default())
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
    /// Begins to type a condition.
    Condition,
}

impl Action {
    fn of(key: KeyEvent) -> Self {
        match key.code {
            KeyCode::Char('r') => Self::Turn,
            KeyCode::Char('/') => Self::Condition,
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
    fn a_condition_is_typed_and_one_that_is_wrong_is_left_for_correction() {
        let (prompt, complaint, condition) = (None, None, String::new());
        let mut top =
            Top { selection: selection(), condition, scroll: 3, aside: 0, prompt, complaint };
        let press = |top: &mut Top, keys: &str| {
            let code = |key| if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
            let event = |key| KeyEvent::new(code(key), KeyModifiers::NONE);
            keys.chars().map(|key| top.press(event(key))).last().flatten()
        };
        assert_eq!(press(&mut top, "/lod1 > q\n"), None);
        assert!(top.last_line().starts_with("where: lod1 > q_   (no column `lod1`"));
        assert_eq!(top.condition, "");
        top.press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(press(&mut top, "load1 > 2"), None);
        assert_eq!(top.last_line(), "where: load1 > 2_");
        assert_eq!(press(&mut top, "\n"), Some(Next::Ask));
        assert_eq!((top.condition.as_str(), top.scroll), ("load1 > 2", 0));
        assert_eq!(top.last_line(), KEYS);
        press(&mut top, "/");
        assert_eq!(top.last_line(), "where: load1 > 2_");
        top.press(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        assert_eq!((top.condition.as_str(), top.last_line().as_str()), ("load1 > 2", KEYS));
        assert_eq!(press(&mut top, "q"), Some(Next::End));
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
