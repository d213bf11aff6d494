//! Where the agent runs on its machine: on which cores, and with which priority.
//!
//! A node may keep a core for services, so that the system does not disturb the applications on the
//! others; the agent can be bound to it. A priority decides what the agent gets while applications
//! use all cores. Both are set for the first thread, before there is another, so that all others
//! inherit them. Invariant: when this returns, the settings are in effect, or there is an error
//! that names the setting; nothing is adapted to the machine.

use std::io;
use std::path::Path;

use rustix::process::{getpriority_process, setpriority_process};
use tidings_cores::{CoreSet, CoresError, here, journal};

use crate::config::{Priority, ServiceCores, Settings};

/// The niceness of `low`: a tenth of the weight of a process with niceness 0.
const LOW_NICENESS: i32 = 10;

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
        online: CoreSet,
    },
    /// No roles of cores are set, or they cannot be read.
    #[error("service_core = role: {0}")]
    Role(#[source] CoresError),
    /// The machine has the core, and this process may not use it.
    #[error(
        "service_core: this process may not use core {core}, only {allowed}: name one of those, or \
         let it use more where it is started (AllowedCPUs= and CPUAffinity= of its unit, taskset)"
    )]
    NotAllowed {
        /// What was asked for.
        core: u32,
        /// What the process may use.
        allowed: CoreSet,
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
        here::bind(&cores).map_err(|error| {
            refused(format!("service_core = {cores}"), "sched_setaffinity", error)
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
pub(crate) fn cores(settings: &Settings) -> Result<Option<CoreSet>, ProcessorError> {
    if settings.service_core == ServiceCores::Any {
        return Ok(None);
    }
    let allowed = here::allowed()
        .map_err(|error| refused("service_core".to_owned(), "sched_getaffinity", error))?;
    let asked = match &settings.service_core {
        ServiceCores::Role => &ServiceCores::These(of_role(Path::new(journal::FOLDER))?),
        asked => asked,
    };
    chosen(asked, &allowed, here::online().as_ref())
}

/// The cores that roles leave to the system.
fn of_role(folder: &Path) -> Result<CoreSet, ProcessorError> {
    let read = journal::read(folder).map_err(ProcessorError::Role)?;
    read.map(|(header, _)| header.service).ok_or(ProcessorError::Role(CoresError::NotApplied))
}

/// The requested part of `allowed`; `online` are the machine's cores, if it says so.
fn chosen(
    asked: &ServiceCores,
    allowed: &CoreSet,
    online: Option<&CoreSet>,
) -> Result<Option<CoreSet>, ProcessorError> {
    let these = match asked {
        ServiceCores::Any | ServiceCores::Role => return Ok(None),
        ServiceCores::Last => return Ok(allowed.last().map(|core| CoreSet::from_iter([core]))),
        ServiceCores::These(these) => these,
    };
    let Some(core) = these.without(allowed).iter().next() else {
        return Ok(Some(these.clone()));
    };
    match online {
        Some(all) if !all.has(core) => Err(ProcessorError::NoCore { core, online: all.clone() }),
        _ => Err(ProcessorError::NotAllowed { core, allowed: allowed.clone() }),
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
    use std::fs;

    use super::*;

    fn set(list: &str) -> CoreSet {
        list.parse().expect("a list")
    }

    #[test]
    fn the_last_core_is_the_last_that_may_be_used() {
        let last = chosen(&ServiceCores::Last, &set("0,2,5"), Some(&set("0-7")));
        assert_eq!(last.expect("there is one"), Some(set("5")));
        assert_eq!(chosen(&ServiceCores::Any, &set("0"), None).expect("any will do"), None);
    }

    #[test]
    fn a_missing_core_and_a_forbidden_one_have_different_errors() {
        let (allowed, online) = (set("0-1"), set("0-3"));
        let asked = |text: &str| chosen(&text.parse().expect("a list"), &allowed, Some(&online));
        assert_eq!(asked("0-1").expect("both may be used"), Some(set("0-1")));
        let lacks = asked("1,4").expect_err("four cores").to_string();
        assert_eq!(lacks, "service_core: core 4 does not exist here: this machine has 0-3");
        let forbidden = asked("3").expect_err("not allowed").to_string();
        let start = "service_core: this process may not use core 3, only 0-1: name one of those";
        assert!(forbidden.starts_with(start), "{forbidden}");
    }

    #[test]
    fn a_role_is_that_of_the_journal() {
        let folder = tempfile::tempdir().expect("a folder");
        let none = of_role(folder.path()).expect_err("no roles").to_string();
        assert!(none.starts_with("service_core = role: no roles are set here"), "{none}");
        let header = r#"{"version":1,"machine":"m","boot":"b","way":{"way":"affinities"},"application":"1-3","service":"0"}"#;
        fs::write(folder.path().join("journal"), format!("{header}\n")).expect("ours");
        assert_eq!(of_role(folder.path()).expect("roles"), set("0"));
    }
}
