//! Workers: they take tasks from a store, do them in processes, and tell how they have ended.
//!
//! A worker has *slots*: so many tasks it does at a time. A command is a process of its own for
//! each try; a call goes to a *runtime*, a process that is kept by its slot. Each process leads a
//! group (a control group where the worker may make one), and what ends a try ends its group: no
//! task leaves processes behind, also when the worker is killed.
//!
//! A worker that has nothing to do sends its heartbeat, once for all of its slots, and wakes for
//! nothing else.
//!
//! | module | what it holds |
//! |---|---|
//! | `driver`, `pace` | slots, what is in them, and what comes next |
//! | `lane`, `given` | what a slot does until it has nothing to do, and what it is told |
//! | `command` | a try that is a program |
//! | `call`, `series` | tries that are calls of one process, one after the other |
//! | `depot` | outputs that stay on this node |
//! | `kept`, `link`, `permits` | a runtime process that is kept for its next calls |
//! | `spare` | one that waits for a slot |
//! | `ending`, `verdict`, `closing`, `settle` | why a try ends, what is said of it, and to whom |
//! | `process`, `output` | a process with its pipes |
//! | `room` | what happens when a disk of its host is full |
//! | `running` | what other threads see of the tries |
//! | `leader`, `launcher`, `guardian`, `cgroup`, `system` | no process is left behind |
//! | `memory`, `usage` | limits and numbers where the kernel has none |
//!
//! Invariant: whether a result counts is decided by the coordinator. A worker may be wrong about
//! its session at any time, and costs a repetition at worst.

mod call;
mod cgroup;
mod closing;
mod command;
mod depot;
mod driver;
mod ending;
mod given;
mod guardian;
mod inputs;
mod kept;
mod lane;
mod launcher;
mod leader;
mod link;
mod memory;
mod output;
mod pace;
mod permits;
mod process;
mod room;
mod running;
mod scratch;
mod series;
mod settings;
mod settle;
mod shared;
mod spare;
mod system;
mod usage;
mod values;
mod verdict;

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::member::Member;
use crate::net::peers::Peers;
use crate::payloads::Payloads;
use crate::replicas::Replicas;
use crate::replicas::mending::Mender;
use crate::session::Session;
use crate::spawn::boxed;

use driver::{Driver, Word};
use launcher::Launcher;
use scratch::Scratch;
use shared::Shared;
use spare::Spares;

pub use running::Running;
pub use settings::{Event, SPARE_AFTER, Settings};

/// Events that may wait to be taken.
const EVENTS: usize = 4_096;

/// A worker. Dropped, it ends at once, and so does all that it runs.
#[derive(Debug)]
pub struct Worker {
    words: mpsc::Sender<Word>,
    /// Closed once the worker has ended.
    ended: watch::Receiver<()>,
    driving: JoinHandle<()>,
    running: Running,
}

impl Worker {
    /// Begins to take tasks. The second result tells what happens. Needs a runtime of tokio with
    /// time and I/O.
    pub fn begin(member: Arc<Member>, settings: Settings) -> (Self, mpsc::Receiver<Event>) {
        let (events, told) = mpsc::channel(EVENTS);
        let (words, heard) = mpsc::channel(4);
        let (ending, ended) = watch::channel(());
        let running = Running::default();
        let noted = running.clone();
        let driving = crate::spawn::spawn(async move {
            // It is dropped with this task, however that ends.
            let _ending = ending;
            drive(member, settings, events, noted, heard).await;
        });
        (Self { words, ended, driving, running }, told)
    }

    /// The tasks that it does at any time.
    #[must_use]
    pub fn running(&self) -> Running {
        self.running.clone()
    }

    /// Takes no more tasks, and waits for those that run, as long as the settings say. What runs
    /// then is asked to end, killed after its grace, and given back. Ends when the worker has.
    pub async fn drain(&self) {
        self.say(Word::Drain).await;
    }

    /// Kills what runs and gives it back. Ends when the worker has.
    pub async fn stop(&self) {
        self.say(Word::Stop).await;
    }

    /// Waits until the worker has ended: [`Event::Closed`] says why.
    pub async fn ended(&self) {
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }

    async fn say(&self, word: Word) {
        // One that has ended hears nothing.
        let _ = self.words.send(word).await;
        self.ended().await;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

async fn drive(
    member: Arc<Member>,
    settings: Settings,
    events: mpsc::Sender<Event>,
    running: Running,
    words: mpsc::Receiver<Word>,
) {
    // Without the folder the end of an output is all that is kept.
    let folder = settings.scratch.clone();
    let _scratch = crate::spawn::spawn_blocking(move || Scratch::make(&folder)).await;
    let launcher = match Launcher::begin() {
        Ok(launcher) => launcher,
        Err(error) => {
            let reason = format!("no thread can be started on this host: {error}");
            let _ = events.try_send(Event::Closed(reason));
            return;
        }
    };
    let folder = settings.blobs.as_ref().map(|blobs| blobs.folder());
    let cache = settings.depot.as_ref().or(settings.blobs.as_ref()).map(|blobs| blobs.folder());
    let payloads = match (folder, cache) {
        (None, _) if member.is_away() => Payloads::nowhere(),
        (_, Some(cache)) => Payloads::of_nodes(&member, folder, cache),
        (_, None) => Payloads::nowhere(),
    };
    let begun = match settings.depot.clone() {
        Some(blobs) => {
            let begun = depot::begin(&member, blobs.clone(), &settings.host).await;
            begun.map(|begun| (begun, blobs))
        }
        None => None,
    };
    let peers = Peers::new(member.credentials().clone());
    let (session, notices) = Session::open(member, &settings.name, &settings.host);
    let own = session.clone();
    // They end with this.
    let mut beside = JoinSet::new();
    let depot = begun.map(|((depot, reached, serving), blobs)| {
        beside.spawn(boxed(serving));
        let replicas = Replicas::new(session.clone(), Arc::new(peers));
        let mender = Mender::new(replicas, blobs.clone(), depot.depot.id);
        beside.spawn(boxed(mender.run()));
        beside.spawn(boxed(depot::tend(session.clone(), reached, blobs)));
        depot
    });
    let spares = Spares::new(settings.spare_after);
    let shared =
        Shared { launcher, settings, payloads, depot, events, running, session: own, spares };
    Driver::new(shared, session, notices, words).run().await;
}
