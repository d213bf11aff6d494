//! Victims by knowledge: a board says how much work each worker had, and how long ago that was.
//!
//! What a worker has now is what it had less the age of the entry: it has run since. What replies
//! say is newer than the board, and is believed instead. Of those who have enough one is drawn, by
//! the sixth power of what they have: most often one of the richest, not always the same.
//!
//! **Herds.** All thieves see the same board, and would all ask the same victim. So a thief counts
//! those that are idle as it is. If they are more than the victims can serve at a time it has a
//! turn, by its place among them, and until then sleeps with its lifelines out.
//!
//! **Where knowledge is too old.** If what is left for each worker, on average, takes less than
//! some ages of entries, the board says nothing of who has work now: the answer is
//! [`Advice::Unknown`], and the thief searches as if there were no board.

use std::collections::BTreeMap;

use tidings_primitives::{Chance, Instant};

use super::choice::Choice;
use crate::view::View;

/// What the board says of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// How much it had that could be stolen, in nanoseconds of its own time.
    pub work_ns: u64,
    /// How long ago.
    pub age_us: u64,
}

/// What a world knows of the work of others: gossip's vector, or shared memory.
pub trait Board {
    /// What is known of a worker; `None` if nothing is.
    fn entry(&self, worker: u32) -> Option<Entry>;
}

/// Nothing is known of anybody.
#[derive(Clone, Copy, Debug)]
pub struct NoBoard;

impl Board for NoBoard {
    fn entry(&self, _worker: u32) -> Option<Entry> {
        None
    }
}

/// How victims are selected by a board.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Knowledge {
    /// The most entries that a thief looks at; among more workers it looks at some at random.
    pub look: u32,
    /// How many thieves one victim is to serve at a time.
    pub thieves: u32,
    /// How long a request and its answer take, in microseconds.
    pub round_trip_us: u64,
    /// The least work for which a victim is asked, in nanoseconds.
    pub least_ns: u64,
    /// How many ages of entries have to be left on average for the board to be believed.
    pub ages: f64,
    /// Attempts in a row that may be refused before the thief sleeps; without knowledge, those
    /// before it has its lifelines send.
    pub tries: u32,
    /// How many neighbours are to send tasks when the thief sleeps; it looks at the board again,
    /// too, and tasks from all of them would be more than it can use.
    pub lifelines: usize,
}

/// The most replies that are remembered.
const MOST_REPLIES: usize = 32;

/// What one thief remembers.
#[derive(Debug, Default)]
pub(super) struct Known {
    replies: BTreeMap<u32, (u64, Instant)>,
    turn: Option<Instant>,
}

/// What a thief sees.
pub(super) struct Seen<'a> {
    pub(super) me: u32,
    pub(super) view: &'a View,
    pub(super) board: &'a dyn Board,
    pub(super) now: Instant,
}

/// What knowledge says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Advice {
    Do(Choice),
    /// Nothing: there is no board, or it is too old.
    Unknown,
}

/// What the board says, all entries together.
#[derive(Default)]
struct Picture {
    looked: u64,
    work_ns: u128,
    age_us: u128,
    idle: u64,
    /// Of them those that stand before this worker.
    before: u64,
    rich: Vec<(u32, u64)>,
}

impl Known {
    /// The thief has a task.
    pub(super) fn busy(&mut self) {
        self.turn = None;
    }

    /// What a reply said.
    pub(super) fn replied(&mut self, victim: u32, left_ns: u64, now: Instant) {
        self.replies.insert(victim, (left_ns, now));
        if self.replies.len() > MOST_REPLIES {
            let oldest = self.replies.iter().min_by_key(|(_, (_, at))| *at);
            if let Some(oldest) = oldest.map(|(worker, _)| *worker) {
                self.replies.remove(&oldest);
            }
        }
    }

    /// What to do after this many refusals.
    pub(super) fn choose(
        &mut self,
        knowledge: &Knowledge,
        seen: &Seen<'_>,
        refusals: u32,
        chance: &mut Chance,
    ) -> Advice {
        let picture = self.look(knowledge, seen, chance);
        if !picture.is_believed(knowledge) {
            return Advice::Unknown;
        }
        if picture.rich.is_empty() || refusals >= knowledge.tries {
            return Advice::Do(Choice::Sleep(None));
        }
        match self.turn.take() {
            Some(turn) if turn > seen.now => {
                self.turn = Some(turn);
                return Advice::Do(Choice::Sleep(Some(turn)));
            }
            Some(_) => {}
            None => {
                let served = u64::from(knowledge.thieves.max(2) / 2) * picture.rich.len() as u64;
                let rounds = picture.before / served;
                if rounds > 0 {
                    let wait = core::time::Duration::from_micros(rounds * knowledge.round_trip_us);
                    self.turn = Some(seen.now + wait);
                    return Advice::Do(Choice::Sleep(self.turn));
                }
            }
        }
        Advice::Do(Choice::Ask(draw(&picture.rich, chance)))
    }

    fn look(&self, knowledge: &Knowledge, seen: &Seen<'_>, chance: &mut Chance) -> Picture {
        let live = seen.view.live();
        let mut picture = Picture::default();
        let sampled = live > knowledge.look;
        for position in 0..live.min(knowledge.look) {
            let position = if sampled { chance.below(live as usize) as u32 } else { position };
            self.look_at(seen.view.at(position), seen, &mut picture);
        }
        picture.rich.retain(|(_, work)| *work >= knowledge.least_ns);
        if !sampled {
            return picture;
        }
        let share = u64::from(live) * picture.idle / picture.looked.max(1);
        picture.before = chance.below(share as usize + 1) as u64;
        let scale = u64::from(live) / u64::from(knowledge.look);
        picture.before /= scale.max(1);
        picture
    }

