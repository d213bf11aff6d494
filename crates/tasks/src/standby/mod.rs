//! Standbys: the processes that share a store, of which one coordinates a part.
//!
//! In a store that many processes open at a time nobody holds the file. So who coordinates is
//! settled in the store itself: beside the role lies a sign of life, which vanishes with a session
//! that the coordinator keeps. The others watch that sign. When it vanishes, or was taken away,
//! they all try to take the role; each names the revision at which it saw it, so one gets it. They
//! do so too when they are told that the coordinator's process has ended ([`Standby::has_ended`]).
//!
//! Invariants:
//! * Nobody takes the role from one that shows a sign of life and is not known to have ended.
//! * A coordinator stops as soon as its session has ended or another has the role; what it commits
//!   before it notices is refused by the store ([`reign`]).
//!
//! Of several parts each has a standby of its own ([`Standby::begin_among`]): a process that has
//! one already leaves the next to others for a moment (`seats`).
//!
//! The price: a coordinator that is silent is replaced when its session has ended, 1.5 to 2.5 s
//! later. One that ends in order closes its session, and is replaced at once; so is one whose
//! process was killed, where the standby was connected with it.

mod seats;

use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::{Epoch, Part};
use tidings_tasks_core::keys;
use tidings_tasks_core::record::{Reign, decode};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::transaction::{Record, Revision, Session};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::service::{Options, Service, ServiceError};
use crate::store::{SessionError, Store};

use seats::Seat;
pub use seats::Seats;

/// How long a coordinator may be silent before another takes its role.
const TTL: Duration = Duration::from_secs(2);

/// The time from one sign of life to the next.
const PERIOD: Duration = Duration::from_millis(400);

/// The wait before the store is asked again that could not be reached; it doubles up to the
/// longest.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// The time that the store has to take a role back.
const FAREWELL: Duration = Duration::from_secs(2);

/// Who coordinates the part, as this process sees it.
#[derive(Clone, Debug)]
pub enum Standing {
    /// That is being found out, or nobody does; or why it cannot be found out.
    Open(Option<String>),
    /// This process does.
    Leads(Service),
    /// Another one does.
    Follows(Reign),
}

/// A process among those that would coordinate a part. Dropped, it gives the role up.
#[derive(Debug)]
pub struct Standby {
    part: Part,
    seats: Seats,
    standing: watch::Receiver<Standing>,
    leaving: watch::Sender<bool>,
    ended: watch::Sender<Option<Epoch>>,
    contending: JoinHandle<()>,
}

impl Standby {
    /// Takes the role when it has been vacant for so long: zero, for those who stay. The
    /// candidate's session is not used: each time that it takes the role it opens one.
    pub fn begin(
        store: Arc<dyn Store>,
        part: Part,
        candidate: Candidate,
        options: Options,
        patience: Duration,
    ) -> Self {
        Self::begin_among(&Seats::default(), store, part, candidate, options, patience)
    }

