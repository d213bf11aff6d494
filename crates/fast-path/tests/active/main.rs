//! Active messages over a virtual wire between two network namespaces: in the soft interrupt and by
//! threads, all operations against a model, and the ledger under loss, copies and reordering.
//!
//! Network namespaces and programs in the kernel take root; without it, a test has said so in
//! `Wire::new`, and what needs none is tried by the unit tests.

mod arena;
mod frames;
mod veth;

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Command, Stdio};

use tidings_fast_path::active::caller::Best;
use tidings_fast_path::active::faulty::{Faults, Faulty};
use tidings_fast_path::active::path::{Path, RingPath, SocketPath};
use tidings_fast_path::active::{
    ActiveError, Answers, Caller, Change, Ledger, Responder, Session, Settings, Status, Way,
};
use veth::{INTERFACE, Side, Wire, ends, settings};

const WORDS: usize = 256;

/// Numbers that look random, the same in each run.
fn numbers(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 29
    }
}

fn ring(wire: &Wire, session: &Session) -> RingPath {
    wire.on(Side::Here, || RingPath::open(session, INTERFACE, &ends())).expect("root may")
}

/// Some operations, each as a plain program would do it.
fn as_the_model_says<P: Path>(responder: &Responder, caller: &mut Caller<P>, count: usize) {
    let mut next = numbers(count as u64);
    let mut model: Vec<u64> = responder.words().iter().map(load).collect();
    for _ in 0..count {
        let (at, operand) = (next() as usize % (WORDS - 128), next() % 8);
        let word = model[at];
        let many: Vec<u64> = (0..=(next() % 127)).map(|_| next() % 16).collect();
        let (change, after) = match next() % 5 {
            0 => (Change::Add(operand), word.wrapping_add(operand)),
            1 => {
                let after = if word == operand { 99 } else { word };
                (Change::CompareAndSwap { expected: operand, new: 99 }, after)
            }
            2 => (Change::Max(operand), word.max(operand)),
            3 => (Change::Or(operand), word | operand),
            _ => (Change::Merge(&many), word.max(many[0])),
        };
        let result = caller.call(at as u32, change).expect("it answers");
        if let Change::Merge(many) = change {
            let held = &mut model[at..][..many.len()];
            let raised = held.iter().zip(many).filter(|(held, came)| came > held).count();
            assert_eq!(result, raised as u64);
            held.iter_mut().zip(many).for_each(|(held, came)| *held = *came.max(held));
        } else {
            assert_eq!(result, word, "{change:?}");
            model[at] = after;
        }
    }
    let words: Vec<u64> = responder.words().iter().map(load).collect();
    assert_eq!(words, model);
}

fn load(word: &std::sync::atomic::AtomicU64) -> u64 {
    word.load(std::sync::atomic::Ordering::Acquire)
}

#[test]
fn all_operations_are_as_the_model_says_in_every_way() {
    let Some(wire) = Wire::new() else { return };
    let there = settings(WORDS, None);
    for way in 0..3 {
        let start = || match way {
            0 => Responder::best(&there),
            1 => Responder::spinning(&there),
            _ => Responder::blocking(&there),
        };
        let responder = wire.on(Side::There, start).expect("root may");
        let named = matches!(
            (way, responder.way()),
            (0, Way::SoftInterrupt { .. }) | (1, Way::Spinning(_)) | (2, Way::Blocking(_))
        );
        assert!(named, "{way}: {:?}", responder.way());
        let session = responder.open().expect("a session");
        let path = ring(&wire, &session);
        as_the_model_says(&responder, &mut Caller::new(session, path), 400);
        for sleeps in [false, true] {
            let session = responder.open().expect("a session");
            let path = wire.on(Side::Here, || SocketPath::open(&session, sleeps)).expect("a way");
            as_the_model_says(&responder, &mut Caller::new(session, path), 100);
        }
        let ledger = responder.ledger();
        assert_eq!((ledger.done, ledger.refused, ledger.unknown), (600, 0, 0));
    }
}

/// How many messages: `TIDINGS_MESSAGES=100000000 cargo test … ledger` is the long one.
fn messages() -> u64 {
    let asked = std::env::var("TIDINGS_MESSAGES").ok();
    asked.map_or(100_000, |count| count.parse().expect("a number"))
}

const FAULTS: Faults = Faults { lost: 50, doubled: 50, delayed: 50 };

