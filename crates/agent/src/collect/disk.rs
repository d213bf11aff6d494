//! Disk rates: `proc/diskstats`, whole disks only.
//!
//! A disk is a block device with a device behind it, `sys/block/NAME/device`. That excludes
//! partitions, loop and RAM disks, and devices built on disks, which would count twice (dm, md,
//! bcache).

use std::collections::BTreeSet;
use std::path::Path;

use procfs_core::DiskStat;
use tidings_gossip::payload::NodeState;

use super::rate::Rates;
use super::source::{Listing, MAX_BYTES, Pass, Source, names_in, str_of};

/// Bytes in a sector of diskstats, whatever the disk's own sectors are.
const SECTOR_BYTES: u64 = 512;

/// Bytes per second read from and written to all disks.
#[derive(Debug)]
pub(super) struct Disks {
    diskstats: Source,
    whole: Listing<BTreeSet<String>>,
    rates: Rates,
}

impl Disks {
    pub(super) fn new(proc: &Path, sys: &Path) -> Self {
        Self {
            diskstats: Source::new(proc.join("diskstats")),
            whole: Listing::new(sys.join("block"), with_device),
            rates: Rates::default(),
        }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        let (now, whole) = (pass.now, self.whole.get(pass.now));
        let rates = &mut self.rates;
        let sum = self.diskstats.read(pass, MAX_BYTES, |text| {
            let mut increase = rates.begin();
            for line in str_of(text)?.lines().filter(|line| is_of(line, whole)) {
                let disk = DiskStat::from_line(line).ok()?;
                let sectors = [disk.sectors_read, disk.sectors_written];
                increase.add(&disk.name, sectors.map(|count| count.saturating_mul(SECTOR_BYTES)));
            }
            Some(increase.finish(now))
        });
        state.disk_read_bytes_s = sum.flatten().map(|[read, _]| read);
        state.disk_write_bytes_s = sum.flatten().map(|[_, written]| written);
    }
}

/// The names in a directory of /sys that have a device behind them.
pub(super) fn with_device(directory: &Path) -> BTreeSet<String> {
    let has_device = |name: &String| directory.join(name).join("device").exists();
    names_in(directory).into_iter().filter(has_device).collect()
}

/// Whether a line `major minor name ...` is about one of the disks.
fn is_of(line: &str, disks: &BTreeSet<String>) -> bool {
    line.split_whitespace().nth(2).is_some_and(|name| disks.contains(name))
}
