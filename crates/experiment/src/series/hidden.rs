//! Hidden ranks: those of the shim, which a program does not see (docs/reference/mpi.md).

use std::path::Path;

/// The file of gossip's report.
pub(super) const REPORT: &str = "tidings-gossip.json";

/// Ranks that are hidden from a run's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// Every so many-th rank is hidden.
    pub every: u32,
    /// The options of gossip; none if they sleep.
    pub gossip: Option<String>,
}

impl Hidden {
    /// All ranks, if the program is to see so many.
    pub fn ranks(&self, seen: u32) -> u32 {
        seen + seen / (self.every - 1)
    }

    /// What the shim receives.
    pub(super) fn variables(&self, directory: &Path) -> Vec<(String, String)> {
        let hide = ("TIDINGS_HIDE", format!("every:{}", self.every));
        let own = match &self.gossip {
            None => vec![("TIDINGS_HIDDEN", "sleep".to_owned())],
            Some(options) => vec![
                ("TIDINGS_HIDDEN", "gossip".to_owned()),
                ("TIDINGS_GOSSIP", options.clone()),
                ("TIDINGS_REPORT", directory.join(REPORT).display().to_string()),
            ],
        };
        let all = std::iter::once(hide).chain(own);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
