//! A board, written and read in one process: what was written is read back, and whatever is wrong
//! with a file is an error that names it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use tidings_board::{
    Board, BoardError, Entry, News, Outline, Snapshot, State, WriteError, Writer, now_ns,
};

const LIMIT: Duration = Duration::from_secs(3_600);

fn outline(slots: usize) -> Outline {
    Outline {
        cluster: "physics".into(),
        observer: "n0".into(),
        slots,
        payload_bytes: 20,
        payload_schema: 1,
        unit: Duration::from_millis(256),
    }
}

fn news(node_id: u32, sequence: u32, payload: &[u8]) -> News<'_> {
    let birth_ns = now_ns() - 1_000_000_000;
    News { state: State::Alive, node_id, incarnation: 7, sequence, birth_ns, payload }
}

/// A board of three nodes in a directory of its own.
fn three() -> (TempDir, PathBuf, Writer) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("board");
    let mut writer = Writer::create(&path, &outline(4)).expect("writable");
    for (slot, name) in ["n0", "n1", "a-name-of-several-words"].into_iter().enumerate() {
        let payload = [slot as u8 + 1; 20];
        writer
            .seat(slot, name, &[127, 0, 0, 1, 0, 9], &news(slot as u32, 1, &payload))
            .expect("fits");
    }
    (directory, path, writer)
}

#[test]
fn what_was_written_is_read() {
    let (_directory, path, mut writer) = three();
    let board = Board::open(&path, LIMIT).expect("a fresh board");
    assert_eq!((board.cluster(), board.observer(), board.members()), ("physics", "n0", 3));
    assert_eq!((board.unit(), board.payload_schema()), (Duration::from_millis(256), 1));
    assert_eq!(board.writer_pid(), std::process::id());

    writer.update(1, &News { state: State::Dead, ..news(1, 2, &[]) }).expect("it is seated");
    let entry = board.entry("n1").expect("readable").expect("a member");
    assert_eq!((entry.state, entry.incarnation, entry.sequence), (State::Dead, 7, 2));
    assert_eq!(entry.payload, [0; 20]);
    assert!(entry.age(now_ns()).expect("heard") >= Duration::from_secs(1));
    let long = board.entry("a-name-of-several-words").expect("readable").expect("a member");
    assert_eq!((long.node_id, long.payload), (2, vec![3; 20]));
    for stranger in ["n", "n2", "", "a-name-of-several-word", &"x".repeat(80)] {
        assert_eq!(board.entry(stranger).expect("readable"), None, "{stranger}");
    }
    let mut snapshot = Snapshot::new();
    board.snapshot(&mut snapshot).expect("readable");
    let seen: Vec<_> = snapshot.entries().map(|e| (e.name, e.state, e.sequence)).collect();
    let (alive, dead) = (State::Alive, State::Dead);
    assert_eq!(seen, [("n0", alive, 1), ("n1", dead, 2), ("a-name-of-several-words", alive, 1)]);
    assert!(snapshot.entries().all(|entry| entry.address == [127, 0, 0, 1, 0, 9]));
}

#[test]
fn a_generation_ends_when_members_change_and_only_then() {
    let (_directory, path, mut writer) = three();
    let board = Board::open(&path, LIMIT).expect("a fresh board");
    let mut snapshot = Snapshot::new();
    board.snapshot(&mut snapshot).expect("readable");
    let first = board.generation();
    writer.update(2, &news(2, 9, &[8; 20])).expect("it is seated");
    assert_eq!(board.generation(), first);
    writer.vacate(0);
    writer.seat(1, "other", &[1; 18], &news(9, 1, &[])).expect("fits");
    assert_ne!(board.generation(), first);
    assert_eq!(board.entry("n0").expect("readable"), None);
    assert_eq!(board.entry("n1").expect("readable"), None);
    assert_eq!(board.entry("other").expect("readable").map(|entry| entry.node_id), Some(9));
    board.snapshot(&mut snapshot).expect("readable");
    let names: Vec<_> = snapshot.entries().map(|entry| entry.name).collect();
    assert_eq!(names, ["other", "a-name-of-several-words"]);
    assert_eq!((board.members(), snapshot.generation()), (2, board.generation()));
    writer.vacate(2);
    writer.vacate(2);
    board.snapshot(&mut snapshot).expect("readable");
    assert_eq!(snapshot.entries().count(), 1);
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let (_directory, path, mut writer) = three();
    let board = Board::open(&path, LIMIT).expect("a fresh board");
    let generation = board.generation();
    let ok = news(5, 1, &[]);
    let refused = [
        writer.seat(4, "n4", &[], &ok),
        writer.seat(3, &"x".repeat(64), &[], &ok),
        writer.seat(3, "n3", &[0; 24], &ok),
        writer.seat(3, "n3", &[], &news(5, 1, &[0; 21])),
        writer.update(3, &ok),
        writer.update(0, &news(5, 1, &[0; 19])),
    ];
    assert!(refused.iter().all(Result::is_err), "{refused:?}");
    assert_eq!((board.generation(), board.members()), (generation, 3));
    let wide = Outline { payload_bytes: 2_000, ..outline(4) };
    assert!(matches!(Writer::create(&path, &wide), Err(WriteError::Shape { .. })));
}

