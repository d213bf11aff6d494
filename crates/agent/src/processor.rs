//! Where the agent runs on its machine: on which cores, and with which priority.
//!
//! A node may keep a core for services, so that the system does not disturb the applications on the
//! others; the agent can be bound to it. A priority decides what the agent gets while applications
//! use all cores. Both are set for the first thread, before there is another, so that all others
//! inherit them. Invariant: when this returns, the settings are in effect, or there is an error
//! that names the setting; nothing is adapted to the machine.

use std::fs;
use std::io;

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::config::{Priority, ServiceCores, Settings, listed};

/// The niceness of `low`: a tenth of the weight of a process with niceness 0.
const LOW_NICENESS: i32 = 10;

/// The cores that are switched on, as a list such as `0-127`.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Why the agent cannot run as its settings require. Nothing of the cluster has been touched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessorError {
    /// The machine has no such core.
    #[error("service_core: core {core} does not exist here: this machine has {online}")]
    NoCore {
        /// What was asked for.
        core: u32,
        /// The machine's cores.
        online: String,
    },
    /// The machine has the core, and this process may not use it.
    #[error(
        "service_core: this process may not use core {core}, only {allowed}: name one of those, or \
         let it use more where it is started (AllowedCPUs= and CPUAffinity= of its unit, taskset)"
    )]
    NotAllowed {
        /// What was asked for.
        core: u32,
        /// What the process may use.
        allowed: String,
    },
    /// The system rejected the setting.
    #[error(
        "{setting}: the system rejected {call} ({source}): remove the setting, or allow that \
         call where the agent is started (SystemCallFilter= of its unit)"
    )]
    Refused {
        /// The setting's name and value.
        setting: String,
        /// The system call.
        call: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Binds this thread, and all that it starts, to the cores of the settings, and gives it their
/// priority.
///
/// # Errors
/// [`ProcessorError`].
pub(crate) fn settle(settings: &Settings) -> Result<(), ProcessorError> {
    if let Some(cores) = cores(settings)? {
        let mut set = CpuSet::new();
        for &core in &cores {
            set.set(core as usize);
        }
        sched_setaffinity(None, &set).map_err(|error| {
            refused(format!("service_core = {}", listed(&cores)), "sched_setaffinity", error.into())
        })?;
    }
    let set = |call, done: io::Result<()>| {
        done.map_err(|error| refused(format!("priority = {}", settings.priority), call, error))
    };
    match settings.priority {
        Priority::Normal => Ok(()),
        Priority::Low => set("setpriority", be_nice()),
        Priority::Idle => set("sched_setscheduler", be_idle()),
    }
}

/// The cores that the settings name; `None` if they leave it to the system.
///
/// # Errors
/// [`ProcessorError`] if one of them cannot be used.
pub(crate) fn cores(settings: &Settings) -> Result<Option<Vec<u32>>, ProcessorError> {
    if settings.service_core == ServiceCores::Any {
        return Ok(None);
    }
    let set = sched_getaffinity(None)
        .map_err(|error| refused("service_core".to_owned(), "sched_getaffinity", error.into()))?;
    let allowed: Vec<u32> =
        (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).map(|core| core as u32).collect();
    let online = fs::read_to_string(ONLINE).unwrap_or_default();
    chosen(&settings.service_core, &allowed, online.trim())
}

/// The requested part of `allowed`; `online` is the machine's own list of its cores, if it has one.
fn chosen(
    asked: &ServiceCores,
    allowed: &[u32],
    online: &str,
) -> Result<Option<Vec<u32>>, ProcessorError> {
    let these = match asked {
        ServiceCores::Any => return Ok(None),
        ServiceCores::Last => return Ok(allowed.last().map(|&core| vec![core])),
        ServiceCores::These(these) => these,
    };
    let Some(&core) = these.iter().find(|core| !allowed.contains(core)) else {
        return Ok(Some(these.clone()));
    };
    match online.parse() {
        Ok(ServiceCores::These(all)) if !all.contains(&core) => {
            Err(ProcessorError::NoCore { core, online: online.to_owned() })
        }
        _ => Err(ProcessorError::NotAllowed { core, allowed: listed(allowed) }),
    }
}

fn refused(setting: String, call: &'static str, source: io::Error) -> ProcessorError {
    ProcessorError::Refused { setting, call, source }
}

/// A higher niceness stays: lowering it needs a privilege.
fn be_nice() -> io::Result<()> {
    let niceness = getpriority_process(None)?.max(LOW_NICENESS);
    Ok(setpriority_process(None, niceness)?)
}

#[allow(unsafe_code, reason = "no safe crate in use has this system call")]
fn be_idle() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads the parameters, which live until it returns, and changes nothing but
    // the scheduling of the calling thread.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_core_is_the_last_that_may_be_used() {
        let last = chosen(&ServiceCores::Last, &[0, 2, 5], "0-7").expect("there is one");
        assert_eq!(last, Some(vec![5]));
        assert_eq!(chosen(&ServiceCores::Any, &[0], "0").expect("any will do"), None);
    }

    #[test]
    fn a_missing_core_and_a_forbidden_one_have_different_errors() {
        let asked = |text: &str| chosen(&text.parse().expect("a list"), &[0, 1], "0-3");
        assert_eq!(asked("0-1").expect("both may be used"), Some(vec![0, 1]));
        let lacks = asked("1,4").expect_err("four cores").to_string();
        assert_eq!(lacks, "service_core: core 4 does not exist here: this machine has 0-3");
        let forbidden = asked("3").expect_err("not allowed").to_string();
        let start = "service_core: this process may not use core 3, only 0-1: name one of those";
        assert!(forbidden.starts_with(start), "{forbidden}");
    }
}
