//! Readings of this machine, from /proc and /sys.
//!
//! A [`Collector`] is called about once a second and returns a [`NodeState`]. Each source is a file
//! of its own here, and each is optional: a reading that the machine lacks, or that an unprivileged
//! process may not read, is `None`, never an error. A source that fails is skipped for a minute
//! (`source::RETRY_AFTER`), so that a machine without it hardly pays for the attempt.
//!
//! A pass costs what the kernel needs to write the files: they stay open and are read again
//! from offset 0, directories are listed once a minute, and only the lines that are needed are
//! parsed, by procfs-core. Nothing is read that disturbs the machine: no sensor that interrupts
//! each core or sends a command to a disk (see `temperature`).
//!
//! No clock and no fixed path: the time comes from the caller, the roots from [`Sources`], so that
//! recorded machines can be replayed (tests/fixtures/machines).

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tidings_gossip::payload::NodeState;

mod cores;
mod cpu;
mod disk;
mod kernel;
mod load;
mod memory;
mod network;
mod power;
mod pressure;
mod rate;
mod source;
mod temperature;
mod uptime;

use source::Pass;

/// The directories of the kernel's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The proc file system, on a running machine `/proc`.
    pub proc: PathBuf,
    /// The sys file system, on a running machine `/sys`.
    pub sys: PathBuf,
}

impl Default for Sources {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into() }
    }
}

/// Reads a machine repeatedly. Keeps the files open, and the counters of the last pass, from
/// which rates are made.
#[derive(Debug)]
pub struct Collector {
    pass: Pass,
    kernel: kernel::Kernel,
    cores: cores::Cores,
    load: load::Load,
    cpu: cpu::Cpu,
    memory: memory::Memory,
    disk: disk::Disks,
    network: network::Network,
    temperature: temperature::Temperature,
    power: power::Power,
    uptime: uptime::Uptime,
    pressure: pressure::Pressure,
}

impl Collector {
    /// A collector that has read nothing yet. Opens no file.
    pub fn new(sources: &Sources) -> Self {
        let Sources { proc, sys } = sources;
        Self {
            pass: Pass::default(),
            kernel: kernel::Kernel::new(proc),
            cores: cores::Cores::new(sys),
            load: load::Load::new(proc),
            cpu: cpu::Cpu::new(proc),
            memory: memory::Memory::new(proc),
            disk: disk::Disks::new(proc, sys),
            network: network::Network::new(proc, sys),
            temperature: temperature::Temperature::new(sys),
            power: power::Power::new(sys),
            uptime: uptime::Uptime::new(proc),
            pressure: pressure::Pressure::new(proc),
        }
    }

    /// A file of the machine that is there and refused to this user, and why.
    pub fn refused(sources: &Sources) -> Option<(PathBuf, io::Error)> {
        power::refused(&sources.sys)
    }

    /// Reads the machine. `now` is the time since any fixed moment, and never goes back. Rates
    /// are over the time since the last pass, so that the first has none. `health` and `user` are
    /// the caller's to fill in.
    pub fn collect(&mut self, now: Duration) -> NodeState {
        let mut state = NodeState::default();
        let pass = &mut self.pass;
        pass.now = now;
        self.kernel.read(pass, &mut state);
        self.cores.read(pass, &mut state);
        self.load.read(pass, &mut state);
        self.cpu.read(pass, &mut state);
        self.memory.read(pass, &mut state);
        self.disk.read(pass, &mut state);
        self.network.read(pass, &mut state);
        self.temperature.read(pass, &mut state);
        self.power.read(pass, &mut state);
        self.uptime.read(pass, &mut state);
        self.pressure.read(pass, &mut state);
        state
    }
}