/// Each message adds one and brings back what was there: done once and answered once, its results
/// are all numbers from 0 on, each once. One in twenty messages and answers is lost, one is doubled
/// with its copy late, one comes behind others. Returns how many copies came when their callers had
/// answers: of a few thousand messages none may, as processors are shared.
fn ledger_is_exact(wire: &Wire, responder: &Responder, session: Session, count: u64) -> u64 {
    let path = Faulty::new(ring(wire, &session), FAULTS, numbers(count));
    let mut caller = Caller::new(session, path);
    let before = responder.ledger();
    let first = load(&responder.words()[3]);
    let mut seen = vec![0u64; count as usize / 64 + 1];
    let (mut begun, mut answered) = (0, 0);
    while answered < count {
        while begun < count && caller.has_room() {
            caller.begin(3, Change::Add(1)).expect("there is room");
            begun += 1;
        }
        let Some(answer) = caller.poll().expect("it answers") else { continue };
        assert_ne!(answer.status, Status::Refused);
        let result = answer.result - first;
        let (word, bit) = (result as usize / 64, 1 << (result % 64));
        assert!(result < count && seen[word] & bit == 0, "{result} came twice");
        seen[word] |= bit;
        answered += 1;
    }
    assert!(!caller.is_waiting());
    assert_eq!(load(&responder.words()[3]), first + count);
    let (ledger, tally, faults) = (responder.ledger(), caller.tally(), caller.path().done());
    assert_eq!(ledger.done - before.done, count);
    assert_eq!(responder.done_of(&session), count);
    assert_eq!((tally.begun, tally.answered), (count, count));
    assert!(faults.lost > 0 && faults.doubled > 0 && faults.delayed > 0, "{faults:?}");
    assert!(ledger.done_before > before.done_before, "{ledger:?}");
    println!("{count} messages: {faults:?}, {tally:?}, {ledger:?}");
    ledger.late - before.late
}

#[test]
fn the_ledger_is_exact_under_loss_copies_and_reordering() {
    let Some(wire) = Wire::new() else { return };
    let there = settings(WORDS, None);
    let responder = wire.on(Side::There, || Responder::best(&there)).expect("root may");
    let session = responder.open().expect("a session");
    assert!(ledger_is_exact(&wire, &responder, session, messages()) > 0, "no copy was late");
}

#[test]
fn the_ledger_of_a_thread_is_exact_too() {
    let Some(wire) = Wire::new() else { return };
    let there = settings(WORDS, None);
    let responder = wire.on(Side::There, || Responder::blocking(&there)).expect("root may");
    let session = responder.open().expect("a session");
    ledger_is_exact(&wire, &responder, session, messages().min(2_000));
}

/// Callers on several cores: their soft interrupts run at once, and take turns by the lock.
#[test]
fn callers_on_several_cores_lose_nothing_of_each_other() {
    const CALLERS: u64 = 4;
    const CALLS: u64 = 3_000;
    let Some(wire) = Wire::new() else { return };
    let there = settings(WORDS, None);
    let responder = wire.on(Side::There, || Responder::best(&there)).expect("root may");
    let opened = (0..CALLERS).map(|_| {
        let session = responder.open().expect("a session");
        let path = wire.on(Side::Here, || SocketPath::open(&session, false)).expect("a way");
        Caller::new(session, path)
    });
    let mut callers: Vec<_> = opened.collect();
    std::thread::scope(|scope| {
        for (which, caller) in callers.iter_mut().enumerate() {
            scope.spawn(move || {
                for call in 1..=CALLS {
                    caller.call(0, Change::Add(1)).expect("it answers");
                    // Each raises words that the others raise too, in its own rows higher.
                    let words: Vec<u64> =
                        (0..32).map(|at| call * 4 + (at + which as u64) % 4).collect();
                    caller.call(64, Change::Merge(&words)).expect("it answers");
                }
            });
        }
    });
    assert_eq!(load(&responder.words()[0]), CALLERS * CALLS);
    for word in &responder.words()[64..96] {
        assert_eq!(load(word), CALLS * 4 + 3, "the highest that came");
    }
    let Ledger { done, refused, unknown, .. } = responder.ledger();
    assert_eq!((done, refused, unknown), (2 * CALLERS * CALLS, 0, 0));
}

/// What is not a message to the responder is none of its business: another port of the host has its
/// datagrams as before.
#[test]
fn other_datagrams_pass_and_strangers_change_nothing() {
    let Some(wire) = Wire::new() else { return };
    let there = settings(WORDS, None);
    let responder = wire.on(Side::There, || Responder::best(&there)).expect("root may");
    let session = responder.open().expect("a session");
    let other = wire.on(Side::There, || UdpSocket::bind("10.77.0.1:0")).expect("a port");
    let from = wire.on(Side::Here, || UdpSocket::bind("10.77.0.2:0")).expect("a port");
    from.send_to(b"as before", other.local_addr().expect("bound")).expect("a way");
    let mut bytes = [0; 64];
    assert_eq!(other.recv(&mut bytes).expect("it came"), 9);
    let stranger = Session { key: session.key ^ 1, ..session };
    let path = wire.on(Side::Here, || SocketPath::open(&stranger, false)).expect("a way");
    let mut stranger = Caller::new(stranger, path);
    stranger.begin(0, Change::Add(1)).expect("it is sent");
    // Its answer never comes; that of the right key, sent later, does.
    let path = wire.on(Side::Here, || SocketPath::open(&session, false)).expect("a way");
    assert_eq!(Caller::new(session, path).call(0, Change::Add(5)).expect("it answers"), 0);
    assert_eq!(load(&responder.words()[0]), 5);
    assert_eq!((responder.ledger().unknown, responder.ledger().done), (1, 1));
}

