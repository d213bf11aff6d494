//! What a run needs of memory, before it takes any.
//!
//! Every node holds something of every other, so memory grows with the square of the nodes. Beside
//! that windows are on their way for the latency, and wait for nodes that stand still. The figures
//! are upper bounds of what was measured: 32, 342 and 1,233 MiB resident for 256, 1,024 and 2,048
//! full nodes with payloads of 64 bytes, 261 MiB for 8,192 compact ones.

use crate::fault::Fault;
use crate::host::BACKLOG_DATAGRAMS;
use crate::scenario::{Mode, Scenario, ScenarioError};

/// Bytes a full node holds of each member beside the payload.
pub(crate) const FULL_PAIR_BYTES: u64 = 330;
/// Bytes a compact node holds of each member: its birth.
const COMPACT_PAIR_BYTES: u64 = 4;
/// Bytes of a full node beside its members, of its events, datagrams and ciphers.
pub(crate) const FULL_NODE_BYTES: u64 = 42 << 10;
/// Bytes of the program and its histograms.
const BASE_BYTES: u64 = 16 << 20;

/// Bytes a run needs, about.
pub fn estimate_bytes(scenario: &Scenario) -> u64 {
    let nodes = u64::from(scenario.cluster.nodes);
    let payload = u64::from(scenario.cluster.payload_bytes);
    let all = match scenario.mode {
        Mode::Full => {
            let pairs = nodes.saturating_mul(nodes).saturating_mul(FULL_PAIR_BYTES + payload);
            pairs
                .saturating_add(nodes.saturating_mul(FULL_NODE_BYTES))
                .saturating_add(windows_waiting(scenario).saturating_mul(window_bytes(scenario)))
                .saturating_add(nodes.saturating_mul(queue_bytes(scenario)))
        }
        Mode::Compact => nodes.saturating_mul(nodes).saturating_mul(COMPACT_PAIR_BYTES),
    };
    all.saturating_add(BASE_BYTES)
}

/// Bytes that a colony under way in the compact mode takes, about.
pub(crate) fn compact_colony_bytes(members: u64, colonies: u64, rows: u64) -> u64 {
    let histograms = 4 << 20;
    members * (4 * members + 4 * colonies + 16 * rows + 512) + histograms
}

/// Bytes that a colony in which members find out who has died takes beside, about: habits, doubts,
/// probes that wait.
pub(crate) fn compact_watch_bytes(members: u64) -> u64 {
    members * (4 * members + 12 * 1024)
}

/// Bytes of a window with its frames and its place in the event queue.
fn window_bytes(scenario: &Scenario) -> u64 {
    let entry = u64::from(scenario.cluster.payload_bytes) + 16;
    scenario.window_entries() as u64 * entry + 256
}

/// Bytes that may queue at a sender.
fn queue_bytes(scenario: &Scenario) -> u64 {
    let network = &scenario.network;
    if network.bandwidth_bytes_s > 0 { network.queue_bytes } else { 0 }
}

/// Windows that are on their way at a time, twice the mean to be sure, or wait for nodes.
fn windows_waiting(scenario: &Scenario) -> u64 {
    let (nodes, network) = (scenario.cluster.nodes, &scenario.network);
    let held_back = network.reordering * network.reorder_delay.as_micros() as f64;
    let travel = network.latency.mean_micros() + held_back;
    let units = travel / scenario.cluster.interval.as_micros().max(1) as f64;
    let flying = 2.0 * f64::from(nodes) * units * (1.0 + network.duplication);
    let waiting = scenario.faults.iter().map(|fault| match *fault {
        Fault::Pause { nodes: some, units, .. } => {
            let each = units.ceil().min(BACKLOG_DATAGRAMS as f64);
            some.entries(nodes as usize) as f64 * each
        }
        _ => 0.0,
    });
    (flying + waiting.sum::<f64>()) as u64
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
    let compact = Scenario { mode: Mode::Compact, ..scenario.clone() };
    let would_fit = estimate_bytes(&compact).div_ceil(1 << 20) <= scenario.memory_limit_mib;
    let (mode, remedy) = match scenario.mode {
        Mode::Full if would_fit => ("full", ", use the compact mode"),
        Mode::Full => ("full", COLONIES),
        Mode::Compact => ("compact", COLONIES),
    };
    Err(ScenarioError::Memory {
        nodes: scenario.cluster.nodes,
        mode,
        estimate_mib,
        limit_mib: scenario.memory_limit_mib,
        remedy,
    })
}

/// What holds where no mode has room for all vectors in full.
const COLONIES: &str = ", divide them into colonies (`tidings sim colonies`)";

#[cfg(test)]
mod tests {
    use tidings_gossip::Window;

    use super::*;
    use crate::latency::Latency;
    use crate::span::Span;

    #[test]
    fn what_is_on_its_way_counts() {
        let mut scenario = Scenario::default();
        scenario.cluster.nodes = 1_000;
        let at_once = estimate_bytes(&scenario);
        scenario.network.latency = Latency::Constant(Span::from_micros(2_560_000));
        // 2 × 10 units × 1,000 windows of 200 entries of 80 bytes.
        assert_eq!(estimate_bytes(&scenario) - at_once, 20_000 * (200 * 80 + 256));
        scenario.cluster.interval = Span::from_micros(1_000);
        let message = scenario.check().expect_err("too large").to_string();
        assert!(message.contains("memory_limit_mib"), "{message}");
        scenario.network.latency = Latency::default();
        scenario.network.bandwidth_bytes_s = 1_000_000;
        assert_eq!(estimate_bytes(&scenario) - at_once, 1_000 << 20);
        scenario.network.bandwidth_bytes_s = 0;
        let nodes = Window::Entries(500);
        scenario.faults.push(Fault::Pause { at: 1.0, units: 99.5, nodes, every: None });
        assert_eq!(estimate_bytes(&scenario) - at_once, 50_000 * (200 * 80 + 256));
    }

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
