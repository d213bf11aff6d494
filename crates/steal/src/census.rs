//! The census: when no task is left, neither in a queue nor on its way.
//!
//! Each worker counts what it has *made* (tasks that arose here) and what is *gone* (tasks that ran
//! here). Both only grow, and over all workers `made − gone` is the number of tasks that there are.
//! The counts cannot be read at one moment, so they are read twice: if what was gone by the end of
//! the first reading is what was made by the end of the second, then in between nothing was left;
//! and where nothing is left, nothing arises.
//!
//! The first reading costs nothing while there is work: a worker reports to its parent in a tree
//! when it is idle, its children have reported, and the sums of its subtree have changed. Only when
//! the root's sums agree does it ask for the second reading, a round.
//!
//! **Deaths.** Each worker also counts what it sent to each other and got from it. When one is
//! declared dead, what was sent to it counts as gone, what came from it as made here, and its own
//! counts are out of the sums: they are again those of the tasks that are left among the living.
//! The tree is that of those who live; all reports begin again. Sums of different views are never
//! added: what is counted carries its view.
//!
//! Invariant: within a view, `made` and `gone` never fall, so the larger of two sums of one child
//! is the later one, whatever the order in which they arrive.
//!
//! Source: Mattern, "Algorithms for distributed termination detection", Distributed Computing 2,
//! 1987 (four counters).

use std::collections::BTreeMap;

use crate::message::Sums;
use crate::view::View;

/// What the census has its worker do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Send the parent the sums of the subtree.
    Report(u32, Sums),
    /// Ask a child.
    Confirm(u32, u64),
    /// Answer the parent.
    Confirmed(u32, u64, Sums),
    /// Nothing is left.
    End(Sums),
}

#[derive(Debug)]
struct Child {
    worker: u32,
    latest: Option<Sums>,
    answered: bool,
}

/// The census of one phase at one worker.
#[derive(Debug)]
pub struct Census {
    me: u32,
    own: Sums,
    sent: BTreeMap<u32, u64>,
    received: BTreeMap<u32, u64>,
    parent: Option<u32>,
    children: Vec<Child>,
    /// What the parent knows.
    reported: Option<Sums>,
    /// The round that is on its way below here.
    round: Option<u64>,
    /// Rounds of this view so far.
    rounds: u64,
    /// At the root: what was gone by the end of the first reading.
    candidate: u64,
    steps: Vec<Step>,
}

impl Census {
    /// Nothing was counted.
    pub fn new(me: u32, view: &View) -> Self {
        let mut census = Self {
            me,
            own: Sums::default(),
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
            parent: None,
            children: Vec::new(),
            reported: None,
            round: None,
            rounds: 0,
            candidate: 0,
            steps: Vec::new(),
        };
        census.follow(view);
        census
    }

    /// What this worker has counted.
    pub fn own(&self) -> Sums {
        self.own
    }

    /// What is to be done.
    pub fn steps(&mut self) -> Vec<Step> {
        core::mem::take(&mut self.steps)
    }

    /// This many tasks arose here.
    pub fn made(&mut self, tasks: u64) {
        self.own.made += tasks;
    }

    /// This many tasks ran here.
    pub fn gone(&mut self, tasks: u64) {
        self.own.gone += tasks;
    }

    /// This many went to another worker.
    pub fn sent(&mut self, to: u32, tasks: u64) {
        *self.sent.entry(to).or_default() += tasks;
    }

    /// This many came from another worker.
    pub fn received(&mut self, from: u32, tasks: u64) {
        *self.received.entry(from).or_default() += tasks;
    }

    /// What would have gone to a worker that is dead is lost.
    pub fn lost(&mut self, tasks: u64) {
        self.own.gone += tasks;
        self.own.lost += tasks;
    }

    /// Another worker died, and this is the view without it.
    pub fn died(&mut self, worker: u32, view: &View) {
        let lost = self.sent.remove(&worker).unwrap_or(0);
        self.lost(lost);
        self.own.made += self.received.remove(&worker).unwrap_or(0);
        self.own.deaths += 1;
        self.follow(view);
    }

    fn follow(&mut self, view: &View) {
        self.parent = view.parent(self.me);
        let child = |worker| Child { worker, latest: None, answered: false };
        self.children = view.children(self.me).map(child).collect();
        (self.reported, self.round) = (None, None);
        self.steps.clear();
    }

    /// Takes a child's sums; whether it is a child.
    fn take(&mut self, from: u32, sums: Sums, answered: bool) -> bool {
        let Some(child) = self.children.iter_mut().find(|child| child.worker == from) else {
            return false;
        };
        let grown = |latest: Sums| (sums.made, sums.gone) >= (latest.made, latest.gone);
        if child.latest.is_none_or(grown) {
            child.latest = Some(sums);
        }
        child.answered |= answered;
        true
    }

    /// The sums of the subtree, if each child has reported.
    fn sums(&self) -> Option<Sums> {
        self.children.iter().try_fold(self.own, |sums, child| Some(sums.plus(child.latest?)))
    }

