//! Real processes: this test program again, which joins a job and does what its test says.
//!
//! A process that is started runs the one test [`worker`], which does nothing in a run of all
//! tests. All are on one host, over loopback; worker 0 says at which port it listens.

mod agent;
mod recovered;
mod roles;
mod run;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use rustix::process::Signal;
use tidings_applications::fibonacci;
use tidings_board::State;
use tidings_primitives::Chance;
use tidings_steal_tcp::{JoinError, Place, Process, Rules};

use roles::act;
use run::{ROLE, Run, job, pass, say, told, watched};

/// What a started process does.
#[test]
fn worker() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (place, listener, rules) = told();
    let name = if role == "other job" { "other" } else { "test" };
    let joined = match watched(&place) {
        Some(hosts) => Process::join_watched(place, listener, &job(name), &rules, Box::new(hosts)),
        None => Process::join(place, listener, &job(name), &rules),
    };
    let process = match joined {
        Ok(process) => process,
        Err(error) => return say(&format!("join: {error}")),
    };
    act(&role, process).unwrap_or_else(|error| say(&format!("phase: {error}")));
}

/// What fib(15) is, of which those who live are capable.
fn right() -> String {
    format!("{:?}", [fibonacci::number(15), 986])
}

#[test]
fn applications_come_to_their_results_on_any_number_of_processes() {
    for workers in [1, 2, 3, 5] {
        let said = Run::new(workers, "").start(&vec!["fib"; workers as usize]).said();
        let expected = format!("{:?}", [fibonacci::number(20), 10_945]);
        assert_eq!(said, vec![expected; workers as usize]);
    }
}

#[test]
fn a_tree_is_counted_exactly_by_either_search() {
    for rules in ["", "random"] {
        assert_eq!(Run::new(4, rules).start(&["tree"; 4]).said(), ["true"; 4]);
    }
}

#[test]
fn messages_longer_than_what_a_socket_takes_arrive() {
    let said = Run::new(3, "").start(&["bytes"; 3]).said();
    let sum: u64 = (0..20_000_u64).map(|at| 256 * (at % 256)).sum();
    assert_eq!(said, vec![sum.to_string(); 3]);
}

#[test]
fn a_phase_begins_with_what_each_ran_before() {
    assert_eq!(Run::new(3, "retain").start(&["retain"; 3]).said(), ["[First, Retained]"; 3]);
}

/// A death at any moment of a phase, of the root of all trees among others: the others' phase ends
/// and names it, and they can go on.
#[test]
fn a_process_that_is_killed_is_named_and_holds_nobody_up() {
    let mut chance = Chance::new(17);
    for round in 0..16 {
        let mut run = Run::new(4, "").start(&["forever"; 4]);
        run.said();
        pass(&mut chance, 100_000_000);
        let killed = if round < 4 { 0 } else { chance.below(4) as u32 };
        run.kill(killed);
        run.end();
        for child in &mut run.children {
            let (said, named) = (child.said(), format!("phase: workers [{killed}] died"));
            assert!(said.starts_with(&named), "round {round}: {said}, not {named}");
            assert_eq!(child.said(), right());
        }
    }
}

/// Several deaths at the same time: all who live say the same, in the same phase.
#[test]
fn who_lives_agrees_on_who_died() {
    let mut chance = Chance::new(18);
    for round in 0..16 {
        let mut run = Run::new(5, "").start(&["forever"; 5]);
        run.said();
        for _ in 0..2 + chance.below(3) {
            pass(&mut chance, 10_000_000);
            let child = chance.below(run.children.len());
            let number = run.children[child].number;
            run.kill(number);
        }
        run.end();
        let transcripts = run.children.iter_mut().map(|child| [child.said(), child.said()]);
        let transcripts: Vec<_> = transcripts.collect();
        let one = &transcripts[0];
        assert!(one[0].starts_with("phase: workers ["), "round {round}: {transcripts:?}");
        let goes_on = one[1] == right() || one[1].starts_with("phase: workers [");
        assert!(goes_on, "round {round}: {transcripts:?}");
        assert!(transcripts.iter().all(|other| other == one), "round {round}: {transcripts:?}");
    }
}

