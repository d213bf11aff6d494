//! Scrapes by another machine, and a day of them in one Prometheus.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use tidings_experiment::agents::Cluster;

use crate::pages::page;
use crate::prometheus::{first_value, serve};

const TOKEN: &str = "q1w2e3r4t5z6u7i8o9p0";
const OTHER: &str = "a-token-that-came-after";

/// The settings of a server that scrapes `target` with the token in a file.
fn settings(target: &str, token: &Path) -> String {
    format!(
        "global: {{scrape_interval: 1s}}\n\
         scrape_configs:\n\
         - job_name: tidings-nodes\n  \
           metrics_path: /metrics/nodes\n  \
           authorization: {{credentials_file: {}}}\n  \
           static_configs: [{{targets: ['{target}']}}]\n",
        token.display()
    )
}

/// The first line of the answer to a request without a token.
fn uninvited(address: &str, path: &str) -> String {
    page(address, path).0.lines().next().expect("a status").to_owned()
}

#[test]
fn a_real_prometheus_elsewhere_shows_the_token() {
    let mut cluster = Cluster::new();
    let token = cluster.write("token", &format!("{TOKEN}\n"));
    let flags = ["--http", "off", "--scrape", "0.0.0.0:0", "--scrape-token", &token];
    cluster.start("n1", &flags);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1"], 2);
    let bound = cluster.agent("n1").status().scrape.expect("turned on");
    let port = bound.rsplit_once(':').expect("a port").1;
    let target = format!("127.0.0.1:{port}");
    for path in ["/metrics", "/metrics/nodes", "/healthz", "/", "/v1/nodes"] {
        assert_eq!(uninvited(&target, path), "http/1.1 401 unauthorized", "{path}");
    }
    let shown = cluster.path().join("shown");
    fs::write(&shown, TOKEN).expect("an own directory");
    let (_server, address) = serve(cluster.path(), &settings(&target, &shown));
    let value = |query: &str| first_value(&address, query);
    cluster.until("the server has scraped", |_| value("tidings_node_up%7Bnode=%22n2%22%7D"));
    let is_up = |wanted: f64| value("up").is_some_and(|up| (up - wanted).abs() < 0.5);
    // Another token, without a restart of the agent: first there, then at the server.
    fs::write(&token, OTHER).expect("an own file");
    cluster.agent("n1").signal(Signal::HUP);
    cluster.until("the old token is refused", |_| is_up(0.0).then_some(()));
    fs::write(&shown, OTHER).expect("an own file");
    cluster.until("the new one is taken", |_| is_up(1.0).then_some(()));
}

#[test]
fn a_token_that_others_may_read_is_refused() {
    let cluster = Cluster::new();
    let token = cluster.write("token", TOKEN);
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).expect("an own file");
    let refused = |flags: &[&str]| {
        let output = cluster.refused("n1", flags);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("text")
    };
    let flags = ["--scrape", "127.0.0.1:0", "--scrape-token", &token];
    let message = refused(&flags);
    assert!(message.contains("open to others (mode 0644)"), "{message}");
    let message = refused(&flags[..2]);
    assert!(message.contains("scrape = 127.0.0.1:0 without a scrape_token"), "{message}");
    let short = cluster.write("short", "short\n");
    let message = refused(&["--scrape", "127.0.0.1:0", "--scrape-token", &short]);
    assert!(message.contains(&format!("the token file {short}: 5 characters")), "{message}");
}

/// Scrapes in a day, one in a minute.
const SCRAPES: u64 = 1_440;

/// What was scraped, as lines with times that are a minute apart and end an hour ago; and the last
/// of them, in seconds.
fn day(http: &str) -> (String, u64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let (mut lines, last) = (String::new(), now - 3_600);
    for number in 0..SCRAPES {
        let time_s = last - 60 * (SCRAPES - 1 - number);
        for line in page(http, "/metrics/nodes").1.lines().filter(|line| !line.starts_with('#')) {
            writeln!(lines, "{line} {time_s}").expect("text grows");
        }
    }
    (lines + "# EOF\n", last)
}

/// Time does not pass a day for a test: what an agent answers in a minute's place is written to the
/// server's store by Prometheus' own tool.
#[test]
fn one_prometheus_keeps_a_day_of_all_nodes() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    cluster.join("n2", "n1", &[]);
    cluster.join("n3", "n1", &[]);
    cluster.until_known(&["n1"], 3);
    let http = cluster.agent("n1").status().http.expect("turned on");
    let (text, last_s) = day(&http);
    let (file, data) = (cluster.path().join("day.om"), cluster.path().join("prometheus"));
    fs::write(&file, &text).expect("an own directory");
    let mut tool = Command::new("promtool");
    tool.args(["tsdb", "create-blocks-from", "openmetrics", "--quiet"]).args([&file, &data]);
    let output = tool.output().expect("promtool is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (_server, address) = serve(cluster.path(), "scrape_configs: []\n");
    let at_the_end = |query: &str| first_value(&address, &format!("{query}&time={last_s}"));
    for node in ["n1", "n2", "n3"] {
        let samples = format!("count_over_time(tidings_node_up%7Bnode=%22{node}%22%7D[1d])");
        let samples = cluster.until("the server has read its store", |_| at_the_end(&samples));
        // A range leaves out its beginning.
        assert!(samples >= (SCRAPES - 1) as f64, "{node}: {samples}");
    }
    let alive = at_the_end("min_over_time(tidings_nodes%7Bstate=%22alive%22%7D[1d])");
    assert!(alive.is_some_and(|alive| alive > 2.5), "{alive:?}");
    let series = text.lines().count() as f64 / SCRAPES as f64;
    let bytes = bytes_below(&data) as f64;
    println!("{series} series, {} bytes a sample", bytes / series / SCRAPES as f64);
}

/// The bytes of all files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable"));
    entries
        .map(|entry| match entry.metadata().expect("it is there") {
            about if about.is_dir() => bytes_below(&entry.path()),
            about => about.len(),
        })
        .sum()
}
