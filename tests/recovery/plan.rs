//! What a seed draws: the tasks, and what happens to which host after how many have ended.

use std::time::Duration;

use tidings_primitives::Chance;

use crate::account::names;
use crate::host::{FAULTS, Fault};
use crate::site::{SERVERS, WORKERS};

/// Times without an end of a task after which what is next happens: in the first, sessions last on;
/// in the last, they end.
const PATIENCE_MS: [u64; 3] = [300, 1_000, 4_500];

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

/// What a seed has drawn.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) tasks: Vec<String>,
    /// Of which of those before it each task reads the results; none if they are no graph.
    graph: Option<Vec<Vec<usize>>>,
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
        Self { tasks: names(count), graph, patience, events }
    }

    /// The file of the graph.
    pub(crate) fn text(&self) -> Option<String> {
        let task = |(name, inputs): (&String, &Vec<usize>)| {
            let inputs = inputs.iter().map(|at| format!(", \"{{in.{}}}\"", self.tasks[*at]));
            let inputs = inputs.collect::<Vec<_>>().concat();
            format!("[task.{name}]\ncommand = [\"sh\", \"task\", \"{name}\"{inputs}]\n")
        };
        let all: Vec<String> = self.tasks.iter().zip(self.graph.as_ref()?).map(task).collect();
        Some(all.concat())
    }
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
