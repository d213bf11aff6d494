//! Real processes: this test program again, which joins a segment and does what its test says.
//!
//! They are here and not in the crate of tests of real processes, as they need nothing but this
//! crate. A process that is started runs the one test [`worker`], which does nothing in a run of
//! all tests.

#[path = "../examples/host/travels.rs"]
mod travels;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tidings_applications::fibonacci::{self, Fibonacci};
use tidings_applications::queens::Queens;
use tidings_applications::uts::trees::named;
use tidings_primitives::Chance;
use tidings_steal_host::{
    Array, ArrayError, Body, CreateError, Done, Frame, Host, JoinError, PhaseError, Rules, Segment,
    Sizes, Task,
};
use travels::{Travels, alone, on_all};

const PATH: &str = "TIDINGS_TEST_SEGMENT";
const ROLE: &str = "TIDINGS_TEST_ROLE";
const WORKERS: &str = "TIDINGS_TEST_WORKERS";

/// Where in a segment the first seat begins: behind the header and 256 lines of flags.
const WORKERS_AT: usize = 512 + 256 * 64;

/// A segment, and the processes that were started for it.
struct Run {
    #[expect(dead_code, reason = "it is held, not read")]
    directory: TempDir,
    #[expect(dead_code, reason = "it is held, not read")]
    segment: Option<Segment>,
    path: PathBuf,
    workers: u32,
    children: Vec<Started>,
}

struct Started {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Run {
    fn new(workers: u32, rules: &Rules) -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").expect("a file system in memory");
        let path = directory.path().join("segment");
        let segment = Some(Segment::create(&path, workers, rules).expect("room"));
        Self { directory, segment, path, workers, children: Vec::new() }
    }

    /// Starts a process for each role.
    fn start(mut self, roles: &[&str]) -> Self {
        for role in roles {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["--exact", "worker", "--nocapture", "--test-threads=1"]);
            command.env(PATH, &self.path).env(ROLE, role);
            command.env(WORKERS, self.workers.to_string());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().expect("this program");
            let output = BufReader::new(child.stdout.take().expect("a pipe"));
            self.children.push(Started { child, output });
        }
        self
    }

    /// What each says next, behind its sign.
    fn said(&mut self) -> Vec<String> {
        self.children.iter_mut().map(Started::said).collect()
    }
}

impl Started {
    /// What it says next; empty if it ends before.
    fn said(&mut self) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).expect("lines") > 0 {
            if let Some((_, said)) = line.split_once("says: ") {
                return said.trim().to_owned();
            }
            line.clear();
        }
        String::new()
    }

    fn go_on(&mut self) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        input.write_all(b"\n").expect("it reads");
    }
}

fn say(what: &str) {
    println!("\nsays: {what}");
}

fn wait_for_word() {
    std::io::stdin().read_exact(&mut [0]).expect("the test goes on");
}

/// What a started process does.
#[test]
fn worker() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let path = PathBuf::from(std::env::var(PATH).expect("a path"));
    let workers = std::env::var(WORKERS).expect("a number").parse().expect("a number");
    let host = match Host::join(&path, workers) {
        Ok(host) => host,
        Err(error) => return say(&format!("join: {error}")),
    };
    act(&role, host).unwrap_or_else(|error| say(&format!("phase: {error}")));
}

