//! The counts that a shape is made of: how many nodes they make, and how they are written.

use crate::error::FlowsError;

/// The most nodes of a network.
pub const MOST_NODES: u64 = 1 << 17;

/// The product of counts, if it is from 2 to [`MOST_NODES`].
pub(super) fn nodes_of(network: &'static str, counts: &[u32]) -> Result<u32, FlowsError> {
    let product = counts.iter().fold(1_u64, |all, &own| all.saturating_mul(u64::from(own)));
    if product > MOST_NODES {
        return Err(FlowsError::TooMany { what: "nodes", count: product, most: MOST_NODES });
    }
    if product < 2 {
        let given = given(counts);
        let remedy = "write counts of 1 and more that make 2 nodes at least, as in 8,8,8";
        return Err(FlowsError::Shape { network, given, remedy });
    }
    Ok(product as u32)
}

/// Counts as they are written.
pub(super) fn given(counts: &[u32]) -> String {
    counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}
