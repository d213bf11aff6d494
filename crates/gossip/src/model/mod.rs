//! The model: how fresh a cluster's vectors will be, and at what cost, without simulating it.
//!
//! [`forecast`] says for a strategy, a number of members, a [`Budget`] and a share of lost
//! datagrams how old entries will be on average, at a quantile and at most, in units of time, and
//! what a node sends in a unit. [`least_window`] is the inverse: the smallest window that keeps an
//! age. All of it is arithmetic on its arguments, from a millisecond at a time (`uniform`) to some
//! tenths of a second (`push-pull` with small windows).
//!
//! | strategies | model |
//! |---|---|
//! | `uniform`, `spread` | births spread as epidemics until windows cut them off (`windows.rs`) |
//! | `grid` | one row and one reader of it, simulated by the strategy's own rules (`grid.rs`) |
//! | `push-pull`, `staggered` | entries of some origins among all nodes, simulated (`sampled.rs`) |
//!
//! A test holds the model against simulations of 64 to 8,192 nodes (studies/freshness-model says
//! how far it is off). Where it stands: all nodes up, travel times far below the unit, and each
//! datagram lost at random.

mod births;
mod counted;
mod curve;
mod forecast;
mod grid;
mod rowmates;
mod sampled;
mod windows;

use crate::dissemination::layout::Budget;
use crate::dissemination::strategy::Strategy;
pub use forecast::Forecast;

/// What to expect of `members` nodes that follow `strategy` within `budget`, if a share `loss` of
/// all datagrams is lost.
pub fn forecast(strategy: Strategy, members: usize, budget: &Budget, loss: f64) -> Forecast {
    let (members, loss) = (members.max(2), loss.clamp(0.0, 0.99));
    match strategy {
        Strategy::Uniform | Strategy::Spread => windows::forecast(strategy, members, budget, loss),
        Strategy::Grid => grid::forecast(members, budget, loss),
        Strategy::PushPull => sampled::forecast(true, members, budget, loss),
        Strategy::Staggered => sampled::forecast(false, members, budget, loss),
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
pub fn least_window(
    strategy: Strategy,
    members: usize,
    budget: &Budget,
    loss: f64,
    goal: Goal,
) -> Option<usize> {
    let reaches = |window_entries: usize| {
        let budget = Budget { window_entries, ..*budget };
        let forecast = forecast(strategy, members, &budget, loss);
        forecast.age_units(goal.quantile) <= goal.age_units
    };
    let (mut low, mut high) = (0, members.max(2));
    if !reaches(high) {
        return None;
    }
    // Ages fall as windows grow: `high` reaches the goal, `low` does not.
    while high - low > 1 {
        let middle = low.midpoint(high);
        if reaches(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests;
