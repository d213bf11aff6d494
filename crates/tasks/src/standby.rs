//! Standbys: the processes that share a store, of which one coordinates a part.
//!
//! In a store that many processes open at a time nobody holds the file. So who coordinates is
//! settled in the store itself: beside the role lies a sign of life, which vanishes with a session
//! that the coordinator keeps. The others watch that sign. When it vanishes, or was taken away,
//! they all try to take the role; each names the revision at which it saw it, so one gets it.
//!
//! Invariants:
//! * Nobody takes the role from one that shows a sign of life.
//! * A coordinator stops as soon as its session has ended or another has the role; what it commits
//!   before it notices is refused by the store ([`reign`]).
//!
//! The price: a coordinator that dies is replaced when its session has ended, 1.5 to 2.5 s later.
//! One that ends in order closes its session, and is replaced at once.

use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::keys;
use tidings_tasks_core::record::{Reign, decode};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::transaction::{Record, Revision, Session};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::service::{Options, Service, ServiceError};
use crate::store::{SessionError, Store};

/// How long a coordinator may be silent before another takes its role.
const TTL: Duration = Duration::from_secs(2);

/// The time from one sign of life to the next.
const PERIOD: Duration = Duration::from_millis(400);

/// The wait before the store is asked again that could not be reached; it doubles up to the
/// longest.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Who coordinates the part, as this process sees it.
#[derive(Clone, Debug)]
pub enum Standing {
    /// That is being found out, or nobody does.
    Open,
    /// This process does.
    Leads(Service),
    /// Another one does.
    Follows(Reign),
}

/// A process among those that would coordinate a part. Dropped, it gives the role up.
#[derive(Debug)]
pub struct Standby {
    standing: watch::Receiver<Standing>,
    contending: JoinHandle<()>,
}

impl Standby {
    /// Takes the role whenever it is vacant. The candidate's session is not used: each time that
    /// it takes the role it opens one.
    pub fn begin(
        store: Arc<dyn Store>,
        part: Part,
        candidate: Candidate,
        options: Options,
    ) -> Self {
        let (sender, standing) = watch::channel(Standing::Open);
        let contender = Contender { store, part, candidate, options, sender };
        Self { standing, contending: tokio::spawn(contender.contend()) }
    }

    /// Who coordinates now, and from now on.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// A connection to the service here, as soon as this process coordinates.
    pub async fn leads(&self) -> Option<Service> {
        let mut standing = self.standing();
        let leads = |standing: &Standing| matches!(standing, Standing::Leads(_));
        match &*standing.wait_for(leads).await.ok()? {
            Standing::Leads(service) => Some(service.clone()),
            _ => None,
        }
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.contending.abort();
    }
}

/// What contends for the role.
struct Contender {
    store: Arc<dyn Store>,
    part: Part,
    candidate: Candidate,
    options: Options,
    sender: watch::Sender<Standing>,
}

impl Contender {
    async fn contend(self) {
        let mut wait = FIRST_WAIT;
        loop {
            // Whatever it is, it is found out by looking again.
            wait = match self.turn().await {
                Ok(()) => FIRST_WAIT,
                Err(_) => (wait * 2).min(LONGEST_WAIT),
            };
            self.sender.send_replace(Standing::Open);
            tokio::time::sleep(wait).await;
        }
    }

    /// Coordinates, or waits, until the role changes.
    async fn turn(&self) -> Result<(), ServiceError> {
        let wanted = [keys::role(self.part), keys::lives(self.part)];
        let found = self.store.get(&wanted).await?;
        let mut records = found.records.into_iter();
        let (role, lives) = (records.next().flatten(), records.next().flatten());
        let reign = role.as_ref().map(decode::<Reign>).transpose()?;
        match reign {
            Some(reign) if !reign::is_vacant(Some(&reign), lives.is_some(), |_| false) => {
                self.sender.send_replace(Standing::Follows(reign));
                self.until_change(found.revision).await;
                Ok(())
            }
            _ => self.lead(role.as_ref()).await,
        }
    }

    /// Takes the role as it was seen, and serves until it is lost.
    async fn lead(&self, seen: Option<&Record>) -> Result<(), ServiceError> {
        let sign = Sign::open(&self.store).await?;
        let candidate = Candidate { session: Some(sign.session), ..self.candidate.clone() };
        let store = self.store.clone();
        let begun = Service::take(store, self.part, seen, &candidate, self.options.clone()).await?;
        let (service, running) = begun;
        let role = service.role();
        self.sender.send_replace(Standing::Leads(service));
        tokio::select! {
            error = running => Err(error),
            () = sign.ended() => Ok(()),
            () = self.until_change(role) => Ok(()),
        }
    }

    /// Returns when the sign of life has changed after a revision, or that cannot be said.
    async fn until_change(&self, after: Revision) {
        let lives = keys::lives(self.part);
        if let Ok(mut changes) = self.store.watch(lives.as_bytes(), after).await {
            // A watch that ends is no knowledge: then who called looks again.
            let _ = changes.next().await;
        }
    }
}

/// The session of a coordinator. Dropped, it is closed, so that nobody waits for its end.
struct Sign {
    store: Arc<dyn Store>,
    session: Session,
}

impl Sign {
    async fn open(store: &Arc<dyn Store>) -> Result<Self, ServiceError> {
        match store.open_session(TTL).await {
            Ok(session) => Ok(Self { store: store.clone(), session }),
            Err(error) => Err(crate::store::Lost(error.to_string()).into()),
        }
    }

    /// Keeps it; returns when it has ended all the same.
    async fn ended(&self) {
        loop {
            tokio::time::sleep(PERIOD).await;
            // A store that cannot be reached ends it in time, or can be reached again.
            if let Err(SessionError::Ended(_)) = self.store.keep_session(self.session).await {
                return;
            }
        }
    }
}

impl Drop for Sign {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and the session ends by itself.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (store, session) = (self.store.clone(), self.session);
            runtime.spawn(async move { drop(store.close_session(session).await) });
        }
    }
}
