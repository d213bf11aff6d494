//! Catching up: when to ask others for members and entries never heard of.
//!
//! A node asks up to four others a unit while asking helps. Asks that bring nothing double the pause
//! before the next one, up to 64 units; anything new ends the pause, and so does meeting an
//! unknown origin, whose bearer is then asked. So a cluster that is up and complete asks next to nothing,
//! and one that starts, or heals, completes within a few units.

use crate::address::Address;
use crate::entry::NodeId;

/// The longest pause between two asks, in units of time.
const MAX_PAUSE: u32 = 64;
/// The longest pause of a node that knows no other: its seeds may be late.
const MAX_PAUSE_ALONE: u32 = 4;

/// The most asks in one unit of time: an answer is one datagram, and may hold but one entry.
pub(crate) const MAX_ASKS: usize = 4;

/// When, whom and about which ids to ask next.
#[derive(Clone, Debug)]
pub(crate) struct CatchUp {
    enabled: bool,
    /// Units until the next ask.
    wait: u32,
    /// Units to wait after it.
    pause: u32,
    /// First id of the next ask's range.
    pub(crate) first: NodeId,
    /// Who is known to have what this node lacks.
    bearer: Option<Address>,
}

impl CatchUp {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, wait: 0, pause: 1, first: NodeId(0), bearer: None }
    }

    /// A unit has passed; how many asks are due. `alone`: no other member is known.
    pub(crate) fn due(&mut self, alone: bool) -> usize {
        if !self.enabled {
            return 0;
        }
        self.wait = self.wait.saturating_sub(1);
        if self.wait > 0 {
            return 0;
        }
        let asks = if self.pause == 1 { MAX_ASKS } else { 1 };
        self.wait = self.pause;
        self.pause = (2 * self.pause).min(if alone { MAX_PAUSE_ALONE } else { MAX_PAUSE });
        asks
    }

    /// Whom to ask before all others.
    pub(crate) fn take_bearer(&mut self) -> Option<Address> {
        self.bearer.take()
    }

    /// The last ask covered the ids up to `last`.
    pub(crate) fn asked_to(&mut self, last: NodeId) {
        self.first = NodeId(last.0.wrapping_add(1));
        if self.first != NodeId(0) {
            // The rest of the ids comes next unit: a cluster is asked about as a whole.
            self.wait = 1;
            self.pause = (self.pause / 2).max(1);
        }
    }

    /// Something new came of asking.
    pub(crate) fn gained(&mut self) {
        self.pause = 1;
        self.wait = self.wait.min(1);
    }

    /// `bearer` knows something this node does not.
    pub(crate) fn lacks(&mut self, bearer: Address) {
        self.bearer = Some(bearer);
        self.gained();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units at which it asks, among the first `units`.
    fn asks(catch_up: &mut CatchUp, units: u32, alone: bool) -> Vec<u32> {
        (0..units).filter(|_| catch_up.due(alone) > 0).collect()
    }

    #[test]
    fn pauses_double_up_to_64_units() {
        let all = asks(&mut CatchUp::new(true), 300, false);
        assert_eq!(all, [0, 1, 3, 7, 15, 31, 63, 127, 191, 255]);
    }

    #[test]
    fn a_node_alone_keeps_asking() {
        assert_eq!(asks(&mut CatchUp::new(true), 13, true), [0, 1, 3, 7, 11]);
    }

    #[test]
    fn news_and_lacks_start_over() {
        let mut catch_up = CatchUp::new(true);
        asks(&mut catch_up, 40, false);
        catch_up.gained();
        assert_eq!(asks(&mut catch_up, 4, false), [0, 1, 3]);
        assert_eq!(asks(&mut CatchUp::new(false), 100, true), []);
    }

    #[test]
    fn several_are_asked_only_while_it_helps() {
        let mut catch_up = CatchUp::new(true);
        assert_eq!([0; 4].map(|_| catch_up.due(false)), [MAX_ASKS, 1, 0, 1]);
        catch_up.gained();
        assert_eq!(catch_up.due(false), MAX_ASKS);
    }
}
