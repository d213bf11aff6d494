//! On which cores an agent runs, and with which priority, as the kernel reports.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity};
use tidings_experiment::agents::Cluster;

/// Fields of /proc/PID/stat behind the name in parentheses, from `state`, the third, on.
const NICENESS_AT: usize = 16;
const POLICY_AT: usize = 38;
/// As sched(7) numbers them.
const SCHED_OTHER: &str = "0";
const SCHED_IDLE: &str = "5";

/// The cores that this test, and so its agents, may use.
fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).expect("a running thread has cores");
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

/// The kernel's view of each thread of the agent `name`: cores, policy, niceness.
fn threads(cluster: &Cluster, name: &str) -> Vec<(String, String, String)> {
    let tasks = format!("/proc/{}/task", cluster.agent(name).status().pid);
    let tasks = fs::read_dir(tasks).expect("it runs").filter_map(Result::ok);
    let read = |task: fs::DirEntry| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |at: usize| fields[at].to_owned();
        Some((cores.trim().to_owned(), field(POLICY_AT), field(NICENESS_AT)))
    };
    tasks.filter_map(read).collect()
}

#[test]
fn an_agent_runs_on_its_cores_and_with_its_priority() {
    let mut cluster = Cluster::new();
    let (all, last) = (allowed(), allowed().last().expect("there is a core").to_string());
    cluster.start("n1", &["--service-core", "last", "--priority", "idle"]);
    let first = all[0].to_string();
    cluster.join("n2", "n1", &["--service-core", &first, "--priority", "low"]);
    cluster.join("n3", "n1", &[]);
    cluster.until_known(&["n1", "n2", "n3"], 3);
    for (name, cores, policy, niceness) in
        [("n1", Some(&last), SCHED_IDLE, None), ("n2", Some(&first), SCHED_OTHER, Some("10"))]
    {
        let threads = threads(&cluster, name);
        assert!(!threads.is_empty());
        for (its_cores, its_policy, its_niceness) in threads {
            assert_eq!((Some(&its_cores), its_policy.as_str()), (cores, policy), "{name}");
            assert_eq!(niceness.unwrap_or(&its_niceness), its_niceness, "{name}");
        }
    }
    let own = fs::read_to_string("/proc/self/status").expect("Linux");
    let own = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    for (its_cores, policy, _) in threads(&cluster, "n3") {
        assert_eq!((Some(its_cores.as_str()), policy.as_str()), (own.map(str::trim), SCHED_OTHER));
    }
}

#[test]
fn a_core_that_cannot_be_used_is_rejected_with_those_that_can() {
    let cluster = Cluster::new();
    let online = fs::read_to_string("/sys/devices/system/cpu/online").expect("Linux");
    for check in [&[][..], &["--check"]] {
        let flags = [&["--service-core", "1023"], check].concat();
        let output = cluster.refused("n1", &flags);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let expected = format!(
            "tidings-agent: service_core: core 1023 does not exist here: this machine has {}",
            online.trim()
        );
        assert_eq!((output.status.code(), said.trim()), (Some(2), expected.as_str()));
    }
    let output = cluster.refused("n1", &["--priority", "high"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--priority high: no such priority; allowed is normal, low or idle"));
}
