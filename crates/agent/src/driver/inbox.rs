//! The inbox: what wakes the loop up beside datagrams and the timer.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::reading::{Refusal, Reloaded};
use crate::gather::News;
use crate::question::Question;
use crate::resolve::{Found, Looked};

/// All inputs but datagrams.
///
/// These are rare, so a task of its own waits for them and passes them to the loop one after the
/// other: a loop that checked each source itself would do so with every datagram.
pub(crate) struct Inbox {
    questions: mpsc::Receiver<Question>,
    seeds: mpsc::Receiver<Vec<Found>>,
    rosters: mpsc::Receiver<Looked>,
    reloaded: mpsc::Receiver<Result<Box<Reloaded>, Refusal>>,
    gathered: mpsc::Receiver<News>,
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Inbox {
    /// An inbox that handles the process's signals.
    pub(crate) fn open(
        questions: mpsc::Receiver<Question>,
        (seeds, rosters): (mpsc::Receiver<Vec<Found>>, mpsc::Receiver<Looked>),
        reloaded: mpsc::Receiver<Result<Box<Reloaded>, Refusal>>,
        gathered: mpsc::Receiver<News>,
    ) -> io::Result<Self> {
        Ok(Self {
            questions,
            seeds,
            rosters,
            reloaded,
            gathered,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Forwards inputs until the loop has ended.
    pub(super) async fn pass_on(mut self, to: mpsc::Sender<Wake>) {
        loop {
            let wake = tokio::select! {
                Some(question) = self.questions.recv() => Wake::Question(question),
                Some(seeds) = self.seeds.recv() => Wake::Seeds(seeds),
                Some(roster) = self.rosters.recv() => Wake::Roster(roster),
                Some(reloaded) = self.reloaded.recv() => Wake::Reloaded(reloaded),
                Some(news) = self.gathered.recv() => Wake::Gathered(news),
                _ = self.hang_up.recv() => Wake::HangUp,
                _ = self.terminate.recv() => Wake::End("SIGTERM"),
                _ = self.interrupt.recv() => Wake::End("SIGINT"),
                () = to.closed() => return,
            };
            if to.send(wake).await.is_err() {
                return;
            }
        }
    }
}

/// Why the loop woke up.
pub(super) enum Wake {
    Gossip(io::Result<()>),
    Question(Question),
    Seeds(Vec<Found>),
    Roster(Looked),
    Reloaded(Result<Box<Reloaded>, Refusal>),
    Gathered(News),
    HangUp,
    End(&'static str),
}
