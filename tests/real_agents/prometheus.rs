//! The metrics as Prometheus itself sees them: its linter, and a server that scrapes an agent.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tidings_experiment::agents::Cluster;

use crate::pages::page;

/// A process that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended by itself
        let _ = self.0.wait();
    }
}

#[test]
fn promtool_finds_no_fault() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0", "--age-target", "1s"]);
    let http = cluster.agent("n1").status().http.expect("turned on");
    let mut stream = TcpStream::connect(&http).expect("the endpoint listens");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {http}\r\nAccept: */*\r\n\r\n").expect("sent");
    let answer = std::io::read_to_string(stream).expect("it answers and closes");
    let (head, text) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed");
    promtool.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let verdict = promtool.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&[verdict.stdout, verdict.stderr].concat()).into_owned();
    assert!(verdict.status.success() && said.trim().is_empty(), "{said}");
}

/// Starts a server that scrapes `target`, and returns it with the address that it answers on.
fn prometheus(directory: &Path, target: &str) -> (Server, String) {
    let config = format!(
        "global: {{scrape_interval: 1s}}\n\
         scrape_configs: [{{job_name: tidings, static_configs: [{{targets: ['{target}']}}]}}]\n"
    );
    let (file, data) = (directory.join("prometheus.yml"), directory.join("prometheus"));
    fs::write(&file, config).expect("an own directory");
    let mut server = Command::new("prometheus")
        .arg(format!("--config.file={}", file.display()))
        .arg(format!("--storage.tsdb.path={}", data.display()))
        .args(["--web.listen-address=127.0.0.1:0", "--log.level=info"])
        .current_dir(directory)
        .stderr(Stdio::piped())
        .spawn()
        .expect("prometheus is installed");
    let mut lines = BufReader::new(server.stderr.take().expect("piped")).lines();
    let server = Server(server);
    let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("Listening on\" address=")?;
        Some(rest.trim_matches('"').to_owned())
    });
    // It keeps writing, and must not be stopped by a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (server, address.expect("it says where it listens"))
}

#[test]
fn a_real_prometheus_scrapes_an_agent() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1"], 2);
    let http = cluster.agent("n1").status().http.expect("turned on");
    let (_server, address) = prometheus(cluster.path(), &http);
    let value = |query: &str| -> Option<f64> {
        let (_, body) = page(&address, &format!("/api/v1/query?query={query}"));
        let start = body.find('{')?;
        let answer: Value = serde_json::from_str(&body[start..=body.rfind('}')?]).ok()?;
        answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
    };
    let members = cluster.until("the server has scraped", |_| value("tidings_members"));
    assert!((members - 2.0).abs() < f64::EPSILON, "{members}");
    assert!(value("up").is_some_and(|up| (up - 1.0).abs() < f64::EPSILON));
    assert!(value("tidings_rounds_total").is_some_and(|rounds| rounds > 0.0));
    let units = "tidings_age_avg_seconds/tidings_interval_seconds";
    assert!(value(units).is_some_and(|units| units > 0.0));
}

/// An agent has every metric that the dashboard for Grafana names.
#[test]
fn the_dashboard_shows_existing_metrics() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0", "--age-target", "1s", "--interval", "10ms"]);
    cluster.join("n2", "n1", &["--interval", "10ms"]);
    let http = cluster.agent("n1").status().http.expect("turned on");
    cluster.until("the agent has checked its ages", |_| {
        page(&http, "/metrics").1.contains("tidings_age_target_kept").then_some(())
    });
    let metrics = page(&http, "/metrics").1;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/grafana-dashboard.json");
    let text = fs::read_to_string(path).expect("part of the repository");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let mut named = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("each panel asks something") {
            let query = target["expr"].as_str().expect("a query");
            let part = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            for name in query.split(part).filter(|word| word.starts_with("tidings_")) {
                let there = |line: &str| {
                    line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{']))
                };
                assert!(metrics.lines().any(there), "{name} is no metric");
                named += 1;
            }
        }
    }
    assert!(named > 8, "only {named} metrics are shown");
}
