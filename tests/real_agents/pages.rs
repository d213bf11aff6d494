//! The HTTP endpoint of a real agent, queried over TCP.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;

use tidings_control::{Nodes, Status};
use tidings_experiment::agents::Cluster;

/// Requests a page; the head and the body of the answer.
pub(crate) fn page(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("the endpoint listens");
    let accept = "application/openmetrics-text;version=1.0.0,*/*;q=0.1";
    let head = format!("Host: {address}\r\nAccept: {accept}\r\nConnection: close\r\n");
    write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers and closes");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn each_page_agrees_with_the_control_socket() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1"], 2);
    let http = cluster.agent("n1").status().http.expect("turned on");
    let (head, body) = page(&http, "/v1/nodes");
    assert!(head.starts_with("http/1.1 200") && head.contains("application/json"), "{head}");
    let nodes: Nodes = serde_json::from_str(&body).expect("the documented form");
    let names: Vec<_> = nodes.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["n1", "n2"]);
    let status: Status = serde_json::from_str(&page(&http, "/v1/status").1).expect("likewise");
    assert_eq!((status.name.as_str(), status.members), ("n1", 2));
    assert!(page(&http, "/nowhere").0.starts_with("http/1.1 404"));
}

#[test]
fn an_agent_that_gossips_is_healthy() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    let http = cluster.agent("n1").status().http.expect("turned on");
    cluster.until("the first rounds are sent in time", |_| {
        let (head, body) = page(&http, "/healthz");
        (head.starts_with("http/1.1 200") && body == "ok\n").then_some(())
    });
}

#[test]
fn before_the_first_round_an_agent_is_not_healthy() {
    let mut cluster = Cluster::new();
    cluster
        .start("n1", &["--http", "127.0.0.1:0", "--interval", "1h", "--forget-after", "365days"]);
    let http = cluster.agent("n1").status().http.expect("turned on");
    let (head, body) = page(&http, "/healthz");
    assert!(head.starts_with("http/1.1 503"), "{head}");
    assert_eq!(body, "no round has been sent yet\n");
}

/// Parses OpenMetrics: the series by name, each of a family that was declared before it.
fn series(text: &str) -> Vec<(String, f64)> {
    let mut families = BTreeSet::new();
    let mut series = Vec::new();
    let body = text.strip_suffix("# EOF\n").expect("the text ends as the format says");
    for line in body.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (family, kind) = declared.split_once(' ').expect("a family and its type");
            assert!(["counter", "gauge", "info"].contains(&kind), "{line}");
            assert!(families.insert(family.to_owned()), "{family} is declared twice");
        } else if !line.starts_with("# ") {
            let (name, value) = line.rsplit_once(' ').expect("a series and its value");
            let bare = name.split('{').next().expect("a name");
            let family = bare.trim_end_matches("_total").trim_end_matches("_info");
            assert!(families.contains(family), "{bare} has no type");
            series.push((name.to_owned(), value.parse().expect("a number")));
        }
    }
    series
}

#[test]
fn metrics_are_open_metrics_and_do_not_grow_with_the_cluster() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    let http = cluster.agent("n1").status().http.expect("turned on");
    let alone = series(&page(&http, "/metrics").1);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1"], 2);
    let (head, body) = page(&http, "/metrics");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(kind), "{head}");
    let both = series(&body);
    assert_eq!(both.len(), alone.len());
    let value = |name: &str| {
        let found = both.iter().find(|(found, _)| found == name);
        found.unwrap_or_else(|| panic!("no {name} in {body}")).1
    };
    assert!((value("tidings_members") - 2.0).abs() < f64::EPSILON);
    assert!(value("tidings_datagrams_received_total") > 0.0);
    assert!(value("tidings_dropped_corrupt_total") >= 0.0);
    assert!(value("tidings_process_resident_memory_bytes") > 0.0);
    let labelled: Vec<_> = both.iter().filter(|(name, _)| name.contains('{')).collect();
    let of_states = labelled.iter().filter(|(name, _)| name.starts_with("tidings_members_by_"));
    assert_eq!(of_states.count(), 5, "{labelled:?}");
    assert_eq!(labelled.len(), 1 + 5, "{labelled:?}");
}
