//! What all tries of a worker use.

use std::os::fd::AsRawFd as _;
use std::path::Path;

use tidings_tasks_core::id::{Attempt, TaskId};
use tokio::sync::mpsc;

use crate::payloads::Payloads;
use crate::session::Session;
use crate::work::Output;

use super::depot::OwnDepot;
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
    /// Where outputs stay that are to stay on nodes, if they can here.
    pub(super) depot: Option<OwnDepot>,
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
    /// The nodes that are to have its output; 0: it lies with the store.
    pub(super) copies: u32,
}

impl Shared {
    /// Tells whoever listens, if there is room.
    pub(super) fn tell(&self, event: Event) {
        let _ = self.events.try_send(event);
    }

    /// Where long output is kept while it comes; none: it is not.
    pub(super) fn scratch(&self) -> Option<&Path> {
        let has_place = self.settings.blobs.is_some() || self.depot.is_some();
        has_place.then_some(self.settings.scratch.as_path())
    }

    /// Where the output of a task goes that so many nodes are to have.
    pub(super) fn place_of(&self, copies: u32) -> &Payloads {
        match &self.depot {
            Some(depot) if copies > 0 => &depot.payloads,
            _ => &self.payloads,
        }
    }

    /// An output as the report has it, the whole of it in a blob if it is long.
    pub(super) async fn output(&self, read: Read, of: &Try) -> Output {
        let tail = read.tail();
        let blob = match read.whole {
            Some(file) => {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                // A full disk costs the blob, not the task.
                self.place_of(of.copies).put_file(of.task, Path::new(&path)).await.ok()
            }
            None => None,
        };
        Output { bytes_total: read.bytes_total, tail, blob }
    }
}
