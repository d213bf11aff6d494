//! A simulated machine: SimGrid's smpirun, in virtual time.
//!
//! Nothing is preloaded. Ranks are laid out as `host_pattern` counts, as many on each host as a
//! node has.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::kinds::SimulatedMachine;
use super::order::{Order, find_launcher};
use crate::ExperimentError;
use crate::run::Launch;

/// The topologies that SimGrid's `<cluster>` knows, and none.
const TOPOLOGIES: [&str; 5] = ["FLAT", "TORUS", "FAT_TREE", "DRAGONFLY", "STAR"];
/// More of a platform file than this is not read.
const MOST_BYTES: u64 = 64 << 20;

/// What comes before the options of a campaign. SimGrid would measure the time that programs take
/// here and add it to theirs: no run would be the same twice.
const OPTIONS: [&str; 2] = ["--log=root.thres:error", "--cfg=smpi/simulate-computation:no"];

/// smpirun and its machine.
#[derive(Debug)]
pub(super) struct Launcher {
    program: PathBuf,
    platform: String,
    machine: SimulatedMachine,
}

impl Launcher {
    /// Finds smpirun, and reads what topology the platform has.
    ///
    /// # Errors
    /// [`ExperimentError::Program`], or [`ExperimentError::Machine`] for a platform that is none.
    pub(super) fn find(machine: &SimulatedMachine) -> Result<Self, ExperimentError> {
        let remedy = "install SimGrid's SMPI (Debian: libsimgrid-dev)";
        let program = find_launcher(&["smpirun"], "", remedy)?;
        let platform = &machine.platform;
        let refused =
            |reason: &str| ExperimentError::Machine(format!("{}: {reason}", platform.display()));
        let size = fs::metadata(platform).map_err(|error| refused(&error.to_string()))?.len();
        if size > MOST_BYTES {
            return Err(refused("larger than 64 MiB: no platform file"));
        }
        let text = fs::read_to_string(platform).map_err(|error| refused(&error.to_string()))?;
        must_be_known(&text, platform)?;
        let platform = fs::canonicalize(platform).map_err(|error| refused(&error.to_string()))?;
        let platform = platform.display().to_string();
        Ok(Self { program, platform, machine: machine.clone() })
    }

    /// What starts a run.
    ///
    /// # Errors
    /// [`ExperimentError::Unwritable`] if the file of hosts cannot be laid beside it.
    pub(super) fn launch(&self, order: &Order<'_>) -> Result<Launch, ExperimentError> {
        let hosts = order.directory.join("hosts");
        let written = fs::write(&hosts, self.hosts(order.nodes, order.ranks));
        written.map_err(|source| ExperimentError::Unwritable { path: hosts.clone(), source })?;
        let mut words = vec![self.program.display().to_string()];
        words.extend(["-n".to_owned(), order.ranks.to_string()]);
        words.extend(["-platform".to_owned(), self.platform.clone()]);
        words.extend(["-hostfile".to_owned(), hosts.display().to_string()]);
        words.extend(OPTIONS.map(str::to_owned));
        let arguments = self.machine.launcher_arguments.iter().chain(order.launcher_arguments);
        words.extend(arguments.cloned());
        words.extend(order.application.iter().cloned());
        let environment = order.environment.clone();
        let directory = order.directory.to_owned();
        Ok(Launch { words, environment, directory, ..Launch::default() })
    }

    /// The name of the host of each rank, a line each.
    fn hosts(&self, nodes: u32, ranks: u32) -> String {
        let mut text = String::new();
        for rank in 0..ranks {
            // As many on each, the first ones one more where it does not come out even.
            let host = u64::from(rank) * u64::from(nodes) / u64::from(ranks);
            let name = self.machine.host_pattern.replace("{}", &host.to_string());
            let _ = writeln!(text, "{name}");
        }
        text
    }
}

/// Refuses a platform with a topology that SimGrid does not have, or that is no platform.
fn must_be_known(text: &str, path: &Path) -> Result<(), ExperimentError> {
    let refused = |line: usize, reason: &str| {
        ExperimentError::Machine(format!("{}:{line}: {reason}", path.display()))
    };
    if !text.contains("<platform") {
        return Err(refused(1, "no <platform>: name a platform file of SimGrid"));
    }
    for (at, line) in text.lines().enumerate() {
        for rest in line.split("topology=").skip(1) {
            let given = rest.trim_start_matches(['"', '\'']);
            let given = given.split(['"', '\'', ' ', '>']).next().unwrap_or_default();
            if !TOPOLOGIES.contains(&given) {
                let known = TOPOLOGIES.join(", ");
                let reason = format!("unknown topology `{given}`: SimGrid knows {known}");
                return Err(refused(at + 1, &reason));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_topology_is_named_by_line() {
        let torus = "<?xml version='1.0'?>\n<platform version=\"4.1\">\n\
                     <cluster id=\"c\" topology=\"TORUS\" topo_parameters=\"4,4,4\"/>\n</platform>\n";
        assert!(must_be_known(torus, Path::new("t.xml")).is_ok());
        let klein = torus.replace("TORUS", "KLEIN_BOTTLE");
        let refused = must_be_known(&klein, Path::new("t.xml")).expect_err("no such topology");
        assert!(refused.to_string().starts_with("t.xml:3: unknown topology `KLEIN_BOTTLE`"));
        assert!(must_be_known("<html>", Path::new("t.xml")).is_err());
    }

    #[test]
    fn ranks_fill_host_after_host() {
        let machine = SimulatedMachine {
            platform: PathBuf::new(),
            host_pattern: "n{}".to_owned(),
            launcher_arguments: Vec::new(),
        };
        let launcher = Launcher { program: PathBuf::new(), platform: String::new(), machine };
        assert_eq!(launcher.hosts(3, 6), "n0\nn0\nn1\nn1\nn2\nn2\n");
        assert_eq!(launcher.hosts(2, 3), "n0\nn0\nn1\n");
    }
}
