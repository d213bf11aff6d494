//! "Am I in the cluster?": agents that are alone say so, and both sides of a mismatch name it.

use std::net::UdpSocket;
use std::process::{Command, Output};

use tidings_control::{Checkup, Verdict};
use tidings_experiment::agents::{Cluster, programs};

use super::KEYS;
use super::pages::page;

/// `tidings` for the agent of this name.
pub(crate) fn tidings(cluster: &Cluster, name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(programs().join("tidings"));
    command.arg("--runtime-dir").arg(cluster.agent(name).runtime_dir()).args(arguments);
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// Waits until `tidings health` ends with this code and says what is looked for. On a loaded
/// machine rounds may be late, which it says before all else.
pub(crate) fn until_health(
    cluster: &Cluster,
    name: &str,
    code: i32,
    is_said: impl Fn(&str) -> bool,
) {
    cluster.until(&format!("the health of {name} is {code}, with its reason"), |cluster| {
        let (ended, said) = tidings(cluster, name, &["health"]);
        (ended == Some(code) && is_said(&said)).then_some(())
    });
}

fn until_logged(cluster: &Cluster, name: &str, text: &str) {
    cluster.until(&format!("{name} logs {text:?}"), |cluster| {
        cluster.agent(name).log().iter().any(|line| line.contains(text)).then_some(())
    });
}

/// Two agents with a key, and one each that differs in one thing.
fn with_strangers() -> Cluster {
    let mut cluster = Cluster::new();
    let keys = [cluster.write("key", KEYS[0]), cluster.write("strange", KEYS[1])];
    cluster.start("n1", &["--keys", &keys[0]]);
    cluster.join("n2", "n1", &["--keys", &keys[0]]);
    cluster.join("other-key", "n1", &["--keys", &keys[1]]);
    cluster.join("other-cluster", "n1", &["--keys", &keys[0], "--cluster", "other"]);
    cluster.join("other-size", "n1", &["--keys", &keys[0], "--payload-bytes", "128"]);
    cluster.until_known(&["n1", "n2"], 2);
    cluster
}

#[test]
fn a_mismatch_is_named_by_health_and_log_on_both_sides() {
    let cluster = with_strangers();
    for (stranger, why) in [
        ("other-key", "does not have the key that this node seals with"),
        ("other-cluster", "it is of another cluster or colony"),
        ("other-size", "its payloads have another size"),
    ] {
        until_logged(&cluster, stranger, why);
        let reason = cluster.until(&format!("{stranger} is alone"), |cluster| {
            cluster.agent(stranger).status().ill.filter(|ill| ill.starts_with("alone: "))
        });
        let n1 = cluster.agent("n1").status().address;
        assert!(reason.contains(&format!("{n1} drops")) && reason.contains(why), "{reason}");
        until_health(&cluster, stranger, 1, |said| said.contains(why));
        let status = cluster.agent(stranger).status();
        assert_eq!((status.alone, status.expected, status.states.alive), (true, Some(2), 1));
    }
    for (stranger, why) in [
        ("other-key", "are sealed with a key that this node does not have"),
        ("other-cluster", "are of another cluster or colony"),
        ("other-size", "their payloads are not of "),
    ] {
        until_logged(&cluster, "n1", why);
        let address = cluster.agent(stranger).status().address;
        let named = |line: &str| line.contains(&address) && line.contains(why);
        // Others' faults are no illness.
        until_health(&cluster, "n1", 0, |said| said.contains("ok\n") && said.lines().any(named));
    }
    let (_, said) = tidings(&cluster, "n1", &["status"]);
    assert!(said.contains("2 alive") && said.lines().any(|l| l.starts_with("mismatch ")), "{said}");
}

#[test]
fn metrics_count_mismatches_and_states() {
    let mut cluster = Cluster::new();
    let keys = [cluster.write("key", KEYS[0]), cluster.write("strange", KEYS[1])];
    cluster.start("n1", &["--keys", &keys[0], "--http", "127.0.0.1:0"]);
    cluster.join("n2", "n1", &["--keys", &keys[1]]);
    let http = cluster.agent("n1").status().http.expect("it is on");
    let text = cluster.until("the mismatch is counted", |_| {
        let (_, text) = page(&http, "/metrics");
        text.contains("tidings_mismatch_datagrams_total{").then_some(text)
    });
    let address = cluster.agent("n2").status().address;
    let labels = format!("address=\"{address}\",difference=\"key\",dropped=\"here\"");
    assert!(text.contains(&labels), "{text}");
    for line in ["tidings_alone 0", "tidings_members_by_state{state=\"alive\"} 1"] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[test]
fn below_min_members_an_agent_is_ill() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--min-members", "2"]);
    let ill = |cluster: &Cluster| cluster.agent("n1").status().ill;
    cluster.until("n1 is alone", |cluster| ill(cluster).filter(|ill| ill.starts_with("alone: ")));
    cluster.join("n2", "n1", &["--min-members", "3"]);
    cluster.until("n1 is well", |cluster| ill(cluster).is_none().then_some(()));
    cluster.until("n2 has too few", |cluster| {
        let ill = cluster.agent("n2").status().ill?;
        ill.contains("2 nodes are alive here, and min_members is 3").then_some(())
    });
    until_logged(&cluster, "n1", "this node is among others again");
}

/// Without seeds only its last life can say that a node should not be alone.
#[test]
fn the_last_life_says_how_many_there_were() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.until("n1 has written how many there are", |cluster| {
        let file = cluster.agent("n1").runtime_dir().join("members");
        (std::fs::read_to_string(file).ok()? == "2\n").then_some(())
    });
    cluster.stop("n2");
    cluster.stop("n1");
    cluster.start("n1", &[]);
    assert_eq!(cluster.agent("n1").status().expected, Some(2));
    cluster.until("n1 is alone", |cluster| cluster.agent("n1").status().alone.then_some(()));
}

