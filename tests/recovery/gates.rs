//! Tasks that wait until a test lets those of their host go.

use std::collections::BTreeMap;

use crate::account::GATED;
use crate::cluster::Cluster;
use crate::host;
use crate::place::Pipe;
use crate::site::WORKERS;

/// More than tasks begin.
const ALL: usize = 200;

/// What tasks and a test say to each other.
pub(crate) struct Gates {
    began: Pipe,
    gates: BTreeMap<usize, Pipe>,
}

impl Gates {
    /// Makes the pipes, and the script of the tasks.
    pub(crate) fn of(cluster: &Cluster<'_>) -> Self {
        let place = &cluster.place;
        place.script("task", GATED);
        let gate = |host: usize| (host, place.pipe(&format!("gate.{}", host::name(host))));
        Self { began: place.pipe("began"), gates: WORKERS.into_iter().map(gate).collect() }
    }

    /// Waits until all slots of all workers have a task; those of each host.
    pub(crate) fn until_busy(&mut self) -> BTreeMap<usize, Vec<String>> {
        let mut begun: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        while WORKERS.iter().any(|host| begun.get(host).is_none_or(|tasks| tasks.len() < 2)) {
            let (host, task) = self.next();
            begun.entry(host).or_default().push(task);
        }
        begun
    }

    /// Waits until a task begins; where, and which one.
    pub(crate) fn next(&mut self) -> (usize, String) {
        let line = self.began.line();
        let (name, task) = line.split_once(' ').unwrap();
        let host = *WORKERS.iter().find(|host| host::name(**host) == name).unwrap();
        (host, task.to_owned())
    }

    /// Lets all tasks of a host go, also later ones.
    pub(crate) fn open(&mut self, host: usize) {
        self.gates.get_mut(&host).unwrap().let_go(ALL);
    }

    /// The same of all hosts.
    pub(crate) fn open_all(&mut self) {
        for host in WORKERS {
            self.open(host);
        }
    }
}