    fn look_at(&self, worker: u32, seen: &Seen<'_>, picture: &mut Picture) {
        if worker == seen.me {
            return;
        }
        let Some(entry) = seen.board.entry(worker) else { return };
        let (work_ns, age_us) = match self.replies.get(&worker) {
            Some((left_ns, at)) if since(seen.now, *at) < entry.age_us => {
                (*left_ns, since(seen.now, *at))
            }
            _ => (entry.work_ns, entry.age_us),
        };
        let left_ns = work_ns.saturating_sub(age_us.saturating_mul(1000));
        picture.looked += 1;
        picture.work_ns += u128::from(left_ns);
        picture.age_us += u128::from(entry.age_us);
        if left_ns > 0 {
            picture.rich.push((worker, left_ns));
        } else {
            picture.idle += 1;
            picture.before += u64::from(worker < seen.me);
        }
    }
}

impl Picture {
    fn is_believed(&self, knowledge: &Knowledge) -> bool {
        let (work_ns, age_ns) = (self.work_ns as f64, 1000.0 * self.age_us as f64);
        self.looked > 0 && work_ns >= knowledge.ages * age_ns
    }
}

fn since(now: Instant, at: Instant) -> u64 {
    now.saturating_since(at).as_micros() as u64
}

/// One of them, by the sixth power of its work.
fn draw(rich: &[(u32, u64)], chance: &mut Chance) -> u32 {
    let weight = |work: u64| (work as f64).powi(6);
    let total: f64 = rich.iter().map(|(_, work)| weight(*work)).sum();
    let mut left = chance.real() * total;
    for (worker, work) in rich {
        left -= weight(*work);
        if left < 0.0 {
            return *worker;
        }
    }
    rich.last().map_or(0, |(worker, _)| *worker)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWLEDGE: Knowledge = Knowledge {
        look: 100,
        thieves: 4,
        round_trip_us: 20,
        least_ns: 1_000_000,
        ages: 1.0,
        tries: 2,
        lifelines: 2,
    };

    /// Worker 3 has what it says, the others nothing; all entries have one age.
    struct One {
        work_ns: u64,
        age_us: u64,
    }

    impl Board for One {
        fn entry(&self, worker: u32) -> Option<Entry> {
            let work_ns = if worker == 3 { self.work_ns } else { 0 };
            Some(Entry { work_ns, age_us: self.age_us })
        }
    }

    fn choose(known: &mut Known, me: u32, board: &One, now_us: i64) -> Advice {
        let (view, now) = (View::new(50), Instant::from_micros(now_us));
        let seen = Seen { me, view: &view, board, now };
        known.choose(&KNOWLEDGE, &seen, 0, &mut Chance::new(1))
    }

    #[test]
    fn who_has_work_is_asked_in_turns_of_two() {
        let board = One { work_ns: 1_000_000_000, age_us: 100 };
        let turn = |me| choose(&mut Known::default(), me, &board, 0);
        assert_eq!(turn(0), Advice::Do(Choice::Ask(3)));
        assert_eq!(turn(1), Advice::Do(Choice::Ask(3)));
        let then = |us| Advice::Do(Choice::Sleep(Some(Instant::from_micros(us))));
        assert_eq!((turn(2), turn(4), turn(5)), (then(20), then(20), then(40)));
        let mut known = Known::default();
        assert_eq!(choose(&mut known, 4, &board, 0), then(20));
        assert_eq!(choose(&mut known, 4, &board, 10), then(20));
        assert_eq!(choose(&mut known, 4, &board, 20), Advice::Do(Choice::Ask(3)));
    }

    #[test]
    fn what_a_reply_says_is_believed_until_there_is_news() {
        let board = One { work_ns: 1_000_000_000, age_us: 100 };
        let mut known = Known::default();
        known.replied(3, 0, Instant::from_micros(0));
        assert_eq!(choose(&mut known, 0, &board, 50), Advice::Unknown);
        assert_eq!(choose(&mut known, 0, &board, 150), Advice::Do(Choice::Ask(3)));
    }

    #[test]
    fn a_board_that_is_old_against_what_is_left_says_nothing() {
        let young = One { work_ns: 1_000_000_000, age_us: 10_000 };
        assert_eq!(choose(&mut Known::default(), 0, &young, 0), Advice::Do(Choice::Ask(3)));
        let old = One { work_ns: 1_000_000_000, age_us: 30_000 };
        assert_eq!(choose(&mut Known::default(), 0, &old, 0), Advice::Unknown);
        let seen = Seen { me: 0, view: &View::new(9), board: &super::NoBoard, now: Instant::EPOCH };
        let advice = Known::default().choose(&KNOWLEDGE, &seen, 0, &mut Chance::new(1));
        assert_eq!(advice, Advice::Unknown);
    }

    #[test]
    fn the_rich_are_drawn_more_often() {
        let mut chance = Chance::new(1);
        let rich = [(1, 1_000), (2, 1_442)];
        let second = (0..1000).filter(|_| draw(&rich, &mut chance) == 2).count();
        assert!((850..950).contains(&second), "{second}");
    }
}
