//! Graphs: a file of tasks that wait for others and read what these have printed.
//!
//! ```toml
//! [task.split]
//! command = ["./split", "all.csv"]
//!
//! [task.fit]
//! command = ["./fit", "{in.split}"]
//! after = ["setup"]
//! ```
//!
//! `{in.NAME}` stands for a file with the standard output of a task, and waits for that task.
//! Invariant: of a graph that was read each task comes behind those that it waits for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use tidings_tasks::work::Input;
use tidings_tasks_core::message::MAX_INPUTS;
use tidings_tasks_core::resources::{Need, NeedError};
use tidings_tasks_core::topology;
use toml::Spanned;

use super::misplaced::GraphError;
use crate::tasks::kinds;

/// The largest file, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// A task of a graph.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) command: Vec<String>,
    /// The places of the tasks that it waits for.
    pub(super) inputs: BTreeSet<usize>,
    /// Those of them whose output it reads.
    pub(super) read: BTreeSet<usize>,
    pub(super) need: Option<Need>,
    pub(super) filter: Option<String>,
    pub(super) retries: Option<u16>,
    pub(super) timeout: Option<Duration>,
    pub(super) memory: Option<u64>,
    pub(super) priority: i16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    task: Spanned<BTreeMap<Spanned<String>, TaskText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskText {
    command: Option<Vec<Spanned<String>>>,
    shell: Option<Spanned<String>>,
    #[serde(default)]
    after: Vec<Spanned<String>>,
    need: Option<Spanned<String>>,
    #[serde(rename = "where")]
    filter: Option<Spanned<String>>,
    retries: Option<u16>,
    timeout: Option<Spanned<String>>,
    memory: Option<Spanned<String>>,
    #[serde(default)]
    priority: i16,
}

/// Whether words name a file of a graph.
pub(super) fn is_graph(words: &[String]) -> bool {
    matches!(words, [word] if Path::new(word).extension().is_some_and(|end| end == "toml"))
}

/// The tasks of a file, each behind those that it waits for.
///
/// # Errors
/// The file cannot be read or is no graph: where, and what would do.
pub(super) fn read(path: &Path) -> Result<Vec<Node>, GraphError> {
    let source = |text| Source { path, text };
    let size = fs::metadata(path).map(|found| found.len());
    if size.as_ref().is_ok_and(|bytes| *bytes > MAX_FILE_BYTES) {
        return Err(source("").at(0, "a graph has at most 256 MiB: divide it"));
    }
    let text = fs::read_to_string(path).map_err(|error| source("").at(0, error.to_string()))?;
    source(&text).graph()
}

/// A text, and where it stands.
#[derive(Clone, Copy)]
struct Source<'t> {
    path: &'t Path,
    text: &'t str,
}

impl Source<'_> {
    /// A complaint about a place of the text.
    fn at(&self, offset: usize, reason: impl Into<String>) -> GraphError {
        let before = self.text.get(..offset).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
        GraphError { path: self.path.to_owned(), line, column, reason: reason.into() }
    }

    /// A complaint about a value.
    fn refuse<T>(&self, value: &Spanned<T>, reason: impl Into<String>) -> GraphError {
        self.at(value.span().start, reason)
    }

    fn graph(&self) -> Result<Vec<Node>, GraphError> {
        let file: FileText = toml::from_str(self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            self.at(start, error.message().replace('\n', ", "))
        })?;
        let mut tasks: Vec<(Spanned<String>, TaskText)> =
            file.task.into_inner().into_iter().collect();
        tasks.sort_by_key(|(name, _)| name.span().start);
        let mut places = BTreeMap::new();
        for (at, (name, _)) in tasks.iter().enumerate() {
            if !Input::is_name(name.get_ref()) {
                let reason = "a name has 1 to 64 letters, digits, dots, underscores and hyphens, \
                              and begins with no dot";
                return Err(self.refuse(name, reason));
            }
            places.insert(name.get_ref().clone(), at);
        }
        let starts: Vec<usize> = tasks.iter().map(|(name, _)| name.span().start).collect();
        let nodes: Result<Vec<Node>, GraphError> =
            tasks.iter().map(|(name, task)| self.node(name, task, &places)).collect();
        self.ordered(&nodes?, &starts)
    }

    fn node(
        &self,
        name: &Spanned<String>,
        task: &TaskText,
        places: &BTreeMap<String, usize>,
    ) -> Result<Node, GraphError> {
        let place = |of: &Spanned<String>, wanted: &str| {
            let known = places.get(wanted).copied();
            known.ok_or_else(|| self.refuse(of, format!("there is no task `{wanted}`")))
        };
        let (words, is_line) = self.words(name, task)?;
        let mut read = BTreeSet::new();
        for word in &words {
            for wanted in inputs_of(word.get_ref()) {
                read.insert(place(word, wanted)?);
            }
        }
        let mut command: Vec<String> = words.iter().map(|word| word.get_ref().clone()).collect();
        if is_line {
            command = vec!["/bin/sh".into(), "-c".into(), with_variables(&command[0])];
        }
        let after: Result<BTreeSet<usize>, GraphError> =
            task.after.iter().map(|one| place(one, one.get_ref())).collect();
        let inputs: BTreeSet<usize> = after?.union(&read).copied().collect();
        if inputs.len() > MAX_INPUTS {
            let (name, count) = (name.get_ref(), inputs.len());
            let reason = format!(
                "task {name} waits for {count} tasks; at most {MAX_INPUTS} are possible: let tasks \
                 in between join some each"
            );
            return Err(self.refuse(words[0], reason));
        }
        Ok(Node {
            name: name.get_ref().clone(),
            command,
            inputs,
            read,
            need: self.parse(task.need.as_ref(), need)?,
            filter: self.parse(task.filter.as_ref(), kinds::condition)?,
            retries: task.retries,
            timeout: self.parse(task.timeout.as_ref(), duration)?,
            memory: self.parse(task.memory.as_ref(), kinds::size_bytes)?,
            priority: task.priority,
        })
    }

    /// The words of a task's command, and whether they are a line for a shell.
    fn words<'t>(
        &self,
        name: &Spanned<String>,
        task: &'t TaskText,
    ) -> Result<(Vec<&'t Spanned<String>>, bool), GraphError> {
        match (&task.command, &task.shell) {
            (Some(words), None) if !words.is_empty() => Ok((words.iter().collect(), false)),
            (None, Some(line)) => Ok((vec![line], true)),
            _ => {
                let name_text = name.get_ref();
                let reason = format!(
                    "task {name_text} has one of `command = [\"PROGRAM\", …]` and `shell = \
                     \"LINE\"`"
                );
                Err(self.refuse(name, reason))
            }
        }
    }

    fn parse<T>(
        &self,
        given: Option<&Spanned<String>>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, GraphError> {
        let parse =
            |one: &Spanned<String>| parse(one.get_ref()).map_err(|why| self.refuse(one, why));
        given.map(parse).transpose()
    }

    /// The tasks in an order in which each comes behind those that it waits for, and else as in the
    /// file. They stand there at `starts`.
    fn ordered(&self, nodes: &[Node], starts: &[usize]) -> Result<Vec<Node>, GraphError> {
        let order = topology::order(nodes.len(), |at| nodes[at].inputs.iter().copied());
        let order = order.map_err(|members| {
            let names: Vec<&str> =
                members.iter().chain(&members[..1]).map(|at| nodes[*at].name.as_str()).collect();
            let reason =
                format!("tasks wait for each other in a circle: {}", names.join(" waits for "));
            self.at(starts[members[0]], reason)
        })?;
        let mut place = vec![0; order.len()];
        (0..).zip(&order).for_each(|(new, old)| place[*old] = new);
        let moved = |set: &BTreeSet<usize>| set.iter().map(|at| place[*at]).collect();
        let in_order = order.iter().map(|at| Node {
            inputs: moved(&nodes[*at].inputs),
            read: moved(&nodes[*at].read),
            ..nodes[*at].clone()
        });
        Ok(in_order.collect())
    }
}

