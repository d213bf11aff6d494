//! Colours for states, where they can be seen: alive, suspected and dead differ at a glance.
//!
//! Only a terminal gets them, and only where neither `NO_COLOR` (<https://no-color.org>) nor
//! `TERM=dumb` forbids it. Colour repeats what a word says; nothing is told by colour alone.

use std::env;
use std::io::{IsTerminal, stdout};

use crossterm::style::{Color, Stylize};

/// Whether and where words are coloured.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    /// The character of a line at which a state begins.
    at: Option<usize>,
}

impl Paint {
    /// Colours the column `state` of a table with these headings, if standard output shows colours.
    pub fn of_table(headings: &str) -> Self {
        Self { at: is_wanted().then(|| column(headings)).flatten() }
    }

    /// Colours the word that begins at the character `at` of each line.
    pub fn of_word(at: usize) -> Self {
        Self { at: is_wanted().then_some(at) }
    }

    /// No colours.
    pub fn none() -> Self {
        Self { at: None }
    }

    /// The line with its state in colour.
    pub fn line(self, line: &str) -> String {
        let at = self.at.and_then(|at| line.char_indices().nth(at));
        let Some((begin, _)) = at else { return line.to_owned() };
        let (head, rest) = line.split_at(begin);
        let (word, tail) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        match colour(word) {
            Some(colour) => format!("{head}{}{tail}", word.with(colour)),
            None => line.to_owned(),
        }
    }
}

fn is_wanted() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    stdout().is_terminal() && !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Where the heading `state` stands.
fn column(headings: &str) -> Option<usize> {
    let mut at = 0;
    for word in headings.split(' ') {
        if word == "state" {
            return Some(at);
        }
        at += word.chars().count() + 1;
    }
    None
}

/// The colour of a state or of an event; `None` for what is no state.
fn colour(state: &str) -> Option<Color> {
    match state {
        "alive" | "joined" | "back" | "cleared" => Some(Color::DarkGreen),
        "suspected" => Some(Color::DarkYellow),
        "dead" => Some(Color::DarkRed),
        "left" | "unheard" | "forgotten" => Some(Color::DarkBlue),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_line_is_coloured_and_nothing_else() {
        let headings = "name   user.state  state      age";
        let paint = Paint { at: column(headings) };
        assert_eq!(
            paint.line("alive  dead        dead       3 m"),
            format!("alive  dead        {}       3 m", "dead".with(Color::DarkRed))
        );
        for line in ["a", "alive  dead        12345      3 m", "größe  dead        x"] {
            assert_eq!(paint.line(line), line);
        }
        assert_eq!(column("name  age"), None);
    }
}
