//! Replies: an answer that comes later, from a handler to whoever called.
//!
//! The handler keeps the [`Asker`]; the [`Reply`] is a future of any runtime. An asker that is
//! dropped, since its handler has ended or its call found no place, answers too: with
//! [`Unanswered`]. So nobody waits for ever for somebody who is gone.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// There is no answer: this process no longer takes part, or has too many calls waiting. Whether
/// anything was done is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no answer: this process takes no part any more, or too many calls wait")]
pub struct Unanswered;

enum State<T> {
    Waiting(Option<Waker>),
    Answered(T),
    /// It was taken, or there is none.
    Over,
}

/// Where an answer is expected.
pub struct Reply<T>(Arc<Mutex<State<T>>>);

/// Who is to be answered.
pub struct Asker<T>(Arc<Mutex<State<T>>>);

/// Both ends of an answer.
pub fn ask<T>() -> (Asker<T>, Reply<T>) {
    let state = Arc::new(Mutex::new(State::Waiting(None)));
    (Asker(Arc::clone(&state)), Reply(state))
}

fn lock<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
    // Nothing that can panic happens under it.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn settle<T>(state: &Mutex<State<T>>, to: State<T>) {
    let mut held = lock(state);
    if let State::Waiting(waker) = &mut *held {
        let waker = waker.take();
        *held = to;
        drop(held);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Asker<T> {
    /// Answers.
    pub fn answer(self, answer: T) {
        settle(&self.0, State::Answered(answer));
    }
}

impl<T> Drop for Asker<T> {
    fn drop(&mut self) {
        settle(&self.0, State::Over);
    }
}

impl<T> Reply<T> {
    /// The answer, if it is there; it is taken.
    pub fn now(&mut self) -> Option<Result<T, Unanswered>> {
        let mut held = lock(&self.0);
        if matches!(*held, State::Waiting(_)) {
            return None;
        }
        match core::mem::replace(&mut *held, State::Over) {
            State::Answered(answer) => Some(Ok(answer)),
            _ => Some(Err(Unanswered)),
        }
    }
}

impl<T> Future for Reply<T> {
    type Output = Result<T, Unanswered>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut held = lock(&self.0);
        if let State::Waiting(waker) = &mut *held {
            *waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        match core::mem::replace(&mut *held, State::Over) {
            State::Answered(answer) => Poll::Ready(Ok(answer)),
            _ => Poll::Ready(Err(Unanswered)),
        }
    }
}

impl<T> core::fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Reply")
    }
}

impl<T> core::fmt::Debug for Asker<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Asker")
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(Mutex<u32>);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            *self.0.lock().unwrap() += 1;
        }
    }

    #[test]
    fn an_answer_wakes_who_waits() {
        let (asker, mut reply) = ask();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        assert!(Pin::new(&mut reply).poll(&mut context).is_pending());
        asker.answer(7);
        assert_eq!(*woken.0.lock().unwrap(), 1);
        assert_eq!(Pin::new(&mut reply).poll(&mut context), Poll::Ready(Ok(7)));
    }

    #[test]
    fn an_asker_that_is_dropped_answers_too() {
        let (asker, mut reply) = ask::<u32>();
        assert_eq!(reply.now(), None);
        drop(asker);
        assert_eq!(reply.now(), Some(Err(Unanswered)));
    }
}
