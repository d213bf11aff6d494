//! Entries: what a file says of a task, or of an array of tasks with a value each.
//!
//! The tasks of an array have its name with a number from 1: `fit.1`, `fit.2`. Their commands are
//! made of its own as `tidings run` makes them of a row, when they are wanted: a million tasks take
//! no more memory than their values. Where others read or wait for the array, they do for all of
//! its tasks.

use std::ops::Range;
use std::time::Duration;

use tidings_tasks::work::Input;
use tidings_tasks_core::resources::{Need, NeedError};
use toml::Spanned;

use super::super::misplaced::GraphError;
use super::super::sources::MAX_ROWS;
use super::super::template::Template;
use super::super::values::{self, Values};
use super::file::{Each, Source, TaskText};
use super::names::Names;
use crate::tasks::kinds;

/// A task or an array.
pub(super) struct Entry {
    pub(super) name: String,
    /// Where it stands in the file, and where each word of its command does.
    pub(super) start: usize,
    starts: Vec<usize>,
    /// Its tasks among all of the file.
    pub(super) tasks: Range<usize>,
    command: Command,
    /// Whether the command is one line for a shell.
    is_line: bool,
    pub(super) settings: Settings,
}

/// What the commands of its tasks are made of.
enum Command {
    One(Vec<String>),
    Each(Template, Values),
}

/// What a task has beside its command.
pub(super) struct Settings {
    pub(super) need: Option<Need>,
    pub(super) filter: Option<String>,
    pub(super) retries: Option<u16>,
    pub(super) timeout: Option<Duration>,
    pub(super) memory: Option<u64>,
    pub(super) priority: i16,
    /// The nodes that are to have its output; 0: it lies with the store.
    pub(super) copies: u32,
    /// Where it lies; none: in the queue of the run.
    pub(super) queue: Option<String>,
}

impl Entry {
    /// What is written there, for tasks from `first` on.
    pub(super) fn read(
        source: &Source<'_>,
        name: &Spanned<String>,
        text: &TaskText,
        first: usize,
    ) -> Result<Self, GraphError> {
        let words = words(source, name, text)?;
        let texts: Vec<String> = words.iter().map(|word| word.get_ref().clone()).collect();
        let starts: Vec<usize> = words.iter().map(|word| word.span().start).collect();
        let is_line = text.shell.is_some();
        let command = match &text.each {
            None => Command::One(texts),
            Some(each) => {
                let template = Template::new(&texts, 1, is_line).map_err(|error| {
                    let wanted = error.wanted();
                    let reason =
                        format!("{{{wanted}}}: a task of an array has one value, {{}} or {{1}}");
                    source.at(starts[0], reason)
                })?;
                Command::Each(template, values_of(source, each)?)
            }
        };
        let count = match &command {
            Command::One(_) => 1,
            Command::Each(_, values) => values.len(),
        };
        let (start, tasks) = (name.span().start, first..first + count);
        let (name_text, settings) = (name.get_ref().clone(), Settings::read(source, text)?);
        let entry = Self { name: name_text, start, starts, tasks, command, is_line, settings };
        // Of an array this is the longest one.
        if !Input::is_name(&entry.name_of(first + count - 1)) {
            let reason = "a name has 1 to 64 letters, digits, dots, underscores and hyphens, \
                          and begins with no dot";
            return Err(source.refuse(name, reason));
        }
        Ok(entry)
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.command, Command::Each(..))
    }

    /// The name of the task at this place.
    pub(super) fn name_of(&self, at: usize) -> String {
        match self.command {
            Command::One(_) => self.name.clone(),
            Command::Each(..) => format!("{}.{}", self.name, at - self.tasks.start + 1),
        }
    }

    /// Where a word of its commands stands in the file: what is added stands where the last does.
    pub(super) fn start_of(&self, word: usize) -> usize {
        let last = self.starts.len().saturating_sub(1);
        self.starts.get(word.min(last)).copied().unwrap_or(self.start)
    }

    /// The words of the command of the task at this place, or its one line, with each array that it
    /// reads as all of its tasks; each with the number, from 0, of the written word it is of.
    ///
    /// # Errors
    /// The number of a word, and the array for which it has no place.
    pub(super) fn words_of(
        &self,
        at: usize,
        names: &Names,
    ) -> Result<Vec<(usize, String)>, (usize, String)> {
        let words = match &self.command {
            Command::One(words) => words.clone(),
            Command::Each(template, values) => {
                let place = at - self.tasks.start;
                let mut words = template.command(&[values.get(place)], place + 1);
                if self.is_line {
                    words.drain(..2);
                }
                words
            }
        };
        let mut spread = Vec::with_capacity(words.len());
        for (number, word) in words.into_iter().enumerate() {
            let words = self.spread(word, names).map_err(|array| (number, array))?;
            spread.extend(words.into_iter().map(|word| (number, word)));
        }
        Ok(spread)
    }

    /// A command of these words.
    pub(super) fn command_of(&self, words: Vec<(usize, String)>) -> Vec<String> {
        let mut words = words.into_iter().map(|(_, word)| word);
        if !self.is_line {
            return words.collect();
        }
        let line = words.next().unwrap_or_default();
        vec!["/bin/sh".into(), "-c".into(), with_variables(&line)]
    }

    fn spread(&self, word: String, names: &Names) -> Result<Vec<String>, String> {
        let arrays: Vec<(&str, usize)> =
            inputs_of(&word).filter_map(|name| Some((name, names.array(name)?))).collect();
        let files = |(name, count): (&str, usize)| {
            let name = name.to_owned();
            (1..=count).map(move |number| format!("{{in.{name}.{number}}}"))
        };
        Ok(match arrays[..] {
            [] => vec![word],
            _ if self.is_line => {
                let line = arrays.iter().fold(word.clone(), |line, array| {
                    let all: Vec<String> = files(*array).collect();
                    line.replace(&format!("{{in.{}}}", array.0), &all.join(" "))
                });
                vec![line]
            }
            [array] if word == format!("{{in.{}}}", array.0) => files(array).collect(),
            [(name, _), ..] => return Err(name.to_owned()),
        })
    }
}