    /// As [`Standby::begin`], beside those for other parts that have the same seats.
    pub fn begin_among(
        seats: &Seats,
        store: Arc<dyn Store>,
        part: Part,
        candidate: Candidate,
        options: Options,
        patience: Duration,
    ) -> Self {
        let (sender, standing) = watch::channel(Standing::Open(None));
        let (leaving, is_leaving) = watch::channel(false);
        let (ended, has_ended) = watch::channel(None);
        let contender = Contender {
            store,
            part,
            candidate,
            options,
            patience,
            seats: seats.clone(),
            sender,
            leaving: is_leaving,
            ended: has_ended,
        };
        let (seats, contending) = (seats.clone(), crate::spawn::spawn(contender.contend()));
        Self { part, seats, standing, leaving, ended, contending }
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

    /// Tells that the process has ended which took the role with this epoch: it is not waited for
    /// any more. If that is wrong, it loses the role all the same, and what it commits is refused.
    pub fn has_ended(&self, epoch: Epoch) {
        self.ended.send_replace(Some(epoch));
    }

    /// Returns when the part should be asked of the process that has it, since that has most; with
    /// how many this one has.
    pub async fn wishes(&self) -> u32 {
        self.seats.wish(self.part).await
    }

    /// Gives the role up if it has it. Returns when others see that, or when the store has had its
    /// time to answer: then they find out.
    pub async fn leave(mut self) {
        self.leaving.send_replace(true);
        let _ = tokio::time::timeout(FAREWELL, &mut self.contending).await;
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
    patience: Duration,
    seats: Seats,
    sender: watch::Sender<Standing>,
    leaving: watch::Receiver<bool>,
    /// The last reign that is known to have ended.
    ended: watch::Receiver<Option<Epoch>>,
}

impl Contender {
    async fn contend(self) {
        let mut wait = FIRST_WAIT;
        loop {
            // Whatever it is, it is found out by looking again.
            let turn = self.turn().await;
            wait = if turn.is_ok() { FIRST_WAIT } else { (wait * 2).min(LONGEST_WAIT) };
            let why = match turn {
                Err(ServiceError::Lost(lost)) => Some(lost.to_string()),
                // Another one has the role now, or is going to take it.
                _ => None,
            };
            self.sender.send_replace(Standing::Open(why));
            if *self.leaving.borrow() {
                return;
            }
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
        match &reign {
            Some(reign) if !self.is_vacant(reign, lives.is_some()) => {
                let epoch = reign.epoch;
                self.seats.is_of(self.part, Some(&reign.coordinator));
                self.sender.send_replace(Standing::Follows(reign.clone()));
                tokio::select! {
                    () = self.until_change_or_left(found.revision) => {}
                    () = self.until_ended(epoch) => {}
                }
                self.seats.is_of(self.part, None);
                Ok(())
            }
            _ => match self.seat(found.revision).await {
                Some(seat) => {
                    let ended = reign.as_ref().filter(|reign| self.has_ended(reign));
                    let ended = ended.map(|reign| &*reign.coordinator);
                    self.lead((role.as_ref(), ended), seat).await
                }
                None => Ok(()),
            },
        }
    }

    fn is_vacant(&self, reign: &Reign, lives: bool) -> bool {
        reign::is_vacant(Some(reign), lives, |_| self.has_ended(reign))
    }

    fn has_ended(&self, reign: &Reign) -> bool {
        *self.ended.borrow() == Some(reign.epoch)
    }

    /// A seat for a vacant role, unless somebody takes it while it is left to others.
    async fn seat(&self, after: Revision) -> Option<Seat> {
        tokio::select! {
            biased;
            seat = self.sit() => Some(seat),
            () = self.until_change_or_left(after) => None,
        }
    }

    async fn sit(&self) -> Seat {
        if !self.patience.is_zero() {
            tokio::time::sleep(self.patience).await;
        }
        self.seats.sit().await
    }

    /// Takes the role as it was seen, and serves until it is lost or given up.
    async fn lead(
        &self,
        seen: (Option<&Record>, Option<&str>),
        mut seat: Seat,
    ) -> Result<(), ServiceError> {
        let sign = Sign::open(&self.store).await?;
        let candidate = Candidate { session: Some(sign.session), ..self.candidate.clone() };
        let store = self.store.clone();
        let begun = Service::take(store, self.part, seen, &candidate, self.options.clone()).await?;
        let (service, running) = begun;
        let role = service.role();
        self.sender.send_replace(Standing::Leads(service.clone()));
        let given_up = async {
            tokio::select! {
                () = self.left() => {}
                () = ceded(&service, &mut seat) => {}
            }
            // What it was asked last need not be found out by the next one.
            let _ = tokio::time::timeout(FAREWELL / 2, service.settled()).await;
        };
        tokio::select! {
            error = running => Err(error),
            () = sign.ended() => Ok(()),
            () = self.until_change(role) => Ok(()),
            () = given_up => {
                sign.close().await;
                Ok(())
            }
        }
    }

    async fn until_change_or_left(&self, after: Revision) {
        tokio::select! {
            () = self.until_change(after) => {}
            () = self.left() => {}
        }
    }

    async fn left(&self) {
        let mut leaving = self.leaving.clone();
        if leaving.wait_for(|is_leaving| *is_leaving).await.is_err() {
            // It was dropped, and with it this.
            core::future::pending::<()>().await;
        }
    }

    /// Returns when it is told that this reign has ended.
    async fn until_ended(&self, epoch: Epoch) {
        let mut ended = self.ended.clone();
        if ended.wait_for(|ended| *ended == Some(epoch)).await.is_err() {
            core::future::pending::<()>().await;
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

/// Returns when a process that has fewer parts than this one has asked for this one.
async fn ceded(service: &Service, seat: &mut Seat) {
    let mut asked = service.asked();
    let gives = |has: &Option<u32>| has.is_some_and(|has| seat.cede(has));
    if asked.wait_for(gives).await.is_err() {
        // The service has ended, which is seen elsewhere.
        core::future::pending::<()>().await;
    }
}

/// The session of a coordinator. Dropped, it is closed beside what else there is to do, so that
/// nobody waits for its end.
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

    /// Closes it. If it cannot be closed, it ends by itself.
    async fn close(&self) {
        let _ = self.store.close_session(self.session).await;
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
