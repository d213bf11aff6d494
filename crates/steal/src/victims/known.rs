//! Victims by knowledge: a board says how much work each worker had, and how long ago that was.
//!
//! What a worker has now is what it had less the age of the entry: it has run since. What replies
//! say is newer than the board, and is believed instead. Of those who have enough one is drawn, by
//! the sixth power of what they have: most often one of the richest, not always the same.
//!
//! **Herds.** All thieves see the same board, and would all ask the same victim. So a thief counts
//! those that are idle as it is. If they are more than the victims can serve at a time it has a
//! turn, by its place among them, and until then sleeps with its lifelines out. Victims that are
//! seldom drawn count little.
//!
//! **Lists.** Where no task spawns, a thief asks who has more than the mean and some patience, for
//! what is beyond the mean, and takes no more than the mean: so neither gives or takes what the
//! other will need again. At the end, when most have nothing, entries are too old to find the few
//! that have; these know themselves, and give unasked.
//!
//! **Where knowledge is too old.** If what is left for each worker, on average, takes less than
//! some ages of entries, the board says nothing of who has work now: the answer is
//! [`Advice::Unknown`], and the thief has lifelines as if there were no board.
//!
//! Source of giving unasked where most are idle: Eager, Lazowska, Zahorjan, "A comparison of
//! receiver-initiated and sender-initiated adaptive load sharing", Performance Evaluation 6, 1986.

use core::time::Duration;

use tidings_primitives::{Chance, Instant};

use super::choice::Choice;
use super::picture::{Picture, Replies};
use super::situation::Situation;
use crate::queue::Want;

/// How victims are selected by a board.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Knowledge {
    /// The most entries that a thief looks at; among more workers it looks at a quarter as many, at
    /// random.
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
    /// How many neighbours are to send tasks when the thief sleeps, half of them where entries are
    /// young: it looks at the board again, too.
    pub lifelines: usize,
}

impl Knowledge {
    /// The usual, for messages whose request and answer take this long.
    pub fn new(round_trip_us: u64) -> Self {
        Self {
            look: 1024,
            thieves: 4,
            round_trip_us,
            least_ns: 10_000 * round_trip_us,
            ages: 1.0,
            tries: 2,
            lifelines: 2,
        }
    }
}

/// To how many a worker gives unasked at a time.
const MOST_SHED: u64 = 4;

/// The most replies that are remembered.
const MOST_REPLIES: usize = 32;

/// What one worker remembers.
#[derive(Debug, Default)]
pub(super) struct Known {
    replies: Replies,
    turn: Option<Instant>,
    /// Refusals in a row.
    refusals: u32,
    /// When a worker with much work looks for others again.
    looks: Option<Instant>,
}

/// What knowledge says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Advice {
    /// This, while so many neighbours may send tasks.
    Do(Choice, usize),
    /// Nothing: there is no board, or it is too old.
    Unknown,
}

impl Known {
    /// The thief has a task.
    pub(super) fn busy(&mut self) {
        (self.turn, self.refusals) = (None, 0);
    }

