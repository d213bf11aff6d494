//! Places: a bounded number of connections that no stranger can keep others from.
//!
//! Every connection that is accepted gets a place at once. Where there is none, another gives way:
//! of those of the *owner* with the most, the one that has been idle the longest. So whoever opens
//! connections and leaves them takes places from himself, and a health check is answered at once.
//!
//! A place is *busy* while something is done for its connection. Busy ones give way after all idle
//! ones of that owner, and only to another owner, or always where owners cannot be told apart.
//!
//! Invariant: at most `most` places are held, those of connections that are about to end aside.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::oneshot;

/// Whether busy connections give way to others of their own owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Busy {
    /// They do, after the idle ones.
    GivesWay,
    /// They do not: the newcomer finds no place.
    Stays,
}

/// A bounded number of places.
#[derive(Clone, Debug)]
pub struct Places(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    busy: Busy,
    seats: Mutex<Seats>,
}

#[derive(Debug, Default)]
struct Seats {
    /// Grows with each change, so that the least is what has not changed for the longest.
    turn: u64,
    held: BTreeMap<u64, Seat>,
}

/// What is known of a held place; dropping it tells the holder to give way.
#[derive(Debug)]
struct Seat {
    owner: u32,
    busy: bool,
    since: u64,
    _stays: oneshot::Sender<()>,
}

/// A place, free again when dropped.
#[derive(Debug)]
pub struct Place {
    shared: Arc<Shared>,
    number: u64,
    /// `None` once it is given away.
    gives_way: Option<oneshot::Receiver<()>>,
}

/// Marks a place as busy; without effect once it is given away.
#[derive(Debug)]
pub struct BusyMark {
    shared: Arc<Shared>,
    number: u64,
}

impl Places {
    /// So many places.
    #[must_use]
    pub fn new(most: usize, busy: Busy) -> Self {
        Self(Arc::new(Shared { most, busy, seats: Mutex::default() }))
    }

    /// A place for a connection of `owner`, if need be that of another; `None` if those of all
    /// whose turn it would be are busy.
    #[must_use]
    pub fn take(&self, owner: u32) -> Option<Place> {
        let mut seats = self.0.seats();
        while seats.held.len() >= self.0.most {
            let number = seats.next_to_go(owner, self.0.busy)?;
            seats.held.remove(&number);
        }
        seats.turn += 1;
        let (stays, gives_way) = oneshot::channel();
        let number = seats.turn;
        let seat = Seat { owner, busy: false, since: number, _stays: stays };
        seats.held.insert(number, seat);
        Some(Place { shared: Arc::clone(&self.0), number, gives_way: Some(gives_way) })
    }
}

impl Shared {
    fn seats(&self) -> std::sync::MutexGuard<'_, Seats> {
        // Nothing in here panics between two changes that belong together.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seats {
    /// Whose place `newcomer` gets.
    fn next_to_go(&self, newcomer: u32, busy: Busy) -> Option<u64> {
        let mut counts = BTreeMap::new();
        for seat in self.held.values() {
            *counts.entry(seat.owner).or_insert(0usize) += 1;
        }
        // Of two with as many, the newcomer's own give way.
        let (&owner, _) =
            counts.iter().max_by_key(|&(&owner, &count)| (count, owner == newcomer))?;
        let may_be_busy = busy == Busy::GivesWay || owner != newcomer;
        let of_owner = self.held.iter().filter(|(_, seat)| seat.owner == owner);
        let candidates = of_owner.filter(|(_, seat)| may_be_busy || !seat.busy);
        candidates.min_by_key(|(_, seat)| (seat.busy, seat.since)).map(|(&number, _)| number)
    }
}

impl BusyMark {
    /// Says whether something is being done for the connection now.
    pub fn set(&self, busy: bool) {
        let mut seats = self.shared.seats();
        seats.turn += 1;
        let turn = seats.turn;
        if let Some(seat) = seats.held.get_mut(&self.number) {
            (seat.busy, seat.since) = (busy, turn);
        }
    }
}

impl Place {
    /// By which its connection says that it is busy, also while it waits to give way.
    #[must_use]
    pub fn busy(&self) -> BusyMark {
        BusyMark { shared: Arc::clone(&self.shared), number: self.number }
    }

    /// Waits until another needs the place.
    pub async fn given_away(&mut self) {
        std::future::poll_fn(|context| self.poll_given_away(context)).await;
    }

    /// Whether another needs the place; once it does, it does for good.
    pub fn poll_given_away(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(stays) = self.gives_way.as_mut() else { return Poll::Ready(()) };
        // Nothing is ever sent: its end is what is waited for.
        let given_away = Pin::new(stays).poll(context).map(drop);
        if given_away.is_ready() {
            self.gives_way = None;
        }
        given_away
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.seats().held.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the places are still held.
    fn held(places: &mut [Place]) -> Vec<bool> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        places.iter_mut().map(|place| place.poll_given_away(&mut context).is_pending()).collect()
    }

    fn of(places: &Places, owners: &[u32]) -> Vec<Place> {
        owners.iter().map(|&owner| places.take(owner).expect("there is room")).collect()
    }

    #[test]
    fn the_longest_idle_gives_way_and_the_busy_last() {
        let places = Places::new(3, Busy::GivesWay);
        let mut three = of(&places, &[0, 0, 0]);
        three[0].busy().set(true);
        let _fourth = places.take(0).expect("one gives way");
        assert_eq!(held(&mut three), [true, false, true]);
        let fifth = places.take(0).expect("another");
        fifth.busy().set(true);
        let _sixth = places.take(0).expect("the fourth");
        assert_eq!(held(&mut three), [true, false, false]);
        let seventh = places.take(0).expect("the sixth");
        seventh.busy().set(true);
        let _eighth = places.take(0).expect("a busy one");
        assert_eq!(held(&mut three), [false, false, false]);
    }

    #[test]
    fn who_has_the_most_gives_way_busy_or_not() {
        let places = Places::new(4, Busy::Stays);
        let mut four = of(&places, &[7, 7, 7, 1]);
        for place in &four {
            place.busy().set(true);
        }
        assert!(places.take(7).is_none(), "that owner has all it can have");
        let _first = places.take(0).expect("another owner");
        assert_eq!(held(&mut four), [false, true, true, true]);
        let _second = places.take(1).expect("owners 1 and 7 have two each, or fewer");
        assert_eq!(held(&mut four), [false, false, true, true]);
    }

    #[test]
    fn a_place_is_free_again() {
        let places = Places::new(1, Busy::Stays);
        let only = places.take(5).expect("free");
        only.busy().set(true);
        assert!(places.take(5).is_none());
        drop(only);
        assert!(places.take(5).is_some());
    }
}
