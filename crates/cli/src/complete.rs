//! `tidings __complete WORD…`: what the last word may become, for the completions of shells.
//!
//! The scripts of `tidings completions` know the command line. What only the running agent knows,
//! names of nodes and metrics that users publish, they ask for here, at each press of the key, and
//! columns too, since they stand in lists. Which option takes what follows from the name of its
//! value in the command line itself. Nothing is said of words that the script knows, nor where no
//! agent answers: a completion that fails is none.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory};
use tidings_control::NodeReport;
use tidings_gossip::aggregate::Reading;
use tidings_nodes::columns::Column;

use crate::arguments::CommandLine;
use crate::output::{self, Agent};

/// The word that asks for it, in place of a sub-command.
const WORD: &str = "__complete";

/// The words to complete, if these arguments (program name first) ask for it.
pub fn asked(arguments: &[OsString]) -> Option<&[OsString]> {
    match arguments {
        [_, word, words @ ..] if word == WORD => Some(words),
        _ => None,
    }
}

/// Prints the candidates, one a line. It never fails: the shell would show that amid a command.
pub fn run(words: &[OsString]) -> ExitCode {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut line = CommandLine::command();
    line.build();
    let place = Place::find(&line, &words);
    let Some(wanted) = place.wanted else { return ExitCode::SUCCESS };
    let agent = Agent::at(place.runtime_dir);
    let nodes = || agent.connect().and_then(|mut client| client.nodes());
    let nodes = nodes().map(|nodes| nodes.nodes).unwrap_or_default();
    let lines = wanted.candidates(&place.typed, &nodes);
    let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    drop(output::print(&text)); // a closed pipe is not a failure
    ExitCode::SUCCESS
}

/// What is typed last, and what it is.
struct Place {
    typed: String,
    wanted: Option<Wanted>,
    runtime_dir: Option<PathBuf>,
}

/// What may stand at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Node,
    Nodes,
    Columns,
    Order,
    Condition,
    Readings,
}

impl Place {
    /// Walks along the words, of which the last is not complete.
    fn find(line: &Command, words: &[String]) -> Self {
        let (typed, before) = match words.split_last() {
            // bash takes `--columns=name` as three words.
            Some((typed, before)) if typed != "=" => (typed.as_str(), before),
            Some((_, before)) => ("", before),
            None => ("", words),
        };
        let (mut command, mut taker, mut positional, mut runtime_dir) = (line, None, 0, None);
        for word in before.iter().filter(|word| *word != "=") {
            if let Some(arg) = taker.take() {
                runtime_dir = directory(arg, word).or(runtime_dir);
            } else if let Some((arg, value)) = option(command, word) {
                match value {
                    Some(value) => runtime_dir = directory(arg, value).or(runtime_dir),
                    None => taker = Some(arg).filter(|arg| arg.get_action().takes_values()),
                }
            } else if let Some(next) = command.find_subcommand(word) {
                (command, positional) = (next, 0);
            } else if !word.starts_with('-') {
                positional += 1;
            }
        }
        let wanted = match (taker, typed.starts_with('-')) {
            (Some(arg), _) => Wanted::of(arg),
            (None, true) => None,
            (None, false) => command.get_positionals().nth(positional).and_then(Wanted::of),
        };
        Self { typed: typed.to_owned(), wanted, runtime_dir }
    }
}

/// The option that a word names, and the value in the same word.
fn option<'c, 'w>(command: &'c Command, word: &'w str) -> Option<(&'c Arg, Option<&'w str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (long, value) = match long.split_once('=') {
            Some((long, value)) => (long, Some(value)),
            None => (long, None),
        };
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(long))?;
        return Some((arg, value));
    }
    let short = word.strip_prefix('-')?.chars().last()?;
    command.get_arguments().find(|arg| arg.get_short() == Some(short)).map(|arg| (arg, None))
}

fn directory(arg: &Arg, value: &str) -> Option<PathBuf> {
    (arg.get_long() == Some("runtime-dir")).then(|| PathBuf::from(value))
}

