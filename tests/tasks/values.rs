//! Values under names from a shell: read, written in turns, and followed while the processes that
//! serve the store are killed.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::ChildStdout;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, Running};
use crate::servers::Servers;

/// A `tidings store watch`, and what it prints.
struct Watching {
    process: Running,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watching {
    /// Begins; what it prints first shows that it has begun.
    fn start(place: &Place, prefix: &str) -> Self {
        let mut process = place.start(&["store", "watch", prefix, "--present", "--json"]);
        let lines = BufReader::new(process.output()).lines();
        Self { process, lines }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    /// The key and value of the next change; null: it was deleted.
    fn change(&mut self) -> (String, Value) {
        let line = self.next();
        assert_eq!(line["value"].is_null(), line["deleted"] == true, "{line}");
        (line["key"].as_str().unwrap().to_owned(), line["value"].clone())
    }
}

fn code(place: &Place, arguments: &[&str]) -> Option<i32> {
    place.output(arguments).status.code()
}

/// Reads and writes; the store may be in use.
fn read_and_write(place: &Place) {
    assert_eq!(code(place, &["store", "get", "a/1"]), Some(4));
    let first = place.text(&["store", "put", "a/1", "{\"n\": 1}"]).trim().to_owned();
    assert_eq!(place.text(&["store", "get", "a/1"]), "{\"n\": 1}\n");
    assert_eq!(place.text(&["store", "get", "a/1", "--raw"]), "{\"n\": 1}");
    let shown = place.json(&["store", "get", "a/1", "--json"]);
    let revision: u64 = first.parse().unwrap();
    assert_eq!(shown, json!({ "key": "a/1", "revision": revision, "value": { "n": 1 } }));

    // Of two that have read the same, one writes.
    let second = place.text(&["store", "cas", "a/1", "-2", "--expect", &first]);
    assert_eq!(code(place, &["store", "cas", "a/1", "3", "--expect", &first]), Some(5));
    assert_eq!(code(place, &["store", "cas", "a/1", "3", "--expect", "0"]), Some(5));
    assert_eq!(code(place, &["store", "rm", "a/1", "--expect", &first]), Some(5));
    place.text(&["store", "cas", "a/2", "new", "--expect", "0"]);
    place.text(&["store", "put", "b", "x"]);
    assert_eq!(place.text(&["store", "ls", "a/"]), "a/1 = -2\na/2 = new\n");
    let listed = place.text(&["store", "ls", "--json"]);
    let keys = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(keys.map(|line| line["key"].clone()).collect::<Vec<_>>(), ["a/1", "a/2", "b"]);
    place.text(&["store", "rm", "a/1", "--expect", second.trim()]);
    assert_eq!(code(place, &["store", "get", "a/1"]), Some(4));
    place.text(&["store", "rm", "a/1"]);
    let long = "x".repeat(16 * 1024 + 1);
    assert_eq!(code(place, &["store", "put", "b", &long]), Some(2));
    assert_eq!(code(place, &["store", "put", &"k".repeat(511), "1"]), Some(2));
}

#[test]
fn a_value_is_written_by_one_of_two_that_have_read_the_same() {
    let place = Place::new();
    read_and_write(&place);
    let record = place.json(&["store", "record", "e/b"]);
    assert_eq!((&record["kind"], &record["record"]), (&"own".into(), &"x".into()));
}

#[test]
fn values_are_followed_when_the_holder_of_the_store_is_killed() {
    let place = Place::new();
    let mut began = place.pipe("began");
    let _gate = place.pipe("gate");
    place.text(&["queue", "put", "jobs", "--", "sh", "-c", "echo in > began; read _ < gate"]);
    place.text(&["store", "put", "k/1", "1"]);
    place.text(&["store", "put", "other", "1"]);
    let holder = place.start(&["worker", "-n", "1"]);
    began.line();
    let mut watching = Watching::start(&place, "k/");
    assert_eq!(watching.change(), ("k/1".to_owned(), json!(1)));
    place.text(&["store", "put", "other", "2"]);
    let revision = place.text(&["store", "put", "k/1", "2"]);
    let change = watching.next();
    assert_eq!(change, json!({ "key": "k/1", "revision": number(&revision), "value": 2 }));
    place.text(&["store", "rm", "k/1"]);
    assert_eq!(watching.change(), ("k/1".to_owned(), Value::Null));
    holder.kill();
    for n in 0..3 {
        place.text(&["store", "put", "k/2", &n.to_string()]);
    }
    // Values between may be left out, and the last one comes.
    while watching.change() != ("k/2".to_owned(), json!(2)) {}
    watching.process.signal(Signal::INT);
    assert_eq!(watching.process.end().0, 0);
}

fn number(revision: &str) -> u64 {
    revision.trim().parse().unwrap()
}

#[test]
fn a_watch_ends_when_nobody_reads_it() {
    let place = Place::new();
    place.text(&["store", "put", "k", "1"]);
    let Watching { process, mut lines } = Watching::start(&place, "k");
    assert!(lines.next().unwrap().unwrap().contains("\"value\":1"));
    drop(lines);
    let (code, _, errors) = process.end();
    assert_eq!((code, &*errors), (0, ""));
}

#[test]
fn values_in_an_etcd_are_followed_when_its_leader_is_killed() {
    let mut servers = Servers::start(3);
    let place = Place::of(servers.address("values"));
    read_and_write(&place);
    let mut watching = Watching::start(&place, "b");
    assert_eq!(watching.next()["text"], "x");
    place.text(&["store", "put", "b", "1"]);
    assert_eq!(watching.change(), ("b".to_owned(), json!(1)));
    let leader = loop {
        if let Some(leader) = servers.leader() {
            break leader;
        }
    };
    servers.kill(leader);
    place.text(&["store", "put", "b", "2"]);
    assert_eq!(watching.change(), ("b".to_owned(), json!(2)));
    watching.process.signal(Signal::TERM);
    assert_eq!(watching.process.end().0, 0);
}
