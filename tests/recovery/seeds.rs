//! Faults at random moments of a run of short tasks, which with half of the seeds are a graph and
//! read the results of those that they wait for: a seed draws what happens to which host, after how
//! many tasks have ended, and how many later it is over. Where nothing ends any more, what is next
//! happens after a while. With each third seed a store in an etcd has three parts, and a run in
//! each.
//!
//! A seed that fails is printed. `TIDINGS_RECOVERY_SEED=17 cargo test -p tidings-tests --test
//! recovery seeds` draws the same again; the processes take other turns than before.
//! `TIDINGS_RECOVERY_SEEDS=1000` plays so many of each kind (25 by default), from
//! `TIDINGS_RECOVERY_FIRST` on.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tidings_tasks_core::id::Part;

use crate::account::{Account, SHORT};
use crate::cluster::Cluster;
use crate::host::{FAULTS, Fault};
use crate::plan::{Event, Job, Plan, Target};
use crate::run::{Run, Word};
use crate::site::{CLIENT, HEAD, SERVERS, Site};

/// Sites on which seeds are played at a time: most of their time they wait.
const LANES: usize = 3;

/// Seeds of each kind in a test, unless it is said otherwise.
const SEEDS: u64 = 25;

/// How often that may be with nothing left to happen.
const VAIN: usize = 400;

/// How long one run is listened to that says nothing.
const LISTEN: Duration = Duration::from_millis(5);

/// How often what has happened.
type Happened = BTreeMap<Fault, usize>;

/// A run, as it goes through what was drawn.
struct Play<'s> {
    cluster: Cluster<'s>,
    plan: Plan,
    /// The hosts to which the events of these numbers have happened.
    struck: BTreeMap<usize, usize>,
    happened: Happened,
}

impl Play<'_> {
    /// Lets happen what is due after so many tasks have ended.
    fn happen(&mut self, ended: usize) {
        while self.plan.events.last().is_some_and(|&(moment, ..)| moment <= ended) {
            self.next();
        }
    }

    /// Lets happen what is next. Returns whether there was something.
    fn next(&mut self) -> bool {
        let Some((_, number, event)) = self.plan.events.pop() else { return false };
        match event {
            Event::HolderKilled if self.cluster.is_broken(&[HEAD]) => {}
            Event::HolderKilled => self.cluster.replace_holder(),
            Event::End(number) => {
                if let Some(host) = self.struck.remove(&number) {
                    self.cluster.mend(host);
                }
            }
            Event::Begin(target, fault) => {
                let place = self.place_of(target, number);
                if let Some(host) = place.filter(|&host| self.cluster.strike(host, fault)) {
                    self.struck.insert(number, host);
                    *self.happened.entry(fault).or_default() += 1;
                }
            }
        }
        true
    }

    /// The host that is meant; none if it cannot be said, or an etcd would lose another server.
    fn place_of(&self, target: Target, number: usize) -> Option<usize> {
        let is_etcd_whole = || !self.cluster.is_broken(&SERVERS);
        match target {
            Target::Worker(host) => Some(host),
            Target::Client => Some(CLIENT),
            Target::Coordinator => {
                self.cluster.coordinator_of(Part(number as u16 % self.plan.parts))
            }
            Target::Server(host) => is_etcd_whole().then_some(host),
            Target::Leader => is_etcd_whole().then(|| self.cluster.site.leader()).flatten(),
        }
    }

    /// Runs all tasks, whatever happens meanwhile.
    fn run(&mut self, account: &mut Account) {
        let jobs = self.plan.jobs.clone();
        let mut runs: Vec<_> = jobs.iter().map(|job| Some(self.cluster.run_job(job))).collect();
        let (mut vain, mut last) = (0, Instant::now());
        while runs.iter().any(Option::is_some) {
            for (slot, job) in runs.iter_mut().zip(&jobs) {
                if self.listen(slot, job, account) {
                    last = Instant::now();
                }
            }
            if last.elapsed() < self.plan.patience {
                continue;
            }
            last = Instant::now();
            vain += usize::from(!self.next());
            if vain > VAIN {
                self.cluster.despair("a task ends");
            }
        }
    }

    /// Takes what a run has said; one that is over goes on, unless all has ended. Returns whether
    /// something was said.
    fn listen(&mut self, slot: &mut Option<Run>, job: &Job, account: &mut Account) -> bool {
        let mut has_said = false;
        while let Some(run) = slot {
            match run.next(LISTEN) {
                Word::Ended(object) => {
                    account.take(&object);
                    self.happen(account.len());
                }
                Word::Nothing => break,
                Word::Over => {
                    *slot = slot.take().and_then(|over| self.cluster.again(over, job));
                }
            }
            has_said = true;
        }
        has_said
    }
}

fn play(site: &mut Site, seed: u64) -> Happened {
    let plan = Plan::draw(seed, site.servers.is_none());
    let (jobs, parts) = (plan.jobs.clone(), plan.parts);
    let cluster = Cluster::in_parts(site, &format!("seed-{seed}"), parts);
    cluster.place.script("task", SHORT);
    let (struck, happened) = (BTreeMap::new(), Happened::new());
    let mut one = Play { cluster, plan, struck, happened };
    let mut account = Account::default();
    let begun = Instant::now();
    one.run(&mut account);
    let run = begun.elapsed();
    one.cluster.check_jobs(&mut account, &jobs);
    let (ended, tries) = (account.len(), one.cluster.place.lines("ran").len());
    println!(
        "seed {seed}: {ended} tasks in parts: {parts}, {tries} tries, {:?}; run {run:.1?}, all {:.1?}",
        one.happened,
        begun.elapsed()
    );
    one.happened
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn play_all(site: fn() -> Site) {
    let single = number("TIDINGS_RECOVERY_SEED");
    let first = single.or(number("TIDINGS_RECOVERY_FIRST")).unwrap_or(0);
    let count = single.map_or(number("TIDINGS_RECOVERY_SEEDS").unwrap_or(SEEDS), |_| 1);
    let (next, happened) = (AtomicU64::new(first), Mutex::new(Happened::new()));
    let lane = || {
        let mut site = site();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return;
            }
            let played = catch_unwind(AssertUnwindSafe(|| play(&mut site, seed)));
            let played = played.unwrap_or_else(|panic| {
                eprintln!("seed {seed} fails: TIDINGS_RECOVERY_SEED={seed} draws it again");
                eprintln!("{:?}", Plan::draw(seed, site.servers.is_none()));
                resume_unwind(panic)
            });
            let mut all = happened.lock().unwrap();
            for (fault, times) in played {
                *all.entry(fault).or_default() += times;
            }
        }
    };
    thread::scope(|scope| {
        (0..LANES.min(count as usize)).for_each(|_| drop(scope.spawn(lane)));
    });
    let happened = happened.into_inner().unwrap();
    println!("{count} seeds: {happened:?}");
    if count >= 20 {
        assert_eq!(happened.len(), FAULTS.len(), "faults that did not happen: {happened:?}");
    }
}

#[test]
fn over_tcp_whatever_happens_each_task_ends_once() {
    play_all(Site::of_file);
}

#[test]
fn over_etcd_whatever_happens_each_task_ends_once() {
    play_all(Site::of_etcd);
}
