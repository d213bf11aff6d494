//! A Slurm of its own on this machine: munged, slurmctld and a slurmd for each node, as children.
//!
//! All files are in one directory, all ports were free, and nothing of the machine's own Slurm
//! is read or touched. The daemons run in the foreground and end with this value.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a daemon may take to end.
const FAREWELL: Duration = Duration::from_secs(10);

/// Where Debian has the daemons, which is not on every user's PATH.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The daemons.
pub(crate) struct Slurm {
    directory: PathBuf,
    settings: String,
    ports: Vec<u16>,
    nodes: Vec<&'static str>,
    path: String,
    environment: Vec<(String, String)>,
    /// In the order in which they were started.
    daemons: Vec<Child>,
}

/// A command that goes on in the background.
pub(crate) struct Begun(Child);

impl Drop for Begun {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Slurm {
    /// Writes a configuration for `nodes` into `directory`, with the further `settings`, and starts
    /// the daemons; commands find what is in `path` first.
    pub(crate) fn start(
        directory: &Path,
        nodes: &[&'static str],
        settings: &str,
        path: &Path,
    ) -> Self {
        // munged requires that all users can reach its socket.
        fs::set_permissions(directory, fs::Permissions::from_mode(0o711)).expect("ours");
        let mut slurm = Self {
            directory: directory.to_owned(),
            settings: settings.to_owned(),
            ports: free_ports(nodes.len() + 1),
            nodes: nodes.to_vec(),
            path: format!("{}:{PATH}", path.display()),
            environment: Vec::new(),
            daemons: Vec::new(),
        };
        slurm.write_configuration();
        slurm.write_key();
        let option = |name: &str| format!("--{name}={}", slurm.file(name));
        let files = ["socket", "key-file", "pid-file", "log-file", "seed-file"].map(option);
        let mut munged = slurm.command("munged");
        munged.args(["--foreground", "--force"]).args(files);
        slurm.run_on(munged, "munged");
        slurm.wait_for_socket();
        let mut slurmctld = slurm.command("slurmctld");
        slurmctld.args(["-D", "-f", &slurm.file("slurm.conf")]);
        slurm.run_on(slurmctld, "slurmctld");
        for node in nodes {
            let mut slurmd = slurm.command("slurmd");
            slurmd.args(["-D", "-N", node, "-f", &slurm.file("slurm.conf")]);
            slurm.run_on(slurmd, node);
        }
        slurm
    }

    /// A command with the environment of a user of this cluster.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", &self.path).env("SLURM_CONF", self.file("slurm.conf"));
        command.envs(self.environment.iter().cloned()).stdin(Stdio::null());
        // Relative paths do not lead into the test's own folder.
        command.current_dir(&self.directory);
        command
    }

    /// Sets a variable for all later commands.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Runs a line of shell.
    pub(crate) fn shell(&self, line: &str) -> Output {
        self.command("sh").args(["-c", line]).output().expect("there is a shell")
    }

    /// Begins a command that ends with the value.
    pub(crate) fn begin(&self, line: &str) -> Begun {
        let child = self.command("sh").args(["-c", &format!("exec {line}")]).spawn();
        Begun(child.expect("there is a shell"))
    }

