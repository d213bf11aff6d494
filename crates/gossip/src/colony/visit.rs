//! A visit: the vector of a foreign colony, fetched slice by slice on demand.
//!
//! The visitor asks a member there for the entries from an id on; a slice says up to which id it
//! goes, and the next request begins behind. What arrives is kept apart from the own vector, in
//! bounded number, and dropped some units after the end. A request that is not answered by the next
//! look goes to another address, as often in a row as there is hope.
//!
//! Invariants: entries lie in the order of their ids, each once; nothing is taken but what was
//! asked for.

use core::time::Duration;

use tidings_primitives::time::Instant;

use super::id::ColonyId;
use crate::address::Address;
use crate::entry::{EntryState, NodeId, Stamp};
use crate::vector::Entry;
use crate::view::EntryView;
use crate::wire::ask::Card;

/// Units for which what a visit brought is kept after its end.
pub const KEPT_UNITS: u32 = 256;
/// Requests in a row without an answer after which a visit ends.
const MAX_FAILURES: u8 = 8;

/// One entry that a visit brought.
struct Seen {
    id: NodeId,
    name: Box<str>,
    address: Address,
    stamp: Stamp,
    birth: Instant,
    payload: Box<[u8]>,
}

/// Bytes of one beside its name and its payload.
pub(crate) const SEEN_BYTES: usize = core::mem::size_of::<Seen>();

/// How a visit is getting on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    /// A request is to be sent.
    Due,
    /// A request was sent; whether it was out at the last look already.
    Out { late: bool },
    /// All was seen, or there is no hope.
    Ended { at: Instant, complete: bool },
}

/// A visit to a colony.
pub(crate) struct Visit {
    pub(crate) colony: ColonyId,
    /// The token of the request that is out.
    pub(crate) token: u64,
    /// The id at which the next slice begins.
    pub(crate) first: NodeId,
    progress: Progress,
    failures: u8,
    seen: Vec<Seen>,
    room: usize,
}

impl Visit {
    /// A visit that will bring at most `room` entries.
    pub(crate) fn to(colony: ColonyId, room: usize) -> Self {
        let (first, seen) = (NodeId(0), Vec::new());
        Self { colony, token: 0, first, progress: Progress::Due, failures: 0, seen, room }
    }

    /// Takes up the request that is due, if one is, under a token.
    pub(crate) fn begin_request(&mut self, token: u64) -> bool {
        let due = self.progress == Progress::Due;
        if due {
            (self.token, self.progress) = (token, Progress::Out { late: false });
        }
        due
    }

    /// Whether a slice with this token, beginning there, is what was asked for.
    pub(crate) fn expects(&self, token: u64, first: NodeId) -> bool {
        matches!(self.progress, Progress::Out { .. }) && (token, first) == (self.token, self.first)
    }

    /// Takes an entry of a slice that was expected; `false`, and nothing taken, if it lies not
    /// behind the last one or there is no room.
    pub(crate) fn take(&mut self, card: &Card<'_>, entry: &Entry<'_>) -> bool {
        let behind = self.seen.last().is_none_or(|last| last.id < entry.id);
        let fits = behind && self.seen.len() < self.room;
        if fits {
            self.seen.push(Seen {
                id: entry.id,
                name: card.name.into(),
                address: card.address,
                stamp: entry.stamp,
                birth: entry.birth,
                payload: entry.payload.into(),
            });
        }
        fits
    }

    /// A slice up to `last` has been taken; whether that was the end.
    pub(crate) fn covered(&mut self, last: NodeId, now: Instant) -> bool {
        self.failures = 0;
        self.progress = match last.0.checked_add(1) {
            Some(next) if self.seen.len() < self.room => {
                self.first = NodeId(next);
                Progress::Due
            }
            next => Progress::Ended { at: now, complete: next.is_none() },
        };
        !self.is_under_way()
    }

    /// A look: a request that was late goes out again; `true` if the visit ends without answers.
    pub(crate) fn look(&mut self, now: Instant) -> bool {
        self.progress = match self.progress {
            Progress::Out { late: false } => Progress::Out { late: true },
            Progress::Out { late: true } if self.failures + 1 < MAX_FAILURES => {
                self.failures += 1;
                Progress::Due
            }
            Progress::Out { late: true } => Progress::Ended { at: now, complete: false },
            other => other,
        };
        matches!(self.progress, Progress::Ended { at, complete: false } if at == now)
    }

