//! The node's incarnation: a number that grows with every start, so that entries of the present
//! incarnation outrank those still under way from an earlier one.
//!
//! The number is the larger of two: the present time in units of 64 s since 2026, and one more than
//! the number kept in the runtime directory. The clock makes it grow when the directory was lost
//! (it usually lies in memory); the file makes it grow when the clock was set back or the node
//! restarts within 64 s. It fits in 24 bits until 2060.
//!
//! The clock also says which numbers can be: none lies further ahead of it than two years. What
//! lies beyond stems from a clock that was wrong, or from an attacker; others refuse it, and it is
//! not continued here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidings_gossip::Incarnation;
use tracing::warn;

use crate::home::{self, HomeError};

/// The file in the runtime directory.
const FILE: &str = "incarnation";

/// 2026-01-01T00:00:00Z.
const BEGIN: Duration = Duration::from_secs(1_767_225_600);

/// Seconds in a unit of the number.
const UNIT_S: u64 = 64;

/// Seconds in a year, on average.
const YEAR_S: u64 = 31_556_952;

/// The largest number that fits in the 24 bits an entry has for it.
const MOST: u32 = Incarnation::MAX.get();

/// How far ahead of the clock a number may lie: 777 days. Nodes with later ones are refused, so it
/// is far more than clocks differ by, and than starts and refutations take it ahead.
const AHEAD: u32 = 1 << 20;

/// Lives that must be left at a start, for refutations.
const LIVES_LEFT: u32 = 1 << 10;

/// Why no incarnation begins.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IncarnationError {
    /// The number cannot be written: it could be used twice.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// There is none after the last.
    #[error(
        "no incarnation is left: this host's clock shows {year}, and {} says {last}. \
         Correct the clock; if it is right, remove that file", path.display()
    )]
    Exhausted {
        /// Where the last one is.
        path: PathBuf,
        /// The year of the clock.
        year: u64,
        /// The last one, 0 if none is known.
        last: u32,
    },
}

/// The number of this incarnation, after it was recorded.
///
/// # Errors
/// When the file cannot be written: the number could be used twice. When none is left.
pub(crate) fn begin(runtime_dir: &Path) -> Result<u32, IncarnationError> {
    let path = runtime_dir.join(FILE);
    let (now, last) = (since_epoch(), last(&path));
    if let Some(ahead) = last.filter(|&last| is_ahead(now, last)) {
        warn!(
            path = %path.display(),
            last = ahead,
            "the last incarnation lies more than two years ahead of the clock, which was wrong \
             then or is now: others refuse it, and the clock alone is used"
        );
    }
    let Some(number) = next(now, last) else {
        let year = 1970 + now.as_secs() / YEAR_S;
        return Err(IncarnationError::Exhausted { path, year, last: last.unwrap_or_default() });
    };
    keep(runtime_dir, number).map_err(|source| HomeError::unwritable(runtime_dir, source))?;
    Ok(number)
}

/// The highest incarnation that another node can have by now, as this host's clock shows; every
/// one while the clock cannot be right, as that of a host which was not told the time yet.
pub(crate) fn highest() -> Incarnation {
    Incarnation::new(highest_at(since_epoch()))
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The number of the clock; `None` while it shows a time before this program's.
fn by_clock(since_epoch: Duration) -> Option<u32> {
    let since_begin = since_epoch.checked_sub(BEGIN)?.as_secs();
    Some(u32::try_from(since_begin / UNIT_S).unwrap_or(MOST).min(MOST))
}

fn highest_at(since_epoch: Duration) -> u32 {
    by_clock(since_epoch).map_or(MOST, |number| number.saturating_add(AHEAD).min(MOST))
}

fn is_ahead(since_epoch: Duration, last: u32) -> bool {
    last >= highest_at(since_epoch).min(MOST - LIVES_LEFT)
}

/// Records that `number` has been used.
pub(crate) fn keep(runtime_dir: &Path, number: u32) -> io::Result<()> {
    home::replace(&runtime_dir.join(FILE), &format!("{number}\n"))
}

/// The number after `last`, unless the clock says that this cannot be; `None` if none is left.
fn next(since_epoch: Duration, last: Option<u32>) -> Option<u32> {
    let by_clock = by_clock(since_epoch);
    let last = last.filter(|&last| by_clock.is_none() || !is_ahead(since_epoch, last));
    let by_file = last.map_or(1, |last| last.saturating_add(1));
    Some(by_clock.unwrap_or_default().max(by_file)).filter(|&number| number < MOST - LIVES_LEFT)
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
        assert_eq!(next(at(0), None), Some(1), "0 is nobody's number");
        assert_eq!(next(at(6400), None), Some(100));
        assert_eq!(next(at(6400), Some(100)), Some(101), "a restart within the unit");
        assert_eq!(next(at(6400), Some(500)), Some(501), "a clock that was set back");
        assert_eq!(next(Duration::ZERO, Some(7)), Some(8), "a clock before 2026");
    }

    #[test]
    fn what_cannot_be_is_not_continued() {
        assert_eq!(next(at(6400), Some(16_777_214)), Some(100), "a clock that showed 2060");
        assert_eq!(next(at(6400), Some(99 + AHEAD)), Some(100 + AHEAD), "what others still take");
        assert_eq!(next(at(6400), Some(100 + AHEAD)), Some(100));
        assert_eq!(next(Duration::ZERO, Some(9_000_000)), Some(9_000_001), "nobody knows better");
        assert_eq!(highest_at(at(6400)), 100 + AHEAD);
        assert_eq!(highest_at(Duration::ZERO), MOST, "a clock that was not set yet");
    }

    #[test]
    fn none_is_left_in_2060() {
        assert_eq!(next(at(u64::MAX / 2), Some(3)), None);
        assert_eq!(next(Duration::ZERO, Some(MOST - 1)), None);
        let late = at(u64::from(MOST - LIVES_LEFT - 1) * UNIT_S);
        assert_eq!(next(late, None), Some(MOST - LIVES_LEFT - 1));
        assert_eq!(next(late, Some(MOST - LIVES_LEFT - 1)), None);
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
