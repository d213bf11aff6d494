//! The program in the soft interrupt and the thread that stands in for it do the same: given the
//! same frames, the same memory, answers and counters come of it.
//!
//! The kernel runs the program on a frame that did not come (BPF_PROG_TEST_RUN). Without the
//! privilege for that, it is named, and nothing can be compared.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::bpf::{self, Mapped};
use super::layout::{COUNTERS, Ledger, SESSIONS, session_at, whole};
use super::message::{Change, MESSAGE_BYTES, MOST_MERGED, at, encode};
use super::programs::responder;
use super::table::{Verdict, serve};
use crate::frame::{Ends, Frame};

const WORDS: usize = 256;
const KEY: u64 = 0xfeed;
const HEAD: usize = 42;

fn ends() -> Ends {
    Ends {
        hardware: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]],
        from: "10.0.0.2:2000".parse().expect("an address"),
        to: "10.0.0.1:1000".parse().expect("an address"),
    }
}

/// Both of them, with sessions 0 and 63 open; none without the privilege, which the error names.
struct Both {
    program: OwnedFd,
    theirs: Mapped,
    ours: Mapped,
}

impl Both {
    fn new() -> Option<Self> {
        let bytes = 8 * whole(WORDS);
        let made = bpf::value(bytes).and_then(|map| {
            let code = responder(ends().to, WORDS, map.as_raw_fd());
            Ok((Mapped::of(map.as_fd(), bytes)?, bpf::load("agreement", &code)?))
        });
        let (theirs, program) = match made {
            Ok(both) => both,
            Err(error) => {
                let permitted = rustix::process::geteuid().is_root();
                assert!(!permitted && error.kind() == io::ErrorKind::PermissionDenied, "{error}");
                return None;
            }
        };
        let ours = Mapped::private(bytes).expect("there is memory");
        for memory in [&theirs, &ours] {
            for session in [0, SESSIONS - 1] {
                memory.words()[session_at(session)].store(KEY, Ordering::Relaxed);
            }
        }
        Some(Self { program, theirs, ours })
    }

    /// Gives both a message, and compares all that comes of it.
    fn same(&self, message: &[u8]) -> Result<Verdict, TestCaseError> {
        let mut frame = Frame::new(&ends(), MESSAGE_BYTES + 8 * MOST_MERGED + 9);
        let mut frame = frame.with(message).to_vec();
        let before = frame.clone();
        let (returned, _) = bpf::run(self.program.as_fd(), &mut frame).expect("it was loaded");
        let mut answer = message.to_vec();
        let verdict = serve(self.ours.words(), WORDS, &mut answer);
        let expected = match verdict {
            Verdict::Foreign => 2,
            Verdict::Dropped => 1,
            Verdict::Answered => 3,
        };
        prop_assert_eq!(returned, expected, "{:?}", verdict);
        prop_assert_eq!(&frame[HEAD..], &answer[..]);
        if verdict == Verdict::Answered {
            prop_assert_eq!(&frame[..6], &before[6..12], "back to where it came from");
            prop_assert_eq!(&frame[26..30], &before[30..34]);
            prop_assert_eq!(&frame[34..36], &before[36..38]);
            prop_assert_eq!(&frame[14..26], &before[14..26], "with the checksum as it was");
        }
        let words = || self.theirs.words().iter().zip(self.ours.words()).take(whole(WORDS));
        for (place, (theirs, ours)) in words().enumerate() {
            let both = (theirs.load(Ordering::Relaxed), ours.load(Ordering::Relaxed));
            prop_assert_eq!(both.0, both.1, "word {}", place);
        }
        Ok(verdict)
    }

    fn ledger(&self) -> Ledger {
        Ledger::of(|which| self.theirs.words()[COUNTERS + which].load(Ordering::Relaxed))
    }
}

