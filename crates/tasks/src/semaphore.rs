//! Counting semaphores, for programs in Rust: permits of all processes that use a store.
//!
//! ```no_run
//! # async fn licences() -> Result<(), Box<dyn std::error::Error>> {
//! use tidings_tasks::client::{Client, Place};
//! use tidings_tasks::semaphore::Semaphore;
//!
//! let place = Place::of("file:/scratch/me/tasks".parse()?, None)?;
//! let client = Client::open(&place, "solver")?;
//! let licences = Semaphore::of(&client, "licences");
//! licences.set_permits(8).await?; // or nothing, if another program has made it
//!
//! let permits = licences.acquire(2).await?;
//! println!("solving with {} licences", permits.count());
//! permits.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Nobody overtakes those that wait: who wants five is not starved by many who want one. Permits
//! belong to a session, one for each acquisition, so nobody leaks them: they go to who waits next
//! when they are released or dropped, and when the process dies, as soon as that is seen.
//!
//! Invariant: of the permits of a semaphore no more are held at a time than there are, as the
//! coordinator counts. Who was silent for longer than a session lasts is no longer counted, and
//! [`Permits::is_held`] says so: what must not be done twice at a time is checked by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tidings_tasks_core::message::{Answer, Refusal, Request};
use tokio::sync::mpsc;

use crate::client::Client;
use crate::member::Member;
use crate::session::{Notice, Session, SessionEnded};

/// Numbers the acquisitions of this process: a session has a name that no other has.
static ACQUISITIONS: AtomicU64 = AtomicU64::new(0);

/// A semaphore of a store. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Semaphore {
    name: String,
    session: Session,
    member: Arc<Member>,
    host: String,
    process: String,
}

/// Permits that this process has. Dropped, they are given back without waiting for the answer.
#[derive(Debug)]
pub struct Permits {
    count: u32,
    session: Session,
    lapsed: Arc<AtomicBool>,
}

/// Why something of a semaphore could not be done.
#[derive(Debug, thiserror::Error)]
pub enum SemaphoreError {
    /// The session has ended. Permits that it had, or was about to have, go to others.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// The coordinator has refused it, as where there is no such semaphore, or it has fewer permits
    /// in all than are wanted. Nothing has changed.
    #[error("{0}")]
    Refused(Refusal),
    /// They were given back, but others had them meanwhile.
    #[error(
        "this process was silent for too long: others had its permits meanwhile; do again what \
         must not be done twice at a time"
    )]
    Lost,
    /// An answer to another question: the coordinator is of another version.
    #[error("the coordinator said {0:?}")]
    Answer(Box<Answer>),
}

impl Semaphore {
    /// A semaphore of the store of a client. It is there once somebody has
    /// [set](Self::set_permits) how many permits it has.
    pub fn of(client: &Client, name: &str) -> Self {
        let (session, member) = (client.session.clone(), client.member.clone());
        let (host, process) = (client.host.clone(), client.name.clone());
        Self { name: name.to_owned(), session, member, host, process }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes it, or changes how many permits it has. With fewer than are held nobody is given any
    /// until enough of them came back.
    ///
    /// # Errors
    /// [`SemaphoreError`]: unless the session has ended, nothing has changed.
    pub async fn set_permits(&self, permits: u32) -> Result<(), SemaphoreError> {
        let semaphore = self.name.clone();
        done(self.session.ask(Request::SetPermits { semaphore, permits }).await?)
    }

    /// Waits until so many permits are free and nobody waits before. Each call waits for itself:
    /// who has permits and acquires more may wait for ever. May be dropped at any time, as by
    /// `tokio::time::timeout`: then the place among those that wait is given up.
    ///
    /// # Errors
    /// [`SemaphoreError`]; then there are none.
    pub async fn acquire(&self, permits: u32) -> Result<Permits, SemaphoreError> {
        loop {
            let number = ACQUISITIONS.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-permits-{number}", self.process);
            let (session, mut notices) = Session::open(self.member.clone(), &name, &self.host);
            let semaphore = self.name.clone();
            done(session.ask(Request::Acquire { semaphore, permits }).await?)?;
            // A lapse that was told by now may have come before the answer or after it: only what
            // is surely held is returned.
            let mut has_lapsed = false;
            while let Ok(notice) = notices.try_recv() {
                has_lapsed |= is_lapse(&notice);
            }
            if !has_lapsed {
                let lapsed = Arc::<AtomicBool>::default();
                // It ends with the session.
                crate::spawn::spawn(note_lapses(notices, lapsed.clone()));
                return Ok(Permits { count: permits, session, lapsed });
            }
        }
    }
}

impl Permits {
    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether they are still this process's own, as far as it knows: if it was silent for some
    /// seconds, others have them.
    pub fn is_held(&self) -> bool {
        !self.lapsed.load(Ordering::Relaxed)
    }

