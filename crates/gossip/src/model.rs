//! The model: how fresh a cluster's vectors will be, and at what cost, without simulating it.
//!
//! [`forecast`] says for a strategy, a number of members, a [`Budget`] and a share of lost
//! datagrams how old entries will be on average, at a quantile and at most, in units of time, and
//! what a node sends in a unit. [`least_window`] is the inverse: the smallest window that keeps an
//! age. All of it is arithmetic on its arguments, a fraction of a millisecond at a time.
//!
//! | strategies | model |
//! |---|---|
//! | `uniform`, `spread` | births spread as epidemics until windows cut them off (`windows.rs`) |
//! | `grid` | one row and one reader of it, played by the strategy's own rules (`grid.rs`) |
//! | `push-pull`, `staggered` | none |
//!
//! A test holds the model against simulations of 64 to 8,192 nodes (docs/results/model.md says how
//! far it is off). Where it stands: all nodes up, travel times far below the unit, and each
//! datagram lost by chance alone.

mod births;
mod curve;
mod grid;
mod rowmates;
mod windows;

use crate::dissemination::Strategy;
use crate::dissemination::layout::Budget;
use curve::Curve;

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
    ages: Curve,
    oldest_units: f64,
}

/// The strategy has no model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no model foretells strategy {0}: there is one for uniform, spread and grid")]
pub struct NoModel(pub Strategy);

/// What to expect of `members` nodes that follow `strategy` within `budget`, if a share `loss` of
/// all datagrams is lost.
///
/// # Errors
/// [`NoModel`].
pub fn forecast(
    strategy: Strategy,
    members: usize,
    budget: &Budget,
    loss: f64,
) -> Result<Forecast, NoModel> {
    let (members, loss) = (members.max(2), loss.clamp(0.0, 0.99));
    match strategy {
        Strategy::Uniform | Strategy::Spread => {
            Ok(windows::forecast(strategy, members, budget, loss))
        }
        Strategy::Grid => Ok(grid::forecast(members, budget, loss)),
        Strategy::PushPull | Strategy::Staggered => Err(NoModel(strategy)),
    }
}

/// An age to be kept.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal {
    /// The age in units of time.
    pub age_units: f64,
    /// The share of all ages that shall not exceed it; `None`: the average shall not.
    pub quantile: Option<f64>,
}

/// The smallest window, in entries, with which `strategy` reaches `goal` among `members` nodes;
/// `None` if none does. The window of `budget` does not matter.
///
/// # Errors
/// [`NoModel`].
pub fn least_window(
    strategy: Strategy,
    members: usize,
    budget: &Budget,
    loss: f64,
    goal: Goal,
) -> Result<Option<usize>, NoModel> {
    let reaches = |window_entries: usize| {
        let budget = Budget { window_entries, ..*budget };
        let forecast = forecast(strategy, members, &budget, loss)?;
        Ok(forecast.age_units(goal.quantile) <= goal.age_units)
    };
    let (mut low, mut high) = (0, members.max(2));
    if !reaches(high)? {
        return Ok(None);
    }
    // Ages fall as windows grow: `high` reaches the goal, `low` does not.
    while high - low > 1 {
        let middle = low.midpoint(high);
        if reaches(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(Some(high))
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

#[cfg(test)]
mod tests;