fn act(role: &str, mut host: Host) -> Result<(), PhaseError> {
    let host = &mut host;
    match role {
        "fib" => say(&format!("{:?}", Fibonacci::shown(&on_all(host, Fibonacci(20))?))),
        "queens" => {
            let board = Queens::new(8).expect("a board");
            say(&format!("{:?}", Queens::shown(&on_all(host, board)?)));
        }
        "tree" => {
            let tree = named("T1").expect("a tree");
            say(&format!("{}", tree.is(&on_all(host, tree.tree)?)));
        }
        "forever" => {
            say(&host.number().to_string());
            let ending = host.phase("forever", list(host, 8), &[forever as Body<()>], &mut ());
            say(&format!("phase: {}", ending.expect_err("somebody was killed")));
            // Those who live go on.
            say(&format!("{:?}", Fibonacci::shown(&on_all(host, Fibonacci(15))?)));
        }
        "first" => drop(host.phase("first", Vec::new(), &[never as Body<()>], &mut ())?),
        "second" => drop(host.phase("second", Vec::new(), &[never as Body<()>], &mut ())?),
        "stay" => wait_for_word(),
        "panic" => drop(host.phase("first", list(host, 1), &[never as Body<()>], &mut ())?),
        "large" => {
            let large = vec![Frame::new(0, 0, &[0; 300]).expect("a frame")];
            let refused =
                host.phase("large", large, &[spawns_large as Body<Vec<String>>], &mut Vec::new());
            let mut said = vec![refused.expect_err("it is too large").to_string()];
            host.phase("large", list(host, 1), &[spawns_large as Body<Vec<String>>], &mut said)?;
            say(&said.join("; "));
        }
        "large rest" => {
            let body = [large_rest as Body<u32>];
            let mut ran = 0;
            let refused = host.phase("large", list(host, 1), &body, &mut ran);
            say(&refused.map_or_else(|error| error.to_string(), |_| "well".to_owned()));
        }
        "array" => array(host),
        "arrays" => {
            let columns = if host.is_first() { 3 } else { 4 };
            let sizes = Sizes { rows: 3, columns, block_rows: 2, block_columns: 2 };
            say(&Array::create(host, sizes).expect_err("they differ").to_string());
            let sizes = Sizes { rows: 1 << 45, columns: 1, block_rows: 1, block_columns: 1 };
            say(&Array::create(host, sizes).expect_err("no room").to_string());
        }
        "bytes" => {
            let mut sum = 0;
            let body = [big as Body<u64>];
            let frame = |at: u32| Frame::new(0, 1_000_000, &[at as u8; 4000]).expect("it fits");
            let list = (0..if host.number() == 0 { 500 } else { 0 }).map(frame).collect();
            host.phase("bytes", list, &body, &mut sum)?;
            let sums = host.gather(&[sum])?;
            say(&format!("{}", sums.iter().flatten().map(|words| words[0]).sum::<u64>()));
        }
        other => unreachable!("no role is called {other}"),
    }
    Ok(())
}

/// Tasks on all add to blocks of an array: each reads what all have added, and zeros after that.
fn array(host: &mut Host) {
    let sizes = Sizes { rows: 10, columns: 7, block_rows: 3, block_columns: 4 };
    let mut array = Array::create(host, sizes).expect("room");
    assert_eq!((array.blocks(), array.block_elements()), ((4, 2), 12));
    let add = |task: &mut Task<'_>, array: &mut Array| {
        let at = u32::from_le_bytes(task.state().try_into().expect("four bytes")) as usize;
        let block = vec![f64::from(at as u32); 12];
        array.accumulate(at % 4, at % 2, &block).expect("it is there");
        Done::Nothing
    };
    let frame = |at: u32| Frame::new(0, 0, &at.to_le_bytes()).expect("it fits");
    let list = (0..1000).map(frame).collect();
    host.phase("array", list, &[add as Body<Array>], &mut array).expect("all live");
    let mut sums = Vec::new();
    for row in 0..4 {
        let mut block = [-1.0; 12];
        array.get(row, row % 2, &mut block).expect("it is there");
        assert!(block.iter().all(|element| element.to_bits() == block[0].to_bits()));
        sums.push(block[0]);
    }
    assert!(matches!(array.get(4, 0, &mut [0.0; 12]), Err(ArrayError::Block { .. })));
    assert!(matches!(array.put(0, 0, &[0.0; 3]), Err(ArrayError::Length { .. })));
    assert_eq!((array.owner(1, 1), array.owner(0, 2)), (Some(3 % host.workers()), None));
    array.zero(host).expect("all live");
    let mut block = [-1.0; 12];
    array.get(1, 1, &mut block).expect("it is there");
    assert!(block.iter().all(|element| element.to_bits() == 0));
    say(&format!("{sums:?}"));
}

