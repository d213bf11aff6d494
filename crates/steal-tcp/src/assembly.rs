//! The assembly: all who live meet, show each other words, and agree on who came, without input and
//! output.
//!
//! Who comes tells the first of those who live. When all who live have come, the first decides: who
//! is dead, and what each has shown. All have the same decision or none, although any of them may
//! die at any moment, the first while it tells the others: when it dies, each who lives tells the
//! next one its last decision, if any, and that it has come, if it waits; and the next one decides
//! only when it has heard so from all.
//!
//! Invariants: who has told the next one ignores what the one before it says. Nobody comes to a
//! meeting before all who live have come to the one before it, so the last decision is enough. Two
//! who live never have different decisions of one meeting.
//!
//! Source: the collection of decisions by a new coordinator is that of Chandra and Toueg,
//! "Unreliable failure detectors for reliable distributed systems", JACM 43, 1996; here who is
//! suspected has to stop, so that no majority is needed.

use std::collections::VecDeque;

use tidings_steal::view::View;

/// A worker has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Came {
    /// To which meeting, from 1 on.
    pub(crate) count: u64,
    /// What for.
    pub(crate) tag: u64,
    /// What it shows.
    pub(crate) words: Vec<u64>,
}

/// What all know after a meeting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// Which meeting.
    pub(crate) count: u64,
    /// Who decided.
    pub(crate) by: u32,
    /// One who came for something else than who decided.
    pub(crate) differing: Option<u32>,
    /// Who is dead.
    pub(crate) dead: Vec<u32>,
    /// What each who came has shown, whether or not it is dead by now.
    pub(crate) shown: Vec<Option<Vec<u64>>>,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Tell that one that this worker has come.
    Came(u32, Came),
    /// Tell that one a decision.
    Decided(u32, Decision),
}

/// What one worker knows of meetings.
#[derive(Debug)]
pub(crate) struct Assembly {
    me: u32,
    view: View,
    /// Whether it waits for a decision of the meeting that it came to last.
    waits: bool,
    /// How often it has come.
    count: u64,
    /// To which meeting each came last, as it told this worker; its own is here, too.
    came: Vec<Option<Came>>,
    last: Option<Decision>,
    steps: VecDeque<Step>,
}

impl Assembly {
    /// Before the first meeting.
    pub(crate) fn new(me: u32, workers: u32) -> Self {
        Self {
            me,
            view: View::new(workers),
            waits: false,
            count: 0,
            came: vec![None; workers as usize],
            last: None,
            steps: VecDeque::new(),
        }
    }

    /// Who lives.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// The decision of the meeting that this worker came to last, if there is one.
    pub(crate) fn decision(&self) -> Option<&Decision> {
        self.last.as_ref().filter(|_| !self.waits)
    }

    /// Who lives and has not told this worker that it came, if that is who decides.
    pub(crate) fn missing(&self) -> Option<Vec<u32>> {
        let missing = |worker: &u32| self.view.lives(*worker) && !self.has_come(*worker);
        self.decides().then(|| (0..self.view.workers()).filter(missing).collect())
    }

    /// Who decides.
    pub(crate) fn first(&self) -> u32 {
        self.view.at(0)
    }

    /// What is to be done next.
    pub(crate) fn step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    /// This worker comes to the next meeting.
    pub(crate) fn come(&mut self, tag: u64, words: Vec<u64>) {
        self.count += 1;
        self.waits = true;
        self.came[self.me as usize] = Some(Came { count: self.count, tag, words });
        self.tell();
        self.decide();
    }

    /// Another one has come.
    pub(crate) fn came(&mut self, from: u32, came: Came) {
        if !self.view.lives(from) {
            return;
        }
        if let Some(last) = self.last.as_ref().filter(|last| last.count == came.count) {
            self.steps.push_back(Step::Decided(from, last.clone()));
            return;
        }
        self.came[from as usize] = Some(came);
        self.decide();
    }

    /// Another one has a decision.
    pub(crate) fn decided(&mut self, from: u32, decision: Decision) {
        let whole = decision.shown.len() == self.came.len();
        if self.view.lives(from) && whole && self.waits && decision.count == self.count {
            self.adopt(decision);
        }
    }

    /// A worker is dead.
    pub(crate) fn died(&mut self, worker: u32) {
        let first = self.first();
        if self.view.live() > 1 && self.view.remove(worker) {
            if worker == first {
                self.tell();
            }
            self.decide();
        }
    }

    fn decides(&self) -> bool {
        self.first() == self.me
    }

    fn has_come(&self, worker: u32) -> bool {
        self.came[worker as usize].as_ref().is_some_and(|came| came.count == self.count)
    }

    /// Tells who decides what this worker knows: the last decision, which may not be known there.
    fn tell(&mut self) {
        let first = self.first();
        if self.decides() {
            // Some may have told this worker that they came before it knew that it decides.
            return self.tell_all();
        }
        if let Some(last) = &self.last {
            self.steps.push_back(Step::Decided(first, last.clone()));
        }
        if let Some(came) = self.came[self.me as usize].as_ref().filter(|_| self.waits) {
            self.steps.push_back(Step::Came(first, came.clone()));
        }
    }

    /// Decides, if it is for this worker to do so and all who live have come.
    fn decide(&mut self) {
        let all = (0..self.view.workers()).filter(|worker| self.view.lives(*worker));
        if !self.waits || !self.decides() || all.into_iter().any(|other| !self.has_come(other)) {
            return;
        }
        let came =
            |worker: u32| self.came[worker as usize].as_ref().filter(|_| self.has_come(worker));
        let tag = came(self.me).map(|own| own.tag);
        let all = || 0..self.view.workers();
        let differs = |worker: &u32| came(*worker).is_some_and(|came| Some(came.tag) != tag);
        let decision = Decision {
            count: self.count,
            by: self.me,
            differing: all().find(differs),
            dead: self.view.dead().to_vec(),
            shown: all().map(|worker| came(worker).map(|came| came.words.clone())).collect(),
        };
        self.adopt(decision);
    }

