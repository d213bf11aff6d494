//! Runs of `tidings-scaling` as jobs of Slurm, as in docs/reference/scaling.md.
//!
//! Runs are stopped while jobs wait in the queue, and continue with the same jobs; one that is
//! cancelled is named, and submitted again.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tidings_experiment::agents::programs;

use crate::daemons::Slurm;

const SPECIFICATION: &str = r#"
[[run]]
function = "ranks"
launcher = "slurm"
launch = "sbatch --partition=all"
command = "sh -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS, size {size}'"
value = "^rank 0 of ([0-9]+)"
sizes = [1, 2]
repetitions = 2
at_once = 3
output = "results/ranks.jsonl"

[[run]]
function = "blocks"
launcher = "slurm"
tasks = 1
command = "python3 -S -c 'kept = bytes({size} << 20)'"
counter = "heap"
sizes = [4, 8]
repetitions = 1
output = "results/blocks.jsonl"
"#;

#[test]
fn runs_are_jobs_that_outlive_their_submitter() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let slurm = Slurm::start(directory.path(), &["n1"], "", Path::new("/nowhere"));
    fs::write(directory.path().join("scaling.toml"), SPECIFICATION).expect("ours");
    slurm.says("until sinfo --noheader --format=%T | grep -q idle; do :; done");
    slurm.says("scontrol update NodeName=n1 State=DRAIN Reason=later");
    a_cancelled_job_is_named(&slurm, directory.path());
    slurm.says("scontrol update NodeName=n1 State=RESUME");
    let said = run(&slurm);
    assert!(said.status.success(), "{said:?}\n{}", slurm.logs());
    let found = values(&directory.path().join("results/ranks.jsonl"));
    let mut sizes: Vec<_> =
        found.iter().map(|(size, value)| (*size as u32, *value as u32)).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [(1, 1), (1, 1), (2, 2), (2, 2)]);
    for (mib, bytes) in values(&directory.path().join("results/blocks.jsonl")) {
        let expected = mib * 1_048_576.0;
        assert!(bytes > expected && bytes < expected + 2e6, "{mib} MiB: {bytes}");
    }
    // Each of the jobs that were in the queue was used, but the one that was cancelled: 4 + 1 + 2.
    assert_eq!(slurm.says("sbatch --parsable --wrap=true"), "8");
}

/// Three jobs wait in the queue when their runs are stopped, because one of them is cancelled.
fn a_cancelled_job_is_named(slurm: &Slurm, directory: &Path) {
    let mut command = campaign(slurm);
    let campaign = command.spawn().expect("there is a Python");
    slurm.says("until squeue --noheader | grep -c ranks | grep -q 3; do :; done");
    slurm.says("scancel 2");
    let ended = campaign.wait_with_output().expect("an own child");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("job 2 (ranks-time-2-0) is CANCELLED, without a result"), "{said}");
    assert!(!directory.join("results/ranks.jsonl").metadata().is_ok_and(|file| file.len() > 0));
}

fn run(slurm: &Slurm) -> Output {
    campaign(slurm).output().expect("there is a Python")
}

fn campaign(slurm: &Slurm) -> Command {
    let python = programs().parent().expect("a folder of target").join("python/bin/python");
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("ours").join("python");
    let mut command = slurm.command(&python.display().to_string());
    command.args(["-m", "tidings.scaling", "run"]).env("PYTHONPATH", package);
    command
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HOME", std::env::var("HOME").unwrap_or_default());
    command.stderr(std::process::Stdio::piped());
    command
}

/// Sizes and values of the rows in a file.
fn values(file: &Path) -> Vec<(f64, f64)> {
    let text = fs::read_to_string(file).expect("it was written");
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row"));
    rows.map(|row| (row["size"].as_f64().expect("a size"), row["value"].as_f64().expect("a value")))
        .collect()
}
