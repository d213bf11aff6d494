//! One space: its tuples are put, read, pulled and taken.

use std::time::Duration;

use tidings_tasks_core::message::Put;
use tidings_tasks_core::tuple::{Matched, Out, Statement, Template, Tuple};

use super::error::SpaceError;
use super::pulled::Pulled;
use super::spaces::Spaces;

/// One space.
#[derive(Clone, Debug)]
pub struct Space {
    spaces: Spaces,
    name: String,
}

impl Spaces {
    /// A space. It is there as long as it has tuples.
    pub fn space(&self, name: impl Into<String>) -> Space {
        Space { spaces: self.clone(), name: name.into() }
    }
}

impl Space {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The spaces of which it is one.
    pub fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    /// Puts a tuple.
    ///
    /// # Errors
    /// The tuple is too large, or the spaces are full.
    pub async fn put(&self, tuple: Tuple) -> Result<(), SpaceError> {
        self.spaces.execute(Statement::put(&self.name, &tuple)).await.map(drop)
    }

    /// The oldest tuple that matches, which stays; waits at most so long for one (for ever, if
    /// there is no limit).
    ///
    /// # Errors
    /// No tuple could match.
    pub async fn read(
        &self,
        template: Template,
        limit: Option<Duration>,
    ) -> Result<Option<Tuple>, SpaceError> {
        let statement = Statement::of_one(&self.name, template, false);
        self.one(statement, limit).await.map(|found| found.map(|found| found.tuple))
    }

    /// As [`Space::read`], if there is one now.
    ///
    /// # Errors
    /// No tuple could match.
    pub async fn try_read(&self, template: Template) -> Result<Option<Tuple>, SpaceError> {
        self.read(template, Some(Duration::ZERO)).await
    }

    /// Claims the oldest tuple that matches; waits at most so long for one.
    ///
    /// # Errors
    /// No tuple could match, or the try of the task is over.
    pub async fn pull(
        &self,
        template: Template,
        limit: Option<Duration>,
    ) -> Result<Option<Pulled>, SpaceError> {
        let statement = Statement::of_one(&self.name, template, true);
        let found = self.one(statement, limit).await?;
        Ok(found.map(|Matched { number, tuple }| Pulled::new(&self.spaces, number, tuple)))
    }

    /// As [`Space::pull`], if there is one now.
    ///
    /// # Errors
    /// As [`Space::pull`].
    pub async fn try_pull(&self, template: Template) -> Result<Option<Pulled>, SpaceError> {
        self.pull(template, Some(Duration::ZERO)).await
    }

    /// Consumes the oldest tuple that matches, at once: it does not come back.
    ///
    /// # Errors
    /// No tuple could match.
    pub async fn take(
        &self,
        template: Template,
        limit: Option<Duration>,
    ) -> Result<Option<Tuple>, SpaceError> {
        let statement = Statement::of_one(&self.name, template, true);
        let statement = Statement { consumes: true, ..statement };
        self.one(statement, limit).await.map(|found| found.map(|found| found.tuple))
    }

    /// A tuple that is to be put into it, as a part of a statement.
    pub fn out(&self, tuple: &Tuple) -> Out {
        let terms = tuple.fields().iter().cloned().map(Into::into).collect();
        Out { space: self.name.clone(), terms }
    }

    /// A tuple that a task puts into it by its completion: once, by the try that ends the task, in
    /// the commit in which what that has pulled is consumed.
    pub fn put_of(&self, tuple: Tuple) -> Put {
        Put { space: self.name.clone(), tuple }
    }

    async fn one(
        &self,
        statement: Statement,
        limit: Option<Duration>,
    ) -> Result<Option<Matched>, SpaceError> {
        let statement = Statement { wait_ms: limit.map(in_ms), ..statement };
        let found = self.spaces.execute(statement).await?;
        Ok(found.and_then(|found| found.into_iter().next()))
    }
}

/// A time in milliseconds, rounded up.
fn in_ms(time: Duration) -> u64 {
    let ms = time.as_nanos().div_ceil(1_000_000);
    u64::try_from(ms).unwrap_or(u64::MAX)
}