/// So many tasks at the first worker.
fn list(host: &Host, count: usize) -> Vec<Frame> {
    let task = Frame::new(0, 0, &[]).expect("it fits");
    vec![task; if host.number() == 0 { count } else { 0 }]
}

/// Until its process or all others are killed: there is always one of these, or two.
fn forever(task: &mut Task<'_>, (): &mut ()) -> Done {
    std::hint::black_box(
        (0..1000).fold(1_u64, |sum, at| std::hint::black_box(sum.wrapping_mul(3) ^ at)),
    );
    // Bounded all the same: a chain of these is as long as its state is counted.
    let count = task.state().try_into().map_or(0, u32::from_le_bytes) + 1;
    if count < 30_000 {
        let next = Frame::new(0, 0, &count.to_le_bytes()).expect("it fits");
        task.spawn(next).expect("it fits");
    }
    Done::Nothing
}

fn never(_: &mut Task<'_>, (): &mut ()) -> Done {
    panic!("a task that panics");
}

fn spawns_large(task: &mut Task<'_>, said: &mut Vec<String>) -> Done {
    let large = Frame::new(0, 0, &[0; 300]).expect("a frame");
    said.push(task.spawn(large).expect_err("it is too large").to_string());
    let none = Frame::new(1, 0, &[]).expect("a frame");
    said.push(task.spawn(none).expect_err("no function").to_string());
    Done::Nothing
}

fn large_rest(task: &mut Task<'_>, ran: &mut u32) -> Done {
    *ran += 1;
    let child = Frame::new(0, 0, &[]).expect("a frame");
    let then = Frame::new(0, 0, &[0; 300]).expect("a frame");
    if task.step() == 0 { Done::Finish { body: child.at_step(1), then } } else { Done::Nothing }
}

/// Tasks whose messages are longer than a ring.
fn big(task: &mut Task<'_>, sum: &mut u64) -> Done {
    *sum += task.state().iter().map(|byte| u64::from(*byte)).sum::<u64>();
    Done::Nothing
}

#[test]
fn applications_come_to_their_results_on_any_number_of_processes() {
    for workers in [1, 2, 3, 5] {
        let roles = vec!["fib"; workers as usize];
        let said = Run::new(workers, &Rules::default()).start(&roles).said();
        let expected = format!("{:?}", [fibonacci::number(20), 10_945]);
        assert_eq!(said, vec![expected; workers as usize]);
    }
    let said = Run::new(3, &Rules::default()).start(&["queens"; 3]).said();
    let expected = format!("{:?}", alone(&Queens::new(8).expect("a board")).0);
    assert_eq!(said, vec![expected; 3]);
}

#[test]
fn a_tree_is_counted_exactly_by_either_search() {
    for search in [tidings_steal_host::Search::Lifelines, tidings_steal_host::Search::Random] {
        let rules = Rules { search, ..Rules::default() };
        assert_eq!(Run::new(3, &rules).start(&["tree"; 3]).said(), ["true"; 3]);
    }
}

#[test]
fn what_all_add_to_an_array_counts_and_leaves_no_file() {
    for workers in [1_u32, 3] {
        let mut run = Run::new(workers, &Rules::default()).start(&vec!["array"; workers as usize]);
        // Each of the workers had all tasks of its own: 0 to 999, by their remainders.
        let sum = |row: u32| f64::from(workers * (0..250).map(|at| 4 * at + row).sum::<u32>());
        let expected = format!("{:?}", [0, 1, 2, 3].map(sum));
        assert_eq!(run.said(), vec![expected; workers as usize]);
        let files = std::fs::read_dir(run.path.parent().expect("a folder")).expect("it");
        assert_eq!(files.count(), 1);
    }
}

#[test]
fn an_array_that_cannot_be_made_is_an_error_at_all() {
    let mut run = Run::new(3, &Rules::default()).start(&["arrays"; 3]);
    assert!(run.said().iter().all(|said| said.contains("makes an array of other sizes")));
    let said = run.said();
    assert!(said.iter().all(|said| said.contains("no room for 281474976710656 bytes")), "{said:?}");
}

