//! The programs that run in the soft interrupt, and what both of them begin with.
//!
//! They are written as instructions, not compiled ([decision 0077]): each is a few dozen steps, and
//! what the verifier can follow depends on which register has what. Neither calls the kernel.
//!
//! [decision 0077]: ../../../../../docs/decisions/0077-active-messages.md

mod arena;
mod assembler;
mod collector;
mod responder;

use std::net::SocketAddrV4;

pub use arena::MOST_NODES;
pub(super) use arena::{COUNT, FIRST, SUM, walker};
pub(super) use collector::collector;
pub(super) use responder::responder;

use super::layout::LOCK;
use super::message::{MAGIC, MESSAGE_BYTES};
use assembler::{Atomic, Code, Compute, If, R0, R1, R2, R3, R4, R6, R9, Register, Width};

/// What a program returns of a frame.
const DROP: i32 = 1;
const PASS: i32 = 2;
const SEND_BACK: i32 = 3;

/// Where parts of a frame are: Ethernet, IPv4 without options, UDP, message.
mod frame {
    pub(super) const TYPE: usize = 12;
    pub(super) const IP: usize = 14;
    pub(super) const FRAGMENT: usize = 20;
    pub(super) const PROTOCOL: usize = 23;
    pub(super) const FROM: usize = 26;
    pub(super) const TO: usize = 30;
    pub(super) const FROM_PORT: usize = 34;
    pub(super) const TO_PORT: usize = 36;
    pub(super) const UDP_BYTES: usize = 38;
    pub(super) const CHECKSUM: usize = 40;
    pub(super) const MESSAGE: usize = 42;
}

/// The bytes of a frame with a message without words.
const LEAST: usize = frame::MESSAGE + MESSAGE_BYTES;

/// How often a core tries to take the lock: some microseconds, several times what one merge takes.
const TRIES: i32 = 64;

/// Leaves the frame in register 2 and its end in 3 if a message to this address is in it; all else
/// goes to `pass`.
fn begin(code: &mut Code, own: SocketAddrV4) {
    let network = |number: u16| i32::from(u16::from_ne_bytes(number.to_be_bytes()));
    code.load(Width::Four, R2, R1, 0);
    code.load(Width::Four, R3, R1, 4);
    code.compute(Compute::Move, R4, R2);
    code.compute(Compute::Add, R4, LEAST as i32);
    code.jump(If::Above, R4, R3, "pass");
    let address = u32::from_ne_bytes(own.ip().octets()) as i32;
    let expected = [
        (Width::Two, frame::TYPE, network(0x0800)),
        (Width::One, frame::IP, 0x45),
        (Width::One, frame::PROTOCOL, 17),
        (Width::Four, frame::TO, address),
        (Width::Two, frame::TO_PORT, network(own.port())),
        (Width::Four, frame::MESSAGE, MAGIC as i32),
    ];
    for (width, at, number) in expected {
        code.load(width, R4, R2, at);
        code.jump_32(If::Not, R4, number, "pass");
    }
    // A first or later piece of a datagram is the kernel's to put together.
    code.load(Width::Two, R4, R2, frame::FRAGMENT);
    code.compute(Compute::And, R4, network(0x3fff));
    code.jump(If::Not, R4, 0, "pass");
}

/// Takes the lock, at the begin of the memory at register 9, or goes to `busy`. Uses 0, 1 and 6.
fn lock(code: &mut Code) {
    code.compute(Compute::Move, R6, 0);
    code.label("try");
    code.compute(Compute::Move, R0, 0);
    code.compute(Compute::Move, R1, 1);
    code.atomic(Atomic::CompareExchange, R9, 8 * LOCK, R1);
    code.jump(If::Equal, R0, 0, "locked");
    code.compute(Compute::Add, R6, 1);
    code.jump(If::Below, R6, TRIES, "try");
    code.go("busy");
    code.label("locked");
}

/// Lets go of it, after all that was written before. Uses the register given.
fn unlock(code: &mut Code, with: Register) {
    code.compute(Compute::Move, with, 0);
    code.atomic(Atomic::Exchange, R9, 8 * LOCK, with);
}

/// Adds one to a word at register 9, where several cores may. Uses register 0.
fn count(code: &mut Code, word: usize) {
    code.compute(Compute::Move, R0, 1);
    code.atomic(Atomic::Add, R9, 8 * word, R0);
}