/// A message, mostly sound: of each kind, near each bound, new, doubled and late.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let near = prop_oneof![4 => 0..4u32, 2 => 200..260u32, 1 => any::<u32>()];
    let operand = prop_oneof![0..4u64, any::<u64>(), Just(u64::MAX)];
    let words = prop::collection::vec(operand.clone(), 1..140);
    let head = (0..7u8, 1..150u64, near, operand.clone(), operand, words);
    let wrong = (0..60u8, any::<u8>(), 0..66u16);
    (head, wrong).prop_map(|((kind, sequence, index, first, second, words), wrong)| {
        let change = match kind {
            0 => Change::Add(first),
            1 => Change::CompareAndSwap { expected: first, new: second },
            2 => Change::Max(first),
            3 => Change::Or(first),
            _ => Change::Merge(&words),
        };
        let session = if wrong.2 > 60 { wrong.2 } else { 0 };
        let mut bytes = Vec::new();
        encode(&mut bytes, (session, KEY), sequence, index, change);
        match wrong.0 {
            0 => bytes[at::OPERATION] = wrong.1,
            1 => bytes[at::STATUS] = wrong.1,
            2 => bytes[at::KEY] ^= wrong.1,
            3 => bytes[at::COUNT] = wrong.1,
            4 => bytes[at::SEQUENCE..][..8].fill(wrong.1),
            5 => bytes.truncate(usize::from(wrong.1)),
            6 => bytes.push(wrong.1),
            7 => bytes[0] ^= wrong.1,
            8 => bytes[at::COUNT + 3] = wrong.1,
            _ => {}
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_program_and_the_thread_do_the_same(
        messages in prop::collection::vec(messages(), 1..60),
    ) {
        let Some(both) = Both::new() else { return Ok(()) };
        for message in &messages {
            both.same(message)?;
        }
    }
}

/// A message, again, then what takes its place in the table, and again: done once, answered twice,
/// and then late.
#[test]
fn a_copy_is_answered_from_the_table_and_a_late_one_not_at_all() {
    let Some(both) = Both::new() else { return };
    let mut bytes = Vec::new();
    let mut give = |sequence, expected| {
        encode(&mut bytes, (63, KEY), sequence, 7, Change::Add(1));
        assert_eq!(both.same(&bytes).expect("both do the same"), expected);
    };
    give(1, Verdict::Answered);
    give(1, Verdict::Answered);
    give(65, Verdict::Answered);
    give(1, Verdict::Dropped);
    let expected = Ledger { done: 2, done_before: 1, late: 1, ..Ledger::default() };
    assert_eq!(both.ledger(), expected);
}

/// What is in the frame beyond the datagram is no word of a merge, and what is not ours passes.
#[test]
fn frames_that_lie_about_their_length_are_refused_and_others_pass() {
    let Some(both) = Both::new() else { return };
    let mut bytes = Vec::new();
    encode(&mut bytes, (0, KEY), 1, 0, Change::Merge(&[9, 9]));
    let mut frame = Frame::new(&ends(), 128);
    let whole = frame.with(&bytes).to_vec();
    let run = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = whole.clone();
        change(&mut frame);
        bpf::run(both.program.as_fd(), &mut frame).expect("it was loaded").0
    };
    assert_eq!(run(&|frame| frame[39] -= 8), 3, "the length of UDP");
    assert_eq!(run(&|frame| frame.extend([0; 8])), 3, "a longer frame");
    assert_eq!(both.ledger().refused, 2);
    let others: [(usize, u8); 7] =
        [(12, 0x86), (14, 0x46), (20, 0x20), (23, 6), (33, 2), (37, 9), (42, 0)];
    for (place, byte) in others {
        assert_eq!(run(&|frame| frame[place] = byte), 2, "byte {place}");
    }
    assert_eq!(run(&|frame| frame.truncate(89)), 2, "too short");
    assert_eq!(both.ledger().done, 0);
    assert_eq!(run(&|_| {}), 3);
    assert_eq!(both.ledger().done, 1);
}
