//! Turns: to which of several coordinators the room of a worker is offered.
//!
//! A worker has so many slots, whatever the number of coordinators that would use them. The room
//! that it has left is offered to one of them, which has the *turn*; the others are asked to tell
//! when they have a task for which nobody has room. Then the turn goes on, but not before there was
//! room in it for a moment: where all have enough to do, each has it in turn.
//!
//! Invariants:
//! * What all parts may have given to this worker at a time is no more than it offers: the room is
//!   taken back from one coordinator, and that is answered, before another gets it.
//! * A part that has none of the queues that the worker serves is offered nothing.
//! * An idle worker sends nothing. A part whose turn was of no use, since what it has does not fit
//!   here, gets the next one later, at last once a second.
//!
//! The price: while a part has no coordinator that has the turn, no other gets it.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::resources::Amount;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::held::{Held, Taken};
use super::way::Ways;

/// How long a turn lasts, if another part waits for one.
const TURN: Duration = Duration::from_millis(20);

/// The rest of a part after a turn that was of no use: it doubles up to the longest.
const FIRST_REST: Duration = Duration::from_millis(50);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// What a worker offers, and who is told that it was taken.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) offer: Request,
    pub(super) asker: oneshot::Sender<Answer>,
}

/// What a worker offers in all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Room {
    queues: Vec<String>,
    slots: u32,
    ahead: u32,
    resources: Vec<(String, Amount)>,
    /// Why it has none now: a folder of the host is full.
    full: Option<String>,
}

/// A part, as far as it has not the turn.
#[derive(Debug)]
enum Wants {
    /// It has the turn, or nothing is offered.
    Nothing,
    /// It is to tell when it wants a turn.
    Asked(oneshot::Receiver<Answer>),
    /// It wants one.
    Turn,
    /// It is not asked before that.
    Rests(Instant),
}

/// A part and its last turn.
#[derive(Debug)]
struct Seat {
    wants: Wants,
    rest: Duration,
    /// What it was offered last.
    told: Option<Room>,
}

/// The session has ended, or nobody uses it any more.
struct Over;

/// Who has the turn, and who wants it.
pub(super) struct Turns {
    ways: Weak<Ways>,
    held: Arc<Held>,
    room: Room,
    seats: Vec<Seat>,
    turn: Part,
    /// Since when there was room in this turn; none: the slots are full of tasks of other parts.
    since: Option<Instant>,
    /// How many tasks the part with the turn had given before.
    before: u64,
}

impl Turns {
    pub(super) fn new(ways: Weak<Ways>, held: Arc<Held>, first: Part) -> Self {
        let room = Room::default();
        Self { ways, held, room, seats: Vec::new(), turn: first, since: None, before: 0 }
    }

    /// Offers what it is told to, until nobody uses the session any more.
    pub(super) async fn run(mut self, mut offers: mpsc::Receiver<Offered>) {
        // Without an end of its own there is nobody to tell why.
        let _ = self.take_turns(&mut offers).await;
    }

    async fn take_turns(&mut self, offers: &mut mpsc::Receiver<Offered>) -> Result<(), Over> {
        loop {
            let due = self.due();
            tokio::select! {
                offered = offers.recv() => {
                    let Offered { offer, asker } = offered.ok_or(Over)?;
                    let answer = self.offer(offer).await?;
                    // Whoever asked may have given up.
                    let _ = asker.send(answer);
                }
                () = self.held.changed() => drop(self.tell(self.turn).await?),
                part = wanting(&mut self.seats) => self.seats[part].wants = Wants::Turn,
                () = sleep_until(due) => {
                    self.wake().await?;
                    self.pass_on().await?;
                }
            }
        }
    }

