//! Guides: the tree of steals of the last iteration is the start of the next, and stealing goes on.
//!
//! A list is retained as the tasks that each worker ran. Where tasks spawn, no list says what a
//! worker ran: what it got from thefts was made by others on the way. But a program that does the
//! same again arrives at the same steps with the same tasks in its queue. So each worker keeps, of
//! each of its *working phases* (what it runs from one gift until it has nothing), whom it gave
//! tasks and after how many steps; in the next iteration it gives them at that step unasked, before
//! anybody has nothing. Who expects a gift waits for it about as long as it took to come last time.
//!
//! Nothing depends on a guide: gifts are counted as all gifts are, so where tasks are others, or
//! have other costs, tasks are at worse places and are stolen from there. A worker whose gift does
//! not come stops waiting for gifts.
//!
//! Invariants: steps of a working phase ascend; a phase is used once.
//!
//! Source: Lifflander, Krishnamoorthy, Kalé, "Steal tree: low-overhead tracing of work stealing
//! schedulers", PLDI 2013 (retentive stealing for recursive programs).

use std::collections::{BTreeMap, VecDeque};

use crate::message::List;
use crate::queue::Want;
use crate::trace::{Event, Stamped};

/// Tasks that go to a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gift {
    /// After so many steps of the working phase.
    step: u64,
    /// To whom.
    pub to: u32,
    /// Which gift to that worker it was.
    pub number: u32,
    /// What it wanted.
    pub want: Want,
}

/// What a worker did from when tasks came until it had nothing.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Phase {
    /// From whom its tasks came and which of that worker's gifts they were; `None`: it began with
    /// them.
    gift: Option<(u32, u32)>,
    /// When it began, in microseconds.
    at_us: u64,
    gifts: VecDeque<Gift>,
}

/// What a worker did in the last phase of a name, and how far it is in doing so again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guide {
    /// With what the worker began.
    begins: List,
    workers: u32,
    running: Phase,
    /// The steps that it had gone when the running one began.
    began: u64,
    coming: VecDeque<Phase>,
    has_nothing: bool,
    waits: bool,
}

impl Guide {
    /// Of what a worker of so many did that began with these tasks; `None` if nothing was stolen
    /// from it or by it.
    pub fn of(begins: List, workers: u32, events: &[Stamped]) -> Option<Self> {
        let mut phases = vec![Phase::default()];
        let (mut began, mut has_nothing, mut numbers) = (0, false, BTreeMap::<u32, u32>::new());
        for Stamped { step, at_us, event } in events {
            match *event {
                Event::Gave { to, want } => {
                    let next = numbers.entry(to).or_default();
                    let number = core::mem::replace(next, next.wrapping_add(1));
                    let gift = Gift { step: step.saturating_sub(began), to, number, want };
                    phases.last_mut()?.gifts.push_back(gift);
                }
                Event::Got { from, number } if has_nothing => {
                    (began, has_nothing) = (*step, false);
                    let gift = Some((from, number));
                    phases.push(Phase { gift, at_us: *at_us, ..Phase::default() });
                }
                Event::Idle => has_nothing = true,
                Event::Got { .. } | Event::Joined { .. } | Event::Ordered => {}
            }
        }
        let is_empty = phases.len() == 1 && phases[0].gifts.is_empty();
        let mut coming = VecDeque::from(phases);
        let running = coming.pop_front().filter(|_| !is_empty)?;
        Some(Self { begins, workers, running, began: 0, coming, has_nothing: false, waits: true })
    }

    /// Whether it is of a phase that began so.
    pub fn fits(&self, begins: List, workers: u32) -> bool {
        (self.begins, self.workers) == (begins, workers)
    }

    /// The worker has nothing.
    pub fn idle(&mut self) {
        self.has_nothing = true;
    }

    /// Tasks have come, after so many steps: a gift of the last phase again, or another one.
    pub fn got(&mut self, gift: Option<(u32, u32)>, step: u64) {
        if !core::mem::take(&mut self.has_nothing) {
            return;
        }
        self.began = step;
        let place = gift.and_then(|_| self.coming.iter().position(|phase| phase.gift == gift));
        // Of other tasks nothing is known.
        self.running = place.and_then(|place| self.coming.remove(place)).unwrap_or_default();
    }