#[test]
fn names_that_do_not_resolve_stop_nothing() {
    let mut cluster = Cluster::new();
    let one = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = one.local_addr().expect("bound").to_string();
    drop(one);
    let roster = cluster.write("roster", &format!("n1={address}\nn2.invalid\n"));
    let flags = ["--roster", &roster, "--listen", &address];
    let checked = cluster.refused("n1", &[&flags[..], &["--check"]].concat());
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success(), "{said}");
    assert!(said.contains("note: 1 of the roster's names cannot be resolved: n2.invalid ("));
    cluster.start("n1", &flags);
    until_logged(&cluster, "n1", "1 of the roster's names cannot be resolved: n2.invalid (");
    let status = cluster.agent("n1").status();
    assert_eq!((status.members, status.unresolved, status.expected), (2, 1, Some(2)));
    cluster.until("nothing is sent to nowhere", |cluster| {
        (cluster.agent("n1").counter("socket_send_nowhere") > 0).then_some(())
    });
    assert_eq!(cluster.agent("n1").counter("socket_send_failed"), 0);
    cluster.until("it says that it is alone, and why", |cluster| {
        let ill = cluster.agent("n1").status().ill?;
        ill.contains("1 names cannot be resolved").then_some(())
    });
}

/// The findings of `tidings doctor peer`, by what they are of, and its exit code.
fn checkup(cluster: &Cluster, from: &str, host: &str) -> (Option<i32>, Checkup) {
    let (code, said) = tidings(cluster, from, &["doctor", "peer", host, "--json"]);
    let json = said.rsplit_once('}').map_or("", |(json, _)| json).to_owned() + "}";
    (code, serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {said}")))
}

fn verdict(checkup: &Checkup, of: &str) -> Option<Verdict> {
    let finding = checkup.findings.iter().find(|finding| finding.of == of)?;
    Some(finding.verdict)
}

#[test]
fn doctor_peer_names_what_is_in_the_way() {
    let cluster = with_strangers();
    let (code, well) = checkup(&cluster, "n1", "n2");
    assert!(well.is_clear() && code == Some(0), "{well:?}");
    for of in ["port", "key", "cluster", "version", "payload", "clock", "membership", "mtu"] {
        assert_eq!(verdict(&well, of), Some(Verdict::Ok), "{of}: {well:?}");
    }
    for (stranger, of) in
        [("other-key", "key"), ("other-cluster", "cluster"), ("other-size", "payload")]
    {
        let address = cluster.agent(stranger).status().address;
        let (code, checkup) = checkup(&cluster, "n1", &address);
        assert_eq!((verdict(&checkup, of), code), (Some(Verdict::Wrong), Some(1)), "{checkup:?}");
        assert_eq!(verdict(&checkup, "port"), Some(Verdict::Ok), "{checkup:?}");
    }
    let closed = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("bound").to_string();
    drop(closed);
    let (code, shut) = checkup(&cluster, "n1", &address);
    assert_eq!((verdict(&shut, "port"), code), (Some(Verdict::Wrong), Some(1)), "{shut:?}");
    let (_, unknown) = checkup(&cluster, "n1", "nobody.invalid");
    assert_eq!(verdict(&unknown, "address"), Some(Verdict::Wrong), "{unknown:?}");
    let own = cluster.agent("n1").status().address;
    let (_, itself) = checkup(&cluster, "n1", &own);
    assert!(itself.findings[0].text.contains("this node itself"), "{itself:?}");
    let (_, said) = tidings(&cluster, "n1", &["doctor", "peer", "n2"]);
    assert!(said.starts_with("ok  port "), "{said}");
}