fn need(text: &str) -> Result<Need, String> {
    text.parse().map_err(|error: NeedError| error.to_string())
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| error.to_string())
}

/// The names in `{in.NAME}` of a text.
fn inputs_of(text: &str) -> impl Iterator<Item = &str> {
    text.split("{in.").skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(text: &str) -> Result<Vec<Node>, String> {
        let path = Path::new("g.toml");
        Source { path, text }.graph().map_err(|error| error.to_string())
    }

    #[test]
    fn tasks_come_behind_those_that_they_wait_for() {
        let nodes = graph(
            "[task.c]\nshell = \"cat {in.a} {in.b}\"\nafter = [\"d\"]\n\
             [task.a]\ncommand = [\"echo\", \"1\"]\nneed = \"cpus=2\"\ntimeout = \"3s\"\n\
             [task.b]\ncommand = [\"sort\", \"{in.a}\"]\nretries = 2\n\
             [task.d]\nshell = \"true\"\nwhere = \"load1 < 2\"\nmemory = \"1GiB\"\n",
        )
        .unwrap();
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "d", "c"]);
        assert_eq!(nodes[3].inputs, BTreeSet::from([0, 1, 2]));
        assert_eq!(nodes[3].read, BTreeSet::from([0, 1]));
        let line = "cat \"$TIDINGS_INPUTS/a\" \"$TIDINGS_INPUTS/b\"";
        assert_eq!(nodes[3].command, ["/bin/sh", "-c", line]);
        assert_eq!(nodes[1].command, ["sort", "{in.a}"]);
        assert_eq!(
            (nodes[0].timeout, nodes[2].memory),
            (Some(Duration::from_secs(3)), Some(1 << 30))
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let one = "[task.a]\nshell = \"true\"\n";
        for (text, place, reason) in [
            (&format!("{one}after = [\"x\"]\n"), "g.toml:3:10: ", "there is no task `x`"),
            (&"[task.a]\ncommand = [\"cat\", \"{in.y}\"]\n".to_owned(), "g.toml:2:19: ", "`y`"),
            (&"[task.a]\n".to_owned(), "g.toml:1:7: ", "has one of"),
            (&format!("{one}{one}"), "g.toml:3:7: ", "duplicate key"),
            (&format!("{one}aftr = []\n"), "g.toml:3:1: ", "unknown field `aftr`"),
            (&format!("{one}need = \"cpus\"\n"), "g.toml:3:8: ", "no amount"),
            (&format!("{one}timeout = \"soon\"\n"), "g.toml:3:11: ", "number"),
            (&"[task.\"a b\"]\nshell = \"true\"\n".to_owned(), "g.toml:1:7: ", "letters"),
            (&"[task.a\n".to_owned(), "g.toml:1:8: ", ""),
        ] {
            let error = graph(text).unwrap_err();
            assert!(error.starts_with(place) && error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn a_circle_is_named() {
        let text = "[task.a]\nshell = \"cat {in.c}\"\n[task.b]\nshell = \"cat {in.a}\"\n\
                    [task.c]\nshell = \"cat {in.b}\"\n[task.d]\nshell = \"cat {in.c}\"\n";
        assert_eq!(
            graph(text).unwrap_err(),
            "g.toml:1:7: tasks wait for each other in a circle: a waits for c waits for b waits \
             for a"
        );
        assert!(graph("[task.a]\nshell = \"cat {in.a}\"\n").unwrap_err().contains("a waits for a"));
    }
}
