//! A single address space among real processes: one address in all of them, fresh processes that
//! attach, views, writers that are killed.
//!
//! A process of a group is this test program again, executed for the one test that its role is.
//! `TIDINGS_ATTACHES` says how many fresh processes attach; 100,000 take some minutes.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;

use tidings_fast_path::space::cell::{HEAD_WORDS, Parts};
use tidings_fast_path::space::{Access, Address, Space, SpaceError};

const ROLE: &str = "TIDINGS_SPACE_ROLE";
const AT: &str = "TIDINGS_SPACE_AT";
const CELL_WORDS: usize = 8;

/// This program, for one role.
fn role(space: &Space, role: &str, at: Address) -> Command {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.args(["--exact", "a_process_of_a_group", "--nocapture", "--test-threads=1"]);
    program.env(ROLE, role).env(AT, at.0.to_string()).stdout(Stdio::null());
    space.share(&mut program);
    program
}

/// What another process does; as a test of its own, nothing.
#[test]
fn a_process_of_a_group() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let at = std::env::var(AT).expect("a role has an address");
    let at = Address(at.parse().expect("a number"));
    match role.as_str() {
        "walk" => walk(&Space::inherited(Access::Read).expect("it is shared"), at),
        "build" => {
            let space = Space::inherited(Access::Write).expect("it is shared");
            let head = build(&space, 1_000);
            space.words(at, 1).expect("a word")[0].store(head.0, Ordering::Release);
        }
        "write" => {
            let space = Space::inherited(Access::Write).expect("it is shared");
            let cell = space.write_cell(at, CELL_WORDS).expect("a cell");
            for value in 1.. {
                cell.write(&[value; CELL_WORDS]);
            }
        }
        "torn" => dies_in_a_write(&Space::inherited(Access::Write).expect("it is shared"), at),
        other => panic!("{other}: no such role"),
    }
}

/// A list: each node is the address of the next one, and a number.
fn build(space: &Space, nodes: u64) -> Address {
    let mut next = Address(0);
    for number in 0..nodes {
        let at = space.allocate(2).expect("room for a node");
        let words = space.words(at, 2).expect("just given");
        words[0].store(next.0, Ordering::Relaxed);
        words[1].store(number, Ordering::Relaxed);
        next = at;
    }
    next
}

/// Follows the addresses of another process.
fn walk(space: &Space, head: Address) {
    let (mut at, mut expected) = (head, 1_000);
    while at != Address(0) {
        expected -= 1;
        assert_eq!(space.load(Address(at.0 + 8)).expect("a node"), expected);
        at = Address(space.load(at).expect("a node"));
    }
    assert_eq!(expected, 0, "not the whole list");
}

fn succeeds(mut program: Command) {
    assert!(program.status().expect("it can be started").success(), "{program:?}");
}

#[test]
fn addresses_that_one_process_writes_are_good_in_all() {
    let space = Space::create("tidings-test", 1 << 20).expect("there is memory");
    let root = space.allocate(1).expect("room");
    succeeds(role(&space, "build", root));
    let head = Address(space.load(root).expect("a word"));
    walk(&space, head);
    succeeds(role(&space, "walk", head));
}

#[test]
fn fresh_processes_attach_each_time() {
    let count = std::env::var("TIDINGS_ATTACHES").ok().and_then(|count| count.parse().ok());
    let space = Space::create("tidings-test", 1 << 20).expect("there is memory");
    let head = build(&space, 1_000);
    for _ in 0..count.unwrap_or(50) {
        succeeds(role(&space, "walk", head));
    }
}

/// What is killed, whatever the test does.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A writer is killed wherever it is; readers go on, see nothing torn, and another writer takes
/// over. What it does between two kills is some thousands of writes.
#[test]
fn a_writer_that_is_killed_holds_no_reader_up() {
    let space = Space::create("tidings-test", 1 << 20).expect("there is memory");
    let at = space.make_cell(CELL_WORDS).expect("room");
    let mut words = [0; CELL_WORDS];
    for _ in 0..20 {
        let before = words[0];
        let writer = role(&space, "write", at).spawn().expect("it can be started");
        let writer = Killed(writer);
        let mut reads = 0;
        while words[0] == before || reads < 10_000 {
            space.read_cell(at, &mut words).expect("a cell");
            assert!(words.iter().all(|&word| word == words[0]), "torn: {words:?}");
            reads += 1;
        }
        drop(writer);
        space.read_cell(at, &mut words).expect("a cell");
        assert!(words.iter().all(|&word| word == words[0]), "torn: {words:?}");
    }
}

