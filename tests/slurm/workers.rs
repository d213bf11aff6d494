//! Workers of tasks in a batch job: the guide's section on tasks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Stdio};

use tempfile::TempDir;
use tidings_experiment::agents::programs;

use crate::daemons::{Slurm, free_ports};
use crate::{NODES, command};

/// What the guide's run calls: it says on which node.
const PROGRAM: &str = "#!/bin/sh\necho \"$SLURMD_NODENAME $1\"\n";

/// A run that goes on in the background; it is killed if the test ends before it does.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Both nodes, and a folder that they share, with files for the guide's run.
fn nodes(folder: &Path) -> Slurm {
    let mut slurm = Slurm::start(folder, &NODES, "", programs());
    slurm.until_idle();
    let here = folder.display();
    for (name, value) in [
        ("HOME", here.to_string()),
        ("TIDINGS_STORE", format!("file:{here}/store")),
        ("TIDINGS_RUNTIME_DIR", format!("{here}/runtime")),
    ] {
        slurm.set(name, &value);
    }
    fs::write(folder.join("sim"), PROGRAM).expect("ours");
    fs::set_permissions(folder.join("sim"), fs::Permissions::from_mode(0o755)).expect("ours");
    fs::create_dir(folder.join("in")).expect("ours");
    for number in 0..8 {
        fs::write(folder.join(format!("in/{number}.dat")), "").expect("ours");
    }
    slurm
}

/// The guide's command, at this address and on as many nodes as there are.
fn adapted(words: &str, port: u16) -> String {
    let line = command(words);
    let at = line.replace("0.0.0.0:9700", &format!("127.0.0.1:{port}"));
    at.replace("login:9700", &format!("127.0.0.1:{port}")).replace("--nodes=4", "--nodes=2")
}

#[test]
fn workers_in_a_job_do_the_tasks_of_a_run() {
    let folder = TempDir::new().expect("there is room for temporary files");
    let slurm = nodes(folder.path());
    let port = free_ports(1)[0];
    slurm.says(&adapted("keys generate", port));
    let line = adapted("tidings run", port);
    let line = line.strip_suffix(" &").expect("the guide starts it in the background");
    let mut waiting = slurm.command("sh");
    waiting.args(["-c", &format!("exec {line}")]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = Run(waiting.spawn().expect("there is sh"));
    let job = slurm.says(&adapted("workers.sh", port));
    let job = job.strip_prefix("Submitted batch job ").expect("a number").to_owned();
    let printed = std::io::read_to_string(run.0.stdout.take().expect("a pipe")).expect("text");
    let said = std::io::read_to_string(run.0.stderr.take().expect("a pipe")).expect("text");
    assert!(run.0.wait().expect("our child").success(), "{said}\n{}", slurm.logs());
    let mut files = Vec::new();
    for line in printed.lines() {
        let (node, file) = line.split_once(' ').expect("two words");
        assert!(NODES.contains(&node), "{line}");
        files.push(file.to_owned());
    }
    files.sort();
    assert_eq!(files, [0, 1, 2, 3, 4, 5, 6, 7].map(|number| format!("in/{number}.dat")));
    // Workers that nobody uses end with their job.
    slurm.says(&format!("scancel {job}"));
    slurm.says("until [ -z \"$(squeue --noheader)\" ]; do :; done");
}
