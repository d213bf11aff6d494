//! A worker's disk that is full: nothing is lost, others do what it cannot keep, and it goes on by
//! itself when there is room.

use serde_json::Value;
use tidings_tests::disk::Disk;

use crate::far::Far;
use crate::place::{Place, Running};

/// Room for what a worker begins with.
const SMALL_KIB: u32 = 4_096;

/// More than a record takes, so that it is a blob.
const LONG: usize = 20_000;

/// All tasks of a run are done; those that found no room were given back, which says why.
fn done(run: Running, folder: &str) -> Vec<Value> {
    let (code, printed, errors) = run.end();
    assert_eq!(code, 0, "{errors}{printed}");
    let all: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for task in &all {
        assert_eq!(task["outcome"], "done", "{task}");
        for failure in task["failures"].as_array().into_iter().flatten() {
            assert_eq!(failure["cause"], "returned", "{task}");
            let text = failure["text"].as_str().unwrap();
            assert!(text.contains("no space") || text.contains("no room"), "{text}");
        }
    }
    let said = |task: &Value| task["failures"].to_string().contains(folder);
    assert!(all.iter().any(said), "{folder} is named: {printed}");
    all
}

/// What a worker says of its room; it says other things too.
fn said_of_room(worker: &mut Running) -> String {
    loop {
        let said = worker.complaint();
        assert!(!said.is_empty(), "it has ended");
        if said.contains("space") {
            return said;
        }
    }
}

/// Waits until a worker says that there is none, and where.
fn until_full(worker: &mut Running, folder: &str) {
    let said = said_of_room(worker);
    assert!(said.contains("no space") && said.contains(folder), "{said}");
    assert!(said.contains("make space") && said.contains("takes no tasks"), "{said}");
}

/// What a task reads that is long, and what it has printed, go through the folder of copies.
#[test]
fn a_worker_goes_on_when_there_is_room_for_blobs() {
    let far = Far::new();
    let node = Place::new();
    let disk = Disk::at(&node.path("cache"), SMALL_KIB);
    let mut worker = far.worker(&node, &[]);
    disk.fill();
    let long = "x".repeat(LONG);
    let script = "echo \"$1\"; head -c 30000 /dev/zero | tr '\\0' y";
    let mut run = far.run(script, &["short", &long]);
    until_full(&mut worker, "cache");
    // It is the only one, so the queue stands still: whoever waits for it hears why.
    let said = said_of_room(&mut run);
    assert!(said.contains("waits: the workers that could take it wait for space; on "), "{said}");
    assert!(said.contains("cache") && said.ends_with("(at least 1048576 bytes)"), "{said}");
    disk.free();
    assert!(said_of_room(&mut worker).contains("there is space again"));
    let all = done(run, "cache");
    for task in &all {
        assert!(task["stdout_bytes"].as_u64().unwrap() > 30_000, "{task}");
    }
    worker.kill();
}

/// Long output lies there while it comes. What finds no room is done by another worker, while the
/// first one takes nothing, and goes on later.
#[test]
fn others_do_what_finds_no_room() {
    let far = Far::new();
    let (node, other) = (Place::new(), Place::new());
    let disk = Disk::at(&node.path("small"), SMALL_KIB);
    let folder = node.path("small").to_str().unwrap().to_owned();
    let mut worker = far.worker(&node, &[("TMPDIR", folder)]);
    disk.fill();
    // It would print for ever where nobody can keep it.
    let script = "if [ -e \"$TMPDIR/ballast\" ]; then yes; else seq 1 9000; fi";
    let run = far.run(script, &["a", "b", "c"]);
    until_full(&mut worker, "small");
    let second = far.worker(&other, &[]);
    done(run, "small");
    disk.free();
    assert!(said_of_room(&mut worker).contains("there is space again"));
    drop((worker, second));
}
