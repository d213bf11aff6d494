//! The heap of an agent does not grow with how long or how often it is read.
//!
//! Resident memory cannot distinguish a slow leak from pages of a buffer that are touched for the
//! first time, so the allocator's blocks are counted instead: valgrind's dhat knows, for each
//! allocation site of the program, the most blocks and bytes that were held at once. A site that
//! leaks holds more blocks, or larger ones, the longer it runs. All others hold as much after a
//! thousand readings as after fifty, but for connections that overlap on a busy machine, in either
//! run: a few blocks more of each site, which may be larger or smaller than its others. So only
//! growth counts, blocks and their sizes are checked separately, and growth is tested again: a leak
//! grows each time.

use std::fs;

use serde_json::Value;
use tidings_control::Pick;
use tidings_experiment::agents::Cluster;

use crate::pages::page;

/// How often each page and call is requested in the two runs.
const READINGS: [usize; 2] = [50, 1_000];
/// The pairs of runs, one after another; a leak would show in all of them.
const PAIRS: usize = 3;
/// How many more blocks the longer run may have: those of a few connections that were still open
/// when the next began. One block left per reading would be 950.
const SLACK_BLOCKS: u64 = 475;
/// By how many bytes its blocks may be larger: printed numbers get longer.
/// Eight bytes per reading, in a list that grows, would be more.
const SLACK_BYTES: u64 = 7_600;
/// How many more bytes it may hold in total: the buffers of a few connections.
const SLACK_TOTAL_BYTES: u64 = 48_000;

/// The heap that an agent held in a run of a number of readings.
#[derive(Debug)]
struct Held {
    /// The most blocks that each allocating place held at once, summed.
    blocks: u64,
    /// The bytes of one such block of each place, summed.
    bytes: u64,
    /// The bytes of all of them.
    total_bytes: u64,
}

fn held(readings: usize) -> Held {
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
    let count = |place: &Value, name: &str| place[name].as_u64().expect("a count");
    let block = |place| count(place, "mb") / count(place, "mbk").max(1);
    Held {
        blocks: places.iter().map(|place| count(place, "mbk")).sum(),
        bytes: places.iter().map(block).sum(),
        total_bytes: places.iter().map(|place| count(place, "mb")).sum(),
    }
}

impl Held {
    fn has_grown_since(&self, few: &Held) -> bool {
        self.blocks >= few.blocks + SLACK_BLOCKS
            || self.bytes >= few.bytes + SLACK_BYTES
            || self.total_bytes >= few.total_bytes + SLACK_TOTAL_BYTES
    }
}

#[test]
fn an_agent_holds_as_much_after_a_thousand_readings_as_after_fifty() {
    let pairs = (0..PAIRS).map(|_| READINGS.map(held));
    let mut grown = Vec::new();
    for [few, many] in pairs {
        if !many.has_grown_since(&few) {
            return;
        }
        grown.push(format!("after few readings {few:?}, after many {many:?}"));
    }
    panic!("in each pair of runs it grew: {}", grown.join("; "));
}
