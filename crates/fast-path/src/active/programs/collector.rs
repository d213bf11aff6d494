//! The collector: writes answers into the ring of their caller, which reads it without a call.
//!
//! Registers: 2 the frame, 3 its end, 9 the memory of the ring, 7 the line, 8 its position; the
//! others change. A line's turn is exchanged last, which on every machine comes after what was
//! written before. Where the caller has not read the line, the answer is dropped and counted; the
//! caller asks again, and gets it from the responder's table.

use std::net::SocketAddrV4;

use super::assembler::{Atomic, Code, Compute, If, R0, R1, R2, R4, R5, R7, R8, R9, Width};
use super::{DROP, LEAST, PASS, begin, count, frame, lock, unlock};
use crate::active::message::at;
use crate::active::ring::{DROPPED, KEY, LINE_WORDS, LINES, LINES_AT, POSITION, READ, line};

/// The program for a caller at this address, with its ring in this map.
pub(in crate::active) fn collector(own: SocketAddrV4, map: i32) -> Vec<u64> {
    let field = |at| frame::MESSAGE + at;
    let mut code = Code::default();
    begin(&mut code, own);
    code.load_value(R9, map, 0);
    code.load(Width::One, R4, R2, field(at::STATUS));
    code.jump(If::Equal, R4, 0, "drop");
    code.load(Width::Eight, R4, R9, 8 * KEY);
    code.load(Width::Eight, R5, R2, field(at::KEY));
    code.jump(If::Not, R4, R5, "drop");
    lock(&mut code);
    code.load(Width::Eight, R8, R9, 8 * POSITION);
    code.load(Width::Eight, R4, R9, 8 * READ);
    code.compute(Compute::Move, R5, R8);
    code.compute(Compute::Subtract, R5, R4);
    code.jump(If::Above, R5, LINES as i32 - 1, "full");
    code.compute(Compute::Move, R7, R8);
    code.compute(Compute::And, R7, LINES as i32 - 1);
    code.compute(Compute::Multiply, R7, 8 * LINE_WORDS as i32);
    code.load_value(R0, map, 8 * LINES_AT);
    code.compute(Compute::Add, R7, R0);
    // The first eight bytes have session and status; the four before them are known.
    for (word, at) in [(line::HEAD, 0), (line::SEQUENCE, at::SEQUENCE), (line::RESULT, at::RESULT)]
    {
        code.load(Width::Eight, R1, R2, field(at));
        code.store(Width::Eight, R7, 8 * word, R1);
    }
    code.compute(Compute::Add, R8, 1);
    code.store(Width::Eight, R9, 8 * POSITION, R8);
    code.atomic(Atomic::Exchange, R7, 8 * line::TURN, R8);
    unlock(&mut code, R4);
    code.exit(DROP);
    code.label("full");
    unlock(&mut code, R4);
    code.label("busy");
    count(&mut code, DROPPED);
    code.label("drop");
    code.exit(DROP);
    code.label("pass");
    code.exit(PASS);
    code.finish()
}

const _: () = assert!(LEAST >= frame::MESSAGE + at::RESULT + 8, "all that is read is checked");
