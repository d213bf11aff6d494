//! Why roles cannot be planned, set, used or undone.

use std::io;
use std::path::PathBuf;

use crate::set::CoreSet;

/// What is in the way, what state the machine is in, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoresError {
    /// The machine has a single core.
    #[error("this machine has one core: it runs the system, and none is left for applications")]
    OneCore,
    /// A core that is not there.
    #[error("core {core} does not exist here: this machine has {online}")]
    NoCore {
        /// What was asked for.
        core: u32,
        /// Those that are there.
        online: CoreSet,
    },
    /// Two roles share cores, or one has none.
    #[error("{what}: name disjoint sets, each of one core at least")]
    Overlap {
        /// Which.
        what: String,
    },
    /// An interrupt would stay on an application core.
    #[error(
        "core {core} keeps interrupt {interrupt} ({name}), which the kernel does not let move: \
         choose other application cores, as `tidings cores plan` does"
    )]
    Unmovable {
        /// The core.
        core: u32,
        /// The interrupt.
        interrupt: u32,
        /// Whose it is.
        name: String,
    },
    /// No core is left for applications.
    #[error("on each core that could be kept for applications an interrupt stays: {why}")]
    NoneLeft {
        /// Which.
        why: String,
    },
    /// A role file of another machine.
    #[error(
        "{}: these roles are for the machine {theirs}, this one is {ours}: make a file here with \
         `tidings cores plan --output FILE`", path.display()
    )]
    OtherMachine {
        /// The file.
        path: PathBuf,
        /// What it says.
        theirs: String,
        /// What this machine says.
        ours: String,
    },
    /// A role file that cannot be read.
    #[error("{}: {why}: write it with `tidings cores plan --output FILE`", path.display())]
    RoleFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Roles are set already, or an attempt to set them was ended.
    #[error(
        "roles are set already, or setting them was interrupted ({} is there): \
         `tidings cores status` says which, `tidings cores undo` restores every knob",
        path.display()
    )]
    Applied {
        /// The journal.
        path: PathBuf,
    },
    /// Nobody has set roles.
    #[error("no roles are set here: set them with `tidings cores apply`")]
    NotApplied,
    /// Roles are being set or undone by another process.
    #[error("another process sets or undoes roles: wait for it ({} is locked)", path.display())]
    Busy {
        /// What is locked.
        path: PathBuf,
    },
    /// The journal cannot be written or read.
    #[error("the journal {}: {source}; no knob was changed by this step", path.display())]
    Journal {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A journal whose lines cannot be understood.
    #[error("the journal {}:{line} is damaged: {why}; nothing was changed", path.display())]
    Damaged {
        /// Its path.
        path: PathBuf,
        /// The line.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A privilege is missing. Nothing was changed.
    #[error("roles are set and undone by root: run it with sudo; nothing was changed")]
    NotRoot,
    /// A knob rejects its value.
    #[error("{path} does not take `{value}` ({source}){state}")]
    Knob {
        /// The knob.
        path: String,
        /// The value.
        value: String,
        /// What the system said.
        source: io::Error,
        /// What has become of the knobs before it.
        state: String,
    },
    /// The machine cannot be read.
    #[error("{path} cannot be read ({source})")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Ordinary tasks may run on a core that is to run a program before all others.
    #[error(
        "--fifo: {} may run on core {core}, and would wait for ever: {}; leave --fifo out, \
         SCHED_OTHER on an emptied core is as good",
        count,
        names
    )]
    NotEmpty {
        /// The core.
        core: u32,
        /// How many.
        count: String,
        /// The first of them.
        names: String,
    },
}