#[test]
fn messages_longer_than_a_ring_arrive() {
    let rules = Rules { ring_bytes: Some(4096), slot_bytes: 4096, ..Rules::default() };
    let said = Run::new(3, &rules).start(&["bytes"; 3]).said();
    let sum: u64 = (0..500_u64).map(|at| 4000 * (at % 256)).sum();
    assert_eq!(said, vec![sum.to_string(); 3]);
}

/// A death at any moment of a phase: the others' phase ends and names it, and they can go on.
#[test]
fn a_process_that_is_killed_is_named_and_holds_nobody_up() {
    let mut chance = Chance::new(17);
    for round in 0..20 {
        let mut run = Run::new(4, &Rules::default()).start(&["forever"; 4]);
        let numbers = run.said();
        // The kill meets them while they enter, or somewhere within.
        std::hint::black_box((0..chance.below(100_000_000)).fold(0, |sum, at| sum ^ at));
        let killed = chance.below(4);
        run.children[killed].child.kill().expect("a child");
        run.children.remove(killed);
        for child in &mut run.children {
            let said = child.said();
            let named = format!("phase: workers [{}] died", numbers[killed]);
            assert!(said.starts_with(&named), "round {round}: {said}, not {named}");
            assert_eq!(child.said(), format!("{:?}", [fibonacci::number(15), 986]));
        }
    }
}

/// Several deaths at the same time: all who live say the same, in the same phase.
#[test]
fn who_lives_agrees_on_who_died() {
    let mut chance = Chance::new(18);
    for round in 0..20 {
        let mut run = Run::new(5, &Rules::default()).start(&["forever"; 5]);
        run.said();
        let killed = 2 + chance.below(3);
        for _ in 0..killed {
            std::hint::black_box((0..chance.below(10_000_000)).fold(0, |sum, at| sum ^ at));
            let child = chance.below(run.children.len());
            run.children[child].child.kill().expect("a child");
            drop(run.children.remove(child));
        }
        let transcripts = run.children.iter_mut().map(|child| [child.said(), child.said()]);
        let transcripts: Vec<_> = transcripts.collect();
        let one = &transcripts[0];
        assert!(one[0].starts_with("phase: workers ["), "round {round}: {transcripts:?}");
        let right = format!("{:?}", [fibonacci::number(15), 986]);
        assert!(one[1] == right || one[1].starts_with("phase: workers ["), "{transcripts:?}");
        assert!(transcripts.iter().all(|other| other == one), "round {round}: {transcripts:?}");
    }
}

#[test]
fn a_task_that_panics_ends_the_others_phase() {
    let mut run = Run::new(2, &Rules::default()).start(&["panic"; 2]);
    // The worker with the task panics; the other one says who.
    let mut said = run.said();
    said.sort();
    assert_eq!(said[0], "");
    assert!(said[1].starts_with("phase: workers [0] died"), "{said:?}");
}

#[test]
fn who_does_not_enter_is_named_after_a_while_and_who_ends_at_once() {
    let short = Rules { patience: Duration::from_millis(300), ..Rules::default() };
    let mut run = Run::new(3, &short).start(&["first", "first", "stay"]);
    for child in 0..2 {
        let said = run.children[child].said();
        assert!(said.contains("have not come within 300ms"), "{said}");
    }
    run.children[2].go_on();
    let mut run = Run::new(3, &Rules::default()).start(&["first", "first", "stay"]);
    run.children[2].go_on();
    for child in 0..2 {
        let said = run.children[child].said();
        assert!(said.starts_with("phase: workers ["), "{said}");
    }
}

#[test]
fn who_enters_another_phase_is_told_so() {
    let mut run = Run::new(2, &Rules::default()).start(&["first", "second"]);
    for said in run.said() {
        assert!(said.contains("has come for another phase"), "{said}");
    }
}

