//! The processes of a real etcd of one or more servers, in temporary folders, as long as a test
//! lasts.

#![allow(dead_code, reason = "each program of tests uses a part of it")]

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;

use rustix::process::{Pid, Signal, kill_process};

/// What a server says when it can be asked.
const READY: &str = "serving client traffic insecurely";

/// Attempts to find ports that nobody else takes before the servers do.
const ATTEMPTS: u32 = 5;

/// Ports below those that Linux gives to who asks for any (`ip_local_port_range`).
const NEVER_GIVEN: RangeInclusive<u16> = 20_000..=30_000;

/// An etcd.
pub(crate) struct Servers {
    all: Vec<Server>,
    /// The text that tells each server who the others are.
    cluster: String,
    options: Vec<String>,
}

/// One of its servers.
struct Server {
    name: String,
    /// The words before its commands, which say on which host they run.
    words: Vec<String>,
    client: String,
    peer: String,
    folder: tempfile::TempDir,
    process: Option<Running>,
}

/// A process that ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Servers {
    /// Starts so many servers, and returns when all of them can be asked.
    pub(crate) fn start(count: usize) -> Self {
        // Slow machines that do much else must not elect all the time.
        Self::start_with(count, &["--heartbeat-interval", "200", "--election-timeout", "2000"])
    }

    /// Starts so many servers with these options.
    pub(crate) fn start_with(count: usize, options: &[&str]) -> Self {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let attempt =
            |_| Self::attempt(count, &options).inspect_err(|last| eprintln!("etcd: {last}")).ok();
        (0..ATTEMPTS).find_map(attempt).expect("etcd starts (Debian: etcd-server)")
    }

    /// Whether the servers of this machine know an option.
    pub(crate) fn has_option(option: &str) -> bool {
        let help =
            Command::new("etcd").arg("--help").output().expect("etcd starts (Debian: etcd-server)");
        [help.stdout, help.stderr].iter().any(|text| String::from_utf8_lossy(text).contains(option))
    }

    /// Starts a server on each of these hosts, with these options: the words before a command that
    /// runs there, and the address, of which nobody else uses ports.
    pub(crate) fn on(hosts: Vec<(Vec<String>, String)>, options: &[&str]) -> Self {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let server = |(words, address): (Vec<String>, String)| {
            (words, format!("{address}:2379"), format!("{address}:2380"))
        };
        let begun = Self::begin(hosts.into_iter().map(server).collect(), &options);
        begun.unwrap_or_else(|last| panic!("etcd does not start (Debian: etcd-server): {last}"))
    }

    /// What names a store in it.
    pub(crate) fn address(&self, prefix: &str) -> String {
        let clients: Vec<_> = self.all.iter().map(|server| server.client.as_str()).collect();
        format!("etcd://{}/{prefix}", clients.join(","))
    }

    /// The number of the server that leads, as far as those that run say.
    pub(crate) fn leader(&self) -> Option<usize> {
        (0..self.all.len()).find(|&number| {
            let status = self.ask(number, &["endpoint", "status"]);
            // Its fifth column says whether it leads.
            status.split(", ").nth(4) == Some("true")
        })
    }

    /// Kills a server, which cannot prevent it.
    pub(crate) fn kill(&mut self, number: usize) {
        drop(self.all[number].process.take().expect("it runs"));
    }

    /// Stops a server, which keeps its connections: nobody is informed.
    pub(crate) fn freeze(&mut self, number: usize) {
        self.signal(number, Signal::STOP);
    }

    /// Lets a server go on that was stopped.
    pub(crate) fn thaw(&mut self, number: usize) {
        self.signal(number, Signal::CONT);
    }

    fn signal(&self, number: usize, signal: Signal) {
        let Running(child) = self.all[number].process.as_ref().expect("it runs");
        kill_process(Pid::from_child(child), signal).expect("it was not waited for");
    }

    /// Starts a server that was killed, with what is on its disk. Returns when it can be asked.
    pub(crate) fn restart(&mut self, number: usize) {
        let server = &mut self.all[number];
        let (running, ready) = server.begin(&self.cluster, &self.options);
        server.process = Some(running);
        wait(&ready).expect("it starts again");
    }

    /// Starts a server that was killed with other options, with what is on its disk.
    pub(crate) fn restart_with(&mut self, number: usize, options: &[&str]) {
        self.options = options.iter().map(|&option| option.to_owned()).collect();
        self.restart(number);
    }

    /// What `etcdctl` prints when it asks one server; nothing if it does not answer.
    pub(crate) fn ask(&self, number: usize, words: &[&str]) -> String {
        let server = &self.all[number];
        if server.process.is_none() {
            return String::new();
        }
        let mut command = server.command("etcdctl");
        command.env("ETCDCTL_API", "3").arg("--endpoints").arg(&server.client).args(words);
        let output = command.output().expect("etcdctl is there (Debian: etcd-client)");
        String::from_utf8(output.stdout).expect("it prints text")
    }

    fn attempt(count: usize, options: &[String]) -> Result<Self, String> {
        let ports = free_ports(count * 2);
        let here = ports.chunks(2).map(|pair| (Vec::new(), pair[0].clone(), pair[1].clone()));
        Self::begin(here.collect(), options)
    }

    /// Starts a server at each of these places: the words before its commands, where it is reached
    /// by clients and by the others.
    fn begin(
        places: Vec<(Vec<String>, String, String)>,
        options: &[String],
    ) -> Result<Self, String> {
        let all: Vec<_> = (0..)
            .zip(places)
            .map(|(number, (words, client, peer))| Server {
                name: format!("s{number}"),
                words,
                client,
                peer,
                folder: tempfile::tempdir().expect("a temporary folder"),
                process: None,
            })
            .collect();
        let peers = all.iter().map(|server| format!("{}=http://{}", server.name, server.peer));
        let cluster = peers.collect::<Vec<_>>().join(",");
        let mut servers = Self { all, cluster, options: options.to_vec() };
        let mut waiting = Vec::new();
        for server in &mut servers.all {
            let (running, ready) = server.begin(&servers.cluster, options);
            server.process = Some(running);
            waiting.push(ready);
        }
        waiting.iter().try_for_each(wait)?;
        Ok(servers)
    }
}

