//! The responder: does what a message asks, once, and sends the frame back with the answer.
//!
//! Registers: 2 the frame, 3 its end, 7 the message's place in the table of its session, 8 its
//! sequence, 9 the memory of the responder; 0, 1, 4, 5 and 6 change.
//!
//! What depends on the message alone is checked before the lock is taken. Under the lock the place
//! says whether the message is new; then it is done, and noted with its result, before the lock is
//! let go: no core sees it half done. Single words change atomically besides, so that the process
//! may change them too.

use std::net::SocketAddrV4;

use super::assembler::{
    Atomic, Code, Compute, If, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Register, Width,
};
use super::{DROP, LEAST, PASS, SEND_BACK, begin, count, frame, lock, unlock};
use crate::active::layout::{
    COUNTERS, OPEN_MESSAGES, SESSION_WORDS, SESSIONS, TABLE, WORDS_AT, counter, session_at,
};
use crate::active::message::{MOST_MERGED, at, operation, status};

/// How often a raise of a word is tried that the process changes at the same time.
const RAISES: i32 = 8;

/// The program for a responder at this address, with so many words in this map.
pub(in crate::active) fn responder(own: SocketAddrV4, words: usize, map: i32) -> Vec<u64> {
    let mut code = Code::default();
    begin(&mut code, own);
    code.load_value(R9, map, 0);
    find_place(&mut code);
    check(&mut code, words);
    lock(&mut code);
    code.load(Width::Eight, R1, R7, 0);
    code.jump(If::Equal, R1, R8, "again");
    code.jump(If::Above, R1, R8, "late");
    change(&mut code, words, map);
    // Register 1 has the result.
    code.label("changed");
    code.store(Width::Eight, R7, 8, R1);
    code.store(Width::Eight, R7, 0, R8);
    count(&mut code, COUNTERS + counter::DONE);
    count_of_session(&mut code);
    code.compute(Compute::Move, R5, i32::from(status::DONE));
    code.go("unlock");
    code.label("again");
    code.load(Width::Eight, R1, R7, 8);
    count(&mut code, COUNTERS + counter::DONE_BEFORE);
    code.compute(Compute::Move, R5, i32::from(status::DONE_BEFORE));
    code.label("unlock");
    unlock(&mut code, R4);
    code.label("answer");
    answer(&mut code);
    endings(&mut code);
    code.finish()
}

fn field(at: usize) -> usize {
    frame::MESSAGE + at
}

/// Leaves the sequence in register 8 and its place in 7, if the session is open with this key.
fn find_place(code: &mut Code) {
    code.load(Width::One, R4, R2, field(at::STATUS));
    code.jump(If::Not, R4, 0, "unknown");
    code.load(Width::Two, R7, R2, field(at::SESSION));
    code.jump(If::Above, R7, SESSIONS as i32 - 1, "unknown");
    code.compute(Compute::Multiply, R7, 8 * SESSION_WORDS as i32);
    code.compute(Compute::Add, R7, R9);
    code.load(Width::Eight, R4, R7, 8 * session_at(0));
    code.jump(If::Equal, R4, 0, "unknown");
    code.load(Width::Eight, R5, R2, field(at::KEY));
    code.jump(If::Not, R4, R5, "unknown");
    code.load(Width::Eight, R8, R2, field(at::SEQUENCE));
    code.jump(If::Equal, R8, 0, "unknown");
    code.compute(Compute::Move, R4, R8);
    code.compute(Compute::And, R4, OPEN_MESSAGES as i32 - 1);
    code.compute(Compute::ShiftLeft, R4, 4);
    code.compute(Compute::Add, R7, R4);
    code.compute(Compute::Add, R7, 8 * (session_at(0) + TABLE) as i32);
}