    /// The worker is idle, with this many finishes that wait: is there anything to say?
    pub fn idle(&mut self, waiting: u64) {
        self.own.waiting = waiting;
        let Some(sums) = self.sums() else { return };
        match self.parent {
            Some(_) if self.reported == Some(sums) => {}
            Some(parent) => {
                self.reported = Some(sums);
                self.steps.push(Step::Report(parent, sums));
            }
            None if self.round.is_none() && sums.made == sums.gone => {
                self.candidate = sums.gone;
                self.rounds += 1;
                self.confirm(self.rounds, waiting);
            }
            None => {}
        }
    }

    /// A child's sums. The worker calls [`Census::idle`] next if it is.
    pub fn report(&mut self, from: u32, sums: Sums) {
        self.take(from, sums, false);
    }

    /// The second reading reaches this worker, from its parent or as the root.
    pub fn confirm(&mut self, round: u64, waiting: u64) {
        self.own.waiting = waiting;
        self.round = Some(round);
        for child in &mut self.children {
            child.answered = false;
            self.steps.push(Step::Confirm(child.worker, round));
        }
        self.conclude();
    }

    /// A child's answer.
    pub fn confirmed(&mut self, from: u32, round: u64, sums: Sums, waiting: u64) {
        self.own.waiting = waiting;
        if self.take(from, sums, self.round == Some(round)) {
            self.conclude();
        }
    }

    /// Ends the round below here if each child has answered.
    fn conclude(&mut self) {
        let Some(round) = self.round else { return };
        let Some(sums) = self.sums() else { return };
        if self.children.iter().any(|child| !child.answered) {
            return;
        }
        self.round = None;
        match self.parent {
            Some(parent) => {
                self.reported = Some(sums);
                self.steps.push(Step::Confirmed(parent, round, sums));
            }
            None if sums.made == self.candidate => self.steps.push(Step::End(sums)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(made: u64, gone: u64) -> Sums {
        Sums { made, gone, ..Sums::default() }
    }

    #[test]
    fn alone_the_end_is_when_all_has_run() {
        let mut census = Census::new(0, &View::new(1));
        census.made(2);
        census.gone(1);
        census.idle(0);
        assert_eq!(census.steps(), []);
        census.gone(1);
        census.idle(0);
        assert_eq!(census.steps(), [Step::End(sums(2, 2))]);
    }

    #[test]
    fn sums_that_agree_are_read_again() {
        let mut root = Census::new(0, &View::new(2));
        root.idle(0);
        assert_eq!(root.steps(), []);
        root.report(1, sums(1, 1));
        root.idle(0);
        assert_eq!(root.steps(), [Step::Confirm(1, 1)]);
        root.confirmed(1, 1, sums(1, 1), 0);
        assert_eq!(root.steps(), [Step::End(sums(1, 1))]);
    }

    /// The root was read before it got a task; the other worker ran what made that task. Sums read
    /// once agree although a task is left.
    #[test]
    fn what_was_read_too_early_does_not_end_the_phase() {
        let mut root = Census::new(0, &View::new(2));
        root.report(1, sums(1, 1));
        root.idle(0);
        assert_eq!(root.steps(), [Step::Confirm(1, 1)]);
        root.made(2);
        root.gone(1);
        root.confirmed(1, 1, sums(1, 1), 0);
        assert_eq!(root.steps(), []);
        root.gone(1);
        root.idle(0);
        assert_eq!(root.steps(), [Step::Confirm(1, 2)]);
        root.report(1, sums(0, 0));
        root.confirmed(1, 2, sums(1, 1), 0);
        assert_eq!(root.steps(), [Step::End(sums(3, 3))]);
    }

    #[test]
    fn an_idle_worker_reports_once_for_each_change() {
        let mut leaf = Census::new(1, &View::new(2));
        leaf.idle(0);
        leaf.idle(0);
        assert_eq!(leaf.steps(), [Step::Report(0, sums(0, 0))]);
        leaf.confirm(1, 0);
        assert_eq!(leaf.steps(), [Step::Confirmed(0, 1, sums(0, 0))]);
        leaf.made(1);
        leaf.gone(1);
        leaf.idle(0);
        assert_eq!(leaf.steps(), [Step::Report(0, sums(1, 1))]);
    }

    #[test]
    fn of_the_dead_what_they_got_is_lost_and_what_they_gave_is_made_here() {
        let mut view = View::new(3);
        let mut census = Census::new(1, &view);
        census.made(10);
        census.sent(0, 4);
        census.received(0, 1);
        census.gone(7);
        view.remove(0);
        census.died(0, &view);
        census.report(2, sums(0, 0));
        census.idle(0);
        assert_eq!(census.own(), Sums { made: 11, gone: 11, lost: 4, waiting: 0, deaths: 1 });
        assert_eq!(census.steps(), [Step::Confirm(2, 1)]);
    }
}
