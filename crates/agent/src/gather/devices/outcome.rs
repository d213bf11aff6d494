//! What a device says, or why it says nothing.

use std::collections::BTreeMap;

/// Metrics by name, or the reason why there are none.
pub(super) type Outcome = Result<BTreeMap<String, String>, String>;

/// Metrics of numbers that are known.
pub(super) fn metrics<const N: usize>(pairs: [(&str, Option<u64>); N]) -> BTreeMap<String, String> {
    let known = pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    known.map(|(key, value)| (key, value.to_string())).collect()
}
