//! What a run needs of memory, before it takes any.
//!
//! Every node holds something of every other, so memory grows with the square of the nodes. The
//! figures a pair are upper bounds of what was measured (resident size at 256 to 2,048 nodes).

use crate::scenario::{Mode, Scenario, ScenarioError};

/// Bytes a full node holds of each member beside the payload.
const FULL_PAIR_BYTES: u64 = 330;
/// Bytes a compact node holds of each member: its birth.
const COMPACT_PAIR_BYTES: u64 = 4;
/// Bytes of a full node beside its members, of its events and datagrams.
const FULL_NODE_BYTES: u64 = 40 << 10;
/// Bytes of the program and its histograms.
const BASE_BYTES: u64 = 16 << 20;

/// Bytes a run needs, about.
pub fn estimate_bytes(scenario: &Scenario) -> u64 {
    let nodes = u64::from(scenario.cluster.nodes);
    let payload = u64::from(scenario.cluster.payload_bytes);
    let all = match scenario.mode {
        Mode::Full => {
            let pairs = nodes.saturating_mul(nodes).saturating_mul(FULL_PAIR_BYTES + payload);
            pairs.saturating_add(nodes * FULL_NODE_BYTES)
        }
        Mode::Compact => nodes.saturating_mul(nodes).saturating_mul(COMPACT_PAIR_BYTES),
    };
    all.saturating_add(BASE_BYTES)
}

/// Refuses a run that needs more than it may.
///
/// # Errors
/// [`ScenarioError::Memory`] with the estimate.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let estimate_mib = estimate_bytes(scenario).div_ceil(1 << 20);
    if estimate_mib <= scenario.memory_limit_mib {
        return Ok(());
    }
    let (mode, remedy) = match scenario.mode {
        Mode::Full => ("full", ", use the compact mode"),
        Mode::Compact => ("compact", ""),
    };
    Err(ScenarioError::Memory {
        nodes: scenario.cluster.nodes,
        mode,
        estimate_mib,
        limit_mib: scenario.memory_limit_mib,
        remedy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_would_not_fit_is_refused_with_the_estimate() {
        let mut scenario = Scenario::default();
        scenario.cluster.nodes = 1_000_000;
        scenario.mode = Mode::Compact;
        let message = scenario.check().expect_err("too large").to_string();
        assert!(message.contains("need about 3814714 MiB"), "{message}");
        assert!(message.contains("memory_limit_mib is 8192"), "{message}");
        scenario.cluster.nodes = 8192;
        scenario.check().expect("the compact mode holds 8,192 nodes in 272 MiB");
        scenario.mode = Mode::Full;
        let message = scenario.check().expect_err("too large").to_string();
        assert!(message.contains("use the compact mode"), "{message}");
    }
}
