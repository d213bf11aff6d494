//! Victims: whom a thief asks for tasks.
//!
//! | selection | whom it asks | when nobody has anything |
//! |---|---|---|
//! | [`Selection::Random`] | any worker | pauses, each time twice as long, up to a bound |
//! | [`Selection::Nearest`] | the nearest of some at random, of fewer after each refusal | the same |
//! | [`Selection::Lifelines`] | a few at random, then its neighbours in a hypercube | sleeps until a neighbour sends |
//! | [`Selection::Known`] | those who have most, as the board says, whose entries have ages | the same, and looks again when there is news |
//!
//! The first two ask without end while a task runs anywhere. The others fall silent.
//!
//! A selection only chooses. What a thief has asked and whether it sleeps is the worker's matter,
//! so all selections have one interface: [`Victims::choose`], and what comes back.

mod choice;
mod known;
mod picture;
mod situation;

use core::time::Duration;

use tidings_primitives::{Chance, Instant};

use crate::queue::Want;
use crate::view::View;

pub use choice::Choice;
pub use known::Knowledge;
pub use situation::{Board, Entry, List, NoBoard, Situation};

/// How long a thief pauses between attempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackOff {
    /// After the first refusal, in microseconds.
    pub first_us: u64,
    /// At most.
    pub most_us: u64,
}

impl BackOff {
    /// The pause after this many refusals in a row, the first being 1; it is shorter by up to
    /// a half at random, so that thieves that began together do not ask together.
    fn pause_us(self, refusals: u32, chance: &mut Chance) -> u64 {
        let doubled = self.first_us.max(1) << refusals.saturating_sub(1).min(30);
        let pause = doubled.min(self.most_us.max(1));
        pause - chance.below((pause / 2 + 1) as usize) as u64
    }
}

/// How victims are selected.
#[derive(Clone, Copy, Debug)]
pub enum Selection {
    /// Any worker with the same probability.
    Random(BackOff),
    /// Those at random that are near, as the board says.
    Nearest(BackOff),
    /// Some attempts at random, then neighbours that send tasks when they have some.
    Lifelines {
        /// How many attempts.
        tries: u32,
    },
    /// Those that have most work, as the board says.
    Known(Knowledge),
}

/// Among how many the nearest is asked first.
const DRAWS: u32 = 8;

/// The selection of victims of one worker.
#[derive(Debug)]
pub struct Victims {
    me: u32,
    selection: Selection,
    chance: Chance,
    /// The same draws at every worker, until it has had a task.
    shifts: Option<Chance>,
    /// Since it last had a task.
    refusals: u32,
    paused: bool,
    /// How many neighbours are to send tasks when it sleeps.
    lifelines: usize,
    known: known::Known,
}

impl Victims {
    /// For this worker.
    pub fn new(me: u32, selection: Selection, seed: u64) -> Self {
        let chance = Chance::new(seed ^ tidings_primitives::chance::mix(u64::from(me)));
        Self {
            me,
            selection,
            chance,
            shifts: Some(Chance::new(tidings_primitives::chance::mix(seed))),
            refusals: 0,
            paused: false,
            lifelines: usize::MAX,
            known: known::Known::default(),
        }
    }

    /// The worker has a task.
    pub fn busy(&mut self) {
        (self.refusals, self.paused, self.shifts) = (0, false, None);
        self.known.busy();
    }

    /// A victim had nothing; it is still busy for this long.
    pub fn refused(&mut self, victim: u32, left_ns: u64, now: Instant) {
        (self.refusals, self.paused) = (self.refusals.saturating_add(1), false);
        self.known.refused();
        self.known.replied(victim, left_ns, now);
    }

    /// A victim sent tasks; it is still busy for this long.
    pub fn given(&mut self, victim: u32, left_ns: u64, now: Instant) {
        self.known.replied(victim, left_ns, now);
    }

    /// Whom a worker that is so long busy gives tasks unasked, and what each.
    pub fn shed(&mut self, situation: &Situation<'_>, own_ns: u64) -> Option<(Vec<u32>, Want)> {
        let Selection::Known(knowledge) = self.selection else { return None };
        self.known.shed(self.me, own_ns, &knowledge, situation, &mut self.chance)
    }

    /// How many neighbours of the hypercube are to send tasks when it sleeps.
    pub fn lifelines(&self) -> usize {
        self.lifelines
    }

    /// Whom to ask.
    pub fn choose(&mut self, situation: &Situation<'_>) -> Choice {
        let Situation { view, board, now, .. } = *situation;
        if view.live() < 2 {
            return Choice::Sleep(None);
        }
        match self.selection {
            Selection::Random(back_off) => self.ask_or_pause(back_off, now, |victims| {
                any_other(victims.me, view, &mut victims.chance)
            }),
            Selection::Nearest(back_off) => self.ask_or_pause(back_off, now, |victims| {
                let most = (DRAWS >> victims.refusals.min(3)).max(1);
                let drawn = (0..most).map(|_| any_other(victims.me, view, &mut victims.chance));
                let me = victims.me;
                drawn.min_by_key(|other| board.distance(me, *other)).unwrap_or(me)
            }),
            Selection::Lifelines { tries } => {
                self.try_or_sleep(tries, |victims| any_other(victims.me, view, &mut victims.chance))
            }
            Selection::Known(knowledge) => {
                let known = &mut self.known;
                let advice = known.choose(self.me, &knowledge, situation, &mut self.chance);
                let known::Advice::Do(choice, lifelines) = advice else {
                    self.lifelines = usize::MAX;
                    return self.try_or_sleep(knowledge.tries, |victims| {
                        match &mut victims.shifts {
                            Some(shifts) => shifted(victims.me, view, shifts),
                            None => any_other(victims.me, view, &mut victims.chance),
                        }
                    });
                };
                self.lifelines = lifelines;
                choice
            }
        }
    }

