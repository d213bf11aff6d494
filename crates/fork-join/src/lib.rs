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
//! What was stolen from whom and when is noted (`log`), and [`Pool::trace`] gives it as a trace
//! that `python -m tidings.steals` draws. A fork that nobody steals notes nothing.
//!
//! # Who runs what first
//!
//! | call | this thread | what others may take |
//! |---|---|---|
//! | [`join`] | runs the first half: *work-first* | the second half |
//! | [`Scope::spawn_first`] | runs the job: *work-first* | the rest of the caller, as a closure |
//! | [`Scope::spawn`] | goes on in the caller: *help-first* | the job |
//! | [`for_each`] | runs its part in order | the farther half, if they have nothing |
//!
//! Work-first keeps few jobs, in the order of the program, on the stack; help-first makes many at
//! once, for many threads to take, and needs no stack for a long chain of jobs.
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
//! - **Recursion** is bounded by the stack of the threads ([`Builder::stack_bytes`]). Near its end
//!   a fork, a scope, a spawn or a loop panics, which says so, and the pool goes on. Only a frame
//!   of more than 256 KiB can get past that; then the process ends by Rust's own check. Jobs that
//!   spawn jobs need no stack. A worker has room for 8,192 pending forks and jobs; beyond them a
//!   fork is two calls in order, and a job runs where it is spawned.
//! - **A worker without work sleeps**, after some ten microseconds in which it looks around.
//! - A job that waits for an event of another job (not by a fork or scope) may wait for ever, as in
//!   any pool: it keeps its thread.
//! - What a job spawns into a scope that is around it ends before the job is said to have ended, if
//!   nobody stole it.

mod deque;
mod job;
mod join;
mod log;
mod pool;
mod range;
mod scope;
mod sleep;
mod stack;
mod worker;

pub use log::TooLong;
pub use pool::{Builder, Counts, Pool, for_each, is_bare, join, scope};
pub use scope::Scope;
