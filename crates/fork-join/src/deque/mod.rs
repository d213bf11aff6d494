//! The deque of a worker: a ring whose newest part only the owner sees, and whose oldest others
//! take from.
//!
//! ```text
//!        top           split            tail
//!   stolen | public      | private        | free
//! ```
//!
//! The owner pushes and takes at `tail`. Down to `split` nobody else looks, so there it needs no
//! fence and no atomic exchange: two plain words. Thieves take the oldest at `top`, by an exchange.
//! A push makes jobs public, the oldest first, while fewer than [`WINDOW`] are. So a thief finds
//! the largest piece of work that there is without asking the owner for it, who may be busy for
//! long; and the owner meets a fence only where its stack unwinds to its oldest frames.
//!
//! Invariants:
//! - `top ≤ split ≤ tail ≤ top + N` for the owner; `top` never decreases, `split` does where the
//!   owner takes back what was public.
//! - A job leaves once: by the owner's `tail`, or by an exchange of `top` that only one can make.
//! - Positions count all jobs there ever were, 64 bits that wrap around. A slot is used again only
//!   when `top` has gone past its earlier position, and an exchange that still expects that
//!   position fails: `top` is its own tag.
//! - [`Deque::renew`] skips a position while the deque is empty. A [`Ticket`] from before it steals
//!   nothing after: how one who waits steals only what descends from what it waits for.
//!
//! Words and fences are a trait so that a model checker can stand in for the machine (`model.rs`,
//! with loom). All changes of `split` are releases, since a thief may see any of them.
//!
//! Source: Chase and Lev, SPAA 2005, with the fences of Lê, Pop, Cohen and Zappa Nardelli, PPoPP
//! 2013; the private part as in Lace (van Dijk and van de Pol, 2014) and TASCEL (Dinan et al.,
//! SC 2009), but without requests to the owner.

mod machine;
#[cfg(test)]
mod model;
#[cfg(test)]
mod stress;

use std::cell::Cell;

pub(crate) use machine::{Hardware, Index, Machine, Slot};

/// How many jobs the owner keeps public: enough for a few thieves while it does not push.
pub(crate) const WINDOW: u64 = 4;

/// Keeps what it holds on lines of memory of its own; two, since processors fetch in pairs.
#[repr(align(128))]
pub(crate) struct Line<T>(pub(crate) T);

/// The positions that thieves read.
struct Public<M: Machine> {
    top: M::Index,
    split: M::Index,
}

/// What only the owner looks at.
struct Own {
    /// The position after the newest job.
    tail: Cell<u64>,
    /// A copy of `split`.
    edge: Cell<u64>,
}

/// A ring of `N` jobs, a power of two.
pub(crate) struct Deque<M: Machine, const N: usize> {
    own: Line<Own>,
    slots: Box<[M::Slot; N]>,
    public: Line<Public<M>>,
}

// SAFETY: `own` is used by the owner alone, which the unsafe functions demand; all
// else is atomic.
unsafe impl<M: Machine, const N: usize> Sync for Deque<M, N> {}

/// The oldest position as a thief saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(u64);

/// What an attempt to steal came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stolen {
    /// The job, which is this thread's now.
    Job(*mut ()),
    /// Nothing is public.
    Nothing,
    /// Another took it first.
    Lost,
}

impl<M: Machine, const N: usize> Deque<M, N> {
    /// An empty one whose first job has this position.
    pub(crate) fn starting_at(position: u64) -> Self {
        const { assert!(N.is_power_of_two(), "positions wrap around at 2^64") };
        let slots = (0..N).map(|_| M::Slot::empty()).collect::<Vec<_>>();
        let Ok(slots) = slots.try_into() else { unreachable!("there are N of them") };
        let public = Public { top: M::Index::new(position), split: M::Index::new(position) };
        Self {
            own: Line(Own { tail: Cell::new(position), edge: Cell::new(position) }),
            slots,
            public: Line(public),
        }
    }

    fn slot(&self, position: u64) -> &M::Slot {
        &self.slots[position as usize % N]
    }

