//! Tuples from a shell, and in the commands of tasks.

use serde_json::json;

use crate::place::Place;

#[test]
fn a_tuple_is_put_read_and_pulled() {
    let place = Place::new();
    place.text(&["space", "put", "work", "block", "3", "0.5", "bytes:00ff", "text:true"]);
    let read = place.text(&["space", "read", "work", "?text", "?", "0.5", "?bytes", "?"]);
    assert_eq!(read, "block\t3\t0.5\tbytes:00ff\ttext:true\n");
    let fields = json!([
        { "type": "text", "value": "block" },
        { "type": "int", "value": 3 },
        { "type": "float", "value": 0.5 },
        { "type": "bytes", "value": "00ff" },
        { "type": "text", "value": "true" },
    ]);
    let listed = place.json(&["space", "list", "work", "--json"]);
    assert_eq!((&listed["fields"], &listed["claim"]), (&fields, &json!(null)));
    let spaces = place.json(&["space", "list", "--json"])["spaces"].clone();
    let bytes = 5 + 8 + 8 + 2 + 4;
    assert_eq!(spaces, json!([{ "name": "work", "tuples": 1, "claimed": 0, "bytes": bytes }]));
    let any = ["space", "pull", "work", "?", "?int", "?", "?", "?", "--json"];
    assert_eq!(place.json(&any), json!({ "space": "work", "fields": fields }));
    let none = place.output(&["space", "pull", "work", "?", "--now"]);
    assert_eq!(none.status.code(), Some(4));
    assert_eq!(place.text(&["space", "list", "work"]), "");
}

#[test]
fn a_tuple_is_held_while_a_command_runs_and_is_there_again_when_it_is_killed() {
    let place = Place::new();
    let mut began = place.pipe("began");
    let _gate = place.pipe("gate");
    place.text(&["space", "put", "work", "block", "1"]);
    let pull = ["space", "pull", "work", "block", "?int", "--"];
    let hold = "cat > input; echo in > began; read _ < gate";
    let holder = place.start(&[&pull[..], &["sh", "-c", hold]].concat());
    began.line();
    let listed = place.text(&["space", "list", "work"]);
    assert!(listed.starts_with("block\t1\tpulled by space-"), "{listed}");
    let waiter = place.start(&[&pull[..], &["sh", "-c", "exit 9"]].concat());
    holder.kill();
    assert_eq!(waiter.end().0, 9);
    // The second has failed, so it is there once more.
    assert_eq!(place.text(&[&pull[..], &["echo", "done"]].concat()), "done\n");
    assert_eq!(place.output(&["space", "read", "work", "?", "?", "--now"]).status.code(), Some(4));
}

#[test]
fn what_a_task_has_pulled_is_consumed_when_it_is_done_and_there_again_when_it_fails() {
    let place = Place::new();
    let tidings = tidings_experiment::agents::programs().join("tidings");
    let script = format!("{} space pull work ?int --of-task; exit $1", tidings.display());
    place.script("task.sh", &script);
    place.text(&["space", "put", "work", "7"]);
    let run = |status: &str| place.output(&["run", "-n", "1", "--", "sh", "task.sh", status]);
    assert_eq!(run("3").status.code(), Some(5));
    assert_eq!(place.text(&["space", "list", "work"]), "7\n");
    let done = run("0");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "7\n");
    assert_eq!(place.text(&["space", "list", "work"]), "");
    let outside = place.output(&["space", "pull", "work", "?", "--of-task"]);
    assert_eq!(outside.status.code(), Some(2));
}

#[test]
fn what_cannot_be_is_said_at_once() {
    let place = Place::new();
    let many = vec!["?"; 17];
    for (arguments, says) in [
        ([&["space", "pull", "work"][..], &many[..]].concat(), "1 to 16 fields, this has 17"),
        (vec!["space", "read", "work", "?number"], "`number` is no type"),
        (vec!["space", "put", "work", "int:x"], "`x` is no int"),
        (vec!["space", "put", "work", "bytes:0"], "two hexadecimal digits"),
    ] {
        let output = place.output(&arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(says), "{arguments:?}: {errors}");
    }
}
