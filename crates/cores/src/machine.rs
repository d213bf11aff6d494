//! What a machine is asked and told: its files below /proc and /sys, and where its tasks run.
//!
//! One trait, so that tests have machines with whatever cores, interrupts and refusals they need,
//! and so that they can end a process before any change.

use std::io;

use crate::set::CoreSet;

/// A machine whose cores get roles.
pub trait Machine {
    /// The text of a file.
    ///
    /// # Errors
    /// What the system says.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Writes a text to a file that is there, by one call.
    ///
    /// # Errors
    /// What the system says.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// The names in a folder, ascending; none if it is not there.
    fn list(&self, path: &str) -> Vec<String>;

    /// Makes a control group.
    ///
    /// # Errors
    /// What the system says.
    fn make_group(&self, path: &str) -> io::Result<()>;

    /// Removes a control group in which no task is.
    ///
    /// # Errors
    /// What the system says.
    fn remove_group(&self, path: &str) -> io::Result<()>;

    /// The cores that a task may use.
    ///
    /// # Errors
    /// What the system says.
    fn affinity(&self, task: u32) -> io::Result<CoreSet>;

    /// Sets the cores that a task may use.
    ///
    /// # Errors
    /// What the system says.
    fn set_affinity(&self, task: u32, cores: &CoreSet) -> io::Result<()>;

    /// Whether an interrupt may be moved; nothing if that cannot be found out.
    fn may_move(&self, interrupt: u32) -> Option<bool>;
}

/// Whether a file or folder is there.
pub(crate) fn is_there(machine: &dyn Machine, path: &str) -> bool {
    machine.read(path).is_ok() || !machine.list(path).is_empty()
}
