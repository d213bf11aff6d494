//! Stores that nobody holds: looked into, checked, moved to another place.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::place::Place;
use crate::servers::Servers;

#[test]
fn a_store_moves_and_a_run_goes_on_there() {
    let place = Place::new();
    place.script("task", "echo $1 >> ran; echo result $1");
    let run =
        ["run", "-n", "2", "--resume", "x", "--json", "--", "sh", "task", "{}", ":::", "a", "b"];
    place.text(&run);
    place.text(&["sem", "create", "licences", "3"]);
    let exported = place.text(&["store", "export", "archive"]);
    assert!(exported.contains("records in archive"), "{exported}");
    let output = place.output(&["store", "export", "archive"]);
    assert_eq!(output.status.code(), Some(1), "a file that is there is not replaced");
    let moved = format!("file:{}", place.path("moved").display());
    place.text(&["store", "import", "archive", "--store", &moved]);
    let output = place.output(&["store", "import", "archive", "--store", &moved]);
    assert_eq!(output.status.code(), Some(1), "a store that is there is not replaced");
    let again: Vec<&str> =
        ["run", "--store", &moved].into_iter().chain(run[1..].to_vec()).collect();
    let printed = place.text(&again);
    assert!(printed.lines().all(|line| line.contains("\"done_before\":true")), "{printed}");
    assert_eq!(place.lines("ran"), ["a", "b"]);
    let semaphores = place.json(&["sem", "ls", "--json", "--store", &moved]);
    assert_eq!(semaphores["semaphores"][0]["permits"], 3);
}

