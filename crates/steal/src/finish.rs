//! Finishes: what waits until tasks are done, with all that those have spawned.
//!
//! A finish is at one worker, its home, and counts the tasks that it waits for there. A task that
//! spawns away from home would have to ask first, or its child could be done before it is counted.
//! So its worker opens a finish of its own that stands for it: the children are counted there, and
//! home is told once, when the task and all below it are done. However tasks spread, a steal costs
//! at most one message more.
//!
//! Invariant: the count of a finish is the number of tasks with its scope that are not done, this
//! side of messages on their way; it reaches 0 once.

use std::collections::BTreeMap;

use crate::frame::{Frame, Scope};

/// What follows when a finish has nothing left to wait for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Then {
    /// This frame runs.
    Run(Box<Frame>),
    /// The task for which it stands is done.
    Leave(Scope),
}

#[derive(Debug)]
struct Finish {
    pending: u64,
    then: Then,
}

/// The finishes of one worker.
#[derive(Debug)]
pub struct Finishes {
    me: u32,
    open: BTreeMap<u32, Finish>,
    opened: u32,
}

impl Finishes {
    /// None.
    pub fn new(me: u32) -> Self {
        Self { me, open: BTreeMap::new(), opened: 0 }
    }

    /// How many wait.
    pub fn waiting(&self) -> u64 {
        self.open.len() as u64
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    /// Opens one that waits for one task.
    pub fn open(&mut self, then: Then) -> Scope {
        self.opened = self.opened.wrapping_add(1);
        self.open.insert(self.opened, Finish { pending: 1, then });
        Scope { home: self.me, number: self.opened }
    }

    /// The scope for a child of a task of `scope`, which is counted; where that is another
    /// worker's, the task's scope becomes that of a finish that stands for it.
    pub fn scope_of_child(&mut self, scope: &mut Scope) -> Scope {
        if !scope.is_finish() {
            return Scope::PHASE;
        }
        if scope.home != self.me {
            *scope = self.open(Then::Leave(*scope));
        }
        if let Some(finish) = self.open.get_mut(&scope.number) {
            finish.pending += 1;
        }
        *scope
    }

    /// A task with the finish of this number is done; what follows, if it was the last.
    pub fn leave(&mut self, number: u32) -> Option<Then> {
        let finish = self.open.get_mut(&number)?;
        finish.pending -= 1;
        if finish.pending > 0 {
            return None;
        }
        self.open.remove(&number).map(|finish| finish.then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame::new(1, 0, b"then").unwrap()
    }

    #[test]
    fn a_finish_waits_for_each_task_and_runs_once() {
        let mut finishes = Finishes::new(3);
        let mut body = finishes.open(Then::Run(Box::new(frame())));
        let child = finishes.scope_of_child(&mut body);
        assert_eq!((child, finishes.waiting()), (body, 1));
        assert_eq!(finishes.leave(body.number), None);
        assert_eq!(finishes.leave(child.number), Some(Then::Run(Box::new(frame()))));
        assert_eq!(finishes.leave(child.number), None);
        assert_eq!(finishes.waiting(), 0);
    }

    #[test]
    fn away_from_home_another_stands_for_the_task() {
        let mut finishes = Finishes::new(3);
        let home = Scope { home: 9, number: 4 };
        let mut scope = home;
        let first = finishes.scope_of_child(&mut scope);
        let second = finishes.scope_of_child(&mut scope);
        assert_eq!((first, second, scope.home), (scope, scope, 3));
        assert_eq!(finishes.leave(scope.number), None);
        assert_eq!(finishes.leave(scope.number), None);
        assert_eq!(finishes.leave(scope.number), Some(Then::Leave(home)));
    }

    #[test]
    fn of_the_phase_nothing_is_counted() {
        let mut finishes = Finishes::new(3);
        let mut scope = Scope::LIST;
        assert_eq!(finishes.scope_of_child(&mut scope), Scope::PHASE);
        assert_eq!((scope, finishes.waiting()), (Scope::LIST, 0));
    }
}
