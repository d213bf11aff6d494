//! Ages under windows of the newest entries to random members: `uniform` and `spread`.
//!
//! Follow one birth: a node's own entry, made again, at the moment it is sent. Let 1 − *y*(x) be
//! the share of nodes that after a time *x* hold neither it nor a later one. Later ones come each
//! unit and spread alike, so y(x) has a part known from x − 1, and the birth's own part grows as an
//! epidemic does: a node hears *r* windows a unit at random, each has the birth with probability Y.
//! At a random moment the last birth was a random part of a unit ago: ages are x and that.
//!
//! **Windows.** How much a node has heard varies from node to node, exponentially since windows
//! arrive at random, as in a Yule process: with a *luck* W it misses a birth with probability
//! e^(−κW), κ = y/(1 − y), which is 1 − y on average. Its window ends where it has heard of as many
//! younger entries as fit: nodes of much luck cut a birth off early, others late. So Y is the
//! integral over lucks of those that hold the birth and whose windows reach it, and all windows are
//! full by construction.
//!
//! **Births** have luck too: the first receivers may send at once or late, or be none. Conditional
//! on its luck a Yule process grows evenly (Kendall, 1966), so births of eight lucks are followed,
//! and nodes miss several births as often as the product of the means says.
//!
//! **A node's oldest entry.** Each window that arrives leaves of all entries of *one* node a share
//! 1 − ω, which is a faster decay than that over all nodes, where some had more windows and some
//! fewer: the typical node's exponent grows by −ln of that share. With one target a birth is passed
//! on for several units, and the windows that come to a node meanwhile are those of nearly all its
//! entries, so that is taken birth by birth; with several targets it lasts a part of a unit. A
//! window that brings the oldest entry comes half a window late on average.
//!
//! Nothing here is fitted. Closed forms of a simpler model, without lucks and with a sharp cut:
//! Amar, Barak, Drezner, Okun, CC:PE 21, 2009.

use super::births::Traffic;
use super::forecast::Forecast;
use crate::dissemination::layout::Budget;
use crate::dissemination::strategy::Strategy;

/// The largest share of entries in a window.
const FULL: f64 = 1.0 - 1e-12;

/// What to expect of one of the two strategies.
pub(super) fn forecast(strategy: Strategy, members: usize, budget: &Budget, loss: f64) -> Forecast {
    let window = budget.window_entries.clamp(1, members);
    let targets = match strategy {
        Strategy::Spread => window.div_ceil(budget.datagram_entries.max(1)),
        _ => 1,
    };
    let each = window.div_ceil(targets);
    let (targets, others) = (targets as f64, members as f64 - 1.0);
    // The own entry is in all windows.
    let share = ((each as f64 - 1.0) / others).clamp(1e-9, FULL);
    let traffic = Traffic { others, targets, arrives: 1.0 - loss, share };
    let ages = traffic.ages();
    let oldest_units = ages.of_a_node.oldest_of(others) + 0.5 / traffic.rate();
    Forecast {
        age_avg_units: ages.all.average(),
        bytes: targets * budget.window_bytes(each) as f64,
        datagrams: targets * each.div_ceil(budget.datagram_entries.max(1)) as f64,
        entries: targets * each as f64,
        ages: ages.all,
        oldest_units,
    }
}
