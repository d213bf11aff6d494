//! Incarnations that cannot be: what is left of a wrong clock locks no node out.

use std::fs;

use rustix::process::Signal;
use tidings_control::State;
use tidings_experiment::agents::Cluster;

/// The last but one incarnation that there is.
const LATE: u32 = 16_777_214;

#[test]
fn an_incarnation_of_a_wrong_clock_locks_nobody_out() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let home = cluster.path().join("n2");
    fs::create_dir(&home).expect("the cluster's folder is writable");
    fs::write(home.join("incarnation"), format!("{LATE}\n")).expect("a new folder is writable");
    for life in ["first", "second"] {
        cluster.join("n2", "n1", &[]);
        let held = cluster.until(&format!("n1 holds the {life} life of n2"), |cluster| {
            cluster.agent("n1").node("n2").filter(|node| node.state == State::Alive)
        });
        assert!(held.incarnation < LATE, "{life}: {held:?}");
        let status = cluster.until("n2 is well", |cluster| {
            Some(cluster.agent("n2").status()).filter(|status| status.ill.is_none())
        });
        assert_eq!(status.members, 2, "{life}");
        if life == "first" {
            let warned = |line: &String| line.contains("lies more than two years ahead");
            assert!(cluster.agent("n2").log().iter().any(warned));
            cluster.agent("n2").signal(Signal::KILL);
            assert_eq!(cluster.end("n2"), None);
        }
    }
}
