//! The machine on which this runs: its files, its tasks, its interrupts.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::machine::Machine;
use crate::set::CoreSet;

/// The cores that are switched on, as a list such as `0-127`.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The machine on which this runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Here;

impl Machine for Here {
    fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        fs::File::options().write(true).open(path)?.write_all(text.as_bytes())
    }

    fn list(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    fn make_group(&self, path: &str) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn remove_group(&self, path: &str) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn affinity(&self, task: u32) -> io::Result<CoreSet> {
        Ok(of(&sched_getaffinity(pid(task))?))
    }

    fn set_affinity(&self, task: u32, cores: &CoreSet) -> io::Result<()> {
        let mut set = CpuSet::new();
        cores.iter().for_each(|core| set.set(core as usize));
        Ok(sched_setaffinity(pid(task), &set)?)
    }

    /// A mask that cannot be read is refused in one way if the interrupt may move, and in another
    /// if it may not: nothing is changed by it.
    fn may_move(&self, interrupt: u32) -> Option<bool> {
        let answer = self.write(&format!("/proc/irq/{interrupt}/smp_affinity_list"), "x");
        match answer.err()?.raw_os_error()? {
            libc::EINVAL | libc::ERANGE => Some(true),
            libc::EPERM | libc::EIO => Some(false),
            _ => None,
        }
    }
}

/// The calling thread for 0.
fn pid(task: u32) -> Option<Pid> {
    Pid::from_raw(task as i32)
}

fn of(set: &CpuSet) -> CoreSet {
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).map(|core| core as u32).collect()
}

/// Whether this process may turn knobs.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The cores that this thread may use.
///
/// # Errors
/// What the system says.
pub fn allowed() -> io::Result<CoreSet> {
    Here.affinity(0)
}

/// The cores that are switched on, if the machine says so.
pub fn online() -> Option<CoreSet> {
    fs::read_to_string(Path::new(ONLINE)).ok()?.parse().ok()
}

/// Binds this thread, and all that it starts, to cores.
///
/// # Errors
/// What the system says.
pub fn bind(cores: &CoreSet) -> io::Result<()> {
    Here.set_affinity(0, cores)
}

/// Gives this thread, and all that it starts, a priority before all ordinary programs.
///
/// # Errors
/// What the system says.
#[allow(unsafe_code, reason = "no safe crate in use has this system call")]
pub fn run_first(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads the parameters, which live until it returns, and changes nothing but
    // the scheduling of this thread.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
