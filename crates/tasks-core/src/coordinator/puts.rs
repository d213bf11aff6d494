//! Puts: tuples that come into spaces, by a statement or by the completion of a task.
//!
//! What a completion puts is in the commit by which the task ends, as its effects are: a try that
//! is no longer the last one puts nothing, and a task that is done again, since its output is lost,
//! has put before. Its claims end in that commit too, so a tuple that is pulled, altered and put
//! by a task is there exactly once, whatever dies.

use std::sync::Arc;

use crate::message::{Put, Refusal};
use crate::tuple::statement::{MAX_PARTS, MAX_STATEMENT_BYTES, check_space};
use crate::tuple::{Route, Statement, Stored, Tuple, home};

use super::Coordinator;
use super::change::Change;
use super::exchange::{AlteredTuple, Exchange};

impl Coordinator {
    /// Whether there is room for tuples.
    ///
    /// # Errors
    /// There is none, in words that say it.
    pub(super) fn check_room<'a>(
        &self,
        tuples: impl IntoIterator<Item = &'a Tuple>,
    ) -> Result<(), Refusal> {
        if self.spaces.has_room(tuples) {
            return Ok(());
        }
        Err(Refusal::Full("the spaces hold as much as fits in memory".to_owned()))
    }

    /// Whether what a task puts lies in its part.
    fn check_homes(&self, puts: &[Put]) -> Result<(), Refusal> {
        let (own, parts) = (self.settings.part, self.settings.parts);
        let other = puts.iter().find(|put| home::part_of(&put.space, &put.tuple, parts) != own);
        other.map_or(Ok(()), |put| {
            let space = &put.space;
            Err(Refusal::Invalid(format!(
                "the task is in another part of the store than this tuple of the space {space:?}: \
                 let it put into spaces of its queue (NAME@QUEUE), or put outside of tasks"
            )))
        })
    }

    /// Whether a statement is about what lies in this part, as far as that can be known before its
    /// tuples are found.
    pub(super) fn check_route(&self, statement: &Statement) -> Result<(), Refusal> {
        let (own, parts) = (self.settings.part, self.settings.parts);
        match statement.route(parts).map_err(Refusal::Invalid)? {
            Route::To(part) if part != own => Err(Refusal::Invalid(format!(
                "the tuples of this statement are in part {} of the store, and it was sent to part \
                 {}: use programs of the version that serves the store",
                part.0, own.0
            ))),
            Route::To(_) | Route::Any => Ok(()),
        }
    }

    /// Adds tuples that come into spaces.
    pub(super) fn add_tuples(
        &mut self,
        exchange: &mut Exchange,
        tuples: impl IntoIterator<Item = (Arc<str>, Tuple)>,
    ) {
        let seat = (self.settings.part, self.settings.parts);
        for (space, tuple) in tuples {
            let number = self.spaces.number(self.settings.epoch, seat);
            let stored = Some(Stored { tuple, claim: None });
            exchange.tuples.push(AlteredTuple { space, number, revision: None, stored });
        }
    }

    /// Adds what a completion puts to its change.
    pub(super) fn add_puts(&mut self, change: &mut Change, puts: Vec<Put>) -> Result<(), Refusal> {
        if puts.is_empty() {
            return Ok(());
        }
        check(&puts).map_err(Refusal::Invalid)?;
        self.check_homes(&puts)?;
        self.check_room(puts.iter().map(|put| &put.tuple))?;
        let exchange = change.exchange.get_or_insert_with(Box::default);
        self.add_tuples(exchange, puts.into_iter().map(|put| (put.space.into(), put.tuple)));
        Ok(())
    }
}

/// Whether puts are within the bounds of a statement.
fn check(puts: &[Put]) -> Result<(), String> {
    let count = puts.len();
    if count > MAX_PARTS {
        return Err(format!("a completion with {count} tuples to put; at most {MAX_PARTS}"));
    }
    for put in puts {
        check_space(&put.space)?;
        put.tuple.check()?;
    }
    let bytes: usize = puts.iter().map(|put| put.tuple.bytes()).sum();
    if bytes > MAX_STATEMENT_BYTES {
        return Err(format!(
            "the tuples of a completion have {bytes} bytes; at most {MAX_STATEMENT_BYTES}"
        ));
    }
    Ok(())
}
