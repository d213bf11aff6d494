//! A seat: a worker with the task that it runs, and what it does without one.

use tidings_primitives::chance::mix;
use tidings_steal::retention::list;
use tidings_steal::{Frame, Message, Worker};

/// The task that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) frame: Frame,
    /// What it takes at full speed.
    pub(super) cost_ns: i64,
    /// What messages have added since its end was scheduled.
    pub(super) debt_ns: i64,
}

/// What a worker without a task does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Idle {
    /// It has asked.
    Waiting,
    /// It pauses, or sleeps.
    Searching,
    /// No task is left anywhere.
    Terminating,
}

#[derive(Debug)]
pub(super) struct Seat {
    pub(super) worker: Worker,
    pub(super) slowness: i64,
    pub(super) lives: bool,
    pub(super) within: bool,
    pub(super) running: Option<Running>,
    pub(super) deadline_ns: Option<i64>,
    /// What it does without a task, and since when.
    pub(super) idle: Option<(Idle, i64)>,
    /// Whether the task that runs is over, and its worker waits for what came before its end.
    pub(super) is_due: bool,
    /// What came while it ran a task, if it looks for messages between tasks only.
    pub(super) mail: Vec<(u32, Message)>,
    /// A hash of the tasks that it ran.
    pub(super) order: u64,
}

impl Seat {
    pub(super) fn new(worker: Worker, slowness: i64) -> Self {
        let (lives, within, running, deadline_ns, idle) = (true, false, None, None, None);
        let (is_due, mail, order) = (false, Vec::new(), 0);
        Self { worker, slowness, lives, within, running, deadline_ns, idle, is_due, mail, order }
    }

    /// It has run a task.
    pub(super) fn ran(&mut self, frame: &Frame) {
        let hash = list(core::slice::from_ref(frame)).fingerprint;
        self.order = mix(self.order ^ hash);
    }

    /// A message takes time from the task that runs.
    pub(super) fn owe(&mut self, message_ns: i64) {
        if let Some(running) = &mut self.running {
            running.debt_ns += message_ns;
        }
    }

    /// From now on it does this; how long it did what it did.
    pub(super) fn become_idle(&mut self, idle: Idle, now_ns: i64) -> i64 {
        self.idle.replace((idle, now_ns)).map_or(0, |(_, since_ns)| now_ns - since_ns)
    }

    /// From now on it has a task; how long it had none.
    pub(super) fn become_busy(&mut self, now_ns: i64) -> i64 {
        self.idle.take().map_or(0, |(_, since_ns)| now_ns - since_ns)
    }
}
