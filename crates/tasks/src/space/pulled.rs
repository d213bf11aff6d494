//! A tuple that was pulled: claimed until it is consumed or given back.

use tidings_tasks_core::tuple::{Matched, Settled, Statement, Tuple};

use super::error::SpaceError;
use super::spaces::Spaces;

/// A tuple that nobody else sees. Dropped, it is there again; unless it belongs to the try of a
/// task, with which it ends.
#[derive(Debug)]
pub struct Pulled {
    spaces: Spaces,
    number: u64,
    tuple: Tuple,
    is_settled: bool,
}

impl Spaces {
    /// What a statement of theirs has pulled, which is given back when it is dropped.
    pub fn pulled(&self, number: u64, tuple: Tuple) -> Pulled {
        Pulled::new(self, number, tuple)
    }
}

impl Pulled {
    pub(super) fn new(spaces: &Spaces, number: u64, tuple: Tuple) -> Self {
        Self { spaces: spaces.clone(), number, tuple, is_settled: false }
    }

    /// The tuple.
    pub fn tuple(&self) -> &Tuple {
        &self.tuple
    }

    /// Its number, which no other tuple has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Consumes it: it does not come back.
    ///
    /// # Errors
    /// The session, or the try of the task, had ended: it is there again, or was, and another may
    /// have it.
    pub async fn consume(self) -> Result<(), SpaceError> {
        self.settle(true).await
    }

    /// Gives it back: it is there again, in its old turn.
    ///
    /// # Errors
    /// As [`Pulled::consume`].
    pub async fn give_back(self) -> Result<(), SpaceError> {
        self.settle(false).await
    }

    /// What it is, without an owner here: it stays claimed, or was settled by a statement.
    pub(super) fn kept(mut self) -> Matched {
        self.is_settled = true;
        Matched { number: self.number, tuple: self.tuple.clone() }
    }

    /// Lets a statement consume it, in the commit in which that puts what was made of it.
    pub fn consume_with(mut self, statement: &mut Statement) {
        self.is_settled = true;
        statement.settled.push(Settled { number: self.number, is_gone: true });
    }

    async fn settle(mut self, is_gone: bool) -> Result<(), SpaceError> {
        self.is_settled = true;
        let settled = vec![Settled { number: self.number, is_gone }];
        self.spaces.execute(Statement { settled, ..Statement::default() }).await.map(drop)
    }
}

impl Drop for Pulled {
    fn drop(&mut self) {
        if self.is_settled || self.spaces.owner.is_some() {
            return;
        }
        // Without a runtime the session is ending, and gives it back.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let settled = vec![Settled { number: self.number, is_gone: false }];
        let spaces = self.spaces.clone();
        runtime.spawn(async move {
            // A session that has ended has given it back.
            let _ = spaces.execute(Statement { settled, ..Statement::default() }).await;
        });
    }
}