#[test]
fn a_silent_left_or_replaced_writer_is_an_error_that_says_so() {
    let (_directory, path, writer) = three();
    let second = Duration::from_secs(1);
    let board = Board::open(&path, second).expect("a fresh board");
    writer.beat(now_ns() - 7_000_000_000);
    let silent = board.entry("n0").expect_err("7 s").to_string();
    assert!(silent.contains(&format!("process {}", std::process::id())), "{silent}");
    assert!(
        silent.contains("7.0 s ago, with a limit of 1.0 s") || silent.contains("6.9"),
        "{silent}"
    );
    assert!(matches!(Board::open(&path, second), Err(BoardError::DeadWriter { .. })));
    writer.beat(now_ns() + 3_600_000_000_000);
    assert!(matches!(board.check(), Err(BoardError::Damaged { .. })), "of an earlier boot");
    writer.beat(now_ns());
    board.check().expect("alive again");

    let next = Writer::create(&path, &outline(8)).expect("writable");
    writer.replaced();
    assert!(matches!(board.snapshot(&mut Snapshot::new()), Err(BoardError::Replaced { .. })));
    let board = Board::open(&path, second).expect("the next one");
    assert_eq!(board.shape().slots(), 8);
    next.leave().expect("removable");
    assert!(matches!(board.entry("n0"), Err(BoardError::Left { .. })));
    assert!(!path.exists());
}

/// A second agent may have the same path: the first removes only its own file.
#[test]
fn a_writer_that_leaves_does_not_remove_anothers_file() {
    let (_directory, path, writer) = three();
    let _next = Writer::create(&path, &outline(8)).expect("writable");
    writer.leave().expect("nothing to remove");
    assert!(path.exists());
}

#[test]
fn a_file_that_is_not_a_board_is_refused_by_name() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("x");
    let named = |error: BoardError| {
        let text = error.to_string();
        assert!(text.contains(&path.display().to_string()), "{text}");
        error
    };
    let open = || Board::open(&path, LIMIT).map_err(named);
    assert!(matches!(open(), Err(BoardError::Unreadable { .. })));
    for text in ["", "TIDBOAR", "#!/bin/sh\nexit 1\n"] {
        fs::write(&path, text).expect("writable");
        assert!(matches!(open(), Err(BoardError::NotABoard { .. })), "{text}");
    }
    fs::write(&path, "TIDBOARD and little else").expect("writable");
    assert!(matches!(open(), Err(BoardError::Truncated { .. })));
    let null = Board::open("/dev/null".as_ref(), LIMIT);
    assert!(matches!(null, Err(BoardError::NotABoard { .. })));
    let folder = Board::open(directory.path(), LIMIT);
    assert!(matches!(folder, Err(BoardError::NotABoard { .. })), "{folder:?}");
}

