//! A site: agents on hosts of their own, with the key of one cluster.
//!
//! Host *n* is called `h` and its number in two digits. The first three hosts are the seeds of all.
//! What a test waits for is what agents say of each other, never a time.

#![expect(clippy::missing_panics_doc, reason = "a measurement without agents is none")]

use std::time::Instant;

use rustix::process::Signal;
use tidings_control::State;

use super::cluster::{Agent, Cluster};
use crate::hosts::Hosts;

/// A key that is nobody's.
pub const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";

/// The oldest news of a node that counts as known, in units of time: the oldest of all pairs of 48
/// nodes is some 20 units old where nothing is amiss.
const KNOWN_AGE_UNITS: f64 = 48.0;

/// Agents on hosts.
#[derive(Debug)]
pub struct Site {
    /// The agents.
    pub cluster: Cluster,
    /// The hosts.
    pub hosts: Hosts,
    flags: Vec<String>,
}

/// The name of the agent on a host.
pub fn name(host: usize) -> String {
    format!("h{host:02}")
}

impl Site {
    /// Hosts without agents yet, which will have these flags beside those that every agent of a
    /// site has.
    pub fn dark(hosts: Hosts, flags: &[&str]) -> Self {
        let cluster = Cluster::new();
        let mut all = vec!["--keys".to_owned(), cluster.write("keys", KEY)];
        all.extend(flags.iter().map(|&flag| flag.to_owned()));
        Self { cluster, hosts, flags: all }
    }

    /// Agents on all hosts, each of which knows all.
    pub fn new(hosts: Hosts, flags: &[&str]) -> Self {
        let mut site = Self::dark(hosts, flags);
        for host in site.all() {
            site.start(host);
        }
        site.until_all_know(&site.all());
        site
    }

    /// All hosts.
    pub fn all(&self) -> Vec<usize> {
        (1..=self.hosts.count()).collect()
    }

    /// All hosts but these.
    pub fn all_but(&self, absent: &[usize]) -> Vec<usize> {
        self.all().into_iter().filter(|host| !absent.contains(host)).collect()
    }

    /// The agent of a host.
    pub fn agent(&self, host: usize) -> &Agent {
        self.cluster.agent(&name(host))
    }

    /// Starts the agent of a host, with the first three hosts as its seeds.
    pub fn start(&mut self, host: usize) {
        self.start_with(host, &[], &[]);
    }

    /// The same with words before the command, such as `env NAME=VALUE`, and further flags.
    pub fn start_with(&mut self, host: usize, words: &[&str], flags: &[&str]) {
        let place: Vec<String> =
            self.hosts.on(host).into_iter().chain(words.iter().map(ToString::to_string)).collect();
        let flags = self.flags_of(host, flags);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        self.cluster.start_on(&place, &name(host), &flags);
    }

    /// The flags of the agent of a host; `--listen` and `--roster` displace what sites usually say.
    pub fn flags_of(&self, host: usize, further: &[&str]) -> Vec<String> {
        let has = |flag: &str| {
            further.contains(&flag) || self.flags.iter().any(|one| one.as_str() == flag)
        };
        let mut flags = self.flags.clone();
        flags.extend(further.iter().map(ToString::to_string));
        if !has("--listen") {
            flags.extend(["--listen".to_owned(), format!("{}:9616", Hosts::address(host))]);
        }
        if !has("--interval") {
            flags.extend(["--interval", "64ms"].map(str::to_owned));
        }
        if !has("--roster") {
            let seeds = (1..=3).map(|seed| format!("{}:9616", Hosts::address(seed)));
            flags.extend(seeds.flat_map(|seed| ["--seed".to_owned(), seed]));
        }
        flags
    }

    /// Kills the agent of a host as nothing can hinder.
    pub fn kill(&mut self, host: usize) {
        self.agent(host).signal(Signal::KILL);
        self.cluster.end(&name(host));
    }

    /// The state in which one host holds another.
    pub fn state(&self, holder: usize, about: usize) -> State {
        self.agent(holder).node(&name(about)).map_or(State::Unheard, |node| node.state)
    }

    /// Waits until each of `hosts` holds each other as alive, with news not older than 48 units,
    /// and prints how long that took.
    pub fn until_all_know(&self, hosts: &[usize]) {
        let begin = Instant::now();
        self.cluster.until(&format!("{hosts:?} know each other"), |_| {
            let knows_all = |holder: &usize| {
                let answer = self.agent(*holder).client().nodes().expect("answers");
                let known_age_ms = KNOWN_AGE_UNITS * answer.interval_ms;
                hosts.iter().filter(|about| *about != holder).all(|&about| {
                    answer.nodes.iter().any(|node| {
                        let young = node.age_ms.is_some_and(|age_ms| age_ms < known_age_ms);
                        node.name == name(about) && node.state == State::Alive && young
                    })
                })
            };
            hosts.iter().all(knows_all).then_some(())
        });
        println!("{} hosts know each other after {:.1?}", hosts.len(), begin.elapsed());
    }

    /// Waits until each of `holders` holds `about` in this state.
    pub fn until_held(&self, holders: &[usize], about: usize, state: State) {
        self.cluster.until(&format!("{} is {state:?} for all", name(about)), |_| {
            let held = |&holder: &usize| self.state(holder, about) == state;
            holders.iter().all(held).then_some(())
        });
    }

    /// The sum of a counter over the agents of these hosts.
    pub fn count(&self, hosts: &[usize], counter: &str) -> u64 {
        hosts.iter().map(|&host| self.agent(host).counter(counter)).sum()
    }

    /// Lets so many rounds of a host pass.
    pub fn pass_rounds(&self, host: usize, rounds: u64) {
        let start = self.agent(host).counter("rounds");
        self.cluster.until("rounds pass", |_| {
            (self.agent(host).counter("rounds") >= start + rounds).then_some(())
        });
    }

    /// Asserts that no agent of these hosts has declared another dead, nor was taken for dead.
    pub fn assert_nobody_died(&self, hosts: &[usize]) {
        for counter in ["deaths_declared", "deaths_outlived"] {
            assert_eq!(self.count(hosts, counter), 0, "{counter}");
        }
    }

    /// Asserts that no datagram came damaged.
    pub fn assert_nothing_damaged(&self, hosts: &[usize]) {
        for counter in ["dropped_corrupt", "dropped_malformed", "dropped_foreign"] {
            assert_eq!(self.count(hosts, counter), 0, "{counter}");
        }
    }
}
