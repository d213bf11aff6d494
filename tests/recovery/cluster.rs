//! Workers on hosts, the store that they share, and what happens to them.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tidings_experiment::agents::programs;
use tidings_experiment::hosts::Hosts;
use tidings_tasks_core::id::Part;

use crate::account::Account;
use crate::host::{self, Fault};
use crate::place::{Place, Running};
use crate::plan::Job;
use crate::run::{Run, Word};
use crate::site::{CLIENT, HEAD, SERVERS, Site, WORKERS};

/// Long enough for a loaded machine; a test that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The longest pause before a condition is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Where the head lets other hosts in.
const PORT: u16 = 7_001;

/// A store with its workers, on the hosts of a site.
pub(crate) struct Cluster<'s> {
    pub(crate) site: &'s mut Site,
    pub(crate) place: Place,
    /// Words before what is started, by host.
    before: BTreeMap<usize, Vec<String>>,
    running: BTreeMap<usize, Vec<Running>>,
    broken: BTreeMap<usize, Fault>,
}

impl<'s> Cluster<'s> {
    /// Starts workers that use a store which nobody has used: in an etcd, the one of this name.
    pub(crate) fn new(site: &'s mut Site, name: &str) -> Self {
        Self::in_parts(site, name, 1)
    }

    /// The same; a store in an etcd has so many parts.
    pub(crate) fn in_parts(site: &'s mut Site, name: &str, parts: u16) -> Self {
        let place = match &site.servers {
            Some(servers) => Place::of(servers.address(name)),
            None => Place::with_disk(),
        };
        let mut cluster = Self::empty(site, place, BTreeMap::new());
        if parts > 1 {
            let make = ["store", "make", "--parts", &parts.to_string()];
            let done = cluster.tidings(CLIENT, &make).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        cluster.begin_all();
        cluster
    }

    /// Starts workers at a place. What is started on some hosts has words before it.
    pub(crate) fn at(
        site: &'s mut Site,
        place: Place,
        before: BTreeMap<usize, Vec<String>>,
    ) -> Self {
        let mut cluster = Self::empty(site, place, before);
        cluster.begin_all();
        cluster
    }

    fn empty(site: &'s mut Site, place: Place, before: BTreeMap<usize, Vec<String>>) -> Self {
        let (running, broken) = (BTreeMap::new(), BTreeMap::new());
        Self { site, place, before, running, broken }
    }

    fn begin_all(&mut self) {
        self.site.begin_agents();
        self.begin(HEAD);
        self.until("somebody serves the store", Self::coordinator);
        for host in WORKERS {
            self.begin(host);
        }
    }

    /// Whether the store is a file, which the head's processes alone can serve.
    pub(crate) fn is_of_file(&self) -> bool {
        self.site.servers.is_none()
    }

    /// Starts what belongs on a host.
    pub(crate) fn begin(&mut self, host: usize) {
        self.site.begin_agent(host);
        let listen = format!("{}:{PORT}", Hosts::address(host));
        let started = match host {
            HEAD if self.is_of_file() => {
                // One holds the file, and the other waits for its end.
                let holder = ["worker", "-n", "1", "--queue", "none", "--listen", &listen];
                vec![self.start(host, &holder), self.start(host, &holder)]
            }
            HEAD => vec![self.start(host, &["worker", "-n", "1", "--queue", "none"])],
            CLIENT => Vec::new(),
            worker if WORKERS.contains(&worker) => vec![self.start(host, &["worker", "-n", "2"])],
            server => {
                self.site.restart_server(server);
                Vec::new()
            }
        };
        self.running.insert(host, started);
    }

    fn start(&self, host: usize, arguments: &[&str]) -> Running {
        let mut command = self.tidings(host, arguments);
        let open = || OpenOptions::new().create(true).append(true).open(self.log(host)).unwrap();
        Running::begin(command.stdout(open()).stderr(open()))
    }

    /// `tidings` on a host, with the store as it is reached from there.
    pub(crate) fn tidings(&self, host: usize, arguments: &[&str]) -> Command {
        let mut words = host::words(self.site.hosts(), host);
        words.extend(self.before.get(&host).into_iter().flatten().cloned());
        let program = programs().join("tidings").display().to_string();
        let mut command = host::command(&words, &program);
        self.place.in_store(&mut command);
        if self.is_of_file() && host != HEAD {
            command.env("TIDINGS_STORE", format!("tcp://{}:{PORT}", Hosts::address(HEAD)));
        }
        command.env("HOST", host::name(host));
        command.env("TIDINGS_RUNTIME_DIR", self.site.runtime_dir(host));
        command.args(arguments).arg("--keys").arg(self.site.keys());
        command
    }

    fn log(&self, host: usize) -> std::path::PathBuf {
        self.place.path(&format!("log.{}", host::name(host)))
    }

    /// Starts a run of these tasks, or goes on with it.
    pub(crate) fn run(&self, names: &[String]) -> Run {
        self.run_job(&Job::alone(names))
    }

    /// Starts a run of tasks or of a graph, or goes on with it.
    pub(crate) fn run_job(&self, job: &Job) -> Run {
        let mut command =
            self.tidings(CLIENT, &["run", "-n", "0", "--resume", &job.name, "--json"]);
        if let Some(graph) = &job.graph {
            let file = self.place.path(&format!("{}.toml", job.name));
            fs::write(&file, graph).unwrap();
            command.arg(file);
        } else {
            command.args(["--", "sh", "task", "{}", ":::"]).args(&job.tasks);
        }
        let log = OpenOptions::new().create(true).append(true).open(self.log(CLIENT)).unwrap();
        Run::begin(command.stderr(log))
    }

    /// Goes on with the run until all tasks have ended.
    pub(crate) fn complete(&self, account: &mut Account, names: &[String], begun: Run) {
        self.complete_job(account, &Job::alone(names), begun);
    }

    fn complete_job(&self, account: &mut Account, job: &Job, begun: Run) {
        let mut run = begun;
        loop {
            match run.next(PATIENCE) {
                Word::Ended(object) => account.take(&object),
                Word::Nothing => self.despair("a task ends"),
                Word::Over => match self.again(run, job) {
                    Some(again) => run = again,
                    None => return,
                },
            }
        }
    }

    /// Starts a run again that is over, unless all has ended.
    pub(crate) fn again(&self, run: Run, job: &Job) -> Option<Run> {
        match run.end() {
            0 => None,
            // Tasks were lost too often, or the run was killed: it goes on by its name.
            5 | -1 => Some(self.run_job(job)),
            code => self.despair(&format!("the run goes on: it has ended with {code}")),
        }
    }

    /// Looks whether all that has ended is there once, when nothing goes wrong any more.
    pub(crate) fn check(&mut self, account: &mut Account, names: &[String]) {
        self.check_jobs(account, &[Job::alone(names)]);
    }

    /// The same of all tasks of several runs.
    pub(crate) fn check_jobs(&mut self, account: &mut Account, jobs: &[Job]) {
        self.broken.keys().copied().collect::<Vec<_>>().into_iter().for_each(|h| self.mend(h));
        self.until_idle();
        for job in jobs {
            self.complete_job(account, job, self.run_job(job));
        }
        let names: Vec<String> = jobs.iter().flat_map(|job| job.tasks.clone()).collect();
        account.check(&self.place, &names);
    }

    /// Waits until all workers are there and have nothing to do.
    pub(crate) fn until_idle(&self) {
        self.until("all workers are there and idle", |cluster| {
            let picture = cluster.picture()?;
            let workers = picture["workers"].as_array()?;
            let is_there =
                |host: &usize| workers.iter().any(|one| one["host"] == host::name(*host));
            let idle = workers.iter().all(|one| one["running"] == 0);
            (WORKERS.iter().all(is_there) && idle && picture["tasks"] == 0).then_some(())
        });
    }

    /// What `queue ls` shows.
    pub(crate) fn picture(&self) -> Option<Value> {
        let mut command = self.tidings(CLIENT, &["queue", "ls", "--json"]);
        let shown = command.stderr(Stdio::null()).output().unwrap();
        serde_json::from_slice(&shown.stdout).ok()
    }

    /// The host whose process serves the store, or its first part, as far as can be said.
    pub(crate) fn coordinator(&self) -> Option<usize> {
        self.coordinator_of(Part(0))
    }

    /// The host whose process serves a part of the store, as far as can be said.
    pub(crate) fn coordinator_of(&self, part: Part) -> Option<usize> {
        let Some(servers) = &self.site.servers else {
            return self.place.path("disk/store").exists().then_some(HEAD);
        };
        let address = servers.address("");
        let prefix = self.place.store().strip_prefix(&address)?;
        let key = format!("{prefix}//k/p{:04x}/role", part.0);
        let up = (0..SERVERS.len()).filter(|server| !self.broken.contains_key(&SERVERS[*server]));
        let mut asked = up.map(|server| servers.ask(server, &["get", &key, "--write-out", "json"]));
        asked.find_map(|answer| role_of(&answer))
    }

    /// Kills the process that holds the file, and starts another that waits for its end.
    pub(crate) fn replace_holder(&mut self) {
        let holder = fs::read_to_string(self.place.path("disk/store.lock")).unwrap();
        let holder = Pid::from_raw(holder.trim().parse().unwrap()).unwrap();
        // One that was killed before, and had nobody to take over yet, is still named.
        let _ = kill_process(holder, Signal::KILL);
        let another = ["worker", "-n", "1", "--queue", "none", "--listen"];
        let listen = format!("{}:{PORT}", Hosts::address(HEAD));
        let another = self.start(HEAD, &[&another[..], &[&listen]].concat());
        self.running.entry(HEAD).or_default().push(another);
    }

    /// Lets something happen to a host, unless something has happened already.
    pub(crate) fn strike(&mut self, host: usize, fault: Fault) -> bool {
        let is_well = !self.broken.contains_key(&host);
        if is_well {
            host::strike(self.site.hosts(), host, fault);
            self.broken.insert(host, fault);
            if fault.kills() {
                // Only who is waited for has let go of all ports and locks.
                self.running.remove(&host);
                self.site.bury(host);
            }
        }
        is_well
    }

    /// Undoes what has happened to a host.
    pub(crate) fn mend(&mut self, host: usize) {
        let Some(fault) = self.broken.remove(&host) else { return };
        host::mend(self.site.hosts(), host, fault);
        if fault.kills() {
            self.begin(host);
        }
    }

    /// Whether something has happened to one of these hosts.
    pub(crate) fn is_broken(&self, hosts: &[usize]) -> bool {
        hosts.iter().any(|host| self.broken.contains_key(host))
    }

    /// Waits until `condition` has a value.
    pub(crate) fn until<T>(&self, what: &str, condition: impl Fn(&Self) -> Option<T>) -> T {
        let (begin, (_nobody, pause)) = (Instant::now(), sync_channel::<()>(1));
        loop {
            if let Some(value) = condition(self) {
                return value;
            }
            if begin.elapsed() > PATIENCE {
                self.despair(what);
            }
            let _ = pause.recv_timeout(LOOK_AGAIN); // nothing comes but the next moment
        }
    }

    /// Says what was waited for in vain, and what there is to know.
    pub(crate) fn despair(&self, what: &str) -> ! {
        let logs = (HEAD..=CLIENT).map(|host| {
            let log = fs::read_to_string(self.log(host)).unwrap_or_default();
            format!("{}: {log}\n", host::name(host))
        });
        let (logs, broken) = (logs.collect::<String>(), &self.broken);
        panic!("waited in vain until {what}; broken: {broken:?}\n{logs}");
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        for (host, fault) in core::mem::take(&mut self.broken) {
            host::mend(self.site.hosts(), host, fault);
            if SERVERS.contains(&host) && fault.kills() && !std::thread::panicking() {
                self.site.restart_server(host);
            }
        }
        for host in [HEAD, CLIENT].into_iter().chain(WORKERS) {
            host::end_all(self.site.hosts(), host);
            self.site.bury(host);
        }
    }
}

/// The host of the member in a role, as `etcdctl` shows it.
fn role_of(answer: &str) -> Option<usize> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let role = STANDARD.decode(answer["kvs"][0]["value"].as_str()?).ok()?;
    let role = String::from_utf8_lossy(&role).into_owned();
    let member = ["worker-", "run-", "look-"].iter().find_map(|kind| role.find(kind))?;
    host::of_member(&role[member..])
}
