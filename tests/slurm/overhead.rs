//! Campaigns of `tidings lab overhead` with backend `slurm`: each run is a job on both nodes.
//!
//! The nodes share a machine, which Open MPI must know: its shared memory is named by machine
//! and not by node, and it would not use loopback by itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tidings_experiment::agents::programs;
use tidings_experiment::mpi::{Mpi, done, said};

use crate::daemons::Slurm;
use crate::{NODES, repository};

/// Longer than anything here takes on a machine that is not stuck.
const PATIENCE: Duration = Duration::from_secs(180);
/// The settings of Open MPI for two nodes on one machine.
const ONE_MACHINE: &str = "environment = { OMPI_MCA_pml = \"ob1\", OMPI_MCA_btl = \"tcp,self\", \
                           OMPI_MCA_btl_tcp_if_include = \"lo\" }\n";

/// Both nodes, and a folder for campaigns.
struct Bench {
    slurm: Slurm,
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().expect("there is room for temporary files");
        let slurm = Slurm::start(folder.path(), &NODES, "", Path::new("/nowhere"));
        slurm.until_idle();
        Self { slurm, folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A campaign of one arm, and as few repetitions as can show something, on both nodes.
    fn lay(&self, name: &str, mpi: Mpi, keys: &str, command: &Path, application: &str) {
        let text = format!(
            "name = \"{name}\"\nrepetitions = 6\nwarm_up = 0\nlimit_s = 500.0\n\
             [world]\nnodes = [2]\nranks_per_node = 2\n\
             [backend]\nkind = \"slurm\"\nmpi = \"{}\"\nshim = \"{}\"\n{keys}\n\
             [gossip]\nintervals_ms = [4]\nwindows = [\"100%\"]\nentry_bytes = [64]\n\
             options = [\"--warmup\", \"0\"]\n\
             [[applications]]\nname = \"known\"\ncommand = [\"{}\", \"--work\", \"20\"]\n\
             {application}",
            mpi.name(),
            mpi.shim().display(),
            command.display(),
        );
        fs::write(self.file(&format!("{name}.toml")), text).expect("ours");
    }

    fn command(&self, name: &str) -> Command {
        let mut command = self.slurm.command(&programs().join("tidings").display().to_string());
        command.args(["lab", "overhead", &format!("{name}.toml"), "--output", name]);
        command
    }

    /// Runs a campaign to its end.
    fn run(&self, name: &str) -> Output {
        self.command(name).output().expect("it is built")
    }

    fn start(&self, name: &str) -> Child {
        let mut command = self.command(name);
        let said = fs::File::create(self.file("said")).expect("ours");
        command.stdout(Stdio::null()).stderr(said).spawn().expect("it is built")
    }

    /// The runs in a journal so far.
    fn runs(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.file(name).join("runs.jsonl")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().skip(1);
        lines.map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }

    /// No job is left, and no process that works in the folder of a campaign.
    fn is_left_alone(&self, name: &str) {
        self.slurm.says("until [ -z \"$(squeue --noheader)\" ]; do :; done");
        assert!(!self.has_processes(name, ""), "{name} left a process");
    }

    /// Whether a process works in the folder of a campaign whose program's name begins with this.
    fn has_processes(&self, name: &str, program: &str) -> bool {
        let place = self.file(name);
        let entries = fs::read_dir("/proc").expect("Linux").flatten().map(|entry| entry.path());
        let mut here = entries.filter(|entry| {
            fs::read_link(entry.join("cwd")).is_ok_and(|at| at.starts_with(&place))
        });
        here.any(|entry| {
            fs::read_to_string(entry.join("comm")).is_ok_and(|comm| comm.starts_with(program))
        })
    }

    /// Waits until something holds while a campaign runs.
    fn until(&self, running: &mut Child, holds: impl Fn(&Self) -> bool) {
        let begin = Instant::now();
        while !holds(self) {
            let ended = running.try_wait().expect("an own child");
            let waits = ended.is_none() && begin.elapsed() < PATIENCE;
            let said = || fs::read_to_string(self.file("said")).unwrap_or_default();
            assert!(waits, "not in time, or ended: {ended:?}: {}\n{}", said(), self.slurm.logs());
            thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Writes a script that can be run.
    fn lay_program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, text).expect("ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        path
    }
}

/// The application of known length.
fn known_length(bench: &Bench, mpi: Mpi) -> PathBuf {
    let program = bench.file(&format!("known_length.{}", mpi.name()));
    let source = repository().join("studies/injected-slowdown/known_length.c");
    let mut compiler = Command::new(format!("mpicc.{}", mpi.name()));
    done(compiler.arg("-O2").arg(source).arg("-o").arg(&program));
    program
}

/// Each node has a rank of the application and a hidden one, all of which did their work.
fn is_well(run: &Value) {
    assert_eq!((&run["outcome"], &run["exit_code"]), (&"ok".into(), &0.into()), "{run}");
    assert_eq!((&run["hidden"], &run["times"]["ranks"]), (&2.into(), &2.into()), "{run}");
    let gossips = if run["arm"] == "gossip" { 2.into() } else { Value::Null };
    assert_eq!(run["gossip"]["ranks"], gossips, "{run}");
    // What else the nodes did is as they say it, and not as the machine that waits does.
    let share = run["others_share"].as_f64().expect("Linux counts");
    assert!((0.0..=1.0).contains(&share), "{run}");
    assert_eq!((&run["times"]["others_share"], &run["cpu_s"]), (&share.into(), &Value::Null));
}

#[test]
fn a_campaign_runs_jobs_with_one_hidden_rank_per_node() {
    let bench = Bench::new();
    let program = known_length(&bench, Mpi::Mpich);
    let yielding = format!("yielding = \"{}\"", Mpi::Mpich.yielding().display());
    let gated = format!(
        "#!/bin/sh\n[ -e {} ] || exec sleep 100000\nexec {} \"$@\"\n",
        bench.file("gate").display(),
        program.display()
    );
    let gated = bench.lay_program("gated.sh", &gated);
    bench.lay("mpich", Mpi::Mpich, &yielding, &gated, "");
    killed_in_its_first_run(&bench, "mpich");
    fs::write(bench.file("gate"), "").expect("ours");
    let all = bench.run("mpich");
    assert!(said(&all).contains("left by a lab that was killed"), "{}", said(&all));
    assert_eq!(all.status.code(), Some(0), "{}\n{}", said(&all), bench.slurm.logs());
    assert_eq!(bench.runs("mpich").len(), 18);
    bench.runs("mpich").iter().for_each(is_well);
    bench.is_left_alone("mpich");
    // Ranks assigned cyclically put both hidden ones on one node: the shim reports that.
    let cyclic = format!("{yielding}\nsrun_arguments = [\"--distribution=cyclic\"]");
    bench.lay("cyclic", Mpi::Mpich, &cyclic, &program, "");
    let refused = bench.run("cyclic");
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("not every node has one hidden rank"), "{}", said(&refused));
    an_exit_code_is_forwarded(&bench);
}

/// A lab that is killed leaves its job to Slurm, on both nodes.
fn killed_in_its_first_run(bench: &Bench, name: &str) {
    let mut running = bench.start(name);
    bench.until(&mut running, |bench| bench.has_processes(name, "sleep"));
    kill_process(Pid::from_child(&running), Signal::KILL).expect("it runs");
    assert_eq!(running.wait().expect("an own child").code(), None);
    assert_eq!(bench.slurm.says("squeue --noheader --format=%D"), "2");
}

fn an_exit_code_is_forwarded(bench: &Bench) {
    let fails = bench.lay_program("fails.sh", "#!/bin/sh\necho no such grid >&2; exit 7\n");
    bench.lay("fails", Mpi::Mpich, "", &fails, "");
    let failed = bench.run("fails");
    assert_eq!(failed.status.code(), Some(1), "{}", said(&failed));
    assert!(said(&failed).contains("no such grid"), "{}", said(&failed));
    let runs = bench.runs("fails");
    assert_eq!((runs.len(), &runs[0]["outcome"]), (1, &"failed".into()), "{runs:?}");
    assert_eq!(runs[0]["exit_code"], 7);
    bench.is_left_alone("fails");
}

#[test]
fn a_campaign_of_open_mpi_is_stopped_and_leaves_no_job() {
    let bench = Bench::new();
    let program = known_length(&bench, Mpi::Open);
    bench.lay("openmpi", Mpi::Open, "", &program, ONE_MACHINE);
    let mut running = bench.start("openmpi");
    bench.until(&mut running, |bench| bench.runs("openmpi").len() >= 3);
    kill_process(Pid::from_child(&running), Signal::TERM).expect("it runs");
    assert_eq!(running.wait().expect("an own child").code(), Some(143));
    bench.runs("openmpi").iter().for_each(is_well);
    bench.is_left_alone("openmpi");
}
