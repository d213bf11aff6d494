//! The parameters of a demo, checked before anything is started.
//!
//! The limits are those of one machine: every agent is a process, so what a demo needs grows with
//! the number of nodes, and past a few hundred it would measure the machine's scheduler instead of
//! the gossip.

use std::ffi::OsString;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tidings_gossip::{Config, Strategy, Window};

use super::failure::{DemoError, NODES_MAX};
use super::options::Options;

/// Memory that an agent may need: its limit of 16 MiB.
const AGENT_MIB: u64 = 16;

/// File descriptors this process needs in addition to one connection per agent.
const DESCRIPTORS: u64 = 32;

/// The parameters of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many agents.
    pub nodes: usize,
    /// The unit of time.
    pub interval: Duration,
    window: Window,
    strategy: Strategy,
    payload_bytes: u16,
}

impl Plan {
    /// Checks the options against the core's ranges and this machine's limits.
    ///
    /// # Errors
    /// A [`DemoError`] of usage that names the limit.
    pub fn check(options: &Options) -> Result<Self, DemoError> {
        let plan = Self {
            nodes: options.nodes,
            interval: options.interval,
            window: options.window,
            strategy: options.strategy(),
            payload_bytes: options.payload_bytes,
        };
        plan.check_core()?;
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        plan.check_machine(memory_available_mib(), descriptors)?;
        Ok(plan)
    }

    fn check_core(&self) -> Result<(), DemoError> {
        let mut config = Config::default();
        config.interval = self.interval;
        config.window = self.window;
        config.strategy = self.strategy;
        config.payload_bytes = self.payload_bytes;
        Ok(config.validate()?)
    }

    fn check_machine(&self, available_mib: Option<u64>, limit: u64) -> Result<(), DemoError> {
        let nodes = self.nodes;
        if !(2..=NODES_MAX).contains(&nodes) {
            return Err(DemoError::Nodes { nodes });
        }
        let needed_mib = nodes as u64 * AGENT_MIB;
        if let Some(available_mib) = available_mib.filter(|available| *available < needed_mib) {
            return Err(DemoError::Memory { nodes, needed_mib, available_mib });
        }
        let needed = nodes as u64 + DESCRIPTORS;
        if limit < needed {
            return Err(DemoError::Descriptors { nodes, needed, limit });
        }
        Ok(())
    }

    /// The name of agent number `number`, counted from 0: `n01`, `n02`, …, all of one length.
    pub fn name(&self, number: usize) -> String {
        let digits = self.nodes.to_string().len().max(2);
        format!("n{:0digits$}", number + 1)
    }

    /// Whether the agents declare others dead: all strategies but the paper's have the detector.
    pub fn detects_deaths(&self) -> bool {
        self.strategy != Strategy::Uniform
    }

    /// The arguments that all agents have in common.
    pub fn agent_arguments(&self) -> Vec<OsString> {
        let paper = !self.detects_deaths();
        [
            ("--cluster", "demo".to_owned()),
            ("--listen", "127.0.0.1:0".to_owned()),
            ("--http", "127.0.0.1:0".to_owned()),
            ("--interval", format!("{}us", self.interval.as_micros())),
            ("--window", self.window.to_string()),
            ("--strategy", self.strategy.to_string()),
            ("--payload-bytes", self.payload_bytes.to_string()),
        ]
        .into_iter()
        // The paper's algorithm has no probes, which carry entries too.
        .chain(paper.then(|| ("--death-after", "off".to_owned())))
        .flat_map(|(option, value)| [OsString::from(option), OsString::from(value)])
        .collect()
    }

    /// One line that describes the run.
    pub fn title(&self) -> String {
        let unit_ms = self.interval.as_secs_f64() * 1e3;
        format!(
            "{} agents, {}, unit {unit_ms} ms, window {}, payload {} bytes",
            self.nodes, self.strategy, self.window, self.payload_bytes
        )
    }
}

/// `MemAvailable`; `None` where the kernel does not report it.
fn memory_available_mib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(nodes: usize) -> Plan {
        Plan {
            nodes,
            interval: Duration::from_millis(256),
            window: Window::Percent(20.0),
            strategy: Strategy::Uniform,
            payload_bytes: 64,
        }
    }

    #[test]
    fn names_have_one_length_and_sort_as_they_count() {
        assert_eq!((plan(24).name(0), plan(24).name(23)), ("n01".into(), "n24".into()));
        assert_eq!(plan(100).name(6), "n007");
    }

    #[test]
    fn too_much_for_the_machine_is_rejected_with_its_numbers() {
        let refused = |nodes, mib, descriptors| {
            plan(nodes).check_machine(mib, descriptors).expect_err("too much").to_string()
        };
        assert!(refused(1, None, 1024).contains("2 to 512"));
        assert!(refused(513, None, 4096).contains("2 to 512"));
        assert!(refused(64, Some(1000), 1024).contains("1024 MiB"));
        assert!(refused(512, None, 256).contains("544"));
        assert!(plan(64).check_machine(Some(2048), 1024).is_ok());
    }

    #[test]
    fn the_unit_reaches_the_agents_exactly() {
        let arguments = plan(2).agent_arguments();
        let at = arguments.iter().position(|word| word == "--interval").expect("an interval");
        assert_eq!(arguments[at + 1], "256000us");
    }
}