    /// A victim had nothing.
    pub(super) fn refused(&mut self) {
        self.refusals = self.refusals.saturating_add(1);
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

    /// What a thief does.
    pub(super) fn choose(
        &mut self,
        me: u32,
        knowledge: &Knowledge,
        situation: &Situation<'_>,
        chance: &mut Chance,
    ) -> Advice {
        let mut picture = Picture::of(me, knowledge.look, situation, &self.replies, chance);
        let rest = picture.rest(situation);
        let is_young = rest.is_some_and(|rest| rest.is_young);
        if !picture.is_believed(knowledge.ages) && !is_young {
            return Advice::Unknown;
        }
        let lifelines =
            rest.map_or(knowledge.lifelines, |rest| rest.lifelines(knowledge.lifelines));
        let want = rest.map_or(Want::HALF, |rest| rest.want(knowledge.least_ns));
        let least_ns = rest.map_or(0, |rest| rest.patience_ns).max(knowledge.least_ns);
        picture.rich.retain(|(_, work)| *work >= want.beyond_ns + least_ns);
        if picture.rich.is_empty() {
            return Advice::Do(Choice::Sleep(None), lifelines);
        }
        if self.refusals >= knowledge.tries {
            let Some(rest) = rest else { return Advice::Do(Choice::Sleep(None), lifelines) };
            let pause = Duration::from_nanos(rest.mean_ns / 4).max(picture.age());
            (self.refusals, self.turn) = (0, Some(situation.now + pause));
        }
        let choice = match self.turn(knowledge, &picture, situation.now) {
            Some(turn) => Choice::Sleep(Some(turn)),
            None => Choice::Ask { victim: draw(&picture.rich, chance), want },
        };
        Advice::Do(choice, lifelines)
    }

    /// Whom a worker that is so long busy with a list gives some of it unasked, and how much.
    pub(super) fn shed(
        &mut self,
        me: u32,
        own_ns: u64,
        knowledge: &Knowledge,
        situation: &Situation<'_>,
        chance: &mut Chance,
    ) -> Option<(Vec<u32>, Want)> {
        let patience = situation.list?.patience();
        let is_early = self.looks.is_some_and(|then| situation.now < then);
        if is_early || Duration::from_nanos(own_ns) <= patience {
            return None;
        }
        let picture = Picture::of(me, knowledge.look, situation, &self.replies, chance);
        let rest = picture.rest(situation)?;
        // A look takes some microseconds of a worker that is busy.
        let least = Duration::from_micros(4 * knowledge.round_trip_us).max(patience / 8);
        self.looks = Some(situation.now + Duration::from_nanos(rest.mean_ns / 8).max(least));
        let excess_ns = own_ns.saturating_sub(rest.mean_ns);
        let idle = picture.idle.len();
        if !rest.is_young || 2 * idle as u64 <= picture.looked || excess_ns <= rest.patience_ns {
            return None;
        }
        let want = rest.want(knowledge.least_ns);
        let most = (excess_ns / want.most_ns).min(MOST_SHED);
        let drawn = (0..most).map(|_| picture.idle[chance.below(idle)]).collect();
        Some((drawn, want))
    }

    /// When it is its turn, if that is not now.
    fn turn(&mut self, knowledge: &Knowledge, picture: &Picture, now: Instant) -> Option<Instant> {
        if let Some(turn) = self.turn.take() {
            self.turn = (turn > now).then_some(turn);
            return self.turn;
        }
        let served = u64::from(knowledge.thieves.max(2) / 2) * drawn_from(&picture.rich);
        let rounds = picture.before / served;
        let wait = Duration::from_micros(rounds * knowledge.round_trip_us);
        self.turn = (rounds > 0).then(|| now + wait);
        self.turn
    }
}

/// How often one of so much work is drawn, beside others.
fn weight(work_ns: u64) -> f64 {
    (work_ns as f64).powi(6)
}

/// Among how many the draws are divided, if these were drawn equally often.
fn drawn_from(rich: &[(u32, u64)]) -> u64 {
    let weights = rich.iter().map(|(_, work)| weight(*work));
    let (sum, squares) =
        weights.fold((0.0, 0.0), |(sum, squares), one| (sum + one, squares + one * one));
    ((sum * sum / squares).round() as u64).max(1)
}

/// One of them, by the sixth power of its work.
fn draw(rich: &[(u32, u64)], chance: &mut Chance) -> u32 {
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
    use super::super::situation::{Board, Entry, List, NoBoard};
    use super::*;
    use crate::view::View;

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
        let situation = Situation { view: &view, board, now, list: None };
        known.choose(me, &KNOWLEDGE, &situation, &mut Chance::new(1))
    }

    #[test]
    fn who_has_work_is_asked_in_turns_of_two() {
        let board = One { work_ns: 1_000_000_000, age_us: 100 };
        let turn = |me| choose(&mut Known::default(), me, &board, 0);
        assert_eq!(turn(0), Advice::Do(Choice::ask(3), 2));
        assert_eq!(turn(1), Advice::Do(Choice::ask(3), 2));
        let then = |us| Advice::Do(Choice::Sleep(Some(Instant::from_micros(us))), 2);
        assert_eq!((turn(2), turn(4), turn(5)), (then(20), then(20), then(40)));
        let mut known = Known::default();
        assert_eq!(choose(&mut known, 4, &board, 0), then(20));
        assert_eq!(choose(&mut known, 4, &board, 10), then(20));
        assert_eq!(choose(&mut known, 4, &board, 20), Advice::Do(Choice::ask(3), 2));
    }

