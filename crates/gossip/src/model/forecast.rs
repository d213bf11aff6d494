//! A forecast: how fresh a cluster will be, and at what cost.

use super::curve::Curve;

/// What is to be expected of a cluster.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// Mean age over all pairs of distinct nodes, in units of time.
    pub age_avg_units: f64,
    /// Bytes of datagrams that a node sends in a unit.
    pub bytes: f64,
    /// Datagrams that a node sends in a unit.
    pub datagrams: f64,
    /// Entries that a node sends in a unit.
    pub entries: f64,
    pub(super) ages: Curve,
    pub(super) oldest_units: f64,
}

impl Forecast {
    /// The age in units that a share `quantile` of all ages does not exceed; the average if there
    /// is none.
    pub fn age_units(&self, quantile: Option<f64>) -> f64 {
        quantile.map_or(self.age_avg_units, |quantile| self.quantile_units(quantile))
    }

    /// The age in units that a share `quantile` of all ages does not exceed.
    pub fn quantile_units(&self, quantile: f64) -> f64 {
        self.ages.exceeded_by(1.0 - quantile)
    }

    /// The age in units of a node's oldest entry: the mean over nodes.
    pub fn oldest_units(&self) -> f64 {
        self.oldest_units
    }
}
