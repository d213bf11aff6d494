//! Power of the processor packages: RAPL energy counters, `sys/class/powercap/intel-rapl:N`.
//!
//! Only packages count: their parts (`intel-rapl:0:0`) and the platform (`psys`) would count twice.
//! The counters wrap at `max_energy_range_uj`, every few minutes under load. Kernels let only root
//! read them, unless the administrator grants more, as the package's unit does; else there is no
//! reading.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_gossip::payload::NodeState;

use super::source::{Listing, Pass, Source, line_once, names_in};

/// Watts drawn by all packages.
#[derive(Debug)]
pub(super) struct Power {
    packages: Listing<Vec<Package>>,
}

/// The energy counter of one package.
#[derive(Debug)]
struct Package {
    energy_uj: Source,
    range_uj: u64,
    last: Option<(Duration, u64)>,
}

impl PartialEq for Package {
    fn eq(&self, other: &Self) -> bool {
        (&self.energy_uj, self.range_uj) == (&other.energy_uj, other.range_uj)
    }
}

impl Power {
    pub(super) fn new(sys: &Path) -> Self {
        Self { packages: Listing::new(sys.join("class/powercap"), packages) }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        let packages = self.packages.get(pass.now).iter_mut();
        let watts: Vec<_> = packages.map(|package| package.watts(pass)).collect();
        state.power_w = if watts.is_empty() { None } else { watts.into_iter().sum() };
    }
}

impl Package {
    /// Mean power since the last pass.
    fn watts(&mut self, pass: &mut Pass) -> Option<f64> {
        let energy_uj = self.energy_uj.read_number(pass).and_then(|uj| u64::try_from(uj).ok());
        let sample = energy_uj.map(|uj| (pass.now, uj));
        let (then, before) = std::mem::replace(&mut self.last, sample)?;
        let elapsed = pass.now.checked_sub(then).filter(|time| !time.is_zero())?;
        let joules = used_uj(before, energy_uj?, self.range_uj)? as f64 / 1e6;
        Some(joules / elapsed.as_secs_f64())
    }
}

/// The first counter that is there and cannot be read, and why.
pub(super) fn refused(sys: &Path) -> Option<(PathBuf, io::Error)> {
    let packages = packages(&sys.join("class/powercap"));
    packages.into_iter().find_map(|Package { energy_uj, .. }| {
        let path = energy_uj.path();
        fs::read(path).err().map(|error| (path.to_owned(), error))
    })
}

/// Energy between two readings of a counter that wraps at most once.
fn used_uj(before: u64, after: u64, range_uj: u64) -> Option<u64> {
    after.checked_sub(before).or_else(|| Some(range_uj.checked_sub(before)? + after))
}

fn packages(powercap: &Path) -> Vec<Package> {
    let zones = names_in(powercap).into_iter().map(|name| powercap.join(name));
    zones.filter_map(|zone| package(&zone)).collect()
}

/// The package of a zone, if it is one. Another interface may show the same packages again, so
/// that only `intel-rapl:N` counts, which AMD's processors use too.
fn package(zone: &Path) -> Option<Package> {
    let number = zone.file_name()?.to_str()?.strip_prefix("intel-rapl:")?;
    let is_top = number.bytes().all(|byte| byte.is_ascii_digit());
    let is_package = line_once(&zone.join("name"))?.starts_with("package");
    (is_top && is_package).then_some(())?;
    Some(Package {
        energy_uj: Source::new(zone.join("energy_uj")),
        range_uj: line_once(&zone.join("max_energy_range_uj"))?.parse().ok()?,
        last: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_wraps_continues() {
        assert_eq!(used_uj(10, 25, 100), Some(15));
        assert_eq!(used_uj(90, 5, 100), Some(15));
        assert_eq!(used_uj(110, 5, 100), None);
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_named() {
        let sys = tempfile::tempdir().expect("a temporary directory");
        assert!(refused(sys.path()).is_none(), "no counter, nothing to say");
        let zone = sys.path().join("class/powercap/intel-rapl:0");
        // Root may read every file, but no directory.
        fs::create_dir_all(zone.join("energy_uj")).expect("an own directory");
        fs::write(zone.join("name"), "package-0\n").expect("an own directory");
        fs::write(zone.join("max_energy_range_uj"), "100\n").expect("an own directory");
        let (path, _) = refused(sys.path()).expect("it cannot be read");
        assert_eq!(path, zone.join("energy_uj"));
        fs::remove_dir(&path).expect("empty");
        fs::write(&path, "7\n").expect("an own directory");
        assert!(refused(sys.path()).is_none());
    }
}
