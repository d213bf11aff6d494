//! What people are shown of tasks: time lines, and payloads that are too long for a record.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::place::Place;

/// The events of a time line, each with what the format wants of it; the slices of a thread follow
/// each other. Returns the slices.
fn checked(text: &str) -> Vec<Value> {
    let trace: Value = serde_json::from_str(text).unwrap();
    let (mut named, mut slices) = (BTreeMap::new(), Vec::new());
    for event in trace["traceEvents"].as_array().unwrap() {
        let number = |name: &str| event[name].as_u64().unwrap_or_else(|| panic!("{name} {event}"));
        let (pid, tid) = (number("pid"), number("tid"));
        assert!(event["name"].is_string() && event["args"].is_object(), "{event}");
        match event["ph"].as_str().unwrap() {
            "M" => {
                named.insert((event["name"].as_str().unwrap().to_owned(), pid, tid), event.clone());
                continue;
            }
            "X" => drop(number("dur")),
            "s" | "f" => continue,
            other => assert_eq!(other, "B"),
        }
        number("ts");
        slices.push(event.clone());
    }
    let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
    slices.sort_by_key(|slice| (slice["ts"].as_u64(), slice["dur"].as_u64()));
    for slice in &slices {
        let number = |name: &str| slice[name].as_u64().unwrap_or(u64::MAX / 2);
        let (pid, tid, ts) = (number("pid"), number("tid"), number("ts"));
        assert!(named.contains_key(&("process_name".to_owned(), pid, pid)), "{slice}");
        assert!(named.contains_key(&("thread_name".to_owned(), pid, tid)), "{slice}");
        let before = ends.insert(tid, ts + number("dur"));
        assert!(before.is_none_or(|end| end <= ts), "{slice} begins before another ends");
    }
    slices
}

/// The flows of a time line as pairs of the names of slices: each begins and ends inside of one.
fn flows(text: &str, slices: &[Value]) -> Vec<(String, String)> {
    let trace: Value = serde_json::from_str(text).unwrap();
    let number = |event: &Value, name: &str| event[name].as_u64();
    let inside = |event: &Value| {
        let (tid, ts) = (number(event, "tid"), number(event, "ts").unwrap());
        let is_it = |slice: &&Value| {
            let begin = number(slice, "ts").unwrap();
            let end = number(slice, "dur").map_or(u64::MAX, |dur| begin + dur);
            number(slice, "tid") == tid && begin <= ts && ts < end
        };
        slices.iter().find(is_it).unwrap_or_else(|| panic!("{event}"))["name"].as_str().unwrap()
    };
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |ph: &'static str| events.iter().filter(move |event| event["ph"] == ph);
    let end = |begin: &Value| {
        let mut ends = of("f").filter(|end| end["id"] == begin["id"]);
        let end = ends.next().unwrap();
        assert!(ends.next().is_none() && end["bp"] == "e", "{end}");
        assert_eq!((&end["name"], &end["cat"]), (&begin["name"], &begin["cat"]));
        assert!(number(begin, "ts") < number(end, "ts"), "{begin} {end}");
        end
    };
    let mut flows: Vec<_> =
        of("s").map(|begin| (inside(begin).to_owned(), inside(end(begin)).to_owned())).collect();
    flows.sort();
    flows
}

#[test]
fn a_time_line_of_a_graph_has_a_flow_for_each_input() {
    let place = Place::new();
    let graph = "[task.a]\nshell = \"sleep 0.02\"\n\
                 [task.b]\nshell = \"cat {in.a}; sleep 0.02\"\n\
                 [task.c]\nshell = \"cat {in.a} {in.b}; sleep 0.02\"\n";
    fs::write(place.path("graph.toml"), graph).unwrap();
    place.text(&["run", "-n", "1", "--resume", "g", "graph.toml"]);
    let text = place.text(&["queue", "trace", "run/g"]);
    let found = flows(&text, &checked(&text));
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(found, [pair("a", "b"), pair("a", "c"), pair("b", "c")]);
}

