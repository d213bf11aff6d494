//! Runs: each row once, whatever ends the run in between.

use rustix::process::Signal;

use crate::place::{self, Place};

/// A task that says that it has begun, waits to be let go, and says in a file that it is done.
const GATED: &str = "echo $1 > began; read _ < gate; echo $1 >> done; echo result $1";

fn run<'a>(more: &[&'a str], rows: &[&'a str]) -> Vec<&'a str> {
    [&["run"], more, &["--", "sh", "task", "{}", ":::"], rows].concat()
}

#[test]
fn every_row_is_run_and_nothing_stays() {
    let place = Place::new();
    place.script("task", "echo out $1; echo err $1 >&2");
    let output = place.output(&run(&["-n", "2", "-k"], &["a", "b", "c d"]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "out a\nout b\nout c d\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "err a\nerr b\nerr c d\n");
    let queues = place.json(&["queue", "ls", "--json"]);
    assert_eq!((&queues["tasks"], &queues["queues_total"]), (&0.into(), &0.into()));
}

#[test]
fn rows_of_standard_input_and_arrays() {
    let place = Place::new();
    place.script("rows", "x\ny\n");
    let rows = std::fs::File::open(place.path("rows")).unwrap();
    let run = place.tidings(&["run", "-k", "--", "echo", "{}-{#}"]).stdin(rows).output().unwrap();
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "x-1\ny-2\n");
    let array = ["run", "-k", "--array", "2-6:2", "--shell", "--", "echo {} $TIDINGS_ARRAY_INDEX"];
    assert_eq!(place.text(&array), "2 2\n4 4\n6 6\n");
    let dry = ["run", "--dry-run", "--", "cp", "{1}", "{2/}", ":::", "a b", ":::", "c/d", "e"];
    assert_eq!(place.text(&dry), "cp 'a b' d\ncp 'a b' e\n");
}

#[test]
fn a_run_goes_on_after_ctrl_c() {
    let place = Place::new();
    place.script("task", GATED);
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let line = run(&["-n", "2", "--resume", "monday"], &["1", "2", "3", "4"]);
    let first = place.start(&line);
    began.some(2);
    gate.let_go(1);
    began.line();
    first.signal(Signal::INT);
    let (code, _, errors) = first.end();
    assert_eq!(code, 130);
    assert!(errors.contains("tidings run --resume monday"), "{errors}");
    assert_eq!(place.lines("done").len(), 1);

    let second = place.start(&line);
    began.some(2);
    gate.let_go(3);
    began.line();
    let (code, printed, errors) = second.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    let mut printed: Vec<&str> = printed.lines().collect();
    printed.sort_unstable();
    assert_eq!(printed, ["result 1", "result 2", "result 3", "result 4"]);
    // None that was done has run again.
    assert_eq!(place.lines("done"), ["1", "2", "3", "4"]);
    assert_eq!(place.text(&["queue", "purge", "run/monday"]), "4 tasks of run/monday removed\n");
}

#[test]
fn a_run_without_a_name_leaves_nothing_after_ctrl_c() {
    let place = Place::new();
    place.script("task", GATED);
    let (mut began, _gate) = (place.pipe("began"), place.pipe("gate"));
    let run = place.start(&run(&["-n", "1"], &["1", "2", "3"]));
    began.line();
    run.signal(Signal::INT);
    assert_eq!(run.end().0, 130);
    assert_eq!(place.json(&["queue", "ls", "--json"])["tasks"], 0);
    assert!(place.lines("done").is_empty());
}

#[test]
fn a_run_that_is_killed_goes_on_and_runs_nothing_again_that_is_done() {
    let place = Place::new();
    place.script("task", GATED);
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let line = run(&["-n", "1", "-k", "--resume", "r"], &["1", "2", "3"]);
    let first = place.start(&line);
    assert_eq!(began.line(), "1");
    gate.let_go(1);
    // The second begins when the result of the first is in the store.
    assert_eq!(began.line(), "2");
    first.kill();
    let second = place.start(&line);
    assert_eq!(began.some(1).len(), 1);
    gate.let_go(2);
    began.line();
    let (code, printed, _) = second.end();
    assert_eq!((code, printed.as_str()), (0, "result 1\nresult 2\nresult 3\n"));
    assert_eq!(place.lines("done"), ["1", "2", "3"]);
}

#[test]
fn what_fails_is_reported_and_tried_again_by_the_next_run() {
    let place = Place::new();
    place.script("task", "echo tried >> $1; test -e fixed || { echo no luck >&2; exit 3; }");
    let line = run(&["--resume", "r", "--retries", "1"], &["a"]);
    let output = place.output(&line);
    assert_eq!(output.status.code(), Some(5));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("`sh task a` failed on "), "{errors}");
    assert!(errors.contains("no luck") && errors.contains("1 of 1 tasks failed"), "{errors}");
    assert_eq!(place.lines("a").len(), 2);
    let dead = place.json(&["queue", "dead", "run/r", "--json"]);
    assert_eq!((&dead["state"], &dead["attempts"]), (&"failed".into(), &2.into()));
    assert_eq!(dead["failures"][0]["cause"], "exit");

    place.script("fixed", "");
    let object = place.json(&run(&["--resume", "r", "--json"], &["a"]));
    assert_eq!((&object["outcome"], &object["status"]), (&"done".into(), &0.into()));
    assert_eq!(place.lines("a").len(), 3);
    let again = place.json(&run(&["--resume", "r", "--json"], &["a"]));
    assert_eq!(again["done_before"], true);
    assert_eq!(place.lines("a").len(), 3);
}

#[test]
fn a_reader_that_goes_ends_a_run_quietly() {
    let place = Place::new();
    let line =
        "\"$0\" run -n 1 -- seq {} {} ::: $(seq 2000) | head -n 1 | wc -l; echo ${PIPESTATUS[0]}";
    let tidings = place.tidings(&[]);
    let mut shell = std::process::Command::new("bash");
    shell.arg("-c").arg(line).arg(tidings.get_program()).current_dir(place.path(""));
    for (name, value) in tidings.get_envs() {
        shell.env(name, value.unwrap());
    }
    let output = shell.output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "1\n0\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(place.json(&["queue", "ls", "--json"])["tasks"], 0);
}

#[test]
fn a_task_that_takes_too_long_is_ended_with_all_its_processes() {
    let place = Place::new();
    place.script("task", "sleep 600 & echo $! > child; wait");
    let output = place.output(&run(&["--timeout", "200ms", "--grace", "100ms"], &["a"]));
    assert_eq!(output.status.code(), Some(5));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("time"), "{errors}");
    place::wait_for_end(place.lines("child")[0].parse().unwrap());
}