/// Refuses what is no operation on words that are there, in a frame of its length.
fn check(code: &mut Code, words: usize) {
    code.load(Width::Four, R4, R2, field(at::INDEX));
    code.load(Width::Four, R5, R2, field(at::COUNT));
    code.load(Width::One, R6, R2, field(at::OPERATION));
    code.jump(If::Above, R4, words as i32 - 1, "refused");
    code.jump(If::Above, R5, MOST_MERGED as i32, "refused");
    code.compute(Compute::Add, R4, R5);
    code.jump(If::Above, R4, words as i32, "refused");
    code.jump(If::Equal, R6, 0, "refused");
    code.jump(If::Above, R6, i32::from(operation::MERGE), "refused");
    code.jump(If::Equal, R6, i32::from(operation::MERGE), "merges");
    code.jump(If::Not, R5, 0, "refused");
    code.go("counted");
    code.label("merges");
    code.jump(If::Equal, R5, 0, "refused");
    code.label("counted");
    code.compute(Compute::ShiftLeft, R5, 3);
    code.compute(Compute::Add, R5, LEAST as i32);
    code.compute(Compute::Move, R0, R3);
    code.compute(Compute::Subtract, R0, R2);
    code.jump(If::Not, R0, R5, "refused");
    code.load(Width::Two, R0, R2, frame::UDP_BYTES);
    code.swap_16(R0);
    code.compute(Compute::Add, R0, frame::FROM_PORT as i32);
    code.jump(If::Not, R0, R5, "refused");
}

/// Does it, and leaves the result in register 1.
fn change(code: &mut Code, words: usize, map: i32) {
    code.load(Width::Four, R4, R2, field(at::INDEX));
    // It was checked; the verifier has forgotten that it is the same.
    code.jump(If::Above, R4, words as i32 - 1, "busy locked");
    code.compute(Compute::ShiftLeft, R4, 3);
    code.load_value(R0, map, 8 * WORDS_AT);
    code.compute(Compute::Add, R4, R0);
    code.load(Width::One, R6, R2, field(at::OPERATION));
    code.load(Width::Eight, R1, R2, field(at::OPERAND));
    code.jump(If::Equal, R6, i32::from(operation::SWAP), "swap");
    code.jump(If::Equal, R6, i32::from(operation::MAX), "max");
    code.jump(If::Equal, R6, i32::from(operation::OR), "or");
    code.jump(If::Equal, R6, i32::from(operation::MERGE), "merge");
    code.atomic(Atomic::Add, R4, 0, R1);
    code.go("changed");
    code.label("or");
    code.atomic(Atomic::Or, R4, 0, R1);
    code.go("changed");
    code.label("swap");
    code.load(Width::Eight, R0, R2, field(at::RESULT));
    code.atomic(Atomic::CompareExchange, R4, 0, R1);
    code.compute(Compute::Move, R1, R0);
    code.go("changed");
    raise(code);
    merge(code);
}

/// Raises a word to register 1; the word before is left there.
fn raise(code: &mut Code) {
    code.label("max");
    code.compute(Compute::Move, R6, 0);
    code.label("raise");
    code.load(Width::Eight, R0, R4, 0);
    code.compute(Compute::Move, R5, R0);
    code.jump(If::AtLeast, R0, R1, "raised");
    code.atomic(Atomic::CompareExchange, R4, 0, R1);
    code.jump(If::Equal, R0, R5, "raised");
    code.compute(Compute::Add, R6, 1);
    code.jump(If::Below, R6, RAISES, "raise");
    code.go("busy locked");
    code.label("raised");
    code.compute(Compute::Move, R1, R0);
    code.go("changed");
}