    /// The output of a line of shell.
    pub(crate) fn says(&self, line: &str) -> String {
        let output = self.shell(line);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {complaint}\n{}", self.logs());
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Waits until all nodes are idle.
    pub(crate) fn until_idle(&self) {
        let idle = "$(sinfo -h --Node -o %T | grep -c idle)";
        self.says(&format!("until [ {idle} = {} ]; do :; done", self.nodes.len()));
    }

    /// State and reason of a node, such as `drained|disk`; empty if the controller does not answer.
    /// The sign of a node that has yet to answer the controller is omitted.
    pub(crate) fn state(&self, node: &str) -> String {
        let output = self.shell(&format!("sinfo --noheader --nodes={node} --format='%T|%E'"));
        String::from_utf8_lossy(&output.stdout).trim().replacen("*|", "|", 1)
    }

    /// Changes the settings, for all daemons to read.
    pub(crate) fn change(&mut self, settings: &str, reconfigure: &str) {
        settings.clone_into(&mut self.settings);
        self.write_configuration();
        self.says(reconfigure);
    }

    /// The logs of the daemons.
    pub(crate) fn logs(&self) -> String {
        let names = ["munged", "slurmctld"].into_iter().chain(self.nodes.iter().copied());
        let log = |name: &str| fs::read_to_string(self.file(&format!("{name}.out")));
        names
            .map(|name| format!("{name}:\n{}", log(name).unwrap_or_default()))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn file(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    fn write_key(&self) {
        let mut open = fs::OpenOptions::new();
        let key = open.write(true).create_new(true).mode(0o600).open(self.file("key-file"));
        let mut random = std::io::Read::take(File::open("/dev/urandom").expect("Linux"), 128);
        std::io::copy(&mut random, &mut key.expect("a fresh directory")).expect("ours");
    }

    fn write_configuration(&self) {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let host = host.split('.').next().unwrap_or_default();
        let user = user();
        let file = |name: &str| self.file(name);
        let mut text = format!(
            "ClusterName=tidings\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             SlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/munge\nAuthInfo=socket={}\n\
             CredType=cred/munge\nStateSaveLocation={}\nSlurmdSpoolDir={}\nSlurmctldPidFile={}\n\
             SlurmdPidFile={}\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\nMpiDefault=none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nSlurmdParameters=config_overrides\nReturnToService=2\n\
             SlurmdTimeout=15\nMailProg=/bin/true\nTmpFS={}\n{}\n",
            self.ports[0],
            file("socket"),
            file("state"),
            file("spool-%n"),
            file("slurmctld.pid"),
            file("slurmd-%n.pid"),
            // Each node has a folder of its own for PMIx, though nodes share a machine.
            file("tmp-%n"),
            self.settings,
        );
        for (node, port) in self.nodes.iter().zip(&self.ports[1..]) {
            let _ = writeln!(
                text,
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 \
                 RealMemory=64"
            );
            for kind in ["spool", "tmp"] {
                let folder = self.directory.join(format!("{kind}-{node}"));
                fs::create_dir_all(folder).expect("ours");
            }
        }
        let _ = writeln!(text, "PartitionName=all Nodes={} Default=YES", self.nodes.join(","));
        fs::create_dir_all(self.directory.join("state")).expect("ours");
        fs::write(file("slurm.conf"), text).expect("ours");
        // Since 23.11 slurmd must be configured that there are no control groups to manage.
        let version = Command::new("slurmd").env("PATH", PATH).arg("-V").output();
        let version = version.expect("slurmd is installed (make test sees to it)");
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let year = version.split_whitespace().nth(1).and_then(|text| text.split('.').next());
        if year.and_then(|year| year.parse::<u32>().ok()).is_some_and(|year| year >= 24) {
            fs::write(file("cgroup.conf"), "CgroupPlugin=disabled\n").expect("ours");
        }
    }

    fn run_on(&mut self, mut command: Command, name: &str) {
        let log = File::create(self.file(&format!("{name}.out"))).expect("ours");
        let errors = log.try_clone().expect("an open file");
        let child = command.stdout(log).stderr(errors).spawn();
        let child = child.unwrap_or_else(|error| panic!("{name} (make test installs it): {error}"));
        self.daemons.push(child);
    }

    fn wait_for_socket(&mut self) {
        let begin = Instant::now();
        while !Path::new(&self.file("socket")).exists() {
            let ended = self.daemons[0].try_wait().expect("an own child");
            let waits = ended.is_none() && begin.elapsed() < FAREWELL;
            assert!(waits, "munged does not listen\n{}", self.logs());
            thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if thread::panicking() {
            let states: Vec<String> = self.nodes.iter().map(|node| self.state(node)).collect();
            println!("{states:?}\n{}", self.logs());
        }
        for mut daemon in self.daemons.drain(..).rev() {
            let _ = kill_process(Pid::from_child(&daemon), Signal::TERM); // it may have ended
            let begin = Instant::now();
            while daemon.try_wait().is_ok_and(|ended| ended.is_none()) {
                if begin.elapsed() > FAREWELL {
                    let _ = daemon.kill();
                    let _ = daemon.wait();
                    break;
                }
                thread::park_timeout(Duration::from_millis(20));
            }
        }
    }
}

/// The user of this test, by name, as Slurm needs it.
fn user() -> String {
    let output = Command::new("id").arg("-un").output().expect("there is `id`");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Ports on loopback that were free a moment ago: Slurm accepts only fixed ones.
pub(crate) fn free_ports(ports: usize) -> Vec<u16> {
    let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a free port");
    let listeners: Vec<TcpListener> = (0..ports).map(bind).collect();
    listeners.iter().map(|listener| listener.local_addr().expect("bound").port()).collect()
}
