//! Puts: tuples that come into spaces, by a statement or by the completion of a task.
//!
//! What a completion puts is in the commit by which the task ends, as its effects are: a try that
//! is no longer the last one puts nothing, and a task that is done again, since its output is lost,
//! has put before. Its claims end in that commit too, so a tuple that is pulled, altered and put
//! by a task is there exactly once, whatever dies.

use std::sync::Arc;

use crate::id::Part;
use crate::message::{Put, Refusal};
use crate::tuple::statement::{MAX_PARTS, MAX_STATEMENT_BYTES, check_space};
use crate::tuple::{Stored, Tuple};

use super::Coordinator;
use super::change::Change;
use super::exchange::{AlteredTuple, Exchange};

/// The part in which all spaces are: a statement may be about several, and is one commit.
pub(super) const SPACES: Part = Part(0);

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

    /// Whether the spaces are in this part.
    fn check_has_spaces(&self) -> Result<(), Refusal> {
        if self.settings.part == SPACES {
            return Ok(());
        }
        Err(Refusal::Invalid(
            "tuples are in part 0 of the store, and this task is in another: put them outside of \
             tasks, or use a store of one part"
                .to_owned(),
        ))
    }

    /// Adds tuples that come into spaces.
    pub(super) fn add_tuples(
        &mut self,
        exchange: &mut Exchange,
        tuples: impl IntoIterator<Item = (Arc<str>, Tuple)>,
    ) {
        for (space, tuple) in tuples {
            let number = self.spaces.number(self.settings.epoch);
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
        self.check_has_spaces()?;
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