    /// Gives them back, and waits until the coordinator has them.
    ///
    /// # Errors
    /// [`SemaphoreError::Lost`] if others had them meanwhile, others if that is unknown: given back
    /// they are in any case.
    pub async fn release(self) -> Result<(), SemaphoreError> {
        done(self.session.ask(Request::Leave).await?)?;
        if self.is_held() { Ok(()) } else { Err(SemaphoreError::Lost) }
    }
}

/// Notes whether permits were lost, until the session has ended.
async fn note_lapses(mut notices: mpsc::Receiver<Notice>, lapsed: Arc<AtomicBool>) {
    while let Some(notice) = notices.recv().await {
        lapsed.fetch_or(is_lapse(&notice), Ordering::Relaxed);
    }
}

fn is_lapse(notice: &Notice) -> bool {
    matches!(notice, Notice::Lapsed(lapse) if lapse.is_of_claims)
}

fn done(answer: Answer) -> Result<(), SemaphoreError> {
    match answer {
        Answer::Done => Ok(()),
        Answer::Refused(refusal) => Err(SemaphoreError::Refused(refusal)),
        other => Err(SemaphoreError::Answer(Box::new(other))),
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::view::SemaphoreView;

    use super::*;
    use crate::client::Place;
    use crate::session::Lapse;

    fn client(folder: &tempfile::TempDir) -> Client {
        let address = format!("file:{}", folder.path().join("store").display());
        let place = Place::of(address.parse().unwrap(), None).unwrap();
        Client::open(&place, "test").unwrap()
    }

    async fn view(client: &Client) -> SemaphoreView {
        match client.session.ask(Request::Overview).await.unwrap() {
            Answer::Overview(mut overview) => overview.semaphores.pop().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn permits_that_are_released_or_dropped_go_to_who_waits_next() {
        let folder = tempfile::tempdir().unwrap();
        let client = client(&folder);
        let all = Semaphore::of(&client, "licences");
        assert!(matches!(all.acquire(1).await, Err(SemaphoreError::Refused(_))), "there is none");
        all.set_permits(2).await.unwrap();
        let both = all.acquire(2).await.unwrap();
        assert!(both.is_held() && both.count() == 2);
        let waits = all.clone();
        let next = crate::spawn::spawn(async move { waits.acquire(1).await });
        while view(&client).await.waiting == 0 {}
        both.release().await.unwrap();
        let one = next.await.unwrap().unwrap();
        assert_eq!((view(&client).await.held, view(&client).await.waiting), (1, 0));
        drop(one);
        let both = all.acquire(2).await.unwrap();
        assert_eq!(view(&client).await.held, 2);
        both.release().await.unwrap();
    }

    /// Else who has given up would be given permits, and all behind it would wait.
    #[tokio::test]
    async fn who_gives_up_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let client = client(&folder);
        let all = Semaphore::of(&client, "licences");
        all.set_permits(2).await.unwrap();
        let one = all.acquire(1).await.unwrap();
        let wants = all.clone();
        let gives_up = crate::spawn::spawn(async move { wants.acquire(2).await.map(drop) });
        while view(&client).await.waiting == 0 {}
        gives_up.abort();
        // Behind it this would wait for both.
        let other = all.acquire(1).await.unwrap();
        assert_eq!((view(&client).await.held, view(&client).await.waiting), (2, 0));
        drop((one, other));
    }

    #[tokio::test]
    async fn who_was_taken_as_gone_no_longer_holds_them() {
        for is_of_claims in [false, true] {
            let (told, notices) = mpsc::channel(1);
            let lapsed = Arc::<AtomicBool>::default();
            let noting = crate::spawn::spawn(note_lapses(notices, lapsed.clone()));
            let lapse = Lapse { tries: Vec::new(), is_of_claims };
            told.send(Notice::Lapsed(lapse)).await.unwrap();
            drop(told);
            noting.await.unwrap();
            assert_eq!(lapsed.load(Ordering::Relaxed), is_of_claims);
        }
    }

    #[tokio::test]
    async fn what_was_lost_is_said_when_it_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let client = client(&folder);
        let all = Semaphore::of(&client, "licences");
        all.set_permits(1).await.unwrap();
        let held = all.acquire(1).await.unwrap();
        held.lapsed.store(true, Ordering::Relaxed);
        assert!(!held.is_held());
        assert!(matches!(held.release().await, Err(SemaphoreError::Lost)));
        all.acquire(1).await.unwrap().release().await.unwrap();
    }
}
