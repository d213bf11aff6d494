//! What goes wrong in a cluster of hosts: lost datagrams, cuts, kills, stops, restarts.
//!
//! Every agent runs in a network namespace of its own, with an address of its own, so that nothing
//! but datagrams over a (virtual) wire connects them. After each fault every live pair must know
//! each other again, and nobody who lives may count as dead.

mod versions;

use rustix::process::Signal;
use tidings_control::State;
use tidings_tests::agents::Cluster;
use tidings_tests::hosts::Hosts;

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
const HOSTS: usize = 16;

/// Agents on hosts.
struct Site {
    cluster: Cluster,
    hosts: Hosts,
    keys: String,
}

fn name(host: usize) -> String {
    format!("h{host:02}")
}

impl Site {
    /// Agents on all hosts, the first three of which are the seeds of all; each knows all.
    fn new() -> Self {
        let mut site = Self::dark();
        for host in all() {
            site.start(host);
        }
        site.until_all_know(&all());
        site
    }

    /// Hosts without agents.
    fn dark() -> Self {
        let (cluster, hosts) = (Cluster::new(), Hosts::new(HOSTS));
        let keys = cluster.write("keys", KEY);
        Self { cluster, hosts, keys }
    }

    fn start(&mut self, host: usize) {
        let listen = format!("{}:9616", Hosts::address(host));
        let seeds: Vec<String> =
            (1..=3).map(|seed| format!("{}:9616", Hosts::address(seed))).collect();
        let mut flags = vec!["--listen", &listen, "--keys", &self.keys, "--interval", "64ms"];
        flags.extend(seeds.iter().flat_map(|seed| ["--seed", seed]));
        self.cluster.start_on(&self.hosts.on(host), &name(host), &flags);
    }

    fn kill(&mut self, host: usize) {
        self.cluster.agent(&name(host)).signal(Signal::KILL);
        self.cluster.end(&name(host));
    }

    /// The state in which one host holds another.
    fn state(&self, holder: usize, about: usize) -> State {
        self.cluster.agent(&name(holder)).node(&name(about)).map_or(State::Unheard, |n| n.state)
    }

    /// Waits until each of `hosts` holds each other as alive, with news not older than 3 s.
    fn until_all_know(&self, hosts: &[usize]) {
        self.cluster.until(&format!("{hosts:?} know each other"), |cluster| {
            let knows_all = |holder: &usize| {
                let nodes = cluster.agent(&name(*holder)).client().nodes().expect("answers").nodes;
                hosts.iter().filter(|about| *about != holder).all(|&about| {
                    nodes.iter().any(|node| {
                        let young = node.age_ms.is_some_and(|age_ms| age_ms < 3_000.0);
                        node.name == name(about) && node.state == State::Alive && young
                    })
                })
            };
            hosts.iter().all(knows_all).then_some(())
        });
    }

    /// Waits until each of `holders` holds `about` in this state.
    fn until_held(&self, holders: &[usize], about: usize, state: State) {
        self.cluster.until(&format!("{} is {state:?} for all", name(about)), |_| {
            let held = |&holder: &usize| self.state(holder, about) == state;
            holders.iter().all(held).then_some(())
        });
    }

    /// The sum over all running agents of a counter.
    fn count(&self, hosts: &[usize], counter: &str) -> u64 {
        hosts.iter().map(|&host| self.cluster.agent(&name(host)).counter(counter)).sum()
    }

    /// Lets so many rounds of the first host pass.
    fn pass_rounds(&self, rounds: u64) {
        let start = self.cluster.agent(&name(1)).counter("rounds");
        self.cluster.until("rounds pass", |cluster| {
            (cluster.agent(&name(1)).counter("rounds") >= start + rounds).then_some(())
        });
    }
}

fn all() -> Vec<usize> {
    (1..=HOSTS).collect()
}

fn all_but(host: usize) -> Vec<usize> {
    all().into_iter().filter(|&other| other != host).collect()
}

#[test]
fn a_third_of_all_datagrams_lost_kills_nobody() {
    let site = Site::new();
    for percent in [10, 30] {
        for host in all() {
            site.hosts.lose(host, percent);
        }
        site.pass_rounds(60);
        site.until_all_know(&all());
    }
    assert_eq!(site.count(&all(), "deaths_declared"), 0);
    let dropped = site.count(&all(), "dropped_corrupt") + site.count(&all(), "dropped_malformed");
    assert_eq!(dropped, 0);
}

#[test]
fn two_halves_that_took_each_other_for_dead_find_together() {
    let site = Site::new();
    let (one, two): (Vec<usize>, Vec<usize>) = all().iter().partition(|&&host| host <= HOSTS / 2);
    for &host in &one {
        site.hosts.deafen(host, two.iter().copied());
    }
    for &host in &two {
        site.hosts.deafen(host, one.iter().copied());
    }
    site.until_held(&one, HOSTS, State::Dead);
    site.until_held(&two, 1, State::Dead);
    site.until_all_know(&one);
    site.hosts.heal();
    site.until_all_know(&all());
}

#[test]
fn a_host_that_hears_nobody_is_heard_again_when_it_hears() {
    let site = Site::new();
    site.hosts.deafen(5, all_but(5).into_iter());
    site.pass_rounds(100);
    site.hosts.heal();
    site.until_all_know(&all());
    site.until_all_know(&all_but(5));
}

#[test]
fn the_killed_are_dead_to_all_and_live_again_with_the_next_start() {
    let mut site = Site::new();
    for host in [4, 9] {
        site.kill(host);
        site.until_held(&all_but(host), host, State::Dead);
        site.start(host);
        site.until_all_know(&all());
    }
}

#[test]
fn a_seed_that_is_dead_at_the_start_holds_nobody_up() {
    let mut site = Site::dark();
    for host in all_but(1) {
        site.start(host);
    }
    site.until_all_know(&all_but(1));
    site.start(1);
    site.until_all_know(&all());
}

#[test]
fn who_stands_still_for_long_is_dead_and_outlives_it() {
    let site = Site::new();
    site.cluster.agent(&name(7)).signal(Signal::STOP);
    site.until_held(&all_but(7), 7, State::Dead);
    site.cluster.agent(&name(7)).signal(Signal::CONT);
    site.until_all_know(&all());
}

#[test]
fn a_rolling_restart_loses_nobody() {
    let mut site = Site::new();
    for host in 1..=HOSTS {
        assert_eq!(site.cluster.stop(&name(host)), Some(0));
        site.start(host);
    }
    site.until_all_know(&all());
    assert_eq!(site.count(&all(), "deaths_declared"), 0, "who says goodbye is not dead");
}
