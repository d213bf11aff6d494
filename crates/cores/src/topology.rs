//! The cores of a machine: which are on, which share a physical core, what it was started with.

use std::collections::BTreeMap;

use crate::CoresError;
use crate::machine::Machine;
use crate::set::CoreSet;

const CORES: &str = "/sys/devices/system/cpu";

/// The cores of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Those that are switched on.
    pub online: CoreSet,
    /// For each core all that share its physical core, itself included.
    pub siblings: BTreeMap<u32, CoreSet>,
    /// Those that lose the tick while one task runs there.
    pub tickless: CoreSet,
    /// Those that the boot loader's line keeps out of the scheduler's balance.
    pub isolated: CoreSet,
    /// Those whose callbacks run elsewhere.
    pub callbacks_elsewhere: CoreSet,
    /// What tells this machine from others.
    pub machine: String,
    /// What tells this start of the machine from others.
    pub boot: String,
}

impl Topology {
    /// Reads it.
    ///
    /// # Errors
    /// [`CoresError::Read`].
    pub fn read(machine: &dyn Machine) -> Result<Self, CoresError> {
        let path = format!("{CORES}/online");
        let read = machine.read(&path);
        let online: CoreSet = read
            .and_then(|text| text.parse().map_err(std::io::Error::other))
            .map_err(|source| CoresError::Read { path, source })?;
        let list = |path: &str| machine.read(path).ok().and_then(|text| text.parse().ok());
        let siblings = online.iter().map(|core| {
            let path = format!("{CORES}/cpu{core}/topology/thread_siblings_list");
            (core, list(&path).unwrap_or_else(|| CoreSet::from_iter([core])))
        });
        let line = machine.read("/proc/cmdline").unwrap_or_default();
        let text = |path: &str| machine.read(path).map(|text| text.trim().to_owned());
        let tickless: CoreSet = list(&format!("{CORES}/nohz_full")).unwrap_or_default();
        // Cores without a tick have their callbacks run elsewhere without being asked.
        let callbacks = parameter(&line, "rcu_nocbs").unwrap_or_default().either(&tickless);
        let name = text("/etc/machine-id").ok().filter(|name| !name.is_empty());
        Ok(Self {
            siblings: siblings.collect(),
            tickless,
            isolated: list(&format!("{CORES}/isolated")).unwrap_or_default(),
            callbacks_elsewhere: callbacks,
            machine: name.or_else(|| text("/proc/sys/kernel/hostname").ok()).unwrap_or_default(),
            boot: text("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
            online,
        })
    }

    /// How many physical cores these are of.
    pub fn physical(&self, cores: &CoreSet) -> usize {
        let is_first = |core: &u32| {
            let others = self.siblings.get(core).map(|all| all.both(cores));
            others.is_none_or(|all| all.iter().all(|other| other >= *core))
        };
        cores.iter().filter(is_first).count()
    }

    /// The cores that share physical cores with these, themselves included.
    pub fn with_siblings(&self, cores: &CoreSet) -> CoreSet {
        let sets = cores.iter().filter_map(|core| self.siblings.get(&core));
        sets.fold(cores.clone(), |all, some| all.either(some)).both(&self.online)
    }
}

/// The cores that a parameter of the boot loader's line names.
fn parameter(line: &str, name: &str) -> Option<CoreSet> {
    let value = line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_that_share_a_core_count_once_as_far_as_they_are_asked_about() {
        let set = |cores: &[u32]| cores.iter().copied().collect::<CoreSet>();
        let pairs = [[0, 2], [1, 3]];
        let siblings = (0..4).map(|core| (core, set(&pairs[core as usize % 2])));
        let topology = Topology { siblings: siblings.collect(), ..Topology::default() };
        let physical = |cores: &[u32]| topology.physical(&set(cores));
        assert_eq!([physical(&[0, 1, 2, 3]), physical(&[0, 2]), physical(&[2, 3])], [2, 1, 2]);
        assert_eq!(physical(&[]), 0);
    }
}
