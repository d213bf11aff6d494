//! The agent's memory on pages of 2 MiB, as the kernel reports.

use std::fs;

use tidings_experiment::agents::Cluster;

/// KiB of a process that are on large pages, by /proc/PID/smaps_rollup.
fn large_kib(pid: u32) -> u64 {
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("it runs");
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name == "AnonHugePages").then(|| value.trim().strip_suffix(" kB")?.parse().ok())?
    };
    smaps.lines().find_map(value).expect("the kernel counts them")
}

/// The value of a field in the line of the log that speaks of the vector.
fn logged(cluster: &Cluster, field: &str) -> Option<u64> {
    let log = cluster.agent("n1").log();
    let line = log.iter().find(|line| line.contains("large_pages: the vector"))?;
    let value = line.split(&format!("{field}=")).nth(1)?;
    value.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn a_vector_of_many_nodes_lies_on_large_pages_where_the_kernel_has_them() {
    let mut cluster = Cluster::new();
    let many = ["--payload-bytes", "1024", "--max-nodes", "8192"];
    cluster.start("n1", &[&many[..], &["--large-pages", "true"]].concat());
    cluster.join("n2", "n1", &many);
    cluster.until_known(&["n1", "n2"], 2);
    let [resident, large] = cluster.until("the log says what the kernel gave", |cluster| {
        Some([logged(cluster, "resident_kib")?, logged(cluster, "large_kib")?])
    });
    assert!(
        resident >= 6 << 10,
        "of 8 MiB at least three pages lie in the array whole: {resident}"
    );
    let seen = large_kib(cluster.agent("n1").status().pid);
    assert_eq!(seen > 0, large > 0, "the log says {large} KiB, the kernel {seen}");
    // A kernel that never gives large pages gives none; this one may, if it has one left.
    let has = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    assert!(large == 0 || has.is_ok_and(|has| !has.contains("[never]")), "{large} KiB of none");
    assert_eq!(large_kib(cluster.agent("n2").status().pid), 0, "n2 did not ask for them");
    assert!(cluster.agent("n2").log().iter().all(|line| !line.contains("large_pages")));
}