#[test]
fn an_archive_that_is_cut_makes_no_store() {
    let place = Place::new();
    place.text(&["queue", "put", "jobs", "--", "true"]);
    place.text(&["store", "export", "archive"]);
    let whole = fs::read(place.path("archive")).unwrap();
    fs::write(place.path("archive"), &whole[..whole.len() - 1]).unwrap();
    let moved = format!("file:{}", place.path("moved").display());
    let output = place.output(&["store", "import", "archive", "--store", &moved]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cut off") && said.contains("export it again"), "{said}");
    assert!(!place.path("moved").exists());
}

#[test]
fn a_check_names_what_is_missing() {
    let place = Place::new();
    let long = "x".repeat(20_000);
    let id = place.text(&["queue", "put", "jobs", "--", "echo", &long]).trim().to_owned();
    let sound = place.json(&["store", "check", "--json"]);
    assert_eq!((&sound["live"], &sound["blobs"]), (&1.into(), &1.into()));
    assert_eq!(sound["faults_total"], 0);
    let listed = place.text(&["store", "records", "p0000/t/"]);
    assert!(listed.starts_with(&format!("p0000/t/{id} task ")), "{listed}");
    let record = place.json(&["store", "record", &format!("p0000/t/{id}")]);
    assert_eq!((&record["kind"], &record["record"]["queue"]), (&"task".into(), &"jobs".into()));
    fs::remove_dir_all(place.path("store.blobs")).unwrap();
    let output = place.output(&["store", "check", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["faults"][0]["key"], format!("p0000/t/{id}"));
    let what = found["faults"][0]["what"].as_str().unwrap();
    assert!(what.contains("names blob"), "{what}");
}

#[test]
fn a_store_in_use_or_not_there_is_refused() {
    let place = Place::new();
    let output = place.output(&["store", "check"]);
    assert_eq!(output.status.code(), Some(4), "none is made");
    assert!(!place.path("store").exists());
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    place.text(&["queue", "put", "jobs", "--", "sh", "-c", "echo in > began; read _ < gate"]);
    let worker = place.start(&["worker", "-n", "1"]);
    // It alone takes part, so it holds the store.
    began.line();
    let output = place.output(&["store", "records"]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is held by process"), "{said}");
    gate.let_go(1);
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
    let output = place.output(&["store", "records", "--store", "tcp://127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_store_of_several_parts_is_used_as_one() {
    let place = Place::new();
    assert_eq!(
        place.text(&["store", "make", "--parts", "3"]),
        format!("{} has 3 parts\n", place.store())
    );
    let output = place.output(&["store", "make", "--parts", "2"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("has 3 parts, and keeps them"), "{said}");
    // The queues a to f are of all three.
    let queues = ["a", "b", "c", "d", "e", "f"];
    let mut ended = place.pipe("ended");
    for queue in queues {
        place.text(&["queue", "put", queue, "--", "sh", "-c", "echo $0 > ended", queue]);
    }
    let shown = place.json(&["queue", "ls", "--json"]);
    let names = shown["queues"].as_array().unwrap().iter().map(|queue| queue["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), queues);
    let printed = place.text(&["run", "-n", "2", "--", "echo", "{}", ":::", "x", "y"]);
    assert_eq!(printed.lines().count(), 2, "{printed}");
    let worker = place.start(&["worker", "-n", "2"]);
    let ran = ended.some(queues.len());
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
    assert_eq!(ran, queues);
    let records = place.text(&["store", "records"]);
    assert!(records.contains("parts parts 1\n"), "{records}");
    for part in ["p0000", "p0001", "p0002"] {
        assert!(records.contains(&format!("{part}/role role ")), "{records}");
        assert!(records.contains(&format!("{part}/f/")), "{records}");
    }
    let sound = place.json(&["store", "check", "--json"]);
    // Those of the run are forgotten with it.
    assert_eq!((&sound["ended"], &sound["faults_total"]), (&6.into(), &0.into()));
}

#[test]
fn a_store_that_was_used_keeps_its_one_part() {
    let place = Place::new();
    place.text(&["queue", "put", "jobs", "--", "true"]);
    let output = place.output(&["store", "make", "--parts", "2"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("was used before"), "{said}");
    for wrong in ["0", "65"] {
        let output = place.output(&["store", "make", "--parts", wrong]);
        assert_eq!(output.status.code(), Some(2));
    }
    let output = place.output(&["store", "make", "--parts", "2", "--store", "memory:"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_servers_of_an_etcd_are_checked_while_it_is_in_use() {
    let mut servers = Servers::start(3);
    let place = Place::of(servers.address("checked"));
    let worker = place.start(&["worker", "-n", "1"]);
    place.text(&["queue", "ls"]);
    let found = place.json(&["store", "check", "--servers", "--json"]);
    let etcd = &found["etcd"];
    assert_eq!((&etcd["members"], &etcd["faults"]), (&3.into(), &Value::Array(Vec::new())));
    let all = etcd["servers"].as_array().unwrap();
    assert_eq!(all.iter().filter(|server| server["role"] == "leads").count(), 1, "{etcd}");
    let version = all[0]["version"].as_str().unwrap();
    assert!(version.starts_with("3."), "{etcd}");
    assert!(all.iter().all(|server| server["quota_bytes"].as_u64() > Some(0)), "{etcd}");
    assert!(all.iter().all(|server| server["syncs"] == true), "{etcd}");
    // An election timeout of 2,000 ms is asked for.
    assert_eq!(etcd["election_timeout_ms"], serde_json::json!([1333, 2000]));
    assert!(etcd["commit_s"][0].as_f64() > Some(0.0), "{etcd}");
    let output = place.output(&["store", "check", "--json"]);
    assert_eq!(output.status.code(), Some(3), "its records are in use");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["etcd"]["members"], 3);
    servers.kill(2);
    let output = place.output(&["store", "check", "--servers"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("does not answer") && said.contains("start it"), "{said}");
    worker.kill();
}

#[test]
fn what_is_wrong_with_servers_has_its_remedy() {
    let slow = ["--heartbeat-interval", "500", "--election-timeout", "5000"];
    let quick = Servers::start(1);
    let servers = Servers::start_with(1, &slow);
    let place = Place::of(servers.address("checked"));
    let output = place.output(&["store", "check"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("--election-timeout 1000") && said.contains("faults"), "{said}");
    let [one, other] = [&servers, &quick].map(|servers| servers.address("x"));
    let both = one.replace("/x", &format!(",{}", other.strip_prefix("etcd://").unwrap()));
    let output = place.output(&["store", "check", "--servers", "--store", &both]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("are of several etcds"), "{said}");
    let output = place.output(&["store", "check", "--servers", "--store", "memory:"]);
    assert_eq!(output.status.code(), Some(2));
}