    /// Where a gift of the last phase is among those that are expected; behind all, if it is not.
    pub fn place(&self, gift: Option<(u32, u32)>) -> usize {
        let place = gift.and_then(|_| self.coming.iter().position(|phase| phase.gift == gift));
        place.unwrap_or(usize::MAX)
    }

    /// Whether all that was waited for has come.
    pub fn holds_good(&self) -> bool {
        self.waits
    }

    /// What is to be given after so many steps.
    pub fn due(&mut self, step: u64) -> Option<Gift> {
        let gone = step.saturating_sub(self.began);
        let is_due = self.running.gifts.front().is_some_and(|gift| gift.step <= gone);
        if is_due { self.running.gifts.pop_front() } else { None }
    }

    /// Whether more is to be given in the working phase.
    pub fn has_gifts(&self) -> bool {
        !self.running.gifts.is_empty()
    }

    /// Until when a gift is waited for that came last time, in microseconds of the phase: an eighth
    /// of that time later, and a little.
    pub fn waits_until_us(&mut self, now_us: u64, slack_us: u64) -> Option<u64> {
        let at_us = self.coming.front().filter(|_| self.waits)?.at_us;
        let until_us = at_us.saturating_add(at_us / 8).saturating_add(slack_us);
        self.waits = until_us > now_us;
        self.waits.then_some(until_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(step: u64, at_us: u64, event: Event) -> Stamped {
        Stamped { step, at_us, event }
    }

    fn gave(step: u64, to: u32) -> Stamped {
        at(step, 0, Event::Gave { to, want: Want::HALF })
    }

    fn got(step: u64, at_us: u64, from: u32) -> Stamped {
        at(step, at_us, Event::Got { from, number: 0 })
    }

    /// It gives 7 something of what it began with, then twice something of what 3 gave it.
    fn guide() -> Guide {
        let idle = at(20, 50, Event::Idle);
        let events = [gave(5, 7), idle, got(20, 80, 3), gave(22, 8), got(23, 90, 4), gave(29, 9)];
        Guide::of(List::default(), 4, &events).unwrap()
    }

    #[test]
    fn gifts_are_due_at_the_steps_of_their_working_phase() {
        let mut guide = guide();
        assert_eq!(guide.due(4), None);
        assert_eq!(guide.due(6).map(|gift| gift.to), Some(7));
        guide.idle();
        assert_eq!(guide.due(1000), None);
        guide.got(Some((3, 0)), 1000);
        guide.got(None, 1001);
        assert_eq!((guide.due(1001), guide.due(1002).map(|gift| gift.to)), (None, Some(8)));
        assert_eq!((guide.due(1008), guide.due(1009).map(|gift| gift.to)), (None, Some(9)));
    }

    #[test]
    fn of_what_another_gives_nothing_is_known() {
        let mut guide = guide();
        guide.idle();
        guide.got(None, 20);
        assert_eq!(guide.due(1000), None);
        guide.idle();
        guide.got(Some((3, 0)), 1000);
        assert_eq!(guide.due(1002).map(|gift| gift.to), Some(8));
    }

    #[test]
    fn a_gift_is_waited_for_until_it_fails_to_come() {
        let mut guide = guide();
        assert_eq!(guide.waits_until_us(60, 20), Some(110));
        assert_eq!(guide.waits_until_us(110, 20), None);
        assert_eq!(guide.waits_until_us(60, 20), None, "it has stopped waiting");
    }

    #[test]
    fn it_is_of_one_beginning_and_of_thefts() {
        let (guide, other) = (guide(), List { tasks: 1, fingerprint: 5 });
        assert!(guide.fits(List::default(), 4));
        assert!(!guide.fits(other, 4) && !guide.fits(List::default(), 5));
        assert_eq!(Guide::of(other, 4, &[at(3, 9, Event::Idle)]), None);
    }
}
