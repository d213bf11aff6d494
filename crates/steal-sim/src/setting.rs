//! Settings: the machine and the rules of one run.

use tidings_steal::{Config, Script};

/// A worker's death.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Death {
    /// Who dies.
    pub worker: u32,
    /// When, in nanoseconds after the first phase began.
    pub at_ns: i64,
}

/// The machine and the rules. A run is a function of it and of the program.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Workers.
    pub workers: u32,
    /// Phases of the same name, one after the other.
    pub iterations: u32,
    /// How the workers are configured.
    pub config: Config,
    /// What all draws follow from.
    pub seed: u64,
    /// What a message of no bytes takes from one worker to another.
    pub latency_ns: i64,
    /// How much longer it may take, at random.
    pub jitter_ns: i64,
    /// What each byte adds.
    pub byte_ns: f64,
    /// What a worker that runs a task loses with each message that it sends or gets.
    pub message_ns: i64,
    /// Whether a worker looks for messages between tasks only, as a rank of an MPI program does;
    /// otherwise it answers when they arrive.
    pub between_tasks: bool,
    /// The unit of time of the gossip that fills the board; 0: there is no board.
    pub unit_ns: i64,
    /// One in this many workers runs at half speed; 0: none.
    pub slow_one_in: u32,
    /// Who dies, and when.
    pub deaths: Vec<Death>,
    /// How long it takes until others are notified of a death, at least; some learn it later by up
    /// to the same.
    pub detection_ns: i64,
    /// How long an iteration may take: one that takes longer is an error.
    pub most_ns: i64,
    /// What the workers do again in the first iteration, from a trace of as many; empty: nothing.
    pub scripts: Vec<Script>,
    /// Whether the order in which each worker runs its tasks is hashed.
    pub orders: bool,
}

impl Setting {
    /// Ten microseconds one way, 10 GB/s, and half a microsecond for each message.
    pub fn new(workers: u32, config: Config, seed: u64) -> Self {
        Self {
            workers,
            iterations: 1,
            config,
            seed,
            latency_ns: 10_000,
            jitter_ns: 0,
            byte_ns: 0.1,
            message_ns: 500,
            between_tasks: false,
            unit_ns: 0,
            slow_one_in: 0,
            deaths: Vec::new(),
            detection_ns: 500_000,
            most_ns: 3_600_000_000_000,
            scripts: Vec::new(),
            orders: false,
        }
    }

    /// How many times as long as others a worker takes.
    pub fn slowness(&self, worker: u32) -> i64 {
        let slow = self.slow_one_in > 0 && worker % self.slow_one_in == 0;
        if slow { 2 } else { 1 }
    }

    /// The speeds of all workers together, in those of a fast one.
    pub fn speed(&self) -> f64 {
        (0..self.workers).map(|worker| 1.0 / self.slowness(worker) as f64).sum()
    }
}