impl Wanted {
    fn of(arg: &Arg) -> Option<Self> {
        match (arg.get_value_names()?.first()?.as_str(), arg.get_long()) {
            ("NODE", _) => Some(Self::Node),
            ("NODES", Some("avoid")) => Some(Self::Nodes),
            (_, Some("columns")) => Some(Self::Columns),
            (_, Some("readings")) => Some(Self::Readings),
            ("COLUMN[:desc]", _) => Some(Self::Order),
            ("CONDITION", _) => Some(Self::Condition),
            _ => None,
        }
    }

    /// What the word may become: all of it, as shells compare it with what is typed.
    fn candidates(self, typed: &str, nodes: &[NodeReport]) -> Vec<String> {
        let (head, words) = match self {
            Self::Node => ("", names(nodes)),
            Self::Nodes => (listed(typed), names(nodes)),
            Self::Columns => (listed(typed), columns(nodes)),
            Self::Readings => (listed(typed), Reading::ALL.map(|one| one.name().to_owned()).into()),
            Self::Condition => ("", columns(nodes)),
            Self::Order => {
                let turned =
                    columns(nodes).into_iter().flat_map(|one| [one.clone(), one + ":desc"]);
                ("", turned.collect())
            }
        };
        let there: BTreeSet<&str> = head.split(',').collect();
        let new = words.into_iter().filter(|word| !there.contains(word.as_str()));
        new.map(|word| format!("{head}{word}")).filter(|word| word.starts_with(typed)).collect()
    }
}

/// The words of a list that are complete, with their commas.
fn listed(typed: &str) -> &str {
    typed.rfind(',').map_or("", |comma| &typed[..=comma])
}

fn names(nodes: &[NodeReport]) -> Vec<String> {
    nodes.iter().map(|node| node.name.clone()).collect()
}

/// The columns without their units, and the metrics that users publish.
fn columns(nodes: &[NodeReport]) -> Vec<String> {
    let user: BTreeSet<String> =
        nodes.iter().flat_map(|node| node.user.keys().map(|key| format!("user.{key}"))).collect();
    Column::all().map(|column| column.short_name().to_owned()).chain(user).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(words: &str) -> (Option<Wanted>, String, Option<PathBuf>) {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let mut line = CommandLine::command();
        line.build();
        let place = Place::find(&line, &words);
        (place.wanted, place.typed, place.runtime_dir)
    }

    #[test]
    fn the_place_of_a_word_is_that_of_the_command_line() {
        for (words, wanted) in [
            ("show n", Some(Wanted::Node)),
            ("show n1 ", None),
            ("health ", Some(Wanted::Node)),
            ("show --json n", Some(Wanted::Node)),
            ("nodes --columns name,lo", Some(Wanted::Columns)),
            ("nodes --columns = lo", Some(Wanted::Columns)),
            ("nodes --columns =", Some(Wanted::Columns)),
            ("top --sort load1 --where ", Some(Wanted::Condition)),
            ("top --sort ", Some(Wanted::Order)),
            ("pick -n 4 --avoid ", Some(Wanted::Nodes)),
            ("colonies --readings ", Some(Wanted::Readings)),
            ("nodes --so", None),
            ("nod", None),
            ("", None),
        ] {
            assert_eq!(found(words).0, wanted, "{words:?}");
        }
        for words in ["--runtime-dir /x show n", "show --runtime-dir=/x n"] {
            let expected = (Some(Wanted::Node), "n".to_owned(), Some(PathBuf::from("/x")));
            assert_eq!(found(words), expected);
        }
    }

    #[test]
    fn candidates_begin_with_what_is_typed() {
        let user = [("gpu".to_owned(), "3".to_owned())].into();
        let node = NodeReport { name: "n1".to_owned(), user, ..NodeReport::default() };
        let nodes = [node, NodeReport { name: "m2".to_owned(), ..NodeReport::default() }];
        let candidates = |wanted: Wanted, typed| wanted.candidates(typed, &nodes).join(" ");
        assert_eq!(candidates(Wanted::Node, "n"), "n1");
        assert_eq!(candidates(Wanted::Nodes, "n1,"), "n1,m2");
        assert_eq!(candidates(Wanted::Columns, "load1,load"), "load1,load5 load1,load15");
        assert_eq!(candidates(Wanted::Columns, "us"), "user.gpu");
        assert_eq!(candidates(Wanted::Order, "load1"), "load1 load1:desc load15 load15:desc");
        assert_eq!(candidates(Wanted::Readings, "po"), "power_w");
    }
}