/// A process that is stopped says nothing: the others go on without it, and when it is let go on it
/// learns that it has no part in this any more.
#[test]
fn who_is_stopped_is_expelled_and_told_so() {
    for stopped in [0, 2] {
        let mut run = Run::new(3, "sharp").start(&["forever"; 3]);
        run.said();
        run.of(stopped).stop();
        run.end();
        for other in (0..3).filter(|other| *other != stopped) {
            let said = run.of(other).said();
            assert!(said.starts_with(&format!("phase: workers [{stopped}] died")), "{said}");
            assert_eq!(run.of(other).said(), right());
        }
        run.of(stopped).signal(Signal::CONT);
        let said = run.of(stopped).said();
        assert!(said.contains("the others consider this worker dead"), "{said}");
    }
}

/// The agent of this host says that a host is dead, long before a silence would.
#[test]
fn who_is_dead_by_a_board_is_expelled() {
    let run = Run::new(3, "patient");
    let mut agent = run.agent(3);
    let mut run = run.start(&["forever"; 3]);
    run.said();
    run.of(2).stop();
    agent.says(2, State::Dead);
    run.end();
    for other in 0..2 {
        let said = run.of(other).said();
        assert!(said.starts_with("phase: workers [2] died"), "{said}");
        assert_eq!(run.of(other).said(), right());
    }
}

/// Of two halves that hear nothing of each other the one with the first goes on.
#[test]
fn who_hears_nothing_of_the_first_half_stops() {
    let mut run = Run::new(2, "sharp").start(&["forever"; 2]);
    run.said();
    run.of(0).stop();
    let said = run.of(1).said();
    assert!(said.contains("nothing was heard of workers [0]"), "{said}");
}

/// A cable is pulled: no end of any connection says so.
#[test]
fn a_host_that_is_cut_off_is_lost_and_stops() {
    let mut run = Run::on_hosts(3, "sharp").start(&["forever"; 3]);
    run.said();
    run.hosts.as_ref().expect("hosts").plug(2, false).expect("a cable");
    let said = run.of(2).said();
    assert!(said.contains("nothing was heard of workers [0, 1]"), "{said}");
    run.end();
    for other in 0..2 {
        let said = run.of(other).said();
        assert!(said.starts_with("phase: workers [2] died"), "{said}");
        assert_eq!(run.of(other).said(), right());
    }
}

/// A worker that is busy for long with one task says nothing, but its process lives.
#[test]
fn a_long_task_is_no_silence() {
    let mut run = Run::new(2, "sharp").start(&["sleeps"; 2]);
    assert_eq!(run.of(0).said(), "busy");
    // What is tested is that time passes.
    let began = std::time::Instant::now();
    while began.elapsed() < run::rules("sharp").silence * 2 {
        std::thread::yield_now();
    }
    run.of(0).go_on();
    for child in &mut run.children {
        assert_eq!(child.said(), "");
        assert!(child.child.wait().expect("it ends").success());
    }
}

#[test]
fn who_ends_before_it_shows_what_it_has_is_named() {
    let mut run = Run::new(3, "").start(&["shows", "shows", "hides"]);
    let said = [run.of(0).said(), run.of(1).said()];
    assert_eq!(said[0], said[1]);
    assert!(said[0].starts_with("workers [2]") && said[0].ends_with("; [0, 1]"), "{said:?}");
}

#[test]
fn a_task_that_panics_ends_the_others_phase() {
    let mut run = Run::new(2, "").start(&["panic"; 2]);
    // The worker with the task panics; the other one says who.
    let mut said = run.said();
    said.sort();
    assert_eq!(said[0], "");
    assert!(said[1].starts_with("phase: workers ["), "{said:?}");
}

#[test]
fn who_does_not_enter_is_named_after_a_while_and_who_ends_at_once() {
    for (staying, rules) in [(0, "hasty"), (2, "hasty"), (0, ""), (2, "")] {
        let mut roles = ["first"; 3];
        roles[staying as usize] = "stay";
        let mut run = Run::new(3, rules).start(&roles);
        if rules.is_empty() {
            run.of(staying).go_on();
        }
        for other in (0..3).filter(|other| *other != staying) {
            let said = run.of(other).said();
            let alone = format!("workers [{staying}] have not come within 400ms");
            let named = if rules.is_empty() {
                said.starts_with(&format!("phase: workers [{staying}] died"))
            } else {
                said.contains(&alone)
            };
            assert!(named, "{said}");
        }
    }
}

