//! What lies between hosts.

use super::shape::Shape;

/// What lies between hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Network {
    /// Bits a second that a host can send, in millions, or, of a shape, that each link passes in
    /// each direction; without bound if absent.
    pub rate_mbit: Option<f64>,
    /// The same for links along X, Y and Z, where they differ.
    pub rates_mbit: Option<[f64; 3]>,
    /// How long a packet travels, or, of a shape, how long along each link, in microseconds.
    pub delay_us: f64,
    /// Share of packets that are lost, in per cent.
    pub loss_percent: f64,
    /// Links from host to host; one switch if absent.
    pub shape: Option<Shape>,
}

impl Network {
    /// Bits a second that a link along an axis passes, in millions.
    pub fn rate_along(&self, axis: usize) -> Option<f64> {
        self.rates_mbit.map(|rates| rates[axis]).or(self.rate_mbit)
    }
}
