//! A pool of threads of one process: fork and join, scopes, loops.
//!
//! ```
//! fn fibonacci(n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (one, other) = tidings_fork_join::join(|| fibonacci(n - 1), || fibonacci(n - 2));
//!     one + other
//! }
//!
//! let pool = tidings_fork_join::Pool::new(2)?;
//! assert_eq!(pool.install(|| fibonacci(20)), 6_765);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A fork costs a few nanoseconds: what nobody steals is a call with two stores before it. Each
//! worker keeps its jobs in a deque of which thieves see the oldest few (`deque`); `job`s lie in
//! the frames that made them; `worker` steals, waits and runs; `sleep` is how it does nothing.
//!
//! # What holds
//!
//! - **Each job runs once**, and a call returns when all that it forked or spawned has ended, also
//!   if some of it panics: the panic is passed on after that. Only what nobody has begun when the
//!   first half of its fork panics is dropped without being run.
//! - **A thread that waits runs only what descends from what it waits for.** So a lock may be held
//!   across a fork if the forked work does not take it, which would be a deadlock in order, too;
//!   and a stack gets no deeper than that of the program run in order. The price: it may idle while
//!   there is other work.
//! - **Recursion** is bounded by the stack of the threads ([`Builder::stack_bytes`]). Beyond it the
//!   process ends by Rust's own check, which names the thread. A worker has room for 8,192 pending
//!   forks; beyond them a fork is two calls in order.
//! - **A worker without work sleeps**, after some ten microseconds in which it looks around.
//! - A job that waits for an event of another job (not by a fork or scope) may wait for ever, as in
//!   any pool: it keeps its thread.
//! - What a job spawns into a scope that is around it ends before the job is said to have ended, if
//!   nobody stole it.

mod deque;
mod job;
mod join;
mod pool;
mod range;
mod scope;
mod sleep;
mod worker;

pub use pool::{Builder, Counts, Pool, for_each, is_bare, join, scope};
pub use scope::Scope;
