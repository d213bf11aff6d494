//! What the tasks of a file stand for: one task, or with `each` one task a value.
//!
//! The tasks of an array have its name with a number from 1: `fit.1`, `fit.2`. Their commands are
//! made of its own as `tidings run` makes them of a row. Where others read or wait for the array,
//! they do for all of its tasks.

use std::collections::BTreeMap;
use std::ops::Range;

use tidings_tasks::work::Input;
use toml::Spanned;

use super::super::misplaced::GraphError;
use super::super::sources;
use super::super::template::Template;
use super::file::{Each, Source, TaskText};

/// A task.
pub(super) struct Member<'t> {
    pub(super) name: String,
    /// Where it stands in the file.
    pub(super) start: usize,
    pub(super) text: &'t TaskText,
    /// Of its command, each with its place in the file.
    pub(super) words: Vec<(usize, String)>,
    /// Whether they are one line for a shell.
    pub(super) is_line: bool,
}

/// Where tasks and arrays are among all members.
#[derive(Default)]
pub(super) struct Places {
    tasks: BTreeMap<String, usize>,
    arrays: BTreeMap<String, Range<usize>>,
}

impl Places {
    /// The members of a name.
    pub(super) fn of(&self, name: &str) -> Option<Range<usize>> {
        let alone = self.tasks.get(name).map(|at| *at..at + 1);
        alone.or_else(|| self.arrays.get(name).cloned())
    }
}

/// All members, in the order of the file, and where they are.
pub(super) fn of<'t>(
    source: &Source<'_>,
    tasks: &'t [(Spanned<String>, TaskText)],
) -> Result<(Vec<Member<'t>>, Places), GraphError> {
    let (mut members, mut places) = (Vec::new(), Places::default());
    for (name, text) in tasks {
        let first = members.len();
        let commands = commands(source, name, text)?;
        for (number, words) in (1..).zip(commands) {
            let own = match text.each {
                Some(_) => format!("{}.{number}", name.get_ref()),
                None => name.get_ref().clone(),
            };
            if !Input::is_name(&own) {
                let reason = "a name has 1 to 64 letters, digits, dots, underscores and hyphens, \
                              and begins with no dot";
                return Err(source.refuse(name, reason));
            }
            if places.tasks.insert(own.clone(), members.len()).is_some() {
                return Err(source.refuse(name, format!("`{own}` is another task already")));
            }
            let (start, is_line) = (name.span().start, text.shell.is_some());
            members.push(Member { name: own, start, text, words, is_line });
        }
        if text.each.is_some() {
            places.arrays.insert(name.get_ref().clone(), first..members.len());
        }
    }
    if let Some((name, _)) = tasks
        .iter()
        .find(|(name, text)| text.each.is_some() && places.tasks.contains_key(name.get_ref()))
    {
        let reason = format!("`{}` is another task already", name.get_ref());
        return Err(source.refuse(name, reason));
    }
    for member in &mut members {
        member.words = spread(source, &places, member)?;
    }
    Ok((members, places))
}

/// The words of the commands that a task stands for.
fn commands(
    source: &Source<'_>,
    name: &Spanned<String>,
    task: &TaskText,
) -> Result<Vec<Vec<(usize, String)>>, GraphError> {
    let words = words(source, name, task)?;
    let texts: Vec<String> = words.iter().map(|word| word.get_ref().clone()).collect();
    let starts: Vec<usize> = words.iter().map(|word| word.span().start).collect();
    // What is added to a command stands where its last word is.
    let last = starts.last().copied().unwrap_or_default();
    let placed = |words: Vec<String>| {
        let starts = starts.iter().copied().chain(std::iter::repeat(last));
        starts.zip(words).collect()
    };
    let Some(each) = &task.each else { return Ok(vec![placed(texts)]) };
    let is_line = task.shell.is_some();
    let template = Template::new(&texts, 1, is_line).map_err(|error| {
        let wanted = error.wanted();
        let reason = format!("{{{wanted}}}: a task of an array has one value, {{}} or {{1}}");
        source.at(starts[0], reason)
    })?;
    let command = |(number, value): (usize, String)| {
        let mut words = template.command(&[value], number);
        if is_line {
            words.drain(..2);
        }
        placed(words)
    };
    Ok((1..).zip(values(source, each)?).map(command).collect())
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

fn values(source: &Source<'_>, each: &Spanned<Each>) -> Result<Vec<String>, GraphError> {
    let values = match each.get_ref() {
        Each::Values(values) => values.clone(),
        Each::Numbers(text) => sources::numbers(text).map_err(|_| {
            let reason = "write a list of texts, or numbers and ranges such as \"1-1000\", \
                          \"0-15:4\" or \"1,3,5-7\"";
            source.refuse(each, reason)
        })?,
    };
    if values.is_empty() {
        return Err(source.refuse(each, "an array that has no value: leave the task out"));
    }
    Ok(values)
}

/// The words with each array that they read as all of its tasks.
fn spread(
    source: &Source<'_>,
    places: &Places,
    member: &Member<'_>,
) -> Result<Vec<(usize, String)>, GraphError> {
    let mut words = Vec::new();
    for (at, word) in &member.words {
        let arrays: Vec<&str> =
            inputs_of(word).filter(|name| places.arrays.contains_key(*name)).collect();
        let files = |name: &str| {
            let count = places.arrays.get(name).map_or(0, ExactSizeIterator::len);
            (1..=count).map(|number| format!("{{in.{name}.{number}}}")).collect::<Vec<_>>()
        };
        match arrays[..] {
            [] => words.push((*at, word.clone())),
            _ if member.is_line => {
                let line = arrays.iter().fold(word.clone(), |line, name| {
                    line.replace(&format!("{{in.{name}}}"), &files(name).join(" "))
                });
                words.push((*at, line));
            }
            [name] if *word == format!("{{in.{name}}}") => {
                words.extend(files(name).into_iter().map(|file| (*at, file)));
            }
            [name, ..] => {
                let reason = format!(
                    "{{in.{name}}} stands for the outputs of several tasks: make it a word of its own"
                );
                return Err(source.at(*at, reason));
            }
        }
    }
    Ok(words)
}

/// The names in `{in.NAME}` of a text.
pub(super) fn inputs_of(text: &str) -> impl Iterator<Item = &str> {
    text.split("{in.").skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}
