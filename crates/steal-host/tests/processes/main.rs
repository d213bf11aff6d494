//! Real processes: this test program again, which joins a segment and does what its test says.
//!
//! They are here and not in the crate of tests of real processes, as they need nothing but this
//! crate. A process that is started runs the one test [`worker`], which does nothing in a run of
//! all tests.

mod roles;
mod run;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_applications::fibonacci;
use tidings_applications::queens::Queens;
use tidings_primitives::Chance;
use tidings_steal_host::{CreateError, Host, JoinError, Rules, Search, Segment};

use roles::travels::alone;
use roles::{act, say};
use run::{PATH, ROLE, Run, SEATS_AT, WORKERS};

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
fn a_tree_is_counted_exactly_by_each_search() {
    for search in [Search::Lifelines, Search::Random, Search::Known, Search::Nearest] {
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

#[test]
fn a_worker_without_tasks_sleeps() {
    let mut run = Run::new(2, &Rules::default()).start(&["busy"]);
    // Who has joined first has the first seat, and the task.
    while std::fs::read(&run.path).expect("its bytes")[SEATS_AT..][..8] == [0; 8] {
        std::thread::yield_now();
    }
    run = run.start(&["busy"]);
    assert_eq!(run.children[0].said(), "busy");
    let threads = format!("/proc/{}/task", run.children[1].child.id());
    // A name in parentheses, then the state.
    let asleep = || {
        let threads = std::fs::read_dir(&threads).expect("it lives");
        let lines = threads.map(|thread| {
            std::fs::read_to_string(thread.expect("one").path().join("stat")).unwrap_or_default()
        });
        let lines: Vec<String> = lines.collect();
        let watches = lines.iter().any(|line| line.contains("(steal-watch)"));
        watches && lines.iter().all(|line| line.contains(") S "))
    };
    while !asleep() {
        std::thread::yield_now();
    }
    run.children[0].go_on();
    for child in &mut run.children {
        assert!(child.child.wait().expect("it ends").success());
    }
}

/// Who had the list gave some of it to the other before that had begun, again and again, until what
/// the other keeps was full, and the rest was lost.
#[test]
fn a_list_is_run_whole_where_work_is_shown() {
    let rules = Rules { search: Search::Known, ..Rules::default() };
    let said = Run::new(2, &rules).start(&["known"; 2]).said();
    assert_eq!(said, ["20000"; 2]);
}

#[test]
fn the_trace_of_all_holds_every_steal() {
    let said = Run::new(3, &Rules::default()).start(&["trace"; 3]).said();
    assert_eq!(said, ["true"; 3]);
}

#[test]
fn a_phase_begins_with_what_each_ran_before() {
    let rules = Rules { retain: true, ..Rules::default() };
    let said = Run::new(3, &rules).start(&["retain"; 3]).said();
    assert_eq!(said, ["[First, Retained]"; 3]);
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
        run.kill(killed);
        run.end();
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
            run.kill(child);
        }
        run.end();
        let transcripts = run.children.iter_mut().map(|child| [child.said(), child.said()]);
        let transcripts: Vec<_> = transcripts.collect();
        let one = &transcripts[0];
        assert!(one[0].starts_with("phase: workers ["), "round {round}: {transcripts:?}");
        let right = format!("{:?}", [fibonacci::number(15), 986]);
        assert!(one[1] == right || one[1].starts_with("phase: workers ["), "{transcripts:?}");
        assert!(transcripts.iter().all(|other| other == one), "round {round}: {transcripts:?}");
    }
}

/// It had come to the end of a phase, but what it had found was never shown: a sum of the others'
/// words would be wrong, and nobody would know. Of a thousand rounds of the test above two found
/// it.
#[test]
fn who_ends_before_it_shows_what_it_has_is_named() {
    let mut run = Run::new(3, &Rules::default()).start(&["shows", "shows", "hides"]);
    let said = [run.children[0].said(), run.children[1].said()];
    assert_eq!(said[0], said[1]);
    assert!(said[0].starts_with("workers [") && said[0].contains("; 2 ["), "{said:?}");
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
    run.segment = None;
    assert!(matches!(refused(&run.path, 3), JoinError::Io { .. }));
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
    while std::fs::read(&run.path).expect("its bytes")[SEATS_AT..][..8] == [0; 8] {
        std::thread::yield_now();
    }
    let refused = Segment::create(&run.path, 2, &Rules::default()).expect_err("it lives");
    let pid = run.children[0].child.id();
    assert!(matches!(refused, CreateError::InUse { pid: by, .. } if by == pid), "{refused}");
    run = run.start(&["fib"]);
    let expected = format!("{:?}", [fibonacci::number(20), 10_945]);
    assert_eq!(run.said(), [expected.clone(), expected]);
}
