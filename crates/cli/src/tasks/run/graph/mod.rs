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
//! that many nodes; at the top it holds for all that do not say it, as `queue` does.
//! Invariant: of a graph that was read each task comes behind those that it waits for.

mod entry;
mod file;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use tidings_tasks_core::message::{MAX_INPUTS, MAX_QUEUES};
use tidings_tasks_core::output::MAX_COPIES;
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::topology;

use super::misplaced::GraphError;
use super::sources::MAX_ROWS;
use entry::{Entry, inputs_of};
use file::Source;
use names::Names;

/// The largest file, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The tasks of a file. Each is made when it is asked for: of a task lie here only those that it
/// waits for, and the values of arrays.
pub(super) struct Graph {
    entries: Vec<Entry>,
    names: Names,
    /// Of each task in the order of the file those that it waits for, in that order.
    inputs: Vec<Box<[Range<u32>]>>,
    /// Whether others read the output of a task, in the order of the file.
    is_read: Vec<bool>,
    /// None if it is that of the file.
    order: Option<Order>,
}

/// An order in which each task comes behind those that it waits for.
struct Order {
    /// Where its tasks are in the file.
    in_file: Vec<u32>,
    /// Where the tasks of the file are in it.
    place: Vec<u32>,
}

/// A task of a graph. Others are named by their places in its order.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) command: Vec<String>,
    /// The places of the tasks that it waits for.
    pub(super) inputs: BTreeSet<usize>,
    /// Those of them whose output it reads, and their names.
    pub(super) read: BTreeMap<usize, String>,
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

/// Whether a word names a file of a graph.
pub(super) fn is_file(word: &str) -> bool {
    let path = Path::new(word);
    path.extension().is_some_and(|end| end == "toml") && path.is_file()
}

/// Whether words name a file of a graph.
pub(super) fn is_graph(words: &[String]) -> bool {
    matches!(words, [word] if Path::new(word).extension().is_some_and(|end| end == "toml"))
}

/// The graph of a file.
///
/// # Errors
/// The file cannot be read or is no graph: where, and what would do.
pub(super) fn read(path: &Path) -> Result<Graph, GraphError> {
    let source = |text| Source { path, text };
    let size = fs::metadata(path).map(|found| found.len());
    if size.as_ref().is_ok_and(|bytes| *bytes > MAX_FILE_BYTES) {
        return Err(source("").at(0, "a graph has at most 256 MiB: divide it"));
    }
    let text = fs::read_to_string(path).map_err(|error| source("").at(0, error.to_string()))?;
    source(&text).graph()
}

impl Graph {
    /// How many tasks there are.
    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// The task of a place, from 0. It comes behind those that it waits for.
    pub(super) fn node(&self, place: usize) -> Node {
        let at = self.in_file(place);
        let entry = self.entry(at);
        let Ok(words) = entry.words_of(at, &self.names) else {
            unreachable!("a graph has words for each of its tasks")
        };
        let read = words.iter().flat_map(|(_, word)| inputs_of(word));
        let read = read.filter_map(|name| self.names.of(name)).flatten();
        let read = read.map(|at| (self.place(at), self.entry(at).name_of(at))).collect();
        let inputs = self.inputs[at].iter().cloned().flatten();
        let inputs = inputs.map(|input| self.place(input as usize)).collect();
        let settings = &entry.settings;
        Node {
            name: entry.name_of(at),
            command: entry.command_of(words),
            inputs,
            read,
            need: settings.need.clone(),
            filter: settings.filter.clone(),
            retries: settings.retries,
            timeout: settings.timeout,
            memory: settings.memory,
            priority: settings.priority,
            copies: settings.copies,
            queue: settings.queue.clone(),
        }
    }

    /// The name of the task of a place.
    pub(super) fn name(&self, place: usize) -> String {
        let at = self.in_file(place);
        self.entry(at).name_of(at)
    }

    /// Whether others read the output of the task of a place.
    pub(super) fn is_read(&self, place: usize) -> bool {
        self.is_read[self.in_file(place)]
    }

    /// What tasks need, as far as they say it.
    pub(super) fn needs(&self) -> impl Iterator<Item = &Need> {
        self.entries.iter().filter_map(|entry| entry.settings.need.as_ref())
    }

    /// The queues of its tasks, each once; none: that of the run.
    pub(super) fn queues(&self) -> impl Iterator<Item = Option<&str>> {
        firsts(&self.entries).into_iter().map(|entry| entry.settings.queue.as_deref())
    }

    fn in_file(&self, place: usize) -> usize {
        self.order.as_ref().map_or(place, |order| order.in_file[place] as usize)
    }

    fn place(&self, at: usize) -> usize {
        self.order.as_ref().map_or(at, |order| order.place[at] as usize)
    }

    fn entry(&self, at: usize) -> &Entry {
        &self.entries[self.entries.partition_point(|entry| entry.tasks.end <= at)]
    }
}

