//! Queues, single tasks and semaphores from a shell.

use rustix::process::Signal;

use crate::place::Place;

#[test]
fn an_item_is_claimed_once_and_its_result_is_what_was_printed() {
    let place = Place::new();
    let id = place.text(&["queue", "put", "orders", "--data", "n = 3"]).trim().to_owned();
    // A worker leaves data alone.
    let worker = place.start(&["worker", "-n", "1"]);
    place.text(&["run", "-n", "0", "--", "true"]);
    let why = place.text(&["task", "explain", &id]);
    assert!(why.contains("nobody claims items of queue orders"), "{why}");
    let claimed = place.text(&["queue", "claim", "orders", "--", "sh", "-c", "cat; echo ' done'"]);
    assert_eq!(claimed, "n = 3 done\n");
    assert_eq!(place.text(&["task", "log", &id]), "n = 3 done\n");
    let output = place.output(&["queue", "claim", "orders", "--now"]);
    assert_eq!(output.status.code(), Some(4));
    drop(worker);
}

#[test]
fn an_item_that_fails_is_tried_as_often_as_was_said() {
    let place = Place::new();
    let put = ["queue", "put", "q", "--retries", "1", "--key", "k", "--data", "x"];
    let id = place.text(&put).trim().to_owned();
    assert_eq!(place.text(&put).trim(), id, "known by its key");
    let claim = ["queue", "claim", "q", "--", "sh", "-c", "echo broken >&2; exit 7"];
    for _ in 0..2 {
        assert_eq!(place.output(&claim).status.code(), Some(7));
    }
    assert_eq!(place.json(&["task", "show", &id[..8], "--json"])["state"], "failed");
    assert_eq!(place.text(&["queue", "retry", "q"]), "1 tasks of q are tried again\n");
    assert_eq!(place.text(&["queue", "claim", "q"]), "x");
    assert_eq!(place.text(&["queue", "purge", "q"]), "1 tasks of q removed\n");
    assert_eq!(place.output(&["task", "show", &id]).status.code(), Some(4));
}

#[test]
fn a_task_is_cancelled_and_tried_again() {
    let place = Place::new();
    let put = ["queue", "put", "jobs", "--delay", "1h", "--", "true"];
    let id = place.text(&put).trim().to_owned();
    let state = || place.json(&["task", "show", &id, "--json"])["state"].clone();
    assert_eq!(state(), "delayed");
    place.text(&["task", "cancel", &id]);
    assert_eq!(state(), "cancelled");
    place.text(&["task", "retry", &id]);
    assert_eq!(state(), "ready");
    let peeked = place.text(&["queue", "peek", "jobs"]);
    assert!(peeked.contains(&id) && peeked.contains("true"), "{peeked}");
    assert_eq!(place.text(&["queue", "purge", "jobs", "--all"]), "1 tasks of jobs removed\n");
}

#[test]
fn a_task_that_runs_is_not_cancelled_if_that_is_asked() {
    let place = Place::new();
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let put = ["queue", "put", "jobs", "--", "sh", "-c", "echo in > began; read _ < gate"];
    let [runs, waits] = [(); 2].map(|()| place.text(&put).trim().to_owned());
    let _worker = place.start(&["worker", "-n", "1"]);
    began.line();
    let output = place.output(&["task", "cancel", "--waiting", &runs]);
    assert_eq!(output.status.code(), Some(1));
    place.text(&["task", "cancel", "--waiting", &waits]);
    let state = |id: &str| place.json(&["task", "show", id, "--json"])["state"].clone();
    assert_eq!((state(&runs), state(&waits)), ("running".into(), "cancelled".into()));
    gate.let_go(1);
    place.text(&["queue", "drain", "jobs"]);
    assert_eq!(state(&runs), "done");
}

#[test]
fn permits_are_held_while_a_command_runs_and_come_back_when_it_is_killed() {
    let place = Place::new();
    let mut began = place.pipe("began");
    let _gate = place.pipe("gate");
    place.text(&["sem", "create", "licences", "1"]);
    let hold = ["sem", "acquire", "licences", "--", "sh", "-c", "echo in > began; read _ < gate"];
    let holder = place.start(&hold);
    began.line();
    let semaphore = place.json(&["sem", "ls", "--json"])["semaphores"][0].clone();
    assert_eq!((&semaphore["name"], &semaphore["held"]), (&"licences".into(), &1.into()));
    let waiter = place.start(&["sem", "acquire", "licences", "--", "sh", "-c", "exit 9"]);
    holder.kill();
    assert_eq!(waiter.end().0, 9);
    let output = place.output(&["sem", "acquire", "none", "--", "true"]);
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn a_command_that_holds_a_permit_gets_the_signals() {
    let place = Place::new();
    let mut began = place.pipe("began");
    place.text(&["sem", "create", "s", "2"]);
    let script = "sleep 600 >&- 2>&- & trap \"kill $!; echo got > began; exit 5\" TERM; \
                  echo in > began; wait";
    let holder = place.start(&["sem", "acquire", "s", "-n", "2", "--", "sh", "-c", script]);
    assert_eq!(began.line(), "in");
    holder.signal(Signal::TERM);
    assert_eq!(began.line(), "got");
    assert_eq!(holder.end().0, 5);
}