/// Writes once, and ends in the middle of the next write: its version is odd, and half of the words
/// are new.
fn dies_in_a_write(space: &Space, at: Address) {
    space.write_cell(at, CELL_WORDS).expect("a cell").write(&[5; CELL_WORDS]);
    let words = space.words(at, HEAD_WORDS + 2 * CELL_WORDS).expect("a cell");
    let next = 1 - words[0].load(Ordering::Acquire) as usize;
    words[1 + next].fetch_add(1, Ordering::SeqCst);
    let copy = &words[HEAD_WORDS + next * CELL_WORDS..][..CELL_WORDS];
    for word in &copy[..CELL_WORDS / 2] {
        word.store(6, Ordering::SeqCst);
    }
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("it is this one");
    panic!("it was killed");
}

/// Killed inside of a write, surely: each look of a reader is the first one that it needs, and the
/// next writer goes on.
#[test]
fn a_writer_that_dies_inside_a_write_leaves_what_was_before_it() {
    let space = Space::create("tidings-test", 1 << 20).expect("there is memory");
    let at = space.make_cell(CELL_WORDS).expect("room");
    let status = role(&space, "torn", at).stderr(Stdio::null()).status();
    assert_eq!(status.expect("it can be started").signal(), Some(9));
    let words = space.words(at, HEAD_WORDS + 2 * CELL_WORDS).expect("a cell");
    let mut seen = [0; CELL_WORDS];
    assert!(Parts::of(words).expect("a cell").look(&mut seen), "one look suffices");
    assert_eq!(seen, [5; CELL_WORDS]);
    space.write_cell(at, CELL_WORDS).expect("a cell").write(&[7; CELL_WORDS]);
    space.read_cell(at, &mut seen).expect("a cell");
    assert_eq!(seen, [7; CELL_WORDS]);
}

#[test]
fn a_place_that_is_taken_is_an_error_that_names_what_is_there() {
    let space = Space::create("tidings-test", 1 << 20).expect("there is memory");
    let error = Space::attach(&space.ticket(), Access::Read).expect_err("it is mapped already");
    assert!(
        matches!(&error, SpaceError::Taken { by, .. } if by.contains("tidings-test")),
        "{error}"
    );
    // A second one gets another place.
    let other = Space::create("tidings-test", 1 << 20).expect("there is memory");
    assert_ne!(space.base(), other.base());
    let ticket = other.ticket();
    drop(other);
    assert!(matches!(Space::attach(&ticket, Access::Read), Err(SpaceError::Gone { .. })));
}

#[test]
fn what_is_not_in_the_space_is_not_followed() {
    let space = Space::create("tidings-test", 8192).expect("there is memory");
    let base = space.base().0;
    for wrong in [0, 1, base - 8, base + 1, base + 8192, u64::MAX, u64::MAX - 7] {
        assert!(matches!(space.load(Address(wrong)), Err(SpaceError::Outside { .. })), "{wrong:x}");
    }
    assert!(space.words(Address(base), 1025).is_err());
    assert!(space.words(Address(base), usize::MAX).is_err());
    assert!(space.read_cell(Address(base + 64), &mut []).is_err());
    assert!(matches!(space.allocate(usize::MAX), Err(SpaceError::Full { .. })));
    assert!(matches!(space.allocate(0), Err(SpaceError::Full { .. })));
    space.allocate(1016).expect("all that is left");
    assert!(matches!(space.allocate(1), Err(SpaceError::Full { left: 0, .. })));
    assert!(matches!(Space::create("tidings-test", 4096), Err(SpaceError::Size { .. })));
    assert!(matches!(Space::create("tidings-test", usize::MAX), Err(SpaceError::Size { .. })));
}