impl Source<'_> {
    fn graph(&self) -> Result<Graph, GraphError> {
        let (entries, names, after) = self.entries()?;
        let tasks = entries.last().map_or(0, |entry: &Entry| entry.tasks.end);
        let (mut inputs, mut is_read) = (Vec::with_capacity(tasks), vec![false; tasks]);
        for (entry, after) in entries.iter().zip(&after) {
            for at in entry.tasks.clone() {
                let read = self.read_by(entry, at, &names)?;
                read.iter().cloned().flatten().for_each(|at: usize| is_read[at] = true);
                let own = merged(read.into_iter().chain(after.iter().cloned()));
                let count: usize = own.iter().map(ExactSizeIterator::len).sum();
                if count > MAX_INPUTS {
                    let name = entry.name_of(at);
                    let reason = format!(
                        "task {name} waits for {count} tasks; at most {MAX_INPUTS} are possible: \
                         let tasks in between join some each"
                    );
                    return Err(self.at(entry.start_of(0), reason));
                }
                inputs.push(own);
            }
        }
        self.check_queues(&entries)?;
        let mut graph = Graph { entries, names, inputs, is_read, order: None };
        graph.order = self.order(&graph)?;
        Ok(graph)
    }

    /// One worker can take tasks of all queues of the graph.
    fn check_queues(&self, entries: &[Entry]) -> Result<(), GraphError> {
        let Some(entry) = firsts(entries).get(MAX_QUEUES).copied() else { return Ok(()) };
        let reason = format!("a graph lies in at most {MAX_QUEUES} queues");
        Err(self.at(entry.start, reason))
    }

    /// What is written, whose names it has, and what the tasks of each entry come after.
    #[expect(clippy::type_complexity, reason = "three lists, each of one thing")]
    fn entries(&self) -> Result<(Vec<Entry>, Names, Vec<Vec<Range<usize>>>), GraphError> {
        let written = self.tasks()?;
        let mut copies = written.iter().filter_map(|(_, text)| text.copies.as_ref());
        if let Some(copies) = copies.find(|copies| *copies.get_ref() > MAX_COPIES) {
            let reason = format!("an output on at most {MAX_COPIES} nodes is possible");
            return Err(self.at(copies.span().start, reason));
        }
        let (mut entries, mut names) = (Vec::with_capacity(written.len()), Names::default());
        let mut first = 0;
        for (name, text) in &written {
            let entry = Entry::read(self, name, text, first)?;
            first = entry.tasks.end;
            if first > MAX_ROWS {
                return Err(self.refuse(name, "a graph has at most 10,000,000 tasks: divide it"));
            }
            let added = names.add(&entry.name, entry.is_array(), entry.tasks.clone());
            added
                .map_err(|twice| self.refuse(name, format!("`{twice}` is another task already")))?;
            entries.push(entry);
        }
        let tasks_of = |wanted: &toml::Spanned<String>| {
            let at = wanted.span().start;
            names.of(wanted.get_ref()).ok_or_else(|| self.unknown(at, wanted.get_ref()))
        };
        let after = written.iter().map(|(_, text)| text.after.iter().map(tasks_of).collect());
        let after = after.collect::<Result<_, _>>()?;
        Ok((entries, names, after))
    }

    /// The tasks whose output a task reads.
    fn read_by(
        &self,
        entry: &Entry,
        at: usize,
        names: &Names,
    ) -> Result<Vec<Range<usize>>, GraphError> {
        let words = entry.words_of(at, names).map_err(|(word, array)| {
            let reason = format!(
                "{{in.{array}}} stands for the outputs of several tasks: make it a word of its own"
            );
            self.at(entry.start_of(word), reason)
        })?;
        let mut read = Vec::new();
        for (word, text) in &words {
            for wanted in inputs_of(text) {
                let unknown = || self.unknown(entry.start_of(*word), wanted);
                read.push(names.of(wanted).ok_or_else(unknown)?);
            }
        }
        Ok(read)
    }

    fn unknown(&self, at: usize, wanted: &str) -> GraphError {
        self.at(at, format!("there is no task `{wanted}`"))
    }

    /// An order in which each task comes behind those that it waits for, and else as in the file.
    fn order(&self, graph: &Graph) -> Result<Option<Order>, GraphError> {
        let inputs = &graph.inputs;
        let is_behind = |at: usize| inputs[at].last().is_none_or(|range| range.end as usize <= at);
        if (0..inputs.len()).all(is_behind) {
            return Ok(None);
        }
        let inputs_of = |at: usize| inputs[at].iter().cloned().flatten().map(|at| at as usize);
        let order = topology::order(inputs.len(), inputs_of).map_err(|members| {
            let name = |at: &usize| graph.entry(*at).name_of(*at);
            let names: Vec<String> = members.iter().chain(&members[..1]).map(name).collect();
            let reason =
                format!("tasks wait for each other in a circle: {}", names.join(" waits for "));
            self.at(graph.entry(members[0]).start, reason)
        })?;
        let mut place = vec![0; order.len()];
        (0..).zip(&order).for_each(|(new, at)| place[*at] = new);
        Ok(Some(Order { in_file: order.into_iter().map(|at| at as u32).collect(), place }))
    }
}