#[test]
fn who_enters_another_phase_is_told_so() {
    let mut run = Run::new(2, "").start(&["first", "second"]);
    for (said, other) in run.said().iter().zip([1, 0]) {
        let expected = format!("worker {other} has come for another phase");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn tasks_larger_than_a_slot_are_refused_and_the_phase_goes_on() {
    let said = Run::new(1, "").start(&["large"]).said();
    let refused: Vec<&str> = said[0].split("; ").collect();
    assert!(refused[0].starts_with("task 0 of the list: a task of 300 bytes"), "{refused:?}");
    assert!(refused[1].starts_with("a task of 300 bytes"), "{refused:?}");
    assert_eq!(refused[2], "a task of function 1, and the phase has 1");
    let said = Run::new(2, "").start(&["large rest"; 2]).said();
    let refused = said.iter().filter(|said| said.contains("ended with one that cannot run"));
    assert_eq!(refused.count(), 1, "{said:?}");
}

#[test]
fn who_cannot_join_is_told_why() {
    let mut run = Run::new(3, "hasty").start(&["fib"; 2]);
    assert!(run.of(0).said().contains("2] have not joined"));
    assert!(run.of(1).said().starts_with("join: "));
    let mut run = Run::new(3, "").start(&["refused"]);
    // One of two of one number comes later, and is told so, or that it has come too late.
    let (say, said) = std::sync::mpsc::sync_channel(2);
    for _ in 0..2 {
        run.start_as(1, "refused");
        let (mut child, say) = (run.children.pop().expect("one"), say.clone());
        std::thread::spawn(move || {
            let _ = say.send(child.said());
            drop(child);
        });
    }
    assert!(said.recv().expect("one of the two").starts_with("join: "));
    run.start_as(2, "other job");
    assert!(run.of(2).said().contains("it is of another job"));
    let own = || TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = |number, workers| Place { number, workers, meeting: run.meeting() };
    let refused = |place, rules: &Rules, name: &str| {
        Process::join(place, own(), &job(name), rules).expect_err("not this one").to_string()
    };
    let usual = Rules::default();
    assert!(refused(place(2, 4), &usual, "test").contains("another number of workers"));
    assert!(refused(place(2, 3), &run::rules("retain"), "test").contains("other rules"));
    assert!(refused(place(0, 0), &usual, "test").contains("worker 0 of 0"));
    let mut other = job("test");
    other.key = tidings_steal_tcp::KeyRing::open("test");
    let keyless = Process::join(place(2, 3), own(), &other, &usual);
    assert!(matches!(keyless, Err(JoinError::Call(_))), "{keyless:?}");
    assert!(keyless.expect_err("another key").to_string().contains("another key"));
    run.kill(2);
    run.start_as(2, "refused");
    let counts = [run.of(0).said(), said.recv().expect("the other one"), run.of(2).said()];
    // One of another job, of another number, with other rules, of another key, of a taken number.
    assert_eq!(counts, ["5", "0", "0"]);
}

/// Bytes of those who are none of the job's: they are dropped, and counted.
#[test]
fn what_strangers_say_is_dropped_and_counted() {
    let mut run = Run::new(2, "").start(&["refused"]);
    let mut chance = Chance::new(19);
    let strangers = 100;
    for round in 0..strangers {
        let mut stream = TcpStream::connect(run.meeting()).expect("it listens");
        let mut bytes: Vec<u8> = (0..chance.below(900)).map(|_| chance.below(256) as u8).collect();
        if round % 2 == 0 {
            bytes.splice(0..0, *b"tidstea\x01");
        }
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        // Who sends enough for a greeting is told that it has another key.
        let told = [&b"tidstea\x01"[..], &[1]].concat();
        assert!(answer.is_empty() || answer == told, "{answer:?}");
    }
    run.start_as(1, "refused");
    assert_eq!(run.of(0).said(), strangers.to_string());
}
