//! Bounds of work, and lists that are read within them: a length alone reserves nothing.

use minicbor::decode::Error;
use minicbor::{Decode, Decoder};

use tidings_tasks_core::message::MAX_INPUTS;

/// The longest payload that is read, in bytes.
pub const MAX_WORK_BYTES: usize = 64 << 20;

/// The words of a command line.
pub const MAX_WORDS: usize = 1 << 16;

/// The environment variables of a command.
pub const MAX_VARIABLES: usize = 4_096;

/// The longest name of a piece of work, in bytes.
pub const MAX_NAME_BYTES: usize = 1_024;

/// The end of an output that a report has, in bytes.
pub const TAIL_BYTES: usize = 6 * 1024;

pub(super) fn words<C>(decoder: &mut Decoder<'_>, context: &mut C) -> Result<Vec<String>, Error> {
    bounded(decoder, context, MAX_WORDS, "words")
}

pub(super) fn variables<C>(
    decoder: &mut Decoder<'_>,
    context: &mut C,
) -> Result<Vec<(String, String)>, Error> {
    bounded(decoder, context, MAX_VARIABLES, "variables")
}

pub(super) fn inputs<'b, C, T: Decode<'b, C>>(
    decoder: &mut Decoder<'b>,
    context: &mut C,
) -> Result<Vec<T>, Error> {
    bounded(decoder, context, MAX_INPUTS, "inputs")
}

/// A list that grows as it is read, up to a bound.
fn bounded<'b, C, T: Decode<'b, C>>(
    decoder: &mut Decoder<'b>,
    context: &mut C,
    most: usize,
    what: &str,
) -> Result<Vec<T>, Error> {
    let at = decoder.position();
    let mut all = Vec::new();
    for one in decoder.array_iter_with(context)? {
        if all.len() == most {
            return Err(Error::message(format!("more than {most} {what}")).at(at));
        }
        all.push(one?);
    }
    Ok(all)
}