impl Server {
    /// A command on its host.
    fn command(&self, program: &str) -> Command {
        match self.words.as_slice() {
            [] => Command::new(program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        }
    }

    fn begin(
        &self,
        cluster: &str,
        options: &[String],
    ) -> (Running, mpsc::Receiver<Result<(), String>>) {
        let (client, peer) = (format!("http://{}", self.client), format!("http://{}", self.peer));
        let mut command = self.command("etcd");
        command.args(["--name", &self.name, "--initial-cluster", cluster]);
        command.arg("--data-dir").arg(data(self.folder.path()));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(options);
        command.args(["--logger", "zap"]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("etcd is there (Debian: etcd-server)");
        let log = BufReader::new(child.stderr.take().expect("it is piped"));
        let (told, ready) = mpsc::sync_channel(2);
        std::thread::spawn(move || {
            let mut last = String::new();
            // Read to its end: a server whose log is full stands still.
            for line in log.lines().map_while(Result::ok) {
                if line.contains(READY) {
                    let _ = told.send(Ok(()));
                }
                last = line;
            }
            let _ = told.send(Err(last));
        });
        (Running(child), ready)
    }
}

fn data(folder: &Path) -> std::path::PathBuf {
    folder.join("data")
}

/// Until the server can be asked, or has ended: then its last words.
fn wait(ready: &mpsc::Receiver<Result<(), String>>) -> Result<(), String> {
    ready.recv().expect("it says how it ended")
}

/// Ports that are free now, on an address that no other test uses at a time: a server that is
/// killed finds its port again. None is one that the system gives to whoever asks for any port:
/// clients go on to call a killed server, and its port may be that of another program by then,
/// which accepts calls at all addresses.
fn free_ports(count: usize) -> Vec<String> {
    static USED: AtomicU8 = AtomicU8::new(1);
    let [high, low] = ((std::process::id() % 0xffff) as u16).to_be_bytes();
    let own = Ipv4Addr::new(127, high, low, USED.fetch_add(1, Ordering::Relaxed));
    let free = |&port: &u16| TcpListener::bind((own, port)).is_ok();
    NEVER_GIVEN.filter(free).take(count).map(|port| format!("{own}:{port}")).collect()
}