    /// Whether it goes on.
    pub(crate) fn is_under_way(&self) -> bool {
        !matches!(self.progress, Progress::Ended { .. })
    }

    /// Whether it ended before an instant.
    pub(crate) fn ended_before(&self, instant: Instant) -> bool {
        matches!(self.progress, Progress::Ended { at, .. } if at < instant)
    }

    /// Whether all of the colony's vector was brought.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.progress, Progress::Ended { complete: true, .. })
    }
}

/// What a visit has brought so far.
#[derive(Clone, Copy)]
pub struct VisitView<'a> {
    visit: &'a Visit,
    now: Instant,
}

impl<'a> VisitView<'a> {
    pub(crate) fn of(visit: &'a Visit, now: Instant) -> Self {
        Self { visit, now }
    }

    /// The colony visited.
    pub fn colony(&self) -> ColonyId {
        self.visit.colony
    }

    /// Whether it goes on.
    pub fn is_under_way(&self) -> bool {
        self.visit.is_under_way()
    }

    /// Whether it ended with all that the members asked could tell.
    pub fn is_complete(&self) -> bool {
        self.visit.is_complete()
    }

    /// The entries, in the order of ids, with their present ages.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = EntryView<'a>> {
        let now = self.now;
        self.visit.seen.iter().map(move |seen| seen.view(now.saturating_since(seen.birth)))
    }
}

impl Seen {
    fn view(&self, age: Duration) -> EntryView<'_> {
        let is_news = !self.stamp.is_last();
        EntryView {
            id: self.id,
            name: &self.name,
            address: self.address,
            state: match self.stamp {
                stamp if stamp.is_left() => EntryState::Left,
                stamp if stamp.is_dead() => EntryState::Dead,
                _ => EntryState::Alive,
            },
            incarnation: self.stamp.incarnation().get(),
            sequence: is_news.then(|| self.stamp.sequence()),
            age: Some(age),
            payload_age: is_news.then_some(age),
            payload: &self.payload,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_micros(1_000);

    fn entry(id: u32) -> Entry<'static> {
        Entry { id: NodeId(id), stamp: Stamp::default(), birth: NOW, payload: &[1, 2] }
    }

    fn card() -> Card<'static> {
        Card { name: "n1", address: Address::from_bytes(&[1]).expect("one byte is an address") }
    }

    #[test]
    fn slices_follow_each_other_to_the_end() {
        let mut visit = Visit::to(ColonyId(1), 10);
        assert!(visit.begin_request(7) && !visit.begin_request(8));
        assert!(visit.expects(7, NodeId(0)) && !visit.expects(8, NodeId(0)));
        assert!(!visit.expects(7, NodeId(1)), "another slice");
        assert!(visit.take(&card(), &entry(5)) && !visit.take(&card(), &entry(5)));
        assert!(!visit.covered(NodeId(9), NOW));
        assert!(!visit.expects(7, NodeId(0)), "it was answered");
        assert!(visit.begin_request(9) && visit.expects(9, NodeId(10)));
        assert!(visit.take(&card(), &entry(12)));
        assert!(visit.covered(NodeId(u32::MAX), NOW) && visit.is_complete());
        let view = VisitView::of(&visit, NOW + Duration::from_micros(4));
        let seen: Vec<_> = view.entries().map(|entry| (entry.id.0, entry.payload)).collect();
        assert_eq!(seen, [(5, &[1, 2][..]), (12, &[1, 2][..])]);
        assert!(!visit.ended_before(NOW) && visit.ended_before(NOW + Duration::from_micros(1)));
    }

    #[test]
    fn a_visit_without_answers_and_one_without_room_end_incomplete() {
        let mut visit = Visit::to(ColonyId(1), 1);
        let mut requests = 0;
        loop {
            requests += u32::from(visit.begin_request(1));
            if visit.look(NOW) {
                break;
            }
        }
        assert_eq!(requests, u32::from(MAX_FAILURES));
        let mut full = Visit::to(ColonyId(1), 1);
        assert!(full.begin_request(1) && full.take(&card(), &entry(1)));
        assert!(!full.take(&card(), &entry(2)));
        assert!(full.covered(NodeId(1), NOW) && !full.is_complete());
    }
}