    #[test]
    fn what_a_reply_says_is_believed_until_there_is_news() {
        let board = One { work_ns: 1_000_000_000, age_us: 100 };
        let mut known = Known::default();
        known.replied(3, 0, Instant::from_micros(0));
        assert_eq!(choose(&mut known, 0, &board, 50), Advice::Unknown);
        assert_eq!(choose(&mut known, 0, &board, 150), Advice::Do(Choice::ask(3), 2));
    }

    #[test]
    fn a_board_that_is_old_against_what_is_left_says_nothing() {
        let young = One { work_ns: 1_000_000_000, age_us: 10_000 };
        assert_eq!(choose(&mut Known::default(), 0, &young, 0), Advice::Do(Choice::ask(3), 2));
        let old = One { work_ns: 1_000_000_000, age_us: 30_000 };
        assert_eq!(choose(&mut Known::default(), 0, &old, 0), Advice::Unknown);
        let (view, now) = (View::new(9), Instant::EPOCH);
        let situation = Situation { view: &view, board: &NoBoard, now, list: None };
        let advice = Known::default().choose(0, &KNOWLEDGE, &situation, &mut Chance::new(1));
        assert_eq!(advice, Advice::Unknown);
    }

    /// Of 50 workers of a list that has taken a second these have so much, the others nothing.
    struct Loads(Vec<(u32, u64)>);

    impl Board for Loads {
        fn entry(&self, worker: u32) -> Option<Entry> {
            let own = self.0.iter().find(|(other, _)| *other == worker);
            Some(Entry { work_ns: own.map_or(0, |(_, work)| *work), age_us: 1000 })
        }
    }

    const MS: u64 = 1_000_000;

    fn of_list<T>(board: &Loads, then: impl FnOnce(&Situation<'_>) -> T) -> T {
        let list = List { elapsed: Duration::from_secs(1), is_retained: false };
        let (view, now) = (View::new(50), Instant::from_micros(1_000_000));
        then(&Situation { view: &view, board, now, list: Some(list) })
    }

    fn of_thief(me: u32, board: &Loads) -> Advice {
        of_list(board, |situation| {
            Known::default().choose(me, &KNOWLEDGE, situation, &mut Chance::new(1))
        })
    }

    fn shed(own_ns: u64, board: &Loads) -> Option<(Vec<u32>, Want)> {
        of_list(board, |situation| {
            Known::default().shed(3, own_ns, &KNOWLEDGE, situation, &mut Chance::new(1))
        })
    }

    #[test]
    fn of_a_list_a_thief_wants_what_is_beyond_the_mean_and_no_more_than_it() {
        let mut all: Vec<(u32, u64)> = (1..50).map(|worker| (worker, 100 * MS)).collect();
        all[2].1 = 590 * MS;
        let want = Want { most_ns: 109 * MS, beyond_ns: 109 * MS };
        assert_eq!(
            of_thief(0, &Loads(all.clone())),
            Advice::Do(Choice::Ask { victim: 3, want }, 1)
        );
        all[2].1 = 103 * MS;
        assert_eq!(of_thief(0, &Loads(all)), Advice::Do(Choice::Sleep(None), 1));
    }

    #[test]
    fn who_has_more_than_the_mean_gives_to_those_who_have_nothing_if_these_are_most() {
        let few = Loads((0..20).map(|worker| (worker, 2 * MS)).collect());
        let (thieves, want) = shed(20 * MS, &few).unwrap();
        assert_eq!((thieves.len(), want.beyond_ns), (4, 0));
        assert!(thieves.iter().all(|thief| *thief >= 20), "{thieves:?}");
        assert_eq!(shed(3 * MS, &few), None);
        assert_eq!(shed(20 * MS, &Loads((0..40).map(|worker| (worker, 2 * MS)).collect())), None);
    }

    #[test]
    fn victims_that_are_seldom_drawn_count_little() {
        assert_eq!(drawn_from(&[(1, MS), (2, MS), (3, MS)]), 3);
        assert_eq!(drawn_from(&[(1, 10 * MS), (2, MS), (3, MS)]), 1);
    }

    #[test]
    fn the_rich_are_drawn_more_often() {
        let mut chance = Chance::new(1);
        let rich = [(1, 1_000), (2, 1_442)];
        let second = (0..1000).filter(|_| draw(&rich, &mut chance) == 2).count();
        assert!((850..950).contains(&second), "{second}");
    }
}
