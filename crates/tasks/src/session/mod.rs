//! Sessions: a worker's or client's side, which outlives connections and coordinators.
//!
//! A [`Session`] asks and is answered; what happens in between, a link that breaks, a holder that
//! dies, a coordinator that begins again, it does not see: what was not answered is sent again to
//! whoever serves then, and tasks that it has in hand are named when it comes back.
//!
//! In a store of several parts it is one session with the coordinator of each, and asks the one
//! whom a request is for ([decision 0043]).
//!
//! | module | what it holds |
//! |---|---|
//! | `asked` | what is asked and told |
//! | `way`, `driver` | the session with one coordinator |
//! | `many` | which part a request is for, and those that are for several |
//! | `spread` | a submission of tasks of several parts |
//! | `merge` | what several coordinators show as one answer |
//! | `turns`, `held` | to which coordinator the slots of a worker are offered |
//!
//! [decision 0043]: ../../../../docs/decisions/0043-parts-in-drivers.md

mod asked;
mod driver;
mod held;
mod many;
mod merge;
mod spread;
mod turns;
mod way;

use std::sync::{Arc, Mutex, PoisonError};

use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::message::{Answer, Request};
use tokio::sync::{OnceCell, mpsc, watch};

use self::asked::Asker;
use self::driver::{Driver, Tells, With};
use self::held::Held;
use self::many::Many;
use self::way::{Way, Ways};
use crate::member::Member;
use crate::replies::Replies;

pub use self::asked::{Assigned, Lapse, Notice, SessionEnded};

/// Requests that may wait to be sent, and assignments to be taken.
const QUEUE: usize = 1_024;

/// An open session. Its clones are the same session.
#[derive(Clone, Debug)]
pub struct Session {
    /// The way to the coordinator of the first part.
    first: Way,
    /// How many parts there are: 0 until it is known.
    parts: watch::Receiver<u16>,
    /// The ways to all, if there are several.
    many: Arc<OnceCell<Option<Arc<Many>>>>,
    /// What the others are begun with.
    seed: Arc<Mutex<Option<Seed>>>,
}

/// What the session with the coordinators of other parts is begun with.
#[derive(Debug)]
struct Seed {
    with: With,
    notices: mpsc::WeakSender<Notice>,
}

impl Session {
    /// Opens a session under a name that no other session has, on a host as the board names it. The
    /// second result tells what it is to do.
    pub fn open(member: Arc<Member>, name: &str, host: &str) -> (Self, mpsc::Receiver<Notice>) {
        let (notices, told) = mpsc::channel(QUEUE);
        let with = With {
            member,
            part: Part(0),
            name: name.to_owned(),
            host: host.to_owned(),
            held: Arc::new(Held::default()),
        };
        let (sender, parts) = watch::channel(0);
        let seed = Seed { with: with.clone(), notices: notices.downgrade() };
        let first = begin(with, sender, notices);
        let seed = Arc::new(Mutex::new(Some(seed)));
        (Self { first, parts, many: Arc::default(), seed }, told)
    }

    /// Sends a request until it is answered, however often links and coordinators change meanwhile.
    /// Of tasks that are submitted to several parts some may be there if it is refused.
    ///
    /// # Errors
    /// The store cannot be had, or the runtime is ending. Whether the request was served is
    /// unknown.
    pub async fn ask(&self, request: Request) -> Result<Answer, SessionEnded> {
        match self.several().await? {
            None => self.first.ask(request).await,
            // What is done for many parts is large, and seldom.
            Some(many) => Box::pin(many.ask(request)).await,
        }
    }

    /// How many parts the store has.
    ///
    /// # Errors
    /// The session has ended before that was known.
    pub(crate) async fn parts(&self) -> Result<u16, SessionEnded> {
        Ok(self.several().await?.map_or(1, |many| many.parts()))
    }

    /// As [`Session::ask`], of the coordinator of one part.
    ///
    /// # Errors
    /// As of [`Session::ask`].
    pub(crate) async fn ask_part(
        &self,
        part: Part,
        request: Request,
    ) -> Result<Answer, SessionEnded> {
        match self.several().await? {
            None => self.first.ask(request).await,
            Some(many) => many.way(part).ask(request).await,
        }
    }

    /// Sends a request about a task as [`Session::ask`] does, and goes on: the answer comes with
    /// others in a queue. That is for those who wait for many. When the session has ended
    /// ([`Session::closed`]) none comes any more.
    ///
    /// # Errors
    /// The session has ended.
    pub async fn post(
        &self,
        task: TaskId,
        request: Request,
        replies: &Replies,
    ) -> Result<(), SessionEnded> {
        match self.several().await? {
            None => self.first.send(request, Asker::Of(task, replies.clone())).await,
            Some(many) => many.post(task, request, replies).await,
        }
    }

    /// Waits until the session has ended, and says why.
    pub async fn closed(&self) -> SessionEnded {
        self.first.closed().await
    }

    /// The ways to the coordinators of all parts, if there are several: known once the first has
    /// answered.
    async fn several(&self) -> Result<Option<&Arc<Many>>, SessionEnded> {
        let many = self.many.get_or_try_init(|| async {
            let mut known = self.parts.clone();
            let parts = known.wait_for(|parts| *parts > 0).await;
            let parts = *parts.map_err(|_| self.first.why())?;
            let seed = self.seed.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(seed.filter(|_| parts > 1).map(|seed| self.begin_others(&seed, parts)))
        });
        Ok(many.await?.as_ref())
    }

    fn begin_others(&self, Seed { with, notices }: &Seed, parts: u16) -> Arc<Many> {
        let others = (1..parts).filter_map(|part| {
            let (sender, _) = watch::channel(0);
            // Without it the first has ended, and nobody hears what another says.
            let notices = notices.upgrade()?;
            Some(begin(With { part: Part(part), ..with.clone() }, sender, notices))
        });
        Many::of(Ways::of(self.first.clone(), others), with.held.clone(), &with.name)
    }
}

/// Begins the session with one coordinator.
fn begin(with: With, parts: watch::Sender<u16>, notices: mpsc::Sender<Notice>) -> Way {
    let (requests, waiting) = mpsc::channel(QUEUE);
    let ended = Arc::default();
    let tells = Tells { parts, notices, ended: Arc::clone(&ended) };
    crate::spawn::spawn(Driver::new(with, tells).run(waiting));
    Way::new(requests, ended)
}
