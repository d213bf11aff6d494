//! The first day with the package, on three hosts that are set up by the commands of the guide:
//! users read, a wrong key is named on both sides and put right by a reload, and a Prometheus on
//! another host, set up as the guide says, alerts on a killed node.

use std::process::Output;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tidings_experiment::hosts::Hosts;
use tidings_tests::page::blocks;

use crate::machine::{Machine, until};
use crate::package;
use crate::service::OTHER;

const HOSTS: usize = 3;
const UNIT: &str = "tidings-agent";
const KEYS: &str = "/etc/tidings/cluster.key";
const RULES: &str = "/usr/share/doc/tidings/examples/prometheus/tidings-alerts.yml";

/// The command of the guide to Debian that begins with these words.
fn command(words: &str) -> &'static str {
    let guide = include_str!("../../docs/guides/debian.md");
    let lines = blocks(guide, "console").into_iter().flat_map(str::lines);
    let mut commands = lines.filter_map(|line| line.strip_prefix("$ "));
    let command = commands.find(|command| command.starts_with(words));
    command.unwrap_or_else(|| panic!("the guide has no command {words}"))
}

/// Installs the package on a host, and starts its service with these keys, or with a new one, as
/// the guide says.
fn install(hosts: &Hosts, host: usize, keys: Option<&str>) -> Machine {
    let machine = Machine::boot(hosts, host);
    machine.text(&["dpkg", "--install", &machine.share(package())]);
    let obey = |words: &str| machine.text(&["sh", "-c", command(words)]);
    match keys {
        Some(keys) => machine.write(KEYS, keys),
        None => drop(obey("tidings keys generate")),
    }
    assert_eq!(machine.text(&["stat", "-c", "%U %a", KEYS]), "root 600\n");
    let shipped = machine.text(&["cat", "/etc/tidings/agent.toml"]);
    assert!(shipped.contains(command("tidings agent")), "the file says another: {shipped}");
    // Two, so that each of them finds the other when it starts again.
    let seeds = [1, 2].map(|host| format!("\"{}:9616\"", Hosts::address(host)));
    let seed = format!("seed = [{}]\n", seeds.join(", "));
    machine.write("/shared/agent.toml", &format!("name = \"h{host}\"\n{seed}"));
    machine.text(&["install", "-m", "644", "/shared/agent.toml", "/etc/tidings/agent.toml"]);
    obey("tidings agent");
    obey("systemctl enable");
    assert!(obey("tidings status").contains(&format!("h{host}")));
    machine
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Waits until `tidings health` of a host has all of these words.
fn until_health_says(machine: &Machine, words: &[&str]) -> Output {
    until(&format!("health has {words:?}"), || {
        let output = machine.run(&["tidings", "health"]);
        let text = said(&output);
        words.iter().all(|word| text.contains(word)).then_some(output)
    })
}

/// Waits until as many nodes are alive for a host.
fn until_alive(machine: &Machine, count: usize) {
    until(&format!("{count} are alive"), || {
        let output = machine.run(&["tidings", "status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (status["states"]["alive"] == count).then_some(())
    });
}

#[test]
fn users_read_a_wrong_key_is_named_and_a_killed_node_is_an_alert() {
    let hosts = Hosts::new(HOSTS);
    let one = install(&hosts, 1, None);
    let keys = one.text(&["cat", KEYS]);
    let two = install(&hosts, 2, Some(&keys));
    let three = install(&hosts, 3, Some(OTHER));
    until_alive(&one, 2);

    // Every user reads; only the operator's group changes anything.
    let nobody = ["runuser", "-u", "nobody", "--", "tidings"];
    let names = one.text(&[&nobody[..], &["nodes", "--columns", "name"]].concat());
    assert_eq!(names, "name\nh1\nh2\n");
    one.text(&[&nobody[..], &["pick", "-n", "1"]].concat());
    let refused = one.run(&[&nobody[..], &["publish", "a=1"]].concat());
    assert!(!refused.status.success(), "{}", said(&refused));
    members_of_the_group_publish(&one, &two);

    // Each side names the other, and what differs.
    until_health_says(&one, &[&Hosts::address(3), "key"]);
    let ill = until_health_says(&three, &[&Hosts::address(1), "key", "alone"]);
    assert_eq!(ill.status.code(), Some(1), "{}", said(&ill));
    three.write(KEYS, &keys);
    three.text(&["systemctl", "reload", UNIT]);
    until_alive(&one, HOSTS);
    until("it is well", || three.run(&["tidings", "health"]).status.success().then_some(()));

    let fired_after = alert(&one, &two, &three);
    println!("the alert fired {fired_after:.2} s after the kill, scraped once a second");
}

/// A user publishes on `one` once she is in the group, as the guide says, and `two` reads it.
fn members_of_the_group_publish(one: &Machine, two: &Machine) {
    one.text(&["useradd", "alice"]);
    let publish = ["runuser", "-u", "alice", "--", "tidings", "publish", "a=1"];
    let refused = one.run(&publish);
    assert!(said(&refused).contains("group"), "{}", said(&refused));
    let join = "adduser alice tidings";
    assert!(include_str!("../../docs/guides/debian.md").contains(&format!("(`{join}`)")));
    one.text(&["sh", "-c", join]);
    one.text(&publish);
    until("another node reads what she published", || {
        let names = two.run(&["tidings", "nodes", "--where", "user.a == 1", "--columns", "name"]);
        (names.stdout == b"name\nh1\n").then_some(())
    });
}

/// The blocks of the guide in this language, from its heading on.
fn guided(language: &str, heading: &str) -> Vec<&'static str> {
    let guide = include_str!("../../docs/guides/monitoring.md");
    let (_, part) = guide.split_once(heading).expect("the guide has this heading");
    blocks(part, language)
}

/// Has the agent of `machine` answer scrapes of other machines, as the guide says.
fn open_to_scrapes(machine: &Machine) {
    let heading = "## From another machine";
    machine.text(&["sh", "-c", guided("sh", heading)[0]]);
    let settings = guided("toml", heading)[0].replace("10.0.0.7", &Hosts::address(1));
    machine.write("/shared/more.toml", &settings);
    machine.text(&["sh", "-c", "cat /shared/more.toml >>/etc/tidings/agent.toml"]);
    machine.text(&["systemctl", "restart", UNIT]);
}

/// The settings of the server, as the guide shows them.
fn settings() -> String {
    let rules = "rule_files: [/etc/prometheus/tidings-alerts.yml]\n";
    let scrape = guided("yaml", "## From another machine")[0];
    assert!(
        guided("yaml", "## Scraping")[0].contains(rules)
            && guided("sh", "## Alerts")[0].contains(RULES)
    );
    let scrape = scrape.replace("10.0.0.7", &Hosts::address(1));
    let pace = "global: {scrape_interval: 1s, evaluation_interval: 1s}\n";
    format!("{rules}{pace}scrape_configs:\n{scrape}")
}

/// Has `one` watched by a Prometheus on `other`, kills the agent of `two`, and returns the seconds
/// until the alert fired.
fn alert(one: &Machine, two: &Machine, other: &Machine) -> f64 {
    open_to_scrapes(one);
    until_alive(other, HOSTS);
    other.text(&["install", "-D", "-m", "644", RULES, "/etc/prometheus/tidings-alerts.yml"]);
    let token = one.text(&["cat", "/etc/tidings/scrape-token"]);
    other.write("/etc/prometheus/tidings-token", &token);
    other.write("/shared/prometheus.yml", &settings());
    let server = ["systemd-run", "--unit=prometheus-test", "prometheus"];
    let flags = ["--config.file=/shared/prometheus.yml", "--storage.tsdb.path=/tmp/prometheus"];
    other.text(&[&server[..], &flags, &["--web.listen-address=127.0.0.1:9090"]].concat());
    let value = |query: &str| {
        let ask = ["promtool", "query", "instant", "http://127.0.0.1:9090", query];
        let output = other.run(&ask);
        // `{labels} => value @[time]`
        let text = String::from_utf8(output.stdout).ok()?;
        text.rsplit_once("=> ")?.1.split(' ').next()?.parse::<f64>().ok()
    };
    until("Prometheus sees three nodes", || {
        value("tidings_nodes{state=\"alive\"}").filter(|alive| *alive > 2.5)
    });
    // Else systemd would start it again before anybody has noticed.
    two.write("/etc/systemd/system/tidings-agent.service.d/stay.conf", "[Service]\nRestart=no\n");
    two.text(&["systemctl", "daemon-reload"]);
    let killed_s = wall_s();
    two.text(&["systemctl", "kill", "--signal=KILL", UNIT]);
    let firing = "min_over_time(timestamp(ALERTS{alertname=\"TidingsNodeDead\", node=\"h2\", \
                  alertstate=\"firing\"})[60s:100ms])";
    until("the alert fires", || value(firing)) - killed_s
}

fn wall_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs_f64()
}
