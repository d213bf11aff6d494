//! What all tries of a worker use.

use std::os::fd::AsRawFd as _;
use std::path::Path;

use tidings_tasks_core::id::{Attempt, TaskId};
use tokio::sync::mpsc;

use crate::payloads::Payloads;
use crate::session::Session;
use crate::work::Output;

use super::launcher::Launcher;
use super::output::Read;
use super::running::Running;
use super::settings::{Event, Settings};

/// What all tries of a worker use.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) launcher: Launcher,
    pub(super) settings: Settings,
    pub(super) payloads: Payloads,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) running: Running,
    /// By which results of other tasks are asked for.
    pub(super) session: Session,
}

/// A try of a task in a slot.
#[derive(Clone, Debug)]
pub(super) struct Try {
    pub(super) task: TaskId,
    pub(super) attempt: Attempt,
    pub(super) queue: String,
    pub(super) slot: u32,
}

impl Shared {
    /// Tells whoever listens, if there is room.
    pub(super) fn tell(&self, event: Event) {
        let _ = self.events.try_send(event);
    }

    /// Where long output is kept while it comes; none: it is not.
    pub(super) fn scratch(&self) -> Option<&Path> {
        self.settings.blobs.as_ref().map(|_| self.settings.scratch.as_path())
    }

    /// An output as the report has it, the whole of it in a blob if it is long.
    pub(super) async fn output(&self, read: Read, task: TaskId) -> Output {
        let tail = read.tail();
        let blob = match read.whole {
            Some(file) => {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                // A full disk costs the blob, not the task.
                self.payloads.put_file(task, Path::new(&path)).await.ok()
            }
            None => None,
        };
        Output { bytes_total: read.bytes_total, tail, blob }
    }
}
