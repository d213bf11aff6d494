//! News of a collector, as it is sent to the loop.

use std::collections::BTreeMap;
use std::time::Duration;

/// What a collector has said once, or why it has said nothing.
#[derive(Debug)]
pub(crate) struct News {
    /// The collector, by its name.
    pub(crate) source: String,
    pub(crate) outcome: Result<BTreeMap<String, String>, String>,
    /// What is wrong beside the metrics that are there.
    pub(crate) complaint: Option<String>,
    /// How long the metrics hold unless they are said again.
    pub(crate) lasts: Duration,
}

impl News {
    /// Nothing is known of a collector any more.
    pub(crate) fn gone(source: String) -> Self {
        let (outcome, complaint) = (Ok(BTreeMap::new()), None);
        Self { source, outcome, complaint, lasts: Duration::ZERO }
    }
}
