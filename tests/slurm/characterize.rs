//! A characterisation with backend `slurm`: each run is a job step on both nodes; one whose node
//! dies fails, and the same command goes on when the node is back.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tidings_experiment::agents::programs;
use tidings_experiment::mpi::{Mpi, said};

use crate::NODES;
use crate::daemons::Slurm;

/// Two runs of a script that waits where there is no file `gate`, and then measures.
fn lay_series(folder: &Path) {
    let program = Mpi::Open.characterize();
    let gated = format!(
        "#!/bin/sh\n[ -e {} ] || exec sleep 100000\nexec {} \"$@\"\n",
        folder.join("gate").display(),
        program.display()
    );
    fs::write(folder.join("gated.sh"), gated).expect("ours");
    let text = format!(
        "name = \"jobs\"\nlimit_s = 300.0\n[[machines]]\nname = \"cluster\"\n\
         backend = {{ kind = \"slurm\", mpi = \"openmpi\" }}\n[[programs]]\nname = \"pair\"\n\
         machines = [\"cluster\"]\nnodes = [2]\n\
         command = [\"sh\", \"{}\", \"--test\", \"pair\", \"--test\", \"hops\", \
         \"--repetitions\", \"4\", \"--factor\", \"1024\", \"--largest\", \"1024\", \
         \"--beyond-cache\", \"0\", \"--late\", \"10\", \"--sleep\"]\n\
         [[programs.grids]]\nrun = [1, 2]\n",
        folder.join("gated.sh").display()
    );
    fs::write(folder.join("jobs.toml"), text).expect("ours");
}

fn characterize(slurm: &Slurm) -> Command {
    let mut command = slurm.command(&programs().join("tidings").display().to_string());
    command.args(["lab", "characterize", "jobs.toml", "--output", "out"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_characterisation_is_a_job_that_goes_on_after_its_node_died() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let folder = directory.path();
    let mut slurm = Slurm::start(folder, &NODES, "", Path::new("/nowhere"));
    // The nodes share a machine, as in the tests of campaigns.
    for (name, value) in [("pml", "ob1"), ("btl", "tcp,self"), ("btl_tcp_if_include", "lo")] {
        slurm.set(&format!("OMPI_MCA_{name}"), value);
    }
    slurm.until_idle();
    lay_series(folder);
    let running = characterize(&slurm).spawn().expect("it is built");
    slurm.says("until squeue --noheader --states=RUNNING | grep -q .; do :; done");
    slurm.says("scontrol update NodeName=n2 State=DOWN Reason=broken");
    let failed = running.wait_with_output().expect("an own child");
    assert_eq!(failed.status.code(), Some(1), "{}\n{}", said(&failed), slurm.logs());
    assert!(said(&failed).contains("what was measured is kept"), "{}", said(&failed));
    // Its daemon lives, so that the controller may have it back already.
    slurm.shell("scontrol update NodeName=n2 State=RESUME");
    slurm.until_idle();
    fs::write(folder.join("gate"), "").expect("ours");
    let done = characterize(&slurm).output().expect("it is built");
    assert_eq!(done.status.code(), Some(0), "{}\n{}", said(&done), slurm.logs());
    let journal = fs::read_to_string(folder.join("out/runs.jsonl")).expect("written");
    let outcomes: Vec<bool> =
        journal.lines().skip(1).map(|line| line.contains("\"outcome\":\"ok\"")).collect();
    assert_eq!(outcomes, [false, true, true], "{journal}");
    let table = fs::read_to_string(folder.join("out/points.csv")).expect("written");
    assert!(table.contains("\"cluster\",2,\"latency\",\"in cache\",1024,0,"), "{table}");
    let page = fs::read_to_string(folder.join("out/characterize.md")).expect("written");
    assert!(page.contains("say --torus X,Y,Z or --mesh X,Y,Z"), "what was skipped: {page}");
}
