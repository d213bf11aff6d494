//! What the kernel says of a mapping: how much of it is in memory, and on large pages.

use std::fs;
use std::io;

/// What /proc/self/smaps says of the mapping at an address, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// All of it that is in memory.
    pub resident_kib: u64,
    /// What of that is on large pages.
    pub large_kib: u64,
}

impl Report {
    /// Asks the kernel about the mapping that has this address.
    ///
    /// # Errors
    /// If /proc is not there, or no mapping has it.
    pub fn of(address: usize) -> io::Result<Self> {
        let smaps = fs::read_to_string("/proc/self/smaps")?;
        Self::read(&smaps, address).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read(smaps: &str, address: usize) -> Option<Self> {
        let mut lines = smaps.lines().skip_while(|line| !begins(line, address));
        lines.next()?;
        let mut report = Self::default();
        for line in lines.take_while(|line| range(line).is_none()) {
            let (name, value) = line.split_once(':')?;
            let kib = || value.trim().strip_suffix(" kB").and_then(|kib| kib.trim().parse().ok());
            match name {
                "Rss" => report.resident_kib = kib()?,
                "AnonHugePages" | "ShmemPmdMapped" | "FilePmdMapped" | "Private_Hugetlb"
                | "Shared_Hugetlb" => report.large_kib += kib().unwrap_or(0_u64),
                _ => {}
            }
        }
        Some(report)
    }
}

/// The range of the line that begins a mapping.
fn range(line: &str) -> Option<(usize, usize)> {
    let (from, to) = line.split(' ').next()?.split_once('-')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

fn begins(line: &str, address: usize) -> bool {
    range(line).is_some_and(|(from, to)| (from..to).contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
1000-3000 rw-p 00000000 00:00 0
Rss:                   8 kB
AnonHugePages:         0 kB
VmFlags: rd wr
200000-600000 rw-p 00000000 00:00 0   [anon]
Rss:                4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr hg
";

    #[test]
    fn a_mapping_is_found_by_any_of_its_addresses() {
        let large = Report { resident_kib: 4096, large_kib: 2048 };
        assert_eq!(Report::read(SMAPS, 0x20_0000), Some(large));
        assert_eq!(Report::read(SMAPS, 0x5f_ffff), Some(large));
        let small = Report { resident_kib: 8, large_kib: 0 };
        assert_eq!(Report::read(SMAPS, 0x1000), Some(small));
        assert_eq!(Report::read(SMAPS, 0x60_0000), None);
        assert_eq!(Report::read("nonsense\nRss: many\n", 0x1000), None);
    }
}
