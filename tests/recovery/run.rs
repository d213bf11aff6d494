//! A run, of which is read what has ended as soon as it says so.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::place::Running;

/// Objects that may wait to be taken.
const QUEUE: usize = 1_024;

/// A `tidings run --json`.
pub(crate) struct Run {
    process: Running,
    objects: Receiver<Value>,
}

/// What a run has said.
pub(crate) enum Word {
    /// This task has ended.
    Ended(Value),
    /// Nothing for so long.
    Nothing,
    /// It has ended, or was killed.
    Over,
}

impl Run {
    pub(crate) fn begin(command: &mut Command) -> Self {
        let mut process = Running::begin(command.stdout(Stdio::piped()));
        let lines = BufReader::new(process.output()).lines();
        let (said, objects) = sync_channel(QUEUE);
        thread::spawn(move || {
            // The last line of a run that is killed may be a part of one.
            let whole = lines.map_while(Result::ok).map_while(|line| line.parse().ok());
            whole.map_while(|object: Value| said.send(object).ok()).for_each(drop);
        });
        Self { process, objects }
    }

    /// What it says next, or that it says nothing for so long.
    pub(crate) fn next(&mut self, patience: Duration) -> Word {
        match self.objects.recv_timeout(patience) {
            Ok(object) => Word::Ended(object),
            Err(RecvTimeoutError::Timeout) => Word::Nothing,
            Err(RecvTimeoutError::Disconnected) => Word::Over,
        }
    }

    /// How it has ended: its exit code, or -1 if it was killed.
    pub(crate) fn end(self) -> i32 {
        self.process.end().0
    }
}