/// Raises words in a row; how many were raised is left in register 1.
///
/// Without a branch a word: its outcome could not be foretold by the processor, and the verifier
/// would follow both. The borrow of `held - came` is in the top bit of
/// `!held & came | !(held ^ came) & (held - came)`, and spread over all bits takes the difference
/// off, which leaves what came.
fn merge(code: &mut Code) {
    let [raised, held, came, newer, scratch]: [Register; 5] = [R0, R1, R6, R7, R8];
    code.label("merge");
    code.save(R7, 1);
    code.save(R8, 2);
    code.save(R2, 3);
    code.compute(Compute::Move, R5, R2);
    code.compute(Compute::Add, R5, LEAST as i32);
    code.compute(Compute::Move, raised, 0);
    code.compute(Compute::Move, R2, 0); // counts, for the verifier
    code.label("word");
    code.compute(Compute::Move, held, R5);
    code.compute(Compute::Add, held, 8);
    code.jump(If::Above, held, R3, "merged");
    code.load(Width::Eight, came, R5, 0);
    code.load(Width::Eight, held, R4, 0);
    code.compute(Compute::Move, newer, held);
    code.compute(Compute::Xor, newer, -1);
    code.compute(Compute::And, newer, came);
    code.compute(Compute::Move, scratch, held);
    code.compute(Compute::Xor, scratch, came);
    code.compute(Compute::Xor, scratch, -1);
    code.compute(Compute::Subtract, held, came);
    code.compute(Compute::And, scratch, held);
    code.compute(Compute::Or, newer, scratch);
    code.compute(Compute::ShiftRightSigned, newer, 63);
    code.compute(Compute::Subtract, raised, newer);
    code.compute(Compute::Xor, newer, -1);
    code.compute(Compute::And, held, newer);
    code.compute(Compute::Add, held, came);
    code.store(Width::Eight, R4, 0, held);
    code.compute(Compute::Add, R4, 8);
    code.compute(Compute::Add, R5, 8);
    code.compute(Compute::Add, R2, 1);
    code.jump(If::Below, R2, MOST_MERGED as i32, "word");
    code.label("merged");
    code.compute(Compute::Move, R1, raised);
    code.restore(R7, 1);
    code.restore(R8, 2);
    code.restore(R2, 3);
    code.go("changed");
}

/// One more was done for this session. Uses 0 and 4.
fn count_of_session(code: &mut Code) {
    code.load(Width::Two, R4, R2, field(at::SESSION));
    code.jump(If::Above, R4, SESSIONS as i32 - 1, "busy locked"); // as was checked
    code.compute(Compute::Multiply, R4, 8 * SESSION_WORDS as i32);
    code.compute(Compute::Add, R4, R9);
    code.load(Width::Eight, R0, R4, 8 * (session_at(0) + 1));
    code.compute(Compute::Add, R0, 1);
    code.store(Width::Eight, R4, 8 * (session_at(0) + 1), R0);
}

/// Sends the frame back with the result of register 1 and the status of 5. Both addresses change
/// places, which the checksum of IP does not notice; UDP's is left out.
fn answer(code: &mut Code) {
    code.store(Width::Eight, R2, field(at::RESULT), R1);
    code.store(Width::One, R2, field(at::STATUS), R5);
    let pairs = [
        (Width::Four, 0, 6),
        (Width::Two, 4, 10),
        (Width::Four, frame::FROM, frame::TO),
        (Width::Two, frame::FROM_PORT, frame::TO_PORT),
    ];
    for (width, one, other) in pairs {
        code.load(width, R0, R2, one);
        code.load(width, R4, R2, other);
        code.store(width, R2, one, R4);
        code.store(width, R2, other, R0);
    }
    code.store_number(Width::Two, R2, frame::CHECKSUM, 0);
    code.exit(SEND_BACK);
}

fn endings(code: &mut Code) {
    code.label("refused");
    count(code, COUNTERS + counter::REFUSED);
    code.compute(Compute::Move, R1, 0);
    code.compute(Compute::Move, R5, i32::from(status::REFUSED));
    code.go("answer");
    code.label("late");
    count(code, COUNTERS + counter::LATE);
    unlock(code, R4);
    code.exit(DROP);
    code.label("busy locked");
    unlock(code, R4);
    code.label("busy");
    count(code, COUNTERS + counter::BUSY);
    code.exit(DROP);
    code.label("unknown");
    count(code, COUNTERS + counter::UNKNOWN);
    code.exit(DROP);
    code.label("pass");
    code.exit(PASS);
}