    /// Adds a job. `None` if the ring is full, and it was not added; else whether jobs were made
    /// public.
    ///
    /// # Safety
    /// Only the owner may call it.
    #[inline]
    pub(crate) unsafe fn push(&self, job: *mut ()) -> Option<bool> {
        let (tail, edge) = (self.own.0.tail.get(), self.own.0.edge.get());
        let top = self.public.0.top.relaxed();
        if tail.wrapping_sub(top) >= N as u64 {
            return None;
        }
        self.slot(tail).set(job);
        self.own.0.tail.set(tail.wrapping_add(1));
        if edge.wrapping_sub(top) >= WINDOW {
            return Some(false);
        }
        // The lesser distance, not the lesser position: positions wrap around.
        let public = (tail.wrapping_sub(top) + 1).min(WINDOW);
        self.publish(top.wrapping_add(public));
        Some(true)
    }

    #[cold]
    fn publish(&self, split: u64) {
        self.own.0.edge.set(split);
        self.public.0.split.release(split);
    }

    /// Takes the newest job if it is this one and private; else nothing happens.
    ///
    /// # Safety
    /// Only the owner may call it.
    #[inline]
    pub(crate) unsafe fn take_private(&self, job: *mut ()) -> bool {
        let newest = self.own.0.tail.get().wrapping_sub(1);
        let is_it =
            newest.wrapping_add(1) != self.own.0.edge.get() && self.slot(newest).get() == job;
        if is_it {
            self.own.0.tail.set(newest);
        }
        is_it
    }

    /// Takes the newest job; `None` if the deque is empty.
    ///
    /// # Safety
    /// Only the owner may call it.
    pub(crate) unsafe fn take(&self) -> Option<*mut ()> {
        let (tail, edge) = (self.own.0.tail.get(), self.own.0.edge.get());
        let newest = tail.wrapping_sub(1);
        if tail != edge {
            self.own.0.tail.set(newest);
            return Some(self.slot(newest).get());
        }
        let Public { top, split } = &self.public.0;
        split.release(newest);
        M::fence();
        let oldest = top.relaxed();
        let left = newest.wrapping_sub(oldest) as i64;
        if left > 0 || (left == 0 && top.exchange(oldest)) {
            let at = if left > 0 {
                newest
            } else {
                self.settle(edge);
                edge
            };
            self.own.0.tail.set(at);
            self.own.0.edge.set(at);
            return Some(self.slot(newest).get());
        }
        self.settle(edge);
        None
    }

    /// The deque is empty, and `top` is at this position: so is `split`.
    fn settle(&self, position: u64) {
        self.public.0.split.release(position);
    }

    /// The position that the next job will have.
    ///
    /// # Safety
    /// Only the owner may call it.
    #[inline]
    pub(crate) unsafe fn mark(&self) -> u64 {
        self.own.0.tail.get()
    }

    /// Whether a thief would find nothing.
    ///
    /// # Safety
    /// Only the owner may call it.
    #[inline]
    pub(crate) unsafe fn is_bare(&self) -> bool {
        self.own.0.edge.get() == self.public.0.top.relaxed()
    }

    /// Makes all tickets worthless, while the deque is empty.
    ///
    /// # Safety
    /// Only the owner may call it, after [`Deque::take`] said that nothing is left.
    pub(crate) unsafe fn renew(&self) {
        let next = self.own.0.tail.get().wrapping_add(1);
        // First `top`: the other way round a thief would see a job that is none.
        self.public.0.top.release(next);
        self.publish(next);
        self.own.0.tail.set(next);
    }

    /// Whether a thief would find something.
    pub(crate) fn is_public(&self) -> bool {
        let Public { top, split } = &self.public.0;
        let top = top.acquire();
        (split.acquire().wrapping_sub(top) as i64) > 0
    }

    /// The oldest position now.
    pub(crate) fn ticket(&self) -> Ticket {
        Ticket(self.public.0.top.acquire())
    }

    /// Takes the job at the ticket's position if it is there and still the oldest.
    pub(crate) fn steal_at(&self, Ticket(oldest): Ticket) -> Stolen {
        let Public { top, split } = &self.public.0;
        M::fence();
        if (split.acquire().wrapping_sub(oldest) as i64) <= 0 {
            return Stolen::Nothing;
        }
        let job = self.slot(oldest).get();
        if top.exchange(oldest) { Stolen::Job(job) } else { Stolen::Lost }
    }

    /// Takes the oldest job.
    pub(crate) fn steal(&self) -> Stolen {
        self.steal_at(self.ticket())
    }
}