    fn try_or_sleep(&mut self, tries: u32, victim: impl FnOnce(&mut Self) -> u32) -> Choice {
        if self.refusals < tries { Choice::ask(victim(self)) } else { Choice::Sleep(None) }
    }

    fn ask_or_pause(
        &mut self,
        back_off: BackOff,
        now: Instant,
        victim: impl FnOnce(&mut Self) -> u32,
    ) -> Choice {
        if self.refusals == 0 || self.paused {
            self.paused = false;
            return Choice::ask(victim(self));
        }
        self.paused = true;
        let pause_us = back_off.pause_us(self.refusals, &mut self.chance);
        Choice::Pause(now + Duration::from_micros(pause_us))
    }
}

/// A live worker but this one.
fn any_other(me: u32, view: &View, chance: &mut Chance) -> u32 {
    let drawn = chance.below(view.live() as usize - 1) as u32;
    let own = view.position(me);
    view.at(if drawn >= own { drawn + 1 } else { drawn })
}

/// The live worker that is so many positions further. Workers with equal draws ask one each: of a
/// thousand that begin together and draw on their own, six or seven ask some one of them.
fn shifted(me: u32, view: &View, shifts: &mut Chance) -> u32 {
    let shift = 1 + shifts.below(view.live() as usize - 1) as u32;
    view.at((view.position(me) + shift) % view.live())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACK_OFF: BackOff = BackOff { first_us: 20, most_us: 100 };

    #[test]
    fn any_other_is_live_and_not_this_one() {
        let mut view = View::new(5);
        view.remove(2);
        let mut chance = Chance::new(1);
        let mut asked = [0; 5];
        for _ in 0..3000 {
            asked[any_other(3, &view, &mut chance) as usize] += 1;
        }
        assert_eq!((asked[2], asked[3]), (0, 0));
        assert!([0, 1, 4].iter().all(|other| asked[*other] > 800), "{asked:?}");
    }

    #[test]
    fn workers_that_have_drawn_as_often_ask_different_ones() {
        let mut view = View::new(50);
        view.remove(7);
        let live: Vec<u32> = (0..50).filter(|worker| *worker != 7).collect();
        let mut all: Vec<(u32, Chance)> =
            live.iter().map(|worker| (*worker, Chance::new(3))).collect();
        for _ in 0..100 {
            let mut asked: Vec<u32> =
                all.iter_mut().map(|(me, shifts)| shifted(*me, &view, shifts)).collect();
            assert!(live.iter().zip(&asked).all(|(me, victim)| me != victim));
            asked.sort_unstable();
            assert_eq!(asked, live);
        }
    }

    #[test]
    fn pauses_double_up_to_their_bound() {
        let mut chance = Chance::new(1);
        let pauses: Vec<u64> =
            (1..40).map(|refusals| BACK_OFF.pause_us(refusals, &mut chance)).collect();
        assert!((10..=20).contains(&pauses[0]) && (20..=40).contains(&pauses[1]));
        assert!(pauses[5..].iter().all(|pause| (50..=100).contains(pause)), "{pauses:?}");
    }

    #[test]
    fn random_asks_pauses_and_asks() {
        let (view, now) = (View::new(9), Instant::EPOCH);
        let situation = Situation { view: &view, board: &NoBoard, now, list: None };
        let mut victims = Victims::new(1, Selection::Random(BACK_OFF), 7);
        let Choice::Ask { victim, .. } = victims.choose(&situation) else { panic!() };
        victims.refused(victim, 0, now);
        assert!(matches!(victims.choose(&situation), Choice::Pause(then) if then > now));
        assert!(matches!(victims.choose(&situation), Choice::Ask { .. }));
    }

    #[test]
    fn lifelines_try_and_then_sleep_for_good() {
        let (view, now) = (View::new(9), Instant::EPOCH);
        let situation = Situation { view: &view, board: &NoBoard, now, list: None };
        let mut victims = Victims::new(1, Selection::Lifelines { tries: 2 }, 7);
        for _ in 0..2 {
            let Choice::Ask { victim, .. } = victims.choose(&situation) else { panic!() };
            victims.refused(victim, 0, now);
        }
        assert_eq!(victims.choose(&situation), Choice::Sleep(None));
        victims.busy();
        assert!(matches!(victims.choose(&situation), Choice::Ask { .. }));
    }

    #[test]
    fn the_near_are_asked_more_often() {
        let (view, now) = (View::new(64), Instant::EPOCH);
        let situation = Situation { view: &view, board: &NoBoard, now, list: None };
        let selection = Selection::Nearest(BACK_OFF);
        let mut victims = Victims::new(0, selection, 7);
        let near = (0..1000)
            .filter(|_| matches!(victims.choose(&situation), Choice::Ask { victim: 0..16, .. }))
            .count();
        assert!(near > 800, "{near}");
    }
}
