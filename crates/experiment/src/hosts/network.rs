//! What lies between hosts.

/// What lies between hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Network {
    /// Bits a second that a host can send, in millions; without bound if absent.
    pub rate_mbit: Option<f64>,
    /// How long a packet travels, in microseconds.
    pub delay_us: f64,
    /// Share of packets that are lost, in per cent.
    pub loss_percent: f64,
}