    /// The worker offers something else.
    async fn offer(&mut self, offer: Request) -> Result<Answer, Over> {
        let Request::Offer { queues, slots, resources, ahead, full } = offer else {
            return Ok(Answer::Done);
        };
        if self.seats.is_empty() {
            let parts = self.ways.upgrade().ok_or(Over)?.parts();
            let seat = |_| Seat { wants: Wants::Nothing, rest: FIRST_REST, told: None };
            self.seats = (0..parts).map(seat).collect();
        }
        let room = Room { queues, slots, ahead, resources, full };
        let is_asked = room.queues == self.room.queues && room.is_some() == self.room.is_some();
        self.room = room;
        let parts = || crate::parts::all(self.seats.len() as u16);
        if !self.is_for(self.turn) {
            let next = parts().find(|part| self.is_for(*part));
            (self.turn, self.since) = (next.unwrap_or(self.turn), None);
            self.before = self.held.begun(self.turn);
        }
        // First those that are offered nothing, so that no slot is offered twice.
        let turn = self.turn;
        for part in parts().filter(|part| *part != turn) {
            let answer = self.tell(part).await?;
            if !is_asked {
                self.ask(part).await?;
            }
            if let Some(refused) = answer.filter(|answer| *answer != Answer::Done) {
                return Ok(refused);
            }
        }
        Ok(self.tell(self.turn).await?.unwrap_or(Answer::Done))
    }

    /// Whether one of the queues that are served is of this part.
    fn is_for(&self, part: Part) -> bool {
        let (queues, parts) = (&self.room.queues, self.seats.len() as u16);
        queues.is_empty() || queues.iter().any(|queue| Part::of(queue, parts) == part)
    }

    /// Tells a part what it is offered, if that is something else than before.
    async fn tell(&mut self, part: Part) -> Result<Option<Answer>, Over> {
        let share = if part == self.turn {
            self.room.left(&self.held.beside(part))
        } else {
            self.room.none()
        };
        let is_for = self.is_for(part);
        let Some(seat) = self.seats.get_mut(usize::from(part.0)) else { return Ok(None) };
        // Who has none of the queues, and was told nothing, needs no session.
        if seat.told.as_ref() == Some(&share) || (seat.told.is_none() && !is_for) {
            return Ok(None);
        }
        seat.told = Some(share.clone());
        if part == self.turn && share.slots > 0 {
            self.since.get_or_insert_with(Instant::now);
        }
        let Room { queues, slots, ahead, resources, full } = share;
        let offer = Request::Offer { queues, slots, resources, ahead, full };
        let answer = self.begin(part, offer).await?;
        Ok(Some(answer.await.map_err(|_| Over)?))
    }

    /// Has a part tell when it wants a turn.
    async fn ask(&mut self, part: Part) -> Result<(), Over> {
        let at = usize::from(part.0);
        self.seats[at].wants = if self.room.is_some() && self.is_for(part) {
            let queues = self.room.queues.clone();
            Wants::Asked(self.begin(part, Request::AwaitReady { queues }).await?)
        } else {
            Wants::Nothing
        };
        Ok(())
    }

    async fn begin(&self, part: Part, request: Request) -> Result<oneshot::Receiver<Answer>, Over> {
        // The way alone does not keep the session open for long.
        let way = self.ways.upgrade().ok_or(Over)?.to(part).clone();
        way.begin(request).await.map_err(|_| Over)
    }

    /// When there is something to do, if nothing happens before.
    fn due(&self) -> Option<Instant> {
        let of = |seat: &Seat| match seat.wants {
            Wants::Turn => self.since.map(|since| since + TURN),
            Wants::Rests(until) => Some(until),
            Wants::Nothing | Wants::Asked(_) => None,
        };
        self.seats.iter().filter_map(of).min()
    }

    /// Asks those again that have rested.
    async fn wake(&mut self) -> Result<(), Over> {
        let now = Instant::now();
        for part in crate::parts::all(self.seats.len() as u16) {
            let wants = &self.seats[usize::from(part.0)].wants;
            if matches!(wants, Wants::Rests(until) if *until <= now) {
                self.ask(part).await?;
            }
        }
        Ok(())
    }

