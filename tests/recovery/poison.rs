//! A task that takes its whole host along each time it is tried, with all that the host has in
//! hand: it is stopped, no other task is, and one command has it tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::account::names;
use crate::cluster::Cluster;
use crate::gates::Gates;
use crate::host::{self, Fault};
use crate::run::{Run, Word};
use crate::site::{Site, WORKERS};

/// The task that does harm is the first, as long as it is not cured. The others wait until those of
/// their host are let go.
const TASK: &str = "\
echo \"$1 $TIDINGS_ATTEMPT $HOST\" >> ran
echo \"$HOST $1\" > began
if [ $1 = 100 ]; then
    [ -e cured ] || sleep 1000
else
    read _ < gate.$HOST
fi
echo \"result $1 $TIDINGS_ATTEMPT\"
";

const POISON: &str = "100";

/// The host on which the poison begins next.
fn next_host(gates: &mut Gates) -> usize {
    loop {
        let (host, task) = gates.next();
        if task == POISON {
            return host;
        }
    }
}

/// What a run says of each task, and its exit code.
fn all_of(cluster: &Cluster<'_>, mut run: Run) -> (BTreeMap<String, Value>, i32) {
    let mut all = BTreeMap::new();
    loop {
        match run.next(crate::cluster::PATIENCE) {
            Word::Ended(task) => {
                all.insert(task["arguments"][0].as_str().unwrap().to_owned(), task);
            }
            Word::Nothing => cluster.despair("a task ends"),
            Word::Over => return (all, run.end()),
        }
    }
}

fn is_stopped(fault: Fault) {
    let mut site = Site::of_file();
    let mut cluster = Cluster::new(&mut site, "poison");
    let mut gates = Gates::of(&cluster);
    cluster.place.script("task", TASK);
    let names = names(12);
    let run = cluster.run(&names);
    // All other slots are taken until one host at a time lets its tasks go: there goes the poison
    // next, and what it has taken along would go with it.
    let (mut struck, mut host) = (Vec::new(), next_host(&mut gates));
    loop {
        assert!(cluster.strike(host, fault));
        struck.push(host::name(host));
        if struck.len() == 3 {
            break;
        }
        let next = *WORKERS.iter().find(|one| !struck.contains(&host::name(**one))).unwrap();
        gates.open(next);
        host = next_host(&mut gates);
    }
    for host in WORKERS {
        cluster.mend(host);
    }
    gates.open_all();
    let (all, code) = all_of(&cluster, run);
    assert_eq!(code, 5, "a task has failed");
    for name in &names {
        let outcome = if name == POISON { "failed" } else { "done" };
        assert_eq!(all[name]["outcome"], outcome, "{}", all[name]);
    }
    let failures = all[POISON]["failures"].as_array().unwrap();
    assert!(failures.iter().all(|failure| failure["cause"] == "lost"), "{failures:?}");
    let hosts: Vec<&str> = failures.iter().map(|one| one["host"].as_str().unwrap()).collect();
    assert_eq!(hosts, struck);
    assert!(hosts.iter().collect::<BTreeSet<_>>().len() > 1, "{hosts:?}");
    let taken_along = all.values().filter(|task| task["attempts"] != 1).count() - 1;
    println!("{taken_along} others were taken along");

    fs::write(cluster.place.path("cured"), "").unwrap();
    let id = all[POISON]["task"].as_str().unwrap();
    let retry = cluster.tidings(crate::site::CLIENT, &["task", "retry", id]).output().unwrap();
    assert!(retry.status.success(), "{}", String::from_utf8_lossy(&retry.stderr));
    let again = cluster.run(&names);
    let (all, code) = all_of(&cluster, again);
    assert_eq!((code, &all[POISON]["outcome"]), (0, &Value::from("done")), "{}", all[POISON]);
}

#[test]
fn poison_that_kills_its_host_is_stopped_and_others_are_done() {
    is_stopped(Fault::Killed);
}

#[test]
fn poison_that_cuts_the_power_of_its_host_is_stopped_and_others_are_done() {
    is_stopped(Fault::Dark);
}