#[test]
fn tasks_larger_than_a_slot_are_refused_and_the_phase_goes_on() {
    let said = Run::new(1, &Rules::default()).start(&["large"]).said();
    let refused: Vec<&str> = said[0].split("; ").collect();
    assert!(refused[0].starts_with("task 0 of the list: a task of 300 bytes"), "{refused:?}");
    assert!(refused[1].starts_with("a task of 300 bytes"), "{refused:?}");
    assert_eq!(refused[2], "a task of function 1, and the phase has 1");
    let said = Run::new(2, &Rules::default()).start(&["large rest"; 2]).said();
    let refused = said.iter().filter(|said| said.contains("ended with one that cannot run"));
    assert_eq!(refused.count(), 1, "{said:?}");
}

#[test]
fn who_cannot_join_is_told_why() {
    let short = Rules { patience: Duration::from_millis(200), ..Rules::default() };
    let mut run = Run::new(3, &short).start(&["fib"; 2]);
    for said in run.said() {
        assert!(said.contains("of 3 workers 2 have joined"), "{said}");
    }
    let refused = |path: &Path, workers| Host::join(path, workers).expect_err("not this one");
    assert!(matches!(refused(&run.path, 2), JoinError::Workers { found: 3, own: 2, .. }));
    let refused_again = Run { segment: None, ..Run::new(1, &short) };
    assert!(matches!(refused(&refused_again.path, 1), JoinError::Io { .. }));
    let mut run = Run::new(1, &short).start(&["stay"]);
    run.children[0].go_on();
    run.children[0].child.wait().expect("it ends");
    assert!(matches!(refused(&run.path, 1), JoinError::Taken { workers: 1, .. }));
}

/// The bytes of a segment changed one after the other, by which it is another version's, another
/// program's, or nonsense.
#[test]
fn a_damaged_segment_is_refused() {
    let run = Run::new(1, &Rules::default());
    let whole = std::fs::read(&run.path).expect("its bytes");
    for (word, what) in
        [(0, "no segment"), (1, "version"), (3, "workers"), (4, "contradict"), (6, "namespace")]
    {
        let mut bytes = whole.clone();
        bytes[8 * word] ^= 0x40;
        std::fs::write(&run.path, bytes).expect("room");
        let refused = Host::join(&run.path, 1).expect_err("damaged").to_string();
        let contradicts = word == 3 && refused.contains("contradict");
        assert!(contradicts || refused.contains(what), "{word}: {refused}");
    }
    std::fs::write(&run.path, &whole[..40]).expect("room");
    assert!(matches!(Host::join(&run.path, 1), Err(JoinError::Foreign { .. })));
}

/// A maker that was killed leaves its file; the next run at the same path takes its place.
#[test]
fn a_segment_left_by_a_killed_run_is_replaced() {
    let mut run = Run::new(2, &Rules::default());
    let left = run.path.with_file_name("left");
    let mut bytes = std::fs::read(&run.path).expect("its bytes");
    // Process 1 began at another time, which is all that is different where a maker was killed.
    bytes[8 * 5..8 * 6].copy_from_slice(&(1_u64 << 62 | 1).to_le_bytes());
    std::fs::write(&left, &bytes).expect("room");
    drop(Segment::create(&left, 2, &Rules::default()).expect("nobody lives"));
    // A worker that lives keeps it in use.
    std::fs::rename(&run.path, &left).expect("another name");
    std::fs::write(&run.path, &bytes).expect("room");
    run = run.start(&["fib"]);
    while std::fs::read(&run.path).expect("its bytes")[WORKERS_AT..][..8] == [0; 8] {
        std::thread::yield_now();
    }
    let refused = Segment::create(&run.path, 2, &Rules::default()).expect_err("it lives");
    let pid = run.children[0].child.id();
    assert!(matches!(refused, CreateError::InUse { pid: by, .. } if by == pid), "{refused}");
    run = run.start(&["fib"]);
    let expected = format!("{:?}", [fibonacci::number(20), 10_945]);
    assert_eq!(run.said(), [expected.clone(), expected]);
}
