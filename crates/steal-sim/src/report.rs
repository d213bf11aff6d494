//! What a run reports of each iteration.

use core::fmt::Write as _;

use tidings_steal::{Counters, Diverged, Ending, Seeding, Trace};

/// One iteration.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Iteration {
    /// How it ended at each worker that lived to its end.
    pub endings: Vec<Ending>,
    /// What it began with.
    pub seeding: Option<Seeding>,
    /// From the first worker's begin to the last one's end.
    pub makespan_ns: i64,
    /// From the first worker's begin to the end of the last task.
    pub work_ended_ns: i64,
    /// What all tasks took at full speed.
    pub work_ns: i64,
    /// That over what the machine could have done in the makespan.
    pub efficiency: f64,
    /// What workers did, all together.
    pub counters: Counters,
    /// Messages, and their bytes.
    pub messages: u64,
    /// Bytes of all messages.
    pub bytes: u64,
    /// Refused attempts in the last 5 % of the time.
    pub late_refusals: u64,
    /// The most thieves that waited for one victim at a time.
    pub thieves_at_once: u32,
    /// Time of workers without tasks, all together, while they had asked.
    pub waiting_ns: i64,
    /// While they paused or slept.
    pub searching_ns: i64,
    /// After the last task anywhere.
    pub terminating_ns: i64,
    /// Tasks of the list that ran once.
    pub once: u64,
    /// Those that did not run.
    pub never: u64,
    /// Those that ran more than once.
    pub twice: u64,
    /// The share of those that ran where they did in the iteration before.
    pub retained: f64,
    /// What each worker did and met.
    pub traces: Vec<Trace>,
    /// Of each worker, a hash of the tasks that it ran, in their order, if that was asked for.
    pub orders: Vec<u64>,
    /// Who could not do again what it did: then the iteration was not ended.
    pub diverged: Option<Diverged>,
}

impl Iteration {
    /// Whether it ended as complete at all.
    pub fn is_complete(&self) -> bool {
        !self.endings.is_empty() && self.endings.iter().all(|ending| *ending == Ending::Complete)
    }

    /// Its fields as those of a JSON object, without the braces.
    pub fn json_fields(&self) -> String {
        let mut out = String::new();
        let counters = &self.counters;
        let seeding = self.seeding.map_or("none".into(), |seeding| format!("{seeding:?}"));
        let mut bytes: Vec<_> = self.traces.iter().map(|trace| trace.bytes().len()).collect();
        bytes.sort_unstable();
        let half = bytes.get(bytes.len() / 2).copied().unwrap_or(0);
        let large = bytes.iter().filter(|&&bytes| bytes > 1024).count();
        let numbers: [(&str, f64); 29] = [
            ("makespan_ns", self.makespan_ns as f64),
            ("work_ended_ns", self.work_ended_ns as f64),
            ("work_ns", self.work_ns as f64),
            ("efficiency", self.efficiency),
            ("attempts", counters.attempts as f64),
            ("steals", (counters.steals + counters.pushed) as f64),
            ("steals_asked", counters.steals as f64),
            ("steals_pushed", counters.pushed as f64),
            ("guided", counters.guided as f64),
            ("tasks_moved", counters.tasks_in as f64),
            ("lifelines", counters.lifelines as f64),
            ("executed", counters.executed as f64),
            ("spawned", counters.spawned as f64),
            ("rounds", counters.rounds as f64),
            ("messages", self.messages as f64),
            ("bytes", self.bytes as f64),
            ("late_refusals", self.late_refusals as f64),
            ("thieves_at_once", f64::from(self.thieves_at_once)),
            ("waiting_ns", self.waiting_ns as f64),
            ("searching_ns", self.searching_ns as f64),
            ("terminating_ns", self.terminating_ns as f64),
            ("once", self.once as f64),
            ("never", self.never as f64),
            ("twice", self.twice as f64),
            ("retained", self.retained),
            ("trace_bytes", bytes.iter().sum::<usize>() as f64),
            ("trace_bytes_median", half as f64),
            ("trace_bytes_most", bytes.last().copied().unwrap_or(0) as f64),
            ("traces_above_1024", large as f64),
        ];
        let _ = write!(out, "\"complete\":{},\"seeding\":\"{seeding}\"", self.is_complete());
        for (name, number) in numbers {
            let _ = write!(out, ",\"{name}\":{number}");
        }
        out
    }
}
