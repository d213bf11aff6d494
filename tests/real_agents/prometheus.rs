//! The metrics as Prometheus itself sees them: its linter, and a server that scrapes an agent.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use tidings_experiment::agents::Cluster;
use tidings_tests::page::blocks;

use crate::pages::page;

/// A process that ends with the test.
pub(crate) struct Server(Child);

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
    for path in ["/metrics", "/metrics/nodes", "/metrics/nodes?readings=power,net_rx,psi_io"] {
        check(&http, path);
    }
}

/// Has a page checked by the linter.
fn check(http: &str, path: &str) {
    let mut stream = TcpStream::connect(http).expect("the endpoint listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {http}\r\nAccept: */*\r\n\r\n").expect("sent");
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
    serve(directory, &config)
}

/// The first value of a query of a server.
pub(crate) fn first_value(address: &str, query: &str) -> Option<f64> {
    let (_, body) = page(address, &format!("/api/v1/query?query={query}"));
    let start = body.find('{')?;
    let answer: Value = serde_json::from_str(&body[start..=body.rfind('}')?]).ok()?;
    answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
}

/// Starts a server with these settings, and returns it with the address that it answers on.
pub(crate) fn serve(directory: &Path, config: &str) -> (Server, String) {
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
    let value = |query: &str| first_value(&address, query);
    let members = cluster.until("the server has scraped", |_| value("tidings_members"));
    assert!((members - 2.0).abs() < f64::EPSILON, "{members}");
    assert!(value("up").is_some_and(|up| (up - 1.0).abs() < f64::EPSILON));
    assert!(value("tidings_rounds_total").is_some_and(|rounds| rounds > 0.0));
    let units = "tidings_age_avg_seconds/tidings_interval_seconds";
    assert!(value(units).is_some_and(|units| units > 0.0));
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

#[test]
fn the_rules_for_alerts_do_what_they_say() {
    for (does, file) in [("check", "tidings-alerts.yml"), ("test", "tidings-alerts.test.yml")] {
        let output = Command::new("promtool")
            .args([does, "rules", file])
            .current_dir(examples().join("prometheus"))
            .output()
            .expect("promtool is installed");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{said}");
    }
}

/// The settings of the guide, for a target and with rules in another place.
fn settings_of_the_guide(target: &str) -> String {
    let guide = include_str!("../../docs/guides/monitoring.md");
    let rules = examples().join("prometheus/tidings-alerts.yml").display().to_string();
    blocks(guide, "yaml")[0]
        .replace("127.0.0.1:9617", target)
        .replace("/etc/prometheus/tidings-alerts.yml", &rules)
        .replace("scrape_interval: 5s", "scrape_interval: 1s")
        + "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
}

#[test]
fn a_killed_node_is_an_alert_of_a_real_prometheus() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    cluster.join("n2", "n1", &[]);
    cluster.join("n3", "n1", &[]);
    cluster.until_known(&["n1", "n2", "n3"], 3);
    let http = cluster.agent("n1").status().http.expect("turned on");
    let (_server, address) = serve(cluster.path(), &settings_of_the_guide(&http));
    let value = |query: &str| first_value(&address, query);
    let alive = "tidings_nodes%7Bstate=%22alive%22%7D";
    cluster.until("three nodes are alive", |_| {
        value(alive).is_some_and(|count| count > 2.5).then_some(())
    });
    assert!(value("tidings_node_cores%7Bnode=%22n3%22%7D").is_some_and(|cores| cores >= 1.0));
    let dead = "ALERTS%7Balertname=%22TidingsNodeDead%22,node=%22n3%22,alertstate=%22firing%22%7D";
    assert_eq!(value(dead), None);
    cluster.agent("n3").signal(Signal::KILL);
    cluster.end("n3");
    cluster.until("the alert fires", |_| value(dead));
    cluster.join("n3", "n1", &[]);
    cluster.until("the alert is over", |_| value(dead).is_none().then_some(()));
}

/// An agent has every metric that the dashboards for Grafana name.
#[test]
fn the_dashboards_show_existing_metrics() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0", "--age-target", "1s", "--interval", "10ms"]);
    cluster.join("n2", "n1", &["--interval", "10ms"]);
    let http = cluster.agent("n1").status().http.expect("turned on");
    cluster.until("the agent has checked its ages", |_| {
        page(&http, "/metrics").1.contains("tidings_age_target_kept").then_some(())
    });
    let metrics = page(&http, "/metrics").1 + &page(&http, "/metrics/nodes").1;
    for (file, least) in [("grafana-dashboard.json", 8), ("prometheus/grafana-cluster.json", 8)] {
        let text = fs::read_to_string(examples().join(file)).expect("part of the repository");
        let dashboard: Value = serde_json::from_str(&text).expect("JSON");
        let named = metrics_of(&dashboard);
        assert!(named.len() >= least, "{file} shows only {named:?}");
        for name in named {
            let there = |line: &str| {
                line.strip_prefix(&name).is_some_and(|rest| rest.starts_with([' ', '{']))
            };
            assert!(metrics.lines().any(there), "{file}: {name} is no metric");
        }
    }
}

/// The metrics that the panels of a dashboard name.
fn metrics_of(dashboard: &Value) -> BTreeSet<String> {
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().expect("it asks something"));
    let part = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    targets
        .flat_map(|target| target["expr"].as_str().expect("a query").split(part))
        .filter(|word| word.starts_with("tidings_"))
        .map(str::to_owned)
        .collect()
}
