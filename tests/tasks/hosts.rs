//! Processes that reach the store over TCP.

use rustix::process::Signal;

use crate::place::{Place, Running};

/// A process that holds the store of a place and lets others take part, with its address, and the
/// key file.
fn holder(here: &Place) -> (Running, String, String) {
    here.text(&["keys", "generate", "--output", "cluster.key"]);
    let key = here.path("cluster.key").to_str().unwrap().to_owned();
    let listening = ["--listen", "127.0.0.1:0", "--keys", &key];
    let mut holder =
        here.start(&[&["worker", "-n", "1", "--queue", "none"][..], &listening].concat());
    assert!(holder.complaint().contains("1 slots"));
    let line = holder.complaint();
    let address = line.split_whitespace().find(|word| word.starts_with("tcp://")).unwrap();
    (holder, address.to_owned(), key)
}

#[test]
fn a_worker_elsewhere_does_tasks_and_large_outputs_come_back() {
    let (here, there) = (Place::new(), Place::new());
    let (holder, address, key) = holder(&here);
    let place = ["--store", &address[..], "--keys", &key];
    let mut worker = there.start(&[&["worker", "-n", "1"][..], &place].concat());
    assert!(worker.complaint().contains("1 slots"));
    let complaint = worker.complaint();
    assert!(complaint.contains("No agent runs on the coordinator's host"), "{complaint}");
    let run = ["run", "-n", "0"];
    let command = ["--", "sh", "-c", "echo $TIDINGS_ATTEMPT; head -c 100000 /dev/zero"];
    let printed = there.text(&[&run[..], &place, &command].concat());
    assert_eq!((printed.len(), printed.starts_with("1\n")), (100_002, true));
    let listed = there
        .tidings(&["queue", "ls", "--json", "--store", &address])
        .env("TIDINGS_KEYS", &key)
        .output();
    assert!(listed.unwrap().status.success(), "the keys may be named in the environment");
    // Those who hold the file see the same tasks.
    let put = ["queue", "put", "jobs", "--delay", "1h"];
    let id = there.text(&[&put[..], &place, &["--", "true"]].concat());
    assert_eq!(here.json(&["task", "show", id.trim(), "--json"])["state"], "delayed");
    for process in [worker, holder] {
        process.signal(Signal::TERM);
        assert_eq!(process.end().0, 0);
    }
}

#[test]
fn a_worker_without_tasks_ends_though_nobody_serves_the_store() {
    let (here, there) = (Place::new(), Place::new());
    let (holder, address, key) = holder(&here);
    let place = ["--store", &address[..], "--keys", &key];
    let worker = there.start(&[&["worker", "-n", "1", "--drain", "1h"][..], &place].concat());
    there.text(&[&["run", "-n", "0"][..], &place, &["--", "true"]].concat());
    holder.kill();
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
}

#[test]
fn another_key_is_refused_in_words() {
    let here = Place::new();
    for name in ["one.key", "other.key"] {
        here.text(&["keys", "generate", "--output", name]);
    }
    let mut holder =
        here.start(&["worker", "-n", "1", "--listen", "127.0.0.1:0", "--keys", "one.key"]);
    assert!(holder.complaint().contains("1 slots"));
    let line = holder.complaint();
    let address = line.split_whitespace().find(|word| word.starts_with("tcp://")).unwrap();
    let mut waiting = here.start(&["queue", "ls", "--store", address, "--keys", "other.key"]);
    let said = waiting.complaint();
    assert!(said.contains("key"), "{said}");
}
