//! What all tries of a worker use.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::name::Name;
use tokio::sync::mpsc;

use crate::blobs::Handle;
use crate::payloads::Payloads;
use crate::session::Session;
use crate::work::Output;

use super::depot::OwnDepot;
use super::launcher::Launcher;
use super::output::Read;
use super::room::{self, Patience, Short};
use super::running::Running;
use super::settings::{Event, Settings};
use super::spare::Spares;

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
    pub(super) spares: Spares,
}

/// A try of a task in a slot.
#[derive(Clone, Debug)]
pub(super) struct Try {
    pub(super) task: TaskId,
    pub(super) attempt: Attempt,
    pub(super) queue: Name,
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

    /// The outputs of a try, standard output and error, and whether there was no room for one.
    pub(super) async fn outputs(
        &self,
        (stdout, stderr): (Read, Read),
        of: &Try,
    ) -> (Output, Output, Option<Short>) {
        let (stdout, first) = self.output(stdout, of).await;
        let (stderr, second) = self.output(stderr, of).await;
        (stdout, stderr, first.or(second))
    }

    /// An output as the report has it, the whole of it in a blob if it is long.
    async fn output(&self, read: Read, of: &Try) -> (Output, Option<Short>) {
        let (bytes_total, tail) = (read.bytes_total, read.tail());
        let (blob, short) = match read.whole {
            Some(file) => self.put(&file, bytes_total, of).await,
            None => (None, read.short),
        };
        (Output { bytes_total, tail, blob }, short)
    }

    /// Puts a file with so much output as a blob, once there is room.
    async fn put(&self, file: &File, bytes: u64, of: &Try) -> (Option<Handle>, Option<Short>) {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let patience = Patience::new();
        loop {
            let error = match self.place_of(of.copies).put_file(of.task, Path::new(&path)).await {
                Ok(handle) => return (Some(handle), None),
                Err(error) => error,
            };
            let short = Short::of_payload(&error, bytes);
            // Where the store has none for it, others have none either.
            let waits =
                if short.is_some() { patience.lasts().await } else { room::of_store(&error).await };
            if !waits {
                return (None, short);
            }
        }
    }
}
