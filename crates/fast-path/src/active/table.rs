//! The responder in user space: does to words what a message asks, once, and makes the answer.
//!
//! It is the same as the program in the soft interrupt, for a thread that has a socket: the same
//! memory, the same checks in the same order, the same counters. A test gives both the same frames.
//! One thread has a memory, so the lock is not taken.

use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{COUNTERS, SESSIONS, WORDS_AT, counter, place_at, session_at};
use super::message::{MAGIC, MESSAGE_BYTES, MOST_MERGED, at, number, operation, status};

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is none, and not for us.
    Foreign,
    /// It gets no answer.
    Dropped,
    /// Its bytes are the answer now.
    Answered,
}

/// Serves one message, in `memory` of so many `words`.
pub(crate) fn serve(memory: &[AtomicU64], words: usize, message: &mut [u8]) -> Verdict {
    if message.len() < MESSAGE_BYTES || number::<4>(message, 0) != u64::from(MAGIC) {
        return Verdict::Foreign;
    }
    let session = number::<2>(message, at::SESSION) as usize;
    let sequence = number::<8>(message, at::SEQUENCE);
    let key = number::<8>(message, at::KEY);
    let held = if session < SESSIONS { get(&memory[session_at(session)]) } else { 0 };
    if message[at::STATUS] != 0 || held == 0 || held != key || sequence == 0 {
        count(memory, counter::UNKNOWN);
        return Verdict::Dropped;
    }
    if !is_sound(message, words) {
        count(memory, counter::REFUSED);
        return answer(message, status::REFUSED, 0);
    }
    let place = place_at(session, sequence);
    let (last, result) = (&memory[place], &memory[place + 1]);
    if get(last) == sequence {
        count(memory, counter::DONE_BEFORE);
        return answer(message, status::DONE_BEFORE, get(result));
    }
    if get(last) > sequence {
        count(memory, counter::LATE);
        return Verdict::Dropped;
    }
    let changed = change(&memory[WORDS_AT..][..words], message);
    result.store(changed, Ordering::Relaxed);
    last.store(sequence, Ordering::Relaxed);
    count(memory, counter::DONE);
    let of_session = &memory[session_at(session) + 1];
    of_session.store(get(of_session) + 1, Ordering::Relaxed);
    answer(message, status::DONE, changed)
}

fn get(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

fn count(memory: &[AtomicU64], which: usize) {
    memory[COUNTERS + which].fetch_add(1, Ordering::Relaxed);
}

/// Whether it is an operation on words that are there, in a message of its length.
fn is_sound(message: &[u8], words: usize) -> bool {
    let index = number::<4>(message, at::INDEX) as usize;
    let count = number::<4>(message, at::COUNT) as usize;
    let known = (operation::ADD..=operation::MERGE).contains(&message[at::OPERATION]);
    let merges = message[at::OPERATION] == operation::MERGE;
    known
        && index < words
        && count <= MOST_MERGED
        && index + count <= words
        && merges == (count > 0)
        && message.len() == MESSAGE_BYTES + 8 * count
}

/// Does it; the result.
fn change(words: &[AtomicU64], message: &[u8]) -> u64 {
    let word = &words[number::<4>(message, at::INDEX) as usize];
    let operand = number::<8>(message, at::OPERAND);
    match message[at::OPERATION] {
        operation::SWAP => {
            let expected = number::<8>(message, at::RESULT);
            let all = Ordering::SeqCst;
            word.compare_exchange(expected, operand, all, all).unwrap_or_else(|found| found)
        }
        operation::MAX => word.fetch_max(operand, Ordering::SeqCst),
        operation::OR => word.fetch_or(operand, Ordering::SeqCst),
        operation::MERGE => {
            let first = number::<4>(message, at::INDEX) as usize;
            let came = message[MESSAGE_BYTES..].chunks_exact(8);
            let raised = words[first..].iter().zip(came).map(|(word, came)| {
                let came = number::<8>(came, 0);
                let held = get(word);
                word.store(held.max(came), Ordering::Relaxed);
                u64::from(came > held)
            });
            raised.sum()
        }
        _ => word.fetch_add(operand, Ordering::SeqCst),
    }
}

fn answer(message: &mut [u8], status: u8, result: u64) -> Verdict {
    message[at::STATUS] = status;
    message[at::RESULT..][..8].copy_from_slice(&result.to_le_bytes());
    Verdict::Answered
}
