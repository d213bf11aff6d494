//! Fork and join: two calls that may run at the same time.
//!
//! The second call is left in the frame of the fork, where another thread may take it; the first
//! runs at once. Then the thread takes back the second, if it is still there, and calls it as
//! any function. If it was taken it waits ([`Worker::wait`]).
//!
//! All of a fork that nobody steals is in the code of the caller, and all else is outside, where
//! work and results go on the heap: then no word of them has to be in memory for its address, and
//! what a call returns stays where it is. Copies of just written words cost more than the deque.
//!
//! A panic of one is passed on when both have ended; if both panic, that of the first. If the first
//! panics and nobody has begun the second, it is not run.

use std::mem::forget;
use std::panic::resume_unwind;

use crate::deque::Ticket;
use crate::job::{Half, State};
use crate::sleep::Until;
use crate::worker::{Awaited, Shared, Worker};

impl<F, R> Awaited for Half<F, R> {
    fn is_done(&self) -> bool {
        self.state() == State::Done
    }

    fn steal(&self, shared: &Shared, attempt: &mut dyn FnMut(usize, Ticket) -> bool) {
        if let State::Taken(thief) = self.state() {
            let ticket = shared.ticket(thief);
            // The thief was at it when it had this position, or the ticket is worthless.
            if !self.is_done() {
                attempt(thief, ticket);
            }
        }
    }

    fn until(&self) -> Option<Until> {
        match self.state() {
            State::Taken(thief) => Some(Until::DescendantsOf(thief)),
            State::Waits | State::Done => None,
        }
    }
}

/// The second half while the first runs. If that panics, the frame must stay until nobody else
/// looks at it.
struct Forked<'a, F: FnOnce() -> R + Send, R: Send> {
    worker: &'a Worker,
    half: &'a Half<F, R>,
}

impl<F: FnOnce() -> R + Send, R: Send> Forked<'_, F, R> {
    /// Takes it off the deque, after what the first half spawned into scopes around this fork;
    /// whether it was still there.
    #[cold]
    fn take(&self) -> bool {
        while let Some(job) = self.worker.take() {
            if job == self.half.pointer() {
                return true;
            }
            // SAFETY: it was just taken.
            unsafe { self.worker.run_own(job) };
        }
        false
    }
}

impl<F: FnOnce() -> R + Send, R: Send> Drop for Forked<'_, F, R> {
    #[cold]
    fn drop(&mut self) {
        if self.take() {
            // SAFETY: it is off the deque, so nobody else has it.
            drop(unsafe { self.half.work() });
        } else {
            self.worker.wait(self.half);
            // SAFETY: it is done.
            drop(unsafe { self.half.result() });
        }
    }
}

/// Runs both, the second maybe on another thread of this worker's pool.
#[expect(clippy::inline_always, reason = "as a call it takes twice as long: work is copied")]
#[inline(always)]
pub(crate) fn join_on<A, B, RA, RB>(worker: &Worker, first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    worker.stack.check();
    let half = Half::new(second);
    if !worker.push(half.pointer()) {
        // SAFETY: nobody else ever saw it.
        let second = unsafe { half.work() };
        return *in_order(Box::new(first), second);
    }
    let forked = Forked { worker, half: &half };
    let one = first();
    let is_here = worker.take_private(half.pointer()) || forked.take();
    forget(forked);
    let other = if is_here {
        // SAFETY: it is off the deque, so nobody else has it.
        let second = unsafe { half.work() };
        second()
    } else {
        *stolen(worker, &half)
    };
    (one, other)
}

/// There is no room for a fork.
#[expect(clippy::unnecessary_box_returns, reason = "the caller must give no address for it")]
#[cold]
#[inline(never)]
fn in_order<RA, RB>(first: impl FnOnce() -> RA, second: impl FnOnce() -> RB) -> Box<(RA, RB)> {
    Box::new((first(), second()))
}

/// What came out of a half that another thread took.
#[expect(clippy::unnecessary_box_returns, reason = "the caller must give no address for it")]
#[cold]
#[inline(never)]
fn stolen<B: FnOnce() -> RB + Send, RB: Send>(worker: &Worker, half: &Half<B, RB>) -> Box<RB> {
    worker.wait(half);
    // SAFETY: it is done, and nobody else asks.
    Box::new(unsafe { half.result() }.unwrap_or_else(|panic| resume_unwind(panic)))
}
