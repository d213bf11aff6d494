//! What a payload says: the readings of a node, and what its users publish.

use core::fmt;
use std::collections::BTreeMap;

/// The readings of one node at one moment. `None` is what its machine lacks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeState {
    /// Release of the running kernel.
    pub kernel: Option<KernelRelease>,
    /// Logical processors online.
    pub cores: Option<u16>,
    /// Load average over 1 minute, in runnable tasks.
    pub load1: Option<f64>,
    /// Load average over 5 minutes.
    pub load5: Option<f64>,
    /// Load average over 15 minutes.
    pub load15: Option<f64>,
    /// Share of all processors' time that was not idle, 0 to 100.
    pub cpu_busy_percent: Option<f64>,
    /// Memory of the machine.
    pub mem_total_bytes: Option<u64>,
    /// Memory that programs could have without swapping.
    pub mem_available_bytes: Option<u64>,
    /// Swap space; 0 where it is turned off.
    pub swap_total_bytes: Option<u64>,
    /// Swap space in use.
    pub swap_used_bytes: Option<u64>,
    /// Bytes a second read from whole disks.
    pub disk_read_bytes_s: Option<u64>,
    /// Bytes a second written to whole disks.
    pub disk_write_bytes_s: Option<u64>,
    /// Bytes a second received by network interfaces, loopback apart.
    pub net_rx_bytes_s: Option<u64>,
    /// Bytes a second sent by network interfaces, loopback apart.
    pub net_tx_bytes_s: Option<u64>,
    /// The hottest sensor, in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Power drawn by the processor packages, in watts.
    pub power_w: Option<f64>,
    /// Seconds since the machine was started.
    pub uptime_s: Option<u64>,
    /// Share of the last 10 s in which some task waited for a processor, 0 to 100.
    pub psi_cpu_percent: Option<f64>,
    /// Share of the last 10 s in which some task waited for memory, 0 to 100.
    pub psi_memory_percent: Option<f64>,
    /// Share of the last 10 s in which some task waited for I/O, 0 to 100.
    pub psi_io_percent: Option<f64>,
    /// Reserved for a health flag; 0 until it has a meaning.
    pub health: u8,
    /// What users publish, by key.
    pub user: BTreeMap<String, String>,
}

/// The three numbers of a kernel's release, such as 6.12.48.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelRelease {
    /// The first number.
    pub major: u8,
    /// The second number.
    pub minor: u8,
    /// The third number; 0 if there is none.
    pub patch: u16,
}

impl KernelRelease {
    /// The numbers at the start of a release such as `6.12.48+deb13-amd64`; `None` unless the first
    /// two are there and fit.
    pub fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.splitn(3, '.');
        let (major, minor) = (numbers.next()?, numbers.next()?);
        let patch = leading_digits(numbers.next().unwrap_or_default());
        Some(Self {
            major: major.parse().ok()?,
            minor: leading_digits(minor).parse().ok()?,
            patch: patch.parse().unwrap_or(0),
        })
    }
}

impl fmt::Display for KernelRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

fn leading_digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}
