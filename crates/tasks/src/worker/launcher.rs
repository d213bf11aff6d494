//! The launcher: one thread that starts the processes of a worker.
//!
//! Linux kills a child that asked for it when the *thread* that started it ends, so processes are
//! started by one that lives as long as the worker. It also keeps the copying of a large worker's
//! tables, which fork needs, away from those who speak with the coordinator.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rustix::process::Pid;
use tokio::sync::oneshot;

use super::cgroup::Cgroups;
use super::guardian::Guardian;
use super::leader::Leader;
use super::system::{self, Preparation};

/// Programs that may wait to be started.
const QUEUE: usize = 1_024;

/// A program that was started, and its pipes.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) leader: Leader,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

/// What is to be started.
struct Order {
    command: Command,
    inherited: Vec<OwnedFd>,
    memory_bytes: u64,
    answer: oneshot::Sender<io::Result<Launched>>,
}

/// What starts processes. Dropped, it ends them.
#[derive(Debug)]
pub(super) struct Launcher {
    orders: SyncSender<Order>,
}

impl Launcher {
    /// Begins, with control groups if they can be had.
    ///
    /// # Errors
    /// No more threads are possible.
    pub(super) fn begin() -> io::Result<Self> {
        let cgroups = Cgroups::make();
        let folder = cgroups.as_ref().map(Cgroups::folder);
        // Without it, what a task has started in turn outlives a worker that is killed.
        let guardian = Guardian::begin(folder).ok().map(Arc::new);
        let (orders, queue) = sync_channel(QUEUE);
        let place = Place { cgroups, guardian };
        let run = move || place.run(&queue);
        std::thread::Builder::new().name("tidings-launch".to_owned()).spawn(run)?;
        Ok(Self { orders })
    }

    /// Starts a program in a group of its own.
    ///
    /// # Errors
    /// It could not be started; nothing of it is left.
    pub(super) async fn start(
        &self,
        command: Command,
        inherited: Vec<OwnedFd>,
        memory_bytes: u64,
    ) -> io::Result<Launched> {
        let (answer, launched) = oneshot::channel();
        let order = Order { command, inherited, memory_bytes, answer };
        // A full queue is as many programs as can be started in a second.
        self.orders.try_send(order).map_err(|_| io::ErrorKind::ResourceBusy)?;
        launched.await.map_err(|_| io::ErrorKind::BrokenPipe)?
    }
}

/// Where processes are started.
struct Place {
    cgroups: Option<Cgroups>,
    guardian: Option<Arc<Guardian>>,
}

impl Place {
    fn run(self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            let Order { mut command, inherited, memory_bytes, answer } = order;
            let launched = self.start(&mut command, inherited, memory_bytes);
            // Whoever has given up drops what was started, which ends it.
            let _ = answer.send(launched);
        }
    }

    fn start(
        &self,
        command: &mut Command,
        inherited: Vec<OwnedFd>,
        memory_bytes: u64,
    ) -> io::Result<Launched> {
        let group = self.cgroups.as_ref().and_then(|all| all.add(memory_bytes).ok());
        let (cgroup, procs) = group.unzip();
        let guardian = self.guardian.as_ref().map(|guardian| guardian.socket());
        let preparation = Preparation { guardian, cgroup: procs, inherited };
        let mut child = system::spawn(command, preparation)?;
        let pid = Pid::from_child(&child);
        Ok(Launched {
            leader: Leader::new(pid, cgroup, self.guardian.clone()),
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        })
    }
}