/// A valid file with one word changed, for each word: an error, or a board that can be read; never
/// a crash, never an entry with a name that no node has.
#[test]
fn a_hostile_file_is_an_error_or_harmless() {
    let (directory, path, _writer) = three();
    let good = fs::read(&path).expect("readable");
    let bad_path = directory.path().join("bad");
    let (mut refused, mut read) = (0, 0);
    let mut entry = Entry::empty();
    for at in (0..good.len()).step_by(8) {
        for value in [0, 1, 2, 5, u64::MAX, u64::MAX / 2, 1 << 33] {
            let mut bad = good.clone();
            bad[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
            fs::write(&bad_path, &bad).expect("writable");
            let Ok(board) = Board::open(&bad_path, LIMIT) else {
                refused += 1;
                continue;
            };
            let odd = (at >= 320 && value % 2 == 1).then_some(()).is_some();
            if odd && (at == 320 || ((512..896).contains(&at) && (at - 512) % 64 == 0)) {
                continue; // a version that stays odd costs a fifth of a second, and is tested below
            }
            let mut snapshot = Snapshot::new();
            if board.snapshot(&mut snapshot).is_ok() {
                read += 1;
                assert!(snapshot.entries().count() <= 4);
            }
            for name in ["n0", "n1", "nobody"] {
                let found = board.entry_into(name, &mut entry);
                assert!(name != "nobody" || !matches!(found, Ok(true)), "{at} {value}");
            }
        }
    }
    assert!(refused > 50 && read > 500, "{refused} {read}");
}

#[test]
fn files_of_other_sizes_and_versions_have_different_errors() {
    let (directory, path, _writer) = three();
    let good = fs::read(&path).expect("readable");
    let bad = directory.path().join("bad");
    for bytes in [8, 100, 511, 512, 600, good.len() - 8, good.len() - 1] {
        fs::write(&bad, &good[..bytes]).expect("writable");
        let error = Board::open(&bad, LIMIT).expect_err("too short");
        assert!(matches!(error, BoardError::Truncated { .. }), "{bytes}: {error}");
    }
    let mut later = good.clone();
    later[8] = 2;
    fs::write(&bad, &later).expect("writable");
    let error = Board::open(&bad, LIMIT).expect_err("another layout").to_string();
    assert!(error.contains("layout version 2, this reader knows version 1"), "{error}");
    let mut longer = good;
    longer.extend([0; 99]);
    fs::write(&bad, &longer).expect("writable");
    Board::open(&bad, LIMIT).expect("what follows does not matter");
}

#[test]
fn a_writer_that_stopped_while_writing_is_an_error_in_the_end() {
    let (directory, path, _writer) = three();
    let mut bytes = fs::read(&path).expect("readable");
    bytes[512] |= 1;
    let stuck = directory.path().join("stuck");
    fs::write(&stuck, &bytes).expect("writable");
    let board = Board::open(&stuck, LIMIT).expect("its header is whole");
    assert!(matches!(board.entry("n0"), Err(BoardError::Unfinished { .. })));
    assert!(matches!(board.snapshot(&mut Snapshot::new()), Err(BoardError::Unfinished { .. })));
    board.entry("n1").expect("others can be read").expect("a member");
}

#[test]
fn everyone_may_read_it_and_only_its_user_may_write() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, path, _writer) = three();
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o644);
}

#[test]
fn a_board_that_cannot_be_made_says_where_and_what_to_do() {
    let path = PathBuf::from("/proc/tidings/board");
    let error = Writer::create(&path, &outline(4)).expect_err("no place for files").to_string();
    assert!(error.starts_with("the board /proc/tidings/board of 1"), "{error}");
    assert!(error.ends_with("or turn it off with board = \"off\""), "{error}");
}

/// What is on large pages, where the kernel has them, reads as before, and new entries, too.
#[test]
fn a_board_on_large_pages_is_read_as_any() {
    let directory = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let path = directory.path().join("board");
    let large = Outline { payload_bytes: 1_024, ..outline(4_096) };
    let mut writer = Writer::create(&path, &large).expect("there is room");
    writer.seat(0, "n0", &[127, 0, 0, 1, 0, 9], &news(0, 1, &[])).expect("it fits");
    let early = Board::open(&path, LIMIT).expect("a fresh board");
    let report = writer.enlarge_pages().expect("there is memory");
    assert!(report.resident_kib >= 4_096, "a board of over 4 MiB has two pages: {report:?}");
    writer.update(0, &news(0, 2, &[5; 1_024])).expect("it is seated");
    for board in [&early, &Board::open(&path, LIMIT).expect("a fresh board")] {
        let entry = board.entry("n0").expect("readable").expect("a member");
        assert_eq!((entry.sequence, entry.payload), (2, vec![5; 1_024]));
    }
}
