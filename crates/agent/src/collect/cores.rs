//! Logical processors online: `sys/devices/system/cpu/online`, such as `0-127` or `0,2-3`.
//!
//! One line, where /proc/stat and /proc/cpuinfo have a line or a page per processor. The list has
//! the syntax of a hostlist's bracket, so the roster's parser reads it.

use std::path::Path;

use tidings_gossip::payload::NodeState;
use tidings_gossip::roster;

use super::source::{LINE_BYTES, Pass, Source, line};

/// How many processors are online.
#[derive(Debug)]
pub(super) struct Cores {
    online: Source,
}

impl Cores {
    pub(super) fn new(sys: &Path) -> Self {
        Self { online: Source::new(sys.join("devices/system/cpu/online")) }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        state.cores = self.online.read(pass, LINE_BYTES, |text| count(line(text)?));
    }
}

fn count(list: &str) -> Option<u16> {
    roster::count(&format!("[{list}]")).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        assert_eq!([count("0"), count("0-127"), count("0,2-3")], [Some(1), Some(128), Some(3)]);
        assert_eq!([count(""), count("0-"), count("0-99999")], [None; 3]);
    }
}
