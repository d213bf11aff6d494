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
//! `{in.NAME}` stands for a file with the standard output of a task, and waits for that task. A
//! task with `each` stands for one task a value (`members`). Outputs of tasks with `copies` stay on
//! that many nodes; at the top it holds for all that do not say it.
//! Invariant: of a graph that was read each task comes behind those that it waits for.

mod file;
mod members;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tidings_tasks_core::message::MAX_INPUTS;
use tidings_tasks_core::output::MAX_COPIES;
use tidings_tasks_core::resources::{Need, NeedError};
use tidings_tasks_core::topology;

use super::misplaced::GraphError;
use crate::tasks::kinds;
use file::Source;
use members::{Member, Places};

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
    /// The nodes that are to have its output; 0: it lies with the store.
    pub(super) copies: u32,
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

impl Source<'_> {
    fn graph(&self) -> Result<Vec<Node>, GraphError> {
        let tasks = self.tasks()?;
        let mut copies = tasks.iter().filter_map(|(_, text)| text.copies.as_ref());
        if let Some(copies) = copies.find(|copies| *copies.get_ref() > MAX_COPIES) {
            let reason = format!("an output on at most {MAX_COPIES} nodes is possible");
            return Err(self.at(copies.span().start, reason));
        }
        let (members, places) = members::of(self, &tasks)?;
        let starts: Vec<usize> = members.iter().map(|member| member.start).collect();
        let nodes: Result<Vec<Node>, GraphError> =
            members.into_iter().map(|member| self.node(member, &places)).collect();
        self.ordered(&nodes?, &starts)
    }

    fn node(&self, member: Member<'_>, places: &Places) -> Result<Node, GraphError> {
        let Member { name, text, words, is_line, .. } = member;
        let mut read = BTreeSet::new();
        for (at, word) in &words {
            for wanted in members::inputs_of(word) {
                read.extend(places.of(wanted).ok_or_else(|| self.unknown(*at, wanted))?);
            }
        }
        let first = words[0].0;
        let mut command: Vec<String> = words.into_iter().map(|(_, word)| word).collect();
        if is_line {
            command = vec!["/bin/sh".into(), "-c".into(), with_variables(&command[0])];
        }
        let mut inputs = read.clone();
        for wanted in &text.after {
            let known = places.of(wanted.get_ref());
            let at = wanted.span().start;
            inputs.extend(known.ok_or_else(|| self.unknown(at, wanted.get_ref()))?);
        }
        if inputs.len() > MAX_INPUTS {
            let count = inputs.len();
            let reason = format!(
                "task {name} waits for {count} tasks; at most {MAX_INPUTS} are possible: let tasks \
                 in between join some each"
            );
            return Err(self.at(first, reason));
        }
        Ok(Node {
            name,
            command,
            inputs,
            read,
            need: self.parse(text.need.as_ref(), need)?,
            filter: self.parse(text.filter.as_ref(), kinds::condition)?,
            retries: text.retries,
            timeout: self.parse(text.timeout.as_ref(), duration)?,
            memory: self.parse(text.memory.as_ref(), kinds::size_bytes)?,
            priority: text.priority,
            copies: text.copies.as_ref().map_or(0, |copies| *copies.get_ref()),
        })
    }

    fn unknown(&self, at: usize, wanted: &str) -> GraphError {
        self.at(at, format!("there is no task `{wanted}`"))
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
    fn a_task_with_values_is_one_for_each() {
        let nodes = graph(
            "[task.sim]\ncommand = [\"./sim\", \"{}\", \"{in.all}\"]\neach = [\"x y.dat\", \"z\"]\n\
             [task.fit]\nshell = \"fit {in.sim.{#}} > {}.fit\"\neach = \"1-2\"\n\
             [task.sum]\ncommand = [\"sum\", \"{in.fit}\", \"-\"]\n\
             [task.show]\nshell = \"cat {in.fit}\"\nafter = [\"sim\"]\n\
             [task.all]\nshell = \"true {}\"\n",
        )
        .unwrap();
        let found: Vec<(&str, &[String])> =
            nodes.iter().map(|node| (&*node.name, &*node.command)).collect();
        let shell = |line: &str| ["/bin/sh", "-c", line].map(str::to_owned).to_vec();
        let words = |line: &str| line.split('|').map(str::to_owned).collect::<Vec<_>>();
        let fit =
            |number: u32| shell(&format!("fit \"$TIDINGS_INPUTS/sim.{number}\" > {number}.fit"));
        let show = shell("cat \"$TIDINGS_INPUTS/fit.1\" \"$TIDINGS_INPUTS/fit.2\"");
        assert_eq!(
            found,
            [
                ("all", &*shell("true {}")),
                ("sim.1", &*words("./sim|x y.dat|{in.all}")),
                ("sim.2", &*words("./sim|z|{in.all}")),
                ("fit.1", &*fit(1)),
                ("fit.2", &*fit(2)),
                ("sum", &*words("sum|{in.fit.1}|{in.fit.2}|-")),
                ("show", &*show),
            ]
        );
        assert_eq!(nodes[3].inputs, BTreeSet::from([1]));
        assert_eq!(nodes[5].read, BTreeSet::from([3, 4]));
        assert_eq!((nodes[6].inputs.len(), nodes[6].read.len()), (4, 2));
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
            (&format!("{one}each = []\n"), "g.toml:3:8: ", "no value"),
            (&format!("{one}each = \"1-\"\n"), "g.toml:3:8: ", "1-1000"),
            (&format!("{one}each = 3\n"), "g.toml:3:8: ", ""),
            (&"[task.a]\nshell = \"{2}\"\neach = [\"x\"]\n".to_owned(), "g.toml:2:9: ", "{2}"),
            (
                &"[task.a]\nshell = \"echo\"\neach = \"1-2\"\n[task.b]\n\
                  command = [\"cat\", \"x{in.a}\"]\n"
                    .to_owned(),
                "g.toml:5:19: ",
                "a word of its own",
            ),
            (
                &format!(
                    "[task.\"b.1\"]\nshell = \"true\"\n{one}\
                          [task.b]\nshell = \"true\"\neach = \"1\"\n"
                ),
                "g.toml:5:7: ",
                "`b.1`",
            ),
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
