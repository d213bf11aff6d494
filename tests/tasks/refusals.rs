//! Wrong input: one clear sentence, the documented exit code, and nothing changed.

use rustix::process::Signal;

use crate::place::Place;

fn refused(arguments: &[&str], code: i32, sentence: &str) {
    let place = Place::new();
    let output = place.output(arguments);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
    assert!(errors.contains(sentence), "{arguments:?}: {errors}");
    assert!(output.stdout.is_empty());
}

#[test]
fn usage_is_refused_before_the_store_is_opened() {
    for (arguments, sentence) in [
        (&["run", "--", ":::", "a"][..], "no command"),
        (&["run", "--", "echo", "{2}", ":::", "a"], "{2} is the argument of source 2"),
        (&["run", "--", "echo", "::::", "/no/such"], "/no/such: No such file"),
        (&["run", "--", "grep x {} | wc -l", ":::", "f"], "--shell"),
        (&["run", "--array", "9-1", "--", "echo"], "--array 9-1"),
        (&["run", "--resume", "a/b", "--", "echo"], "letters, digits"),
        (&["run", "--need", "cpus", "--", "echo"], "--need"),
        (&["run", "--store", "/tmp/x", "--", "echo"], "is no store"),
        (&["run", "--detector", "psi", "--", "echo"], "`psi` is no detector"),
        (&["queue", "put", "q", "--data", "@/no/such"], "/no/such"),
        (&["task", "show", "xyz"], "hexadecimal"),
    ] {
        refused(arguments, 2, sentence);
    }
}

#[test]
fn what_is_not_there_is_said() {
    refused(&["task", "show", "abc"], 4, "no task `abc`");
    refused(&["task", "cancel", &"0".repeat(32)], 4, "no task");
}

#[test]
fn a_queue_that_nobody_has_used_is_named_with_those_that_there_are() {
    let place = Place::new();
    place.text(&["queue", "put", "jobs", "--", "true"]);
    for command in ["peek", "dead", "retry", "drain", "purge", "trace"] {
        let output = place.output(&["queue", command, "jbos"]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{command}: {errors}");
        assert!(
            errors.contains("`jbos`: queues that have tasks are `jobs`"),
            "{command}: {errors}"
        );
    }
    // It has no task that has failed, and that is all that is asked.
    for command in ["dead", "retry"] {
        place.text(&["queue", command, "jobs"]);
    }
    let listed = place.text(&["queue", "ls"]);
    assert!(listed.contains("No agent runs on the coordinator's host"), "{listed}");
    assert_eq!(place.json(&["queue", "ls", "--json"])["board"], false);
}

#[test]
fn who_claims_is_told_what_is_waited_for() {
    let place = Place::new();
    place.text(&["queue", "put", "jobs", "--", "true"]);
    let mut claim = place.start(&["queue", "claim", "orders"]);
    let said = claim.complaint();
    assert!(said.contains("waiting for an item of `orders`"), "{said}");
    assert!(said.contains("queues that have tasks are `jobs`"), "{said}");
    place.text(&["queue", "put", "orders", "--data", "x"]);
    assert_eq!(claim.end(), (0, "x".to_owned(), String::new()));
}

/// A worker of a mistyped queue waited without a word.
#[test]
fn a_worker_says_which_of_its_queues_have_no_task_yet_and_waits() {
    let place = Place::new();
    // It stays: no worker has what it needs.
    place.text(&["queue", "put", "jobs", "--need", "gpu=1", "--", "true"]);
    let mut worker = place.start(&["worker", "-n", "1", "--queue", "jobs,orders"]);
    assert!(worker.complaint().contains("1 slots, queues jobs, orders"));
    let said = worker.complaint();
    assert!(said.contains("no task of the queue `orders` yet: waiting for one"), "{said}");
    assert!(said.contains("queues that have tasks are `jobs`"), "{said}");
    let id = place.text(&["queue", "put", "orders", "--", "true"]).trim().to_owned();
    place.text(&["queue", "drain", "orders"]);
    assert_eq!(place.json(&["task", "show", &id, "--json"])["state"], "done");
    worker.signal(Signal::TERM);
    let (code, _, errors) = worker.end();
    assert_eq!((code, errors), (0, String::new()), "it is said once");
}

#[test]
fn a_file_that_is_no_store_is_left_as_it_is() {
    let place = Place::new();
    place.script("store", "my letters\n");
    let output = place.output(&["queue", "ls"]);
    assert_eq!(output.status.code(), Some(3));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("is not a store of Tidings"), "{errors}");
    assert_eq!(place.lines("store"), ["my letters"]);
}

#[test]
fn a_program_that_is_not_there_fails_its_task() {
    let place = Place::new();
    let output = place.output(&["run", "--", "/no/such/program", ":::", "a"]);
    assert_eq!(output.status.code(), Some(5));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("/no/such/program"), "{errors}");
}
