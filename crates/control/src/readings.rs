//! What a payload says, in the terms of a report: for those that have the entry and not the agent's
//! answer, which are the agent itself and readers of its board.
//!
//! A node that has left or died keeps its last readings, which its report gives with their age.
//! They are no news of the present: conditions, orders and metrics pass over them.

use tidings_gossip::payload::NodeState;

use crate::{NodeReport, State};

impl NodeReport {
    /// The same with the readings of the entry's payload, if the node was heard and they can be
    /// read.
    #[must_use]
    pub fn with_payload(self, payload: &[u8]) -> Self {
        match NodeState::decode(payload) {
            Ok(readings) if self.state != State::Unheard => self.with_readings(readings),
            _ => self,
        }
    }

    fn with_readings(self, readings: NodeState) -> Self {
        Self {
            cores: readings.cores.map(u32::from),
            load1: readings.load1,
            load5: readings.load5,
            load15: readings.load15,
            cpu_busy_percent: readings.cpu_busy_percent,
            mem_total_bytes: readings.mem_total_bytes,
            mem_available_bytes: readings.mem_available_bytes,
            swap_total_bytes: readings.swap_total_bytes,
            swap_used_bytes: readings.swap_used_bytes,
            psi_cpu_percent: readings.psi_cpu_percent,
            psi_memory_percent: readings.psi_memory_percent,
            psi_io_percent: readings.psi_io_percent,
            disk_read_bytes_s: readings.disk_read_bytes_s,
            disk_write_bytes_s: readings.disk_write_bytes_s,
            net_rx_bytes_s: readings.net_rx_bytes_s,
            net_tx_bytes_s: readings.net_tx_bytes_s,
            temperature_c: readings.temperature_c,
            power_w: readings.power_w,
            uptime_s: readings.uptime_s,
            kernel: readings.kernel.map(|kernel| kernel.to_string()),
            user: readings.user,
            ..self
        }
    }
}
