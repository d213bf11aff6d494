//! Readings by name: the fields of a state as numbers that can be walked over.
//!
//! What treats all readings alike (tolerances, traces, estimates) needs an index over them. A
//! reading's place in [`Reading::ALL`] is its presence bit. Every reading is one real number; the
//! kernel's release is its three numbers in 32 bits, which a real number holds exactly.

use super::state::{KernelRelease, NodeState};

/// Readings of the schema.
pub const READINGS: usize = 20;

/// All readings of a node as numbers, by presence bit; `None` is what its machine lacks.
pub type Numbers = [Option<f64>; READINGS];

/// One of the readings, in the order of the presence bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "the fields of NodeState, which documents them")]
pub enum Reading {
    Kernel,
    Cores,
    Load1,
    Load5,
    Load15,
    CpuBusy,
    MemTotal,
    MemAvailable,
    SwapTotal,
    SwapUsed,
    DiskRead,
    DiskWrite,
    NetRx,
    NetTx,
    Temperature,
    Power,
    Uptime,
    PsiCpu,
    PsiMemory,
    PsiIo,
}

impl Reading {
    /// All of them, by presence bit.
    pub const ALL: [Self; READINGS] = [
        Self::Kernel,
        Self::Cores,
        Self::Load1,
        Self::Load5,
        Self::Load15,
        Self::CpuBusy,
        Self::MemTotal,
        Self::MemAvailable,
        Self::SwapTotal,
        Self::SwapUsed,
        Self::DiskRead,
        Self::DiskWrite,
        Self::NetRx,
        Self::NetTx,
        Self::Temperature,
        Self::Power,
        Self::Uptime,
        Self::PsiCpu,
        Self::PsiMemory,
        Self::PsiIo,
    ];

    /// Its presence bit, and its place in [`Numbers`].
    pub const fn bit(self) -> usize {
        self as usize
    }

    /// Its field in a [`NodeState`], with the unit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Cores => "cores",
            Self::Load1 => "load1",
            Self::Load5 => "load5",
            Self::Load15 => "load15",
            Self::CpuBusy => "cpu_busy_percent",
            Self::MemTotal => "mem_total_bytes",
            Self::MemAvailable => "mem_available_bytes",
            Self::SwapTotal => "swap_total_bytes",
            Self::SwapUsed => "swap_used_bytes",
            Self::DiskRead => "disk_read_bytes_s",
            Self::DiskWrite => "disk_write_bytes_s",
            Self::NetRx => "net_rx_bytes_s",
            Self::NetTx => "net_tx_bytes_s",
            Self::Temperature => "temperature_c",
            Self::Power => "power_w",
            Self::Uptime => "uptime_s",
            Self::PsiCpu => "psi_cpu_percent",
            Self::PsiMemory => "psi_memory_percent",
            Self::PsiIo => "psi_io_percent",
        }
    }

    /// The parts of its unit that a payload tells apart: hundredths of a load, tenths of a degree.
    pub const fn parts_per_unit(self) -> f64 {
        match self {
            Self::Load1 | Self::Load5 | Self::Load15 | Self::CpuBusy => 100.0,
            Self::Temperature | Self::Power => 10.0,
            Self::PsiCpu | Self::PsiMemory | Self::PsiIo => 2.5,
            _ => 1.0,
        }
    }

    /// By how much it grows in a second on a machine to which nothing happens: a receiver adds that
    /// to the last value, times the entry's age.
    pub const fn growth_per_s(self) -> f64 {
        match self {
            Self::Uptime => 1.0,
            _ => 0.0,
        }
    }
}

impl NodeState {
    /// All readings as numbers.
    pub fn numbers(&self) -> Numbers {
        let whole = |value: Option<u64>| value.map(|value| value as f64);
        [
            self.kernel.map(kernel_number),
            self.cores.map(f64::from),
            self.load1,
            self.load5,
            self.load15,
            self.cpu_busy_percent,
            whole(self.mem_total_bytes),
            whole(self.mem_available_bytes),
            whole(self.swap_total_bytes),
            whole(self.swap_used_bytes),
            whole(self.disk_read_bytes_s),
            whole(self.disk_write_bytes_s),
            whole(self.net_rx_bytes_s),
            whole(self.net_tx_bytes_s),
            self.temperature_c,
            self.power_w,
            whole(self.uptime_s),
            self.psi_cpu_percent,
            self.psi_memory_percent,
            self.psi_io_percent,
        ]
    }

    /// The state with these readings and no user metrics. Numbers that a reading cannot have are
    /// brought to the nearest that it can.
    pub fn of_numbers(numbers: &Numbers) -> Self {
        let real = |reading: Reading| numbers[reading.bit()];
        let whole = |reading: Reading| real(reading).map(|value| value.round() as u64);
        Self {
            kernel: real(Reading::Kernel).map(|value| kernel_of(value as u32)),
            cores: real(Reading::Cores).map(|value| value.round() as u16),
            load1: real(Reading::Load1),
            load5: real(Reading::Load5),
            load15: real(Reading::Load15),
            cpu_busy_percent: real(Reading::CpuBusy),
            mem_total_bytes: whole(Reading::MemTotal),
            mem_available_bytes: whole(Reading::MemAvailable),
            swap_total_bytes: whole(Reading::SwapTotal),
            swap_used_bytes: whole(Reading::SwapUsed),
            disk_read_bytes_s: whole(Reading::DiskRead),
            disk_write_bytes_s: whole(Reading::DiskWrite),
            net_rx_bytes_s: whole(Reading::NetRx),
            net_tx_bytes_s: whole(Reading::NetTx),
            temperature_c: real(Reading::Temperature),
            power_w: real(Reading::Power),
            uptime_s: whole(Reading::Uptime),
            psi_cpu_percent: real(Reading::PsiCpu),
            psi_memory_percent: real(Reading::PsiMemory),
            psi_io_percent: real(Reading::PsiIo),
            health: 0,
            user: std::collections::BTreeMap::new(),
        }
    }
}

fn kernel_number(release: KernelRelease) -> f64 {
    let [low, high] = release.patch.to_be_bytes();
    f64::from(u32::from_be_bytes([release.major, release.minor, low, high]))
}

fn kernel_of(number: u32) -> KernelRelease {
    let [major, minor, low, high] = number.to_be_bytes();
    KernelRelease { major, minor, patch: u16::from_be_bytes([low, high]) }
}
