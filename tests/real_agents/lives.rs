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
        // n1 may still hold the life that ended, so n2 itself is asked as well.
        cluster.until(&format!("the {life} life of n2 is well and knows n1"), |cluster| {
            let status = cluster.agent("n2").status();
            (status.ill.is_none() && status.members == 2).then_some(())
        });
        if life == "first" {
            let warned = |line: &String| line.contains("lies more than two years ahead");
            assert!(cluster.agent("n2").log().iter().any(warned));
            cluster.agent("n2").signal(Signal::KILL);
            assert_eq!(cluster.end("n2"), None);
        }
    }
}

/// The clock of the first start stands behind all incarnations that there are.
#[test]
fn a_start_that_has_no_incarnation_left_is_refused() {
    let cluster = Cluster::new();
    let place = ["faketime", "-f", "2070-01-01 00:00:00"].map(str::to_owned);
    let output = cluster.command_on(&place, "n1", &[]).output().expect("faketime is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("clock"), "{said}");
}

#[test]
fn a_full_cluster_says_so_on_both_sides_until_a_dead_member_gives_way() {
    let mut cluster = Cluster::new();
    let room = ["--max-nodes", "3"];
    cluster.start("n1", &room);
    cluster.join("n2", "n1", &room);
    cluster.join("n3", "n1", &room);
    cluster.until_known(&["n1", "n2", "n3"], 3);
    cluster.join("n4", "n1", &room);
    cluster.until("n1 has logged that there is no room", |cluster| {
        let said = "no room for this node: all max_nodes members live";
        cluster.agent("n1").log().iter().any(|line| line.contains(said)).then_some(())
    });
    cluster.until("n4 says why it is alone", |cluster| {
        let ill = cluster.agent("n4").status().ill?;
        ill.contains("max_nodes").then_some(())
    });
    cluster.agent("n3").signal(Signal::KILL);
    cluster.end("n3");
    cluster.until("n4 has taken the place", |cluster| {
        let node = cluster.agent("n1").node("n4")?;
        (node.state == State::Alive).then_some(())
    });
    cluster.until("n4 is well", |cluster| cluster.agent("n4").status().ill.is_none().then_some(()));
}