/// The interface has a program already: a thread responds, and the reason is said.
#[test]
fn where_no_program_can_be_attached_a_thread_responds_and_says_why() {
    let Some(wire) = Wire::new() else { return };
    let there = settings(WORDS, None);
    let best = || wire.on(Side::There, || Responder::best(&there)).expect("there is a way");
    let first = best();
    assert_eq!(*first.way(), Way::SoftInterrupt { native: false });
    let second = best();
    let (Way::Spinning(why) | Way::Blocking(why)) = second.way() else { panic!("two programs") };
    assert!(why.contains("BPF_LINK_CREATE"), "{why}");
    let session = second.open().expect("a session");
    let call = || wire.on(Side::Here, || Caller::best(session, INTERFACE, &ends()));
    let (mut caller, answers) = call().expect("there is a way");
    assert_eq!(answers, Answers::Ring);
    assert_eq!(caller.call(9, Change::Or(6)).expect("it answers"), 0);
    let other = second.open().expect("a session");
    let (other, answers) =
        wire.on(Side::Here, || Caller::best(other, INTERFACE, &ends())).expect("there is a way");
    assert!(matches!(other.path(), Best::Socket(_)));
    assert!(matches!(answers, Answers::Spinning(_) | Answers::Blocking(_)), "{answers:?}");
    drop((first, caller));
    assert_eq!(*best().way(), Way::SoftInterrupt { native: false }, "its program is gone");
}

const ROLE: &str = "TIDINGS_ACTIVE_ROLE";

/// What another process does; as a test of its own, nothing: it responds until it is killed.
#[test]
fn a_process_that_responds() {
    if std::env::var(ROLE).is_err() {
        return;
    }
    let responder = Responder::best(&settings(WORDS, None)).expect("its parent could");
    let soft = matches!(responder.way(), Way::SoftInterrupt { .. });
    println!("\nsoft interrupt: {soft}");
    // Nobody writes there; the end of the parent is the end of this.
    let _ = std::io::stdin().read(&mut [0]);
}

/// Nothing is left of a responder that was killed: the interface takes the next program.
#[test]
fn a_responder_that_is_killed_leaves_nothing_attached() {
    let Some(wire) = Wire::new() else { return };
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.args(["--exact", "a_process_that_responds", "--nocapture", "--test-threads=1"]);
    program.env(ROLE, "responds").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = wire.on(Side::There, || program.spawn()).expect("it can be started");
    let mut said = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let line = said.find_map(|line| line.ok().filter(|line| line.starts_with("soft interrupt")));
    assert_eq!(line.as_deref(), Some("soft interrupt: true"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let there = settings(WORDS, None);
    let responder = wire.on(Side::There, || Responder::best(&there)).expect("root may");
    assert_eq!(*responder.way(), Way::SoftInterrupt { native: false });
}

#[test]
fn what_a_responder_has_not_is_refused_and_who_is_not_there_is_named() {
    let Some(wire) = Wire::new() else { return };
    let there = settings(WORDS, None);
    let responder = wire.on(Side::There, || Responder::best(&there)).expect("root may");
    let session = responder.open().expect("a session");
    let mut caller = Caller::new(session, ring(&wire, &session));
    let refused = caller.call(WORDS as u32, Change::Add(1));
    assert!(matches!(refused, Err(ActiveError::Refused { sequence: 1 })), "{refused:?}");
    let refused = caller.call(WORDS as u32 - 1, Change::Merge(&[1, 2]));
    assert!(matches!(refused, Err(ActiveError::Refused { sequence: 2 })), "{refused:?}");
    assert_eq!(caller.call(WORDS as u32 - 1, Change::Merge(&[1])).expect("it answers"), 1);
    for _ in 0..64 {
        caller.begin(0, Change::Add(1)).expect("so many may be on their way");
    }
    assert!(matches!(caller.begin(0, Change::Add(1)), Err(ActiveError::Full)));
    for words in [0, 3, usize::MAX] {
        let wrong = Settings { words, ..there.clone() };
        assert!(matches!(Responder::best(&wrong), Err(ActiveError::Words { .. })), "{words}");
    }
    let anywhere = Settings { address: "0.0.0.0:0".parse().expect("an address"), ..there.clone() };
    assert!(matches!(Responder::best(&anywhere), Err(ActiveError::Address { .. })));
    let nowhere = Settings { interface: "none-such".into(), ..there };
    let error = wire.on(Side::There, || Responder::best(&nowhere)).expect_err("nobody has it");
    assert!(error.to_string().contains("none-such"), "{error}");
}
