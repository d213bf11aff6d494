//! Hosts for a store and those who use it: one at the head, which holds the store or coordinates,
//! some with workers, one from which runs are started; of an etcd also one for each server.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tidings_experiment::agents;
use tidings_experiment::hosts::Hosts;

use crate::host;
use crate::servers::Servers;

/// The host whose process serves the store, as long as nothing happens to it.
pub(crate) const HEAD: usize = 1;
/// The hosts with workers.
pub(crate) const WORKERS: [usize; 3] = [2, 3, 4];
/// The host of runs and other commands.
pub(crate) const CLIENT: usize = 5;
/// The hosts of an etcd.
pub(crate) const SERVERS: [usize; 3] = [6, 7, 8];

/// The usual pace of an etcd.
const PACE: [&str; 4] = ["--heartbeat-interval", "100", "--election-timeout", "1000"];

/// That of one whose servers are near each other: an election after half a second of silence.
const QUICK: [&str; 4] = ["--heartbeat-interval", "50", "--election-timeout", "500"];

/// Hosts, and what runs on them as long as there is a test.
pub(crate) struct Site {
    agents: agents::Site,
    /// The hosts that are to have an agent, and those that have one.
    with_agents: BTreeSet<usize>,
    agents_on: BTreeSet<usize>,
    /// An etcd; without one the store is a file of the head.
    pub(crate) servers: Option<Servers>,
}

impl Site {
    /// For a store in a file at the head.
    pub(crate) fn of_file() -> Self {
        let agents = agents::Site::dark(Hosts::new(CLIENT), &[]);
        Self::of(agents, None)
    }

    /// For a store in an etcd of three servers.
    pub(crate) fn of_etcd() -> Self {
        Self::of_etcd_at(&PACE)
    }

    /// For a store in an etcd that soon has another leader.
    pub(crate) fn of_quick_etcd() -> Self {
        Self::of_etcd_at(&QUICK)
    }

    fn of_etcd_at(pace: &[&str]) -> Self {
        let agents = agents::Site::dark(Hosts::new(CLIENT + SERVERS.len()), &[]);
        let words_of = |host| (host::words(&agents.hosts, host), Hosts::address(host));
        let servers = Servers::on(SERVERS.into_iter().map(words_of).collect(), pace);
        Self::of(agents, Some(servers))
    }

    fn of(agents: agents::Site, servers: Option<Servers>) -> Self {
        let (with_agents, agents_on) = (BTreeSet::new(), BTreeSet::new());
        Self { agents, with_agents, agents_on, servers }
    }

    /// The same with an agent on each host of tasks.
    pub(crate) fn with_agents(mut self) -> Self {
        self.with_agents = (HEAD..=CLIENT).collect();
        self
    }

    /// Whether each host of tasks has an agent.
    pub(crate) fn has_agents(&self) -> bool {
        !self.with_agents.is_empty()
    }

    /// Starts the agents that are not there, and waits until all know each other.
    pub(crate) fn begin_agents(&mut self) {
        let missing: Vec<usize> = self.with_agents.difference(&self.agents_on).copied().collect();
        for host in missing {
            self.begin_agent(host);
        }
        let all: Vec<usize> = self.agents_on.iter().copied().collect();
        self.agents.until_all_know(&all);
    }

    /// Starts the agent of a host, if that is to have one.
    pub(crate) fn begin_agent(&mut self, host: usize) {
        if self.with_agents.contains(&host) && self.agents_on.insert(host) {
            self.agents.start(host);
        }
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.agents.hosts
    }

    /// The file of the cluster's keys.
    pub(crate) fn keys(&self) -> PathBuf {
        self.agents.cluster.path().join("keys")
    }

    /// Where the board of a host lies, if it has an agent.
    pub(crate) fn runtime_dir(&self, host: usize) -> PathBuf {
        self.agents.cluster.path().join(host::name(host))
    }

    /// Waits until the agent and the server are gone that were killed with their host.
    pub(crate) fn bury(&mut self, host: usize) {
        if self.agents_on.remove(&host) {
            self.agents.cluster.end(&host::name(host));
        }
        if let (Some(servers), Some(number)) = (&mut self.servers, number_of(host)) {
            servers.kill(number);
        }
    }

    /// Starts the server again that was killed with its host.
    pub(crate) fn restart_server(&mut self, host: usize) {
        let servers = self.servers.as_mut().expect("there is an etcd");
        servers.restart(number_of(host).expect("it has a server"));
    }

    /// The host whose server leads the etcd.
    pub(crate) fn leader(&self) -> Option<usize> {
        self.servers.as_ref()?.leader().map(|number| SERVERS[number])
    }
}

/// The number of the server of a host.
fn number_of(host: usize) -> Option<usize> {
    SERVERS.iter().position(|&server| server == host)
}