fn outcomes(slices: &[Value]) -> Vec<&str> {
    let mut all: Vec<_> =
        slices.iter().map(|slice| slice["args"]["outcome"].as_str().unwrap()).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_time_line_has_each_try_the_lost_ones_too() {
    let place = Place::new();
    place.script("task", "echo $1 > began; read _ < gate");
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let put = ["queue", "put", "jobs", "--", "sh", "task", "x"];
    let lost = place.text(&put).trim().to_owned();
    let failing = ["queue", "put", "jobs", "--", "sh", "-c", "exit 3"];
    let first = place.start(&["worker", "-n", "1"]);
    began.line();
    first.kill();
    let failed = place.text(&failing).trim().to_owned();
    let second = place.start(&["worker", "-n", "2"]);
    began.line();
    let running = checked(&place.text(&["queue", "trace"]));
    assert!(outcomes(&running).contains(&"running"), "{running:?}");
    gate.let_go(1);
    place.text(&["queue", "drain", "jobs"]);
    place.text(&["queue", "trace", "jobs", "--out", "trace.json"]);
    let slices = checked(&fs::read_to_string(place.path("trace.json")).unwrap());
    assert_eq!(outcomes(&slices), ["done", "exit", "lost"]);
    let slice = |outcome: &str| {
        slices.iter().find(|slice| slice["args"]["outcome"] == outcome).unwrap().clone()
    };
    assert_eq!(slice("exit")["name"], "sh: exit");
    assert_eq!(
        (&slice("exit")["args"]["task"], &slice("lost")["args"]["task"]),
        (&Value::from(failed), &Value::from(lost.clone()))
    );
    let places: BTreeSet<_> = slices.iter().filter_map(|slice| slice["tid"].as_u64()).collect();
    assert!(places.len() >= 2, "two workers at least: {slices:?}");
    let task = place.json(&["task", "show", &lost, "--json"]);
    let (since, end) = (task["since_ms"].as_u64().unwrap(), task["ended_ms"].as_u64().unwrap());
    let done = slice("done");
    assert_eq!(done["ts"], since * 1_000);
    assert_eq!(done["dur"], (end - since) * 1_000);
    second.signal(Signal::TERM);
    assert_eq!(second.end().0, 0);
}

#[test]
fn a_time_line_of_nothing_says_so_and_leaves_no_file() {
    let place = Place::new();
    let output = place.output(&["queue", "trace", "none", "--out", "trace.json"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(!place.path("trace.json").exists());
    assert_eq!(checked(&place.text(&["queue", "trace"])), Vec::<Value>::new());
    let output = place.output(&["queue", "trace", "--out", "no/such/folder/trace.json"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no/such/folder/trace.json cannot be written"), "{said}");
}

#[test]
fn a_payload_too_long_for_a_record_is_shown_as_it_is() {
    let place = Place::new();
    let long = "x".repeat(20_000);
    let id = place.text(&["queue", "put", "jobs", "--", "echo", &long]).trim().to_owned();
    let task = place.json(&["task", "show", &id, "--json"]);
    assert_eq!(task["command"], serde_json::json!(["echo", long]));
    let peeked = place.text(&["queue", "peek", "jobs"]);
    assert!(peeked.contains("echo xxxx"), "{peeked}");
}

#[test]
fn a_command_that_does_not_start_is_named_with_the_reason() {
    let place = Place::new();
    place.text(&["sem", "create", "s", "1"]);
    let output = place.output(&["sem", "acquire", "s", "--", "./no-such-program"]);
    assert_eq!(output.status.code(), Some(127));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("./no-such-program does not start"), "{said}");
    assert!(!said.contains("exit status"), "{said}");
}

#[test]
fn queues_are_shown_once_where_there_is_no_terminal() {
    let place = Place::new();
    let mut gate = place.pipe("gate");
    place.text(&["queue", "put", "jobs", "--", "sh", "-c", "read _ < gate; exit 3"]);
    place.text(&["queue", "put", "jobs", "--delay", "1h", "--", "true"]);
    let mut worker = place.start(&["worker", "-n", "1", "--verbose"]);
    // It alone has the store by then, so it is the coordinator that counts.
    gate.let_go(1);
    while !worker.complaint().contains("ended: exit") {}
    let text = place.text(&["queue", "top"]);
    let (_, failures) = text.split_once("cause").unwrap();
    assert!(text.contains("jobs") && failures.contains("exit"), "{text}");
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
}