impl Settings {
    fn read(source: &Source<'_>, text: &TaskText) -> Result<Self, GraphError> {
        Ok(Self {
            need: source.parse(text.need.as_ref(), need)?,
            filter: source.parse(text.filter.as_ref(), kinds::condition)?,
            retries: text.retries,
            timeout: source.parse(text.timeout.as_ref(), duration)?,
            memory: source.parse(text.memory.as_ref(), kinds::size_bytes)?,
            priority: text.priority,
            copies: text.copies.as_ref().map_or(0, |copies| *copies.get_ref()),
            queue: source.parse(text.queue.as_ref(), kinds::name)?,
        })
    }
}

/// The words of a task's command, or its one line.
fn words<'t>(
    source: &Source<'_>,
    name: &Spanned<String>,
    task: &'t TaskText,
) -> Result<Vec<&'t Spanned<String>>, GraphError> {
    match (&task.command, &task.shell) {
        (Some(words), None) if !words.is_empty() => Ok(words.iter().collect()),
        (None, Some(line)) => Ok(vec![line]),
        _ => {
            let name_text = name.get_ref();
            let reason = format!(
                "task {name_text} has one of `command = [\"PROGRAM\", …]` and `shell = \"LINE\"`"
            );
            Err(source.refuse(name, reason))
        }
    }
}

fn values_of(source: &Source<'_>, each: &Spanned<Each>) -> Result<Values, GraphError> {
    let values = match each.get_ref() {
        Each::Values(values) => values.iter().map(String::as_str).collect(),
        Each::Numbers(text) => values::numbers(text, MAX_ROWS).ok().flatten().ok_or_else(|| {
            let reason = "write a list of texts, or at most 10,000,000 numbers and ranges such as \
                          \"1-1000\", \"0-15:4\" or \"1,3,5-7\"";
            source.refuse(each, reason)
        })?,
    };
    if values.len() == 0 {
        return Err(source.refuse(each, "an array that has no value: leave the task out"));
    }
    Ok(values)
}

/// The names in `{in.NAME}` of a text.
pub(super) fn inputs_of(text: &str) -> impl Iterator<Item = &str> {
    text.split("{in.").skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

fn need(text: &str) -> Result<Need, String> {
    text.parse().map_err(|error: NeedError| error.to_string())
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| error.to_string())
}

/// A line for a shell, in which each `{in.NAME}` is a file in the folder of inputs.
fn with_variables(line: &str) -> String {
    let mut parts = line.split("{in.");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some((name, rest)) => {
                out.extend(["\"$TIDINGS_INPUTS/", name, "\"", rest]);
            }
            None => out.extend(["{in.", part]),
        }
    }
    out
}