    /// The next part gets the turn, if one wants it and this one has lasted.
    async fn pass_on(&mut self) -> Result<(), Over> {
        let (own, count) = (usize::from(self.turn.0), self.seats.len());
        let mut behind = (1..count).map(|step| (own + step) % count);
        let next = behind.find(|at| matches!(self.seats[*at].wants, Wants::Turn));
        let has_lasted = self.since.is_some_and(|since| since + TURN <= Instant::now());
        let Some(next) = next.filter(|_| has_lasted) else { return Ok(()) };
        let last = self.turn;
        self.turn = Part(next as u16);
        // Once that is answered, all is here that it has given.
        self.tell(last).await?;
        let was_of_use = self.held.begun(last) > self.before;
        self.seats[next].wants = Wants::Nothing;
        (self.since, self.before) = (None, self.held.begun(self.turn));
        self.tell(self.turn).await?;
        let seat = &mut self.seats[own];
        if was_of_use {
            seat.rest = FIRST_REST;
            return self.ask(last).await;
        }
        seat.wants = Wants::Rests(Instant::now() + seat.rest);
        seat.rest = (seat.rest * 2).min(LONGEST_REST);
        Ok(())
    }
}

impl Room {
    fn is_some(&self) -> bool {
        self.slots > 0
    }

    /// What is left beside what other parts have.
    fn left(&self, taken: &Taken) -> Self {
        let all = self.slots.saturating_add(self.ahead).saturating_sub(taken.count);
        let slots = self.slots.min(all);
        let left = |(name, amount): &(String, Amount)| {
            let taken = taken.resources.get(name).copied().unwrap_or_default();
            (name.clone(), amount.saturating_sub(taken))
        };
        // One that has no slot now will have some.
        let ahead = if slots == 0 { u32::from(self.is_some()) } else { all - slots };
        let resources = self.resources.iter().map(left).collect();
        Self { queues: self.queues.clone(), slots, ahead, resources, full: self.full.clone() }
    }

    /// What those are offered that do not have the turn: nothing now, if there is something at all.
    fn none(&self) -> Self {
        Self { slots: 0, ahead: u32::from(self.is_some()), ..self.clone() }
    }
}

/// Waits until a part says that it wants a turn. One whose session has ended wants none.
async fn wanting(seats: &mut [Seat]) -> usize {
    core::future::poll_fn(|context| {
        for (at, seat) in seats.iter_mut().enumerate() {
            let Wants::Asked(asked) = &mut seat.wants else { continue };
            match Pin::new(asked).poll(context) {
                Poll::Ready(Ok(_)) => return Poll::Ready(at),
                Poll::Ready(Err(_)) => seat.wants = Wants::Nothing,
                Poll::Pending => {}
            }
        }
        Poll::Pending
    })
    .await
}

async fn sleep_until(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => core::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(slots: u32, ahead: u32, resources: &[(&str, Amount)]) -> Room {
        let resources = resources.iter().map(|(name, amount)| ((*name).to_owned(), *amount));
        Room { queues: Vec::new(), slots, ahead, resources: resources.collect(), full: None }
    }

    #[test]
    fn what_other_parts_have_is_not_offered() {
        let taken = Taken { count: 3, resources: [("cpus".to_owned(), 2_500)].into() };
        assert_eq!(room(4, 0, &[]).left(&taken), room(1, 0, &[]));
        assert_eq!(room(2, 8, &[]).left(&taken), room(2, 5, &[]));
        let all = room(4, 0, &[("cpus", 4_000), ("mem", 7)]);
        assert_eq!(all.left(&taken), room(1, 0, &[("cpus", 1_500), ("mem", 7)]));
        // Of one that is full it is known that it will have room.
        assert_eq!(room(2, 0, &[]).left(&taken), room(0, 1, &[]));
        assert_eq!(room(2, 0, &[]).none(), room(0, 1, &[]));
        assert_eq!(room(0, 0, &[]).none(), room(0, 0, &[]));
    }
}
