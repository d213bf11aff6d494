//! The node's incarnation: a number that grows with every start, so that entries of the present
//! incarnation outrank those still under way from an earlier one.
//!
//! The number is the larger of two: the present time in units of 64 s since 2026, and one more than
//! the number kept in the runtime directory. The clock makes it grow when the directory was lost
//! (it usually lies in memory); the file makes it grow when the clock was set back or the node
//! restarts within 64 s. It fits in 24 bits until 2060.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tracing::warn;

/// The file in the runtime directory.
const FILE: &str = "incarnation";

/// 2026-01-01T00:00:00Z.
const BEGIN: Duration = Duration::from_secs(1_767_225_600);

/// Seconds in a unit of the number.
const UNIT_S: u64 = 64;

/// The largest number that fits in the 24 bits an entry has for it.
const MOST: u32 = (1 << 24) - 1;

/// The number of this incarnation, after it was recorded.
///
/// # Errors
/// When the file cannot be written: the number could be used twice.
pub(crate) fn begin(runtime_dir: &Path) -> io::Result<u32> {
    let path = runtime_dir.join(FILE);
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = next(since_epoch, last(&path));
    keep(runtime_dir, number)?;
    Ok(number)
}

/// Records that `number` has been used. It is written to a temporary file and renamed, so that a
/// crash leaves the old number or the new one.
pub(crate) fn keep(runtime_dir: &Path, number: u32) -> io::Result<()> {
    let path = runtime_dir.join(FILE);
    let beside = path.with_extension("tmp");
    fs::write(&beside, format!("{number}\n"))?;
    fs::rename(&beside, path)
}

fn next(since_epoch: Duration, last: Option<u32>) -> u32 {
    let by_clock = since_epoch.saturating_sub(BEGIN).as_secs() / UNIT_S;
    let by_clock = u32::try_from(by_clock).unwrap_or(MOST);
    let by_file = last.map_or(1, |last| last.saturating_add(1));
    by_clock.max(by_file).min(MOST)
}

/// The last incarnation; `None` on a first start, and where the file is damaged.
fn last(path: &Path) -> Option<u32> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            warn!(path = %path.display(), %error, "cannot read the last incarnation");
            return None;
        }
    };
    let number = text.trim().parse().ok();
    if number.is_none() {
        warn!(path = %path.display(), "the last incarnation is damaged; only the clock is used");
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        BEGIN + Duration::from_secs(seconds)
    }

    #[test]
    fn clock_and_file_each_make_it_grow() {
        assert_eq!(next(at(0), None), 1, "0 is nobody's number");
        assert_eq!(next(at(6400), None), 100);
        assert_eq!(next(at(6400), Some(100)), 101, "a restart within the unit");
        assert_eq!(next(at(6400), Some(500)), 501, "a clock that was set back");
        assert_eq!(next(Duration::ZERO, Some(7)), 8, "a clock before 2026");
        assert_eq!(next(at(u64::MAX / 2), Some(3)), MOST);
    }

    #[test]
    fn each_start_writes_a_larger_number() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let first = begin(directory.path()).expect("writable");
        let second = begin(directory.path()).expect("writable");
        assert!(second > first);
        fs::write(directory.path().join(FILE), "rubbish").expect("writable");
        assert!(begin(directory.path()).expect("writable") > 0);
    }
}
