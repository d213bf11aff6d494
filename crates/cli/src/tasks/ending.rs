//! The signals that end a command on tasks in good order.

use tidings_tasks::spawn::spawn;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::failure::TasksError;
use crate::signals;

/// Signals that come, from the beginning on: none of them ends the process by itself any more.
pub(super) struct Ending(mpsc::Receiver<i32>);

impl Ending {
    pub(super) fn begin() -> Result<Self, TasksError> {
        let (sender, receiver) = mpsc::channel(8);
        for number in signals::ending() {
            let mut signals = signal(SignalKind::from_raw(number))
                .map_err(|source| TasksError::System { what: "signals", source })?;
            let sender = sender.clone();
            spawn(async move {
                while signals.recv().await.is_some() && sender.send(number).await.is_ok() {}
            });
        }
        Ok(Self(receiver))
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> i32 {
        match self.0.recv().await {
            Some(number) => number,
            None => core::future::pending().await,
        }
    }

    /// What the work comes to, unless one of them comes first.
    pub(super) async fn or<T>(
        &mut self,
        work: impl Future<Output = Result<T, TasksError>>,
    ) -> Result<T, TasksError> {
        tokio::select! {
            result = work => result,
            signal = self.next() => Err(TasksError::Stopped { signal, after: String::new() }),
        }
    }
}
