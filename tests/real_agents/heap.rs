//! What an agent holds of the heap does not grow with how long or how often it is read.
//!
//! Resident memory cannot tell a slow leak from pages of a buffer that are touched for the first
//! time, so the allocator's blocks are counted instead: valgrind's dhat knows, for each place of
//! the program that allocates, the most bytes that were held at once. A place that leaks holds the
//! more the longer it runs; all others hold as much after a thousand readings as after fifty.

use std::fs;

use serde_json::Value;
use tidings_control::Pick;
use tidings_tests::agents::Cluster;

use crate::pages::page;

/// How often each page and call is asked for in the two runs.
const READINGS: [usize; 2] = [50, 1_000];
/// What may differ: how long the numbers are that a page prints, and whether one connection was
/// still open when the next began. Eight bytes a reading that stay would exceed it.
const SLACK_BYTES: u64 = 7_600;

/// The most that each allocating place of an agent held at once, summed, in bytes, in a life of so
/// many readings.
fn held_bytes(readings: usize) -> u64 {
    let mut cluster = Cluster::new();
    let counts = cluster.path().join("dhat.json");
    let dhat = ["valgrind", "--tool=dhat", &format!("--dhat-out-file={}", counts.display())];
    let dhat: Vec<String> = dhat.map(str::to_owned).into();
    cluster.start_on(&dhat, "n1", &["--http", "127.0.0.1:0"]);
    for name in ["n2", "n3"] {
        cluster.join(name, "n1", &[]);
    }
    cluster.until_known(&["n1"], 3);
    let http = cluster.agent("n1").status().http.expect("turned on");
    for _ in 0..readings {
        for path in ["/", "/metrics", "/v1/nodes"] {
            assert!(page(&http, path).0.starts_with("http/1.1 200"), "{path}");
        }
        let mut client = cluster.agent("n1").client();
        assert_eq!(client.nodes().expect("answered").nodes.len(), 3);
        client.pick(Pick::of(1)).expect("three to choose from");
    }
    assert_eq!(cluster.stop("n1"), Some(0));
    let counts = fs::read_to_string(counts).expect("dhat has written what it counted");
    let counts: Value = serde_json::from_str(&counts).expect("it writes JSON");
    let places = counts["pps"].as_array().expect("places of the program");
    assert!(!places.is_empty());
    places.iter().map(|place| place["mb"].as_u64().expect("bytes")).sum()
}

#[test]
fn an_agent_holds_as_much_after_a_thousand_readings_as_after_fifty() {
    let [few, many] = READINGS.map(held_bytes);
    assert!(many.abs_diff(few) < SLACK_BYTES, "{few} bytes after few readings, {many} after many");
}
