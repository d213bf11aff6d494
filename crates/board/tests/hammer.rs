//! One process writes as fast as it can, others read: no entry is torn, none carries another's
//! name, no sequence goes back. The readers are this test program, started again with a path to
//! read.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tidings_board::{Board, BoardError, Entry, News, Outline, Snapshot, State, Writer, now_ns};

const PATH: &str = "TIDINGS_HAMMERED_BOARD";
const LIMIT: Duration = Duration::from_secs(3_600);
const SLOTS: usize = 16;
const READERS: usize = 3;
/// How many entries each reader reads before it ends.
const SNAPSHOTS: usize = 20_000;
const ENTRIES: usize = 500_000;
/// What it prints then.
const CONTENT: &str = "all that was read was whole";
const WORDS: usize = 12;

/// The payload of an entry follows from node and sequence, so that each word can be checked.
fn payload(node_id: u32, sequence: u32) -> [u8; 8 * WORDS] {
    let mut bytes = [0; 8 * WORDS];
    for (at, chunk) in bytes.chunks_exact_mut(8).enumerate() {
        let word = (u64::from(node_id) << 40 | u64::from(sequence)).wrapping_mul(at as u64 + 3);
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn news(node_id: u32, sequence: u32, payload: &[u8]) -> News<'_> {
    let birth_ns = i64::from(sequence);
    News { state: State::Alive, node_id, incarnation: sequence, sequence, birth_ns, payload }
}

fn name(node_id: u32) -> String {
    format!("node-with-a-name-of-some-length-{node_id}")
}

/// Node `slot`, or `slot + SLOTS`, sits in a slot; alternately.
fn write_a_lap(writer: &mut Writer, lap: u32) {
    for slot in 0..SLOTS {
        let guest = lap / 16 % 2 == 1 && slot % 4 == 3;
        let node_id = slot as u32 + if guest { SLOTS as u32 } else { 0 };
        let payload = payload(node_id, lap);
        let entry = news(node_id, lap, &payload);
        if lap % 16 == 0 && slot % 4 == 3 {
            writer.vacate(slot);
            writer.seat(slot, &name(node_id), &[1; 6], &entry).expect("it fits");
        } else {
            writer.update(slot, &entry).expect("it is seated");
        }
    }
    writer.beat(now_ns());
}

#[test]
fn readers_in_other_processes_never_see_a_torn_entry() {
    if std::env::var_os(PATH).is_some() {
        return; // this is a reader: see below
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("board");
    let outline = Outline {
        cluster: "c".into(),
        observer: name(0),
        slots: SLOTS,
        payload_bytes: 8 * WORDS,
        payload_schema: 1,
        unit: Duration::from_millis(10),
    };
    let mut writer = Writer::create(&path, &outline).expect("writable");
    for slot in 0..SLOTS as u32 {
        let payload = payload(slot, 0);
        writer.seat(slot as usize, &name(slot), &[1; 6], &news(slot, 0, &payload)).expect("fits");
    }
    let program = std::env::current_exe().expect("a running test has a path");
    let mut readers: Vec<Child> = (0..READERS)
        .map(|_| {
            let mut command = Command::new(&program);
            command.args(["--exact", "a_reader", "--nocapture"]).env(PATH, &path);
            command.stdout(Stdio::piped()).spawn().expect("it starts")
        })
        .collect();
    let mut lap = 0;
    while !readers.is_empty() {
        lap += 1;
        write_a_lap(&mut writer, lap);
        if lap % 64 == 0 {
            let (ended, reading) = readers.into_iter().partition(has_ended);
            readers = reading;
            ended.into_iter().for_each(assert_content);
        }
    }
    writer.leave().expect("removable");
}

fn has_ended(reader: &Child) -> bool {
    let path = format!("/proc/{}/stat", reader.id());
    let stat = std::fs::read_to_string(path).expect("an own child that was not waited for");
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

fn assert_content(reader: Child) {
    let output = reader.wait_with_output().expect("an own child");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(CONTENT), "a reader failed: {said}");
}

/// A reader, if a path to read is given.
#[test]
fn a_reader() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let board = Board::open(path.as_ref(), LIMIT).expect("its writer lives");
    let (mut snapshot, mut entry) = (Snapshot::new(), Entry::empty());
    let mut newest = [0; 2 * SLOTS];
    for _ in 0..SNAPSHOTS {
        board.snapshot(&mut snapshot).expect("readable");
        let mut seen = 0;
        for one in snapshot.entries() {
            assert_eq!(one.name, name(one.node_id), "another's name");
            assert_eq!(one.payload, payload(one.node_id, one.sequence), "torn");
            assert_eq!(one.incarnation, one.sequence, "torn");
            let before = &mut newest[one.node_id as usize];
            assert!(*before <= one.sequence, "it went back");
            *before = one.sequence;
            seen += 1;
        }
        assert!((SLOTS - 1..=SLOTS).contains(&seen), "{seen} nodes");
    }
    let mut found = 0;
    for turn in 0..ENTRIES {
        let node_id = (turn % (2 * SLOTS)) as u32;
        match board.entry_into(&name(node_id), &mut entry) {
            Ok(true) => {
                assert_eq!(entry.node_id, node_id, "another's entry");
                assert_eq!(entry.payload, payload(node_id, entry.sequence), "torn");
                found += 1;
            }
            // Those that always sit at their places are found.
            Ok(false) => assert!(node_id % 4 == 3 || node_id >= SLOTS as u32, "{node_id} is lost"),
            Err(BoardError::Left { .. }) => panic!("the writer waits for its readers"),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(found > ENTRIES / 4, "{found}");
    println!("{CONTENT}");
}
