//! Work beside the caller's, as one type of task for each type of result.
//!
//! For each type of future that is given to tokio its state machine is compiled again: some 3 kB
//! that schedule, cancel and drop. Some eighty futures of this crate were a fortieth of the
//! command. In a box they have one type, for an allocation each time that one begins.

use std::future::Future;
use std::pin::Pin;

use tokio::task::JoinHandle;

/// A future of which only the result is known.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The future as one whose type is that of its result.
pub fn boxed<T>(future: impl Future<Output = T> + Send + 'static) -> Boxed<T> {
    Box::pin(future)
}

/// `tokio::spawn`.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(boxed(future))
}

/// `tokio::task::spawn_blocking`.
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let boxed: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    tokio::task::spawn_blocking(boxed)
}