/// Of each queue the first entry; none behind the first of a queue too many.
fn firsts(entries: &[Entry]) -> Vec<&Entry> {
    let mut firsts: Vec<&Entry> = Vec::new();
    for entry in entries {
        let is_known = firsts.iter().any(|first| first.settings.queue == entry.settings.queue);
        if !is_known && firsts.len() <= MAX_QUEUES {
            firsts.push(entry);
        }
    }
    firsts
}

/// The places of these ranges, each once and in order. There are at most [`MAX_ROWS`].
fn merged(ranges: impl Iterator<Item = Range<usize>>) -> Box<[Range<u32>]> {
    let mut ranges: Vec<Range<u32>> =
        ranges.map(|range| range.start as u32..range.end as u32).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, range| {
        let touches = next.start <= range.end;
        if touches {
            range.end = range.end.max(next.end);
        }
        touches
    });
    ranges.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(text: &str) -> Result<Vec<Node>, String> {
        let path = Path::new("g.toml");
        let graph = Source { path, text }.graph().map_err(|error| error.to_string())?;
        Ok((0..graph.len()).map(|place| graph.node(place)).collect())
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
        let pairs = |names: [(usize, &str); 2]| names.map(|(at, name)| (at, name.to_owned()));
        assert_eq!(nodes[3].read, pairs([(0, "a"), (1, "b")]).into());
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
        assert_eq!(nodes[5].read.keys().copied().collect::<Vec<_>>(), [3, 4]);
        assert_eq!(nodes[5].read[&4], "fit.2");
        assert_eq!((nodes[6].inputs.len(), nodes[6].read.len()), (4, 2));
    }

    #[test]
    fn each_task_of_an_array_may_wait_for_one_of_another_or_of_its_own() {
        let nodes = graph(
            "[task.last]\ncommand = [\"cat\", \"{in.step.100000}\"]\n\
             [task.step]\nshell = \"next {in.{}}\"\neach = [\"seed\", \"step.1\", \"step.2\"]\n\
             [task.seed]\nshell = \"true\"\n",
        );
        assert!(nodes.unwrap_err().contains("`step.100000`"));
        let nodes = graph(
            "[task.last]\ncommand = [\"cat\", \"{in.step.3}\"]\n\
             [task.step]\nshell = \"next {in.{}}\"\neach = [\"seed\", \"step.1\", \"step.2\"]\n\
             [task.seed]\nshell = \"true\"\n",
        )
        .unwrap();
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["seed", "step.1", "step.2", "step.3", "last"]);
        let inputs = nodes.iter().map(|node| node.inputs.iter().copied().collect::<Vec<_>>());
        assert_eq!(inputs.collect::<Vec<_>>(), [vec![], vec![0], vec![1], vec![2], vec![3]]);
    }

    #[test]
    fn places_that_touch_or_overlap_are_one_range() {
        let ranges = [5..7, 0..2, 1..3, 3..4, 6..7].into_iter();
        assert_eq!(*merged(ranges), [0..4, 5..7]);
        assert!(merged([].into_iter()).is_empty());
    }

    #[test]
    fn tasks_lie_in_the_queue_that_they_say_or_else_that_of_the_file() {
        let (a, b) = ("[task.a]\nshell = \"true\"\n", "[task.b]\nshell = \"true\"\n");
        let queues = |text: &str| {
            let nodes = graph(text).unwrap().into_iter();
            nodes.map(|node| node.queue.unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(queues(&format!("{a}queue = \"x\"\n{b}")), ["x", ""]);
        assert_eq!(queues(&format!("queue = \"y\"\n{a}queue = \"x\"\n{b}")), ["x", "y"]);
    }

    #[test]
    fn a_graph_lies_in_no_more_queues_than_a_worker_serves() {
        let task = |number| format!("[task.t{number}]\nshell = \"true\"\nqueue = \"q{number}\"\n");
        let (own, most) = ("[task.a]\nshell = \"true\"\n", (1..MAX_QUEUES).map(task));
        let most = own.to_owned() + &most.collect::<String>();
        assert_eq!(graph(&most).unwrap().len(), MAX_QUEUES);
        let error = graph(&(most + &task(MAX_QUEUES))).unwrap_err();
        assert!(error.contains("at most 256 queues"), "{error}");
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
            (&format!("{one}queue = \"\"\n"), "g.toml:3:9: ", "1 to 255 bytes"),
            (&format!("queue = \"a\\nb\"\n{one}"), "g.toml:1:9: ", "no control characters"),
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
