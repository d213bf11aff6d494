//! Faults at random moments of a run of short tasks, which with half of the seeds are a graph and
//! read the results of those that they wait for: a seed draws what happens to which host, after
//! how many tasks have ended, and how many later it is over. Where nothing ends any more, what is
//! next happens after a while.
//!
//! A seed that fails is printed. `TIDINGS_RECOVERY_SEED=17 cargo test -p tidings-tests --test
//! recovery seeds` draws the same again; the processes take other turns than before.
//! `TIDINGS_RECOVERY_SEEDS=1000` plays so many of each kind (25 by default), from
//! `TIDINGS_RECOVERY_FIRST` on.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use crate::account::{Account, SHORT};
use crate::cluster::{Cluster, GRAPH};
use crate::host::{FAULTS, Fault};
use crate::plan::{Event, Plan, Target};
use crate::run::Word;
use crate::site::{CLIENT, HEAD, SERVERS, Site};

/// Sites on which seeds are played at a time: most of their time they wait.
const LANES: usize = 3;

/// Seeds of each kind in a test, unless it is said otherwise.
const SEEDS: u64 = 25;

/// How often that may be with nothing left to happen.
const VAIN: usize = 400;

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
                let place = self.place_of(target);
                if let Some(host) = place.filter(|&host| self.cluster.strike(host, fault)) {
                    self.struck.insert(number, host);
                    *self.happened.entry(fault).or_default() += 1;
                }
            }
        }
        true
    }

    /// The host that is meant; none if it cannot be said, or an etcd would lose another server.
    fn place_of(&self, target: Target) -> Option<usize> {
        let is_etcd_whole = || !self.cluster.is_broken(&SERVERS);
        match target {
            Target::Worker(host) => Some(host),
            Target::Client => Some(CLIENT),
            Target::Coordinator => self.cluster.coordinator(),
            Target::Server(host) => is_etcd_whole().then_some(host),
            Target::Leader => is_etcd_whole().then(|| self.cluster.site.leader()).flatten(),
        }
    }

    /// Runs all tasks, whatever happens meanwhile.
    fn run(&mut self, account: &mut Account) {
        let tasks = self.plan.tasks.clone();
        let (mut run, mut vain) = (self.cluster.run(&tasks), 0);
        loop {
            match run.next(self.plan.patience) {
                Word::Ended(object) => {
                    account.take(&object);
                    self.happen(account.len());
                }
                Word::Nothing if self.next() => {}
                Word::Nothing if vain < VAIN => vain += 1,
                Word::Nothing => self.cluster.despair("a task ends"),
                Word::Over => match run.end() {
                    0 => return,
                    // Tasks were lost too often, or the run was killed: it goes on by its name.
                    5 | -1 => run = self.cluster.run(&tasks),
                    code => self.cluster.despair(&format!("the run, which ended with {code}")),
                },
            }
        }
    }
}

fn play(site: &mut Site, seed: u64) -> Happened {
    let plan = Plan::draw(seed, site.servers.is_none());
    let tasks = plan.tasks.clone();
    let cluster = Cluster::new(site, &format!("seed-{seed}"));
    cluster.place.script("task", SHORT);
    if let Some(text) = plan.text() {
        fs::write(cluster.place.path(GRAPH), text).unwrap();
    }
    let (struck, happened) = (BTreeMap::new(), Happened::new());
    let mut one = Play { cluster, plan, struck, happened };
    let mut account = Account::default();
    let begun = Instant::now();
    one.run(&mut account);
    let run = begun.elapsed();
    one.cluster.check(&mut account, &tasks);
    let (ended, tries) = (account.len(), one.cluster.place.lines("ran").len());
    println!(
        "seed {seed}: {ended} tasks, {tries} tries, {:?}; run {run:.1?}, all {:.1?}",
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
