//! The machine: which cores there are and may be used, and whether it is a guest of another.

use std::fs;

use rustix::io;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::NoiseError;
use crate::settings::{MOST_CORES, cores_of};

const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The cores that are online.
///
/// # Errors
/// [`NoiseError::Machine`] where the kernel does not list them.
pub fn online() -> Result<Vec<u32>, NoiseError> {
    let list = fs::read_to_string(ONLINE).map_err(|error| error.to_string());
    let cores = list.and_then(|list| cores_of(&list));
    cores.map_err(|reason| NoiseError::Machine(format!("{ONLINE}: {reason}")))
}

/// The cores that this process may use.
///
/// # Errors
/// [`NoiseError::Machine`].
pub fn allowed() -> Result<Vec<u32>, NoiseError> {
    let set = sched_getaffinity(None).map_err(|error| {
        NoiseError::Machine(format!("the cores of this process cannot be read: {error}"))
    })?;
    Ok((0..MOST_CORES).filter(|&core| set.is_set(core as usize)).collect())
}

/// The cores to measure: those asked for, or all that may be used.
///
/// # Errors
/// [`NoiseError::Machine`] if one is not there or may not be used.
pub fn chosen(asked: Option<&[u32]>) -> Result<Vec<u32>, NoiseError> {
    let allowed = allowed()?;
    let Some(asked) = asked else { return Ok(allowed) };
    let online = online()?;
    for core in asked {
        if !online.contains(core) {
            let online = listed(&online);
            let reason = format!("--cores: no core {core} is online here, but {online}");
            return Err(NoiseError::Machine(reason));
        }
        if !allowed.contains(core) {
            let reason = format!(
                "--cores: this process may not use core {core}, only {}: start it with `taskset`, \
                 or in another cpuset",
                listed(&allowed)
            );
            return Err(NoiseError::Machine(reason));
        }
    }
    Ok(asked.to_vec())
}

/// Cores as the kernel lists them.
pub fn listed(cores: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &core in cores {
        match parts.last_mut() {
            Some((_, to)) if *to + 1 == core => *to = core,
            _ => parts.push((core, core)),
        }
    }
    let part = |&(from, to): &(u32, u32)| {
        if from == to { from.to_string() } else { format!("{from}-{to}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// Lets the calling thread run on these cores only.
///
/// # Errors
/// What the system says.
pub fn stay_on(cores: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core as usize);
    }
    sched_setaffinity(None, &set)
}

/// Whether a hypervisor says that it runs this machine.
pub fn is_guest() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_listed_as_the_kernel_does() {
        assert_eq!(listed(&[0, 2, 3, 4, 9]), "0,2-4,9");
        assert_eq!(listed(&[]), "");
    }

    #[test]
    fn a_core_that_is_not_there_is_refused_with_those_that_are() {
        let refused = chosen(Some(&[1_023])).expect_err("no test machine has so many").to_string();
        assert!(refused.contains("no core 1023 is online here, but 0"), "{refused}");
        let all = chosen(None).expect("some may be used");
        assert_eq!(chosen(Some(&all)).expect("the same"), all);
    }
}