    /// The meeting is decided. Who decides tells all, as others may not know.
    fn adopt(&mut self, decision: Decision) {
        self.waits = false;
        self.last = Some(decision);
        if self.decides() {
            self.tell_all();
        }
    }

    fn tell_all(&mut self) {
        let Some(last) = &self.last else { return };
        for worker in (0..self.view.workers()).filter(|worker| *worker != self.me) {
            if self.view.lives(worker) {
                self.steps.push_back(Step::Decided(worker, last.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidings_primitives::Chance;

    use super::*;

    const MEETINGS: u64 = 4;

    /// Workers that meet, and what is on its way from each to each, in order.
    struct World {
        chance: Chance,
        members: Vec<Assembly>,
        lives: Vec<bool>,
        /// What each has not heard yet: a step, or that the sender is dead.
        lines: Vec<Vec<VecDeque<Option<Step>>>>,
        decisions: Vec<Vec<Decision>>,
    }

    impl World {
        fn new(workers: u32, seed: u64) -> Self {
            let n = workers as usize;
            let mut world = Self {
                chance: Chance::new(seed),
                members: (0..workers).map(|me| Assembly::new(me, workers)).collect(),
                lives: vec![true; n],
                lines: vec![vec![VecDeque::new(); n]; n],
                decisions: vec![Vec::new(); n],
            };
            for member in 0..n {
                world.come(member);
            }
            world
        }

        fn come(&mut self, member: usize) {
            let count = self.members[member].count + 1;
            self.members[member].come(count, vec![10 * count + member as u64]);
            self.perform(member, usize::MAX);
        }

        /// Sends at most so many of what it wants to: who dies says no more.
        fn perform(&mut self, member: usize, most: usize) {
            for _ in 0..most {
                let Some(step) = self.members[member].step() else { break };
                let (Step::Came(to, _) | Step::Decided(to, _)) = step;
                self.lines[member][to as usize].push_back(Some(step));
            }
            self.note(member);
        }

        fn note(&mut self, member: usize) {
            let met = self.decisions[member].len() as u64;
            let decision = self.members[member].decision();
            if let Some(decision) = decision.filter(|decision| decision.count > met).cloned() {
                self.decisions[member].push(decision);
                if met + 1 < MEETINGS {
                    self.come(member);
                }
            }
        }

        fn kill(&mut self, member: usize) {
            self.lives[member] = false;
            for to in 0..self.members.len() {
                // What is on its way arrives up to some place, the end last.
                let line = &mut self.lines[member][to];
                let left = self.chance.below(line.len() + 1);
                line.truncate(left);
                line.push_back(None);
            }
        }

        /// One thing arrives somewhere, and whoever gets it may die while it answers.
        fn step(&mut self, mortal: bool) -> bool {
            let n = self.members.len();
            let full = |from: usize, to: usize| !self.lines[from][to].is_empty() && self.lives[to];
            let all: Vec<(usize, usize)> = (0..n * n)
                .map(|at| (at / n, at % n))
                .filter(|(from, to)| full(*from, *to))
                .collect();
            if all.is_empty() {
                return false;
            }
            let (from, to) = all[self.chance.below(all.len())];
            let member = &mut self.members[to];
            match self.lines[from][to].pop_front().flatten() {
                None => member.died(from as u32),
                Some(Step::Came(_, came)) => member.came(from as u32, came),
                Some(Step::Decided(_, decision)) => member.decided(from as u32, decision),
            }
            let dies = mortal && self.chance.below(12) == 0;
            if dies && self.lives.iter().filter(|lives| **lives).count() > 1 {
                let most = self.chance.below(n + 1);
                self.perform(to, most);
                self.kill(to);
            } else {
                self.perform(to, usize::MAX);
            }
            true
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        /// Whatever arrives in which order, and whoever dies while it speaks: all who live come to
        /// the end of all meetings with the same decisions, which name all who did not come.
        #[test]
        fn who_lives_agrees(workers in 1u32..7, seed: u64, mortal: bool) {
            let mut world = World::new(workers, seed);
            while world.step(mortal) {}
            let living: Vec<usize> =
                (0..workers as usize).filter(|member| world.lives[*member]).collect();
            let one = &world.decisions[living[0]];
            prop_assert_eq!(one.len() as u64, MEETINGS, "a hang");
            for member in living {
                prop_assert_eq!(&world.decisions[member], one);
            }
            for (decision, count) in one.iter().zip(1..) {
                prop_assert_eq!((decision.count, decision.differing), (count, None));
                for (worker, shown) in (0..).zip(&decision.shown) {
                    let words = vec![10 * count + u64::from(worker)];
                    let is_dead = decision.dead.contains(&worker);
                    prop_assert!(shown.as_ref().map_or(is_dead, |shown| *shown == words));
                }
            }
        }
    }

    #[test]
    fn who_comes_for_something_else_is_named() {
        let mut first = Assembly::new(0, 2);
        first.come(7, Vec::new());
        assert_eq!((first.missing(), first.decision()), (Some(vec![1]), None));
        first.came(1, Came { count: 1, tag: 8, words: Vec::new() });
        assert_eq!(first.decision().map(|decision| decision.differing), Some(Some(1)));
        // Its own decision was lost with the first: the other one is told again.
        while first.step().is_some() {}
        first.came(1, Came { count: 1, tag: 8, words: Vec::new() });
        assert!(matches!(first.step(), Some(Step::Decided(1, _))));
    }
}
