//! What a seed draws: the tasks, and what happens to which host after how many have ended.

use std::time::Duration;

use tidings_primitives::Chance;
use tidings_tasks_core::id::Part;

use crate::account::names;
use crate::host::{FAULTS, Fault};
use crate::site::{SERVERS, WORKERS};

/// Times without an end of a task after which what is next happens: in the first, sessions last on;
/// in the last, they end.
const PATIENCE_MS: [u64; 3] = [300, 1_000, 4_500];

/// The parts of a store that has several.
const PARTS: u16 = 3;

/// Where something happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Target {
    Worker(usize),
    /// Wherever the store is served just then.
    Coordinator,
    /// Where the run is.
    Client,
    Server(usize),
    /// The server that leads the etcd just then.
    Leader,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Event {
    Begin(Target, Fault),
    /// What began as the event of this number is over.
    End(usize),
    /// The process that holds the file is killed, and nothing else.
    HolderKilled,
}

/// A run and its tasks.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) tasks: Vec<String>,
    /// The file that says which tasks read the results of which, if they are a graph.
    pub(crate) graph: Option<String>,
}

impl Job {
    /// The tasks of a store that has one run.
    pub(crate) fn alone(tasks: &[String]) -> Self {
        Self { name: "r".to_owned(), tasks: tasks.to_vec(), graph: None }
    }
}

/// What a seed has drawn.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Parts of the store.
    pub(crate) parts: u16,
    /// A run for each part.
    pub(crate) jobs: Vec<Job>,
    pub(crate) patience: Duration,
    /// After so many tasks have ended, the last one first.
    pub(crate) events: Vec<(usize, usize, Event)>,
}

impl Plan {
    pub(crate) fn draw(seed: u64, is_of_file: bool) -> Self {
        let mut chance = Chance::new(seed);
        let count = 40 + chance.below(21);
        let patience = chance.pick(&PATIENCE_MS).map(Duration::from_millis).unwrap();
        let mut targets: Vec<Target> = WORKERS.map(Target::Worker).into();
        targets.extend([Target::Coordinator, Target::Coordinator, Target::Client]);
        if !is_of_file {
            targets.extend([Target::Leader, Target::Leader]);
            targets.extend(SERVERS.map(Target::Server));
        }
        let mut events = Vec::new();
        for number in 0..2 + chance.below(3) {
            let moment = chance.below(count);
            if is_of_file && chance.happens(0.2) {
                events.push((moment, number, Event::HolderKilled));
                continue;
            }
            let (target, fault) = (chance.pick(&targets).unwrap(), chance.pick(&FAULTS).unwrap());
            events.push((moment, number, Event::Begin(target, fault)));
            events.push((moment + 1 + chance.below(count / 2), number, Event::End(number)));
        }
        events.sort_unstable_by_key(|&(moment, number, event)| {
            core::cmp::Reverse((moment, matches!(event, Event::End(_)), number))
        });
        let graph = chance.happens(0.5).then(|| graph(count, &mut chance));
        let parts = if is_of_file || seed % 3 > 0 { 1 } else { PARTS };
        Self { parts, jobs: jobs(&names(count), graph.as_deref(), parts), patience, events }
    }
}

/// A run for each part. Of a graph, tasks of one run read nothing of those of another.
fn jobs(tasks: &[String], graph: Option<&[Vec<usize>]>, parts: u16) -> Vec<Job> {
    let count = tasks.len().div_ceil(usize::from(parts));
    let job = |(part, own): (u16, &[String])| {
        let first = usize::from(part) * count;
        let task = |(at, name): (usize, &String)| {
            let inputs = graph.into_iter().flat_map(|graph| &graph[first + at]);
            let inputs = inputs.filter(|at| **at >= first);
            let inputs = inputs.map(|at| format!(", \"{{in.{}}}\"", tasks[*at]));
            let inputs = inputs.collect::<String>();
            format!("[task.{name}]\ncommand = [\"sh\", \"task\", \"{name}\"{inputs}]\n")
        };
        let text = || own.iter().enumerate().map(task).collect::<String>();
        let mut names = (0..).map(|number| format!("r{number}"));
        let is_its = |name: &String| Part::of(&format!("run/{name}"), parts) == Part(part);
        let name = names.find(is_its).expect("some name is of each part");
        Job { name, tasks: own.to_vec(), graph: graph.map(|_| text()) }
    };
    (0..parts).zip(tasks.chunks(count)).map(job).collect()
}

/// A graph of so many tasks: layers, chains, and some that read many others.
fn graph(count: usize, chance: &mut Chance) -> Vec<Vec<usize>> {
    let most = 1 + chance.below(4);
    let inputs = |at: usize| {
        let count = if chance.happens(0.05) { 12 } else { chance.below(most + 1) };
        let near = at.saturating_sub(1 + chance.below(20));
        let mut inputs: Vec<usize> =
            (0..count.min(at)).map(|_| near + chance.below(at - near)).collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    };
    (0..count).map(inputs).collect()
}
