//! Catching up: when to ask others for members and entries never heard of.
//!
//! An ask names as many ids as a datagram holds, so a cluster is asked about in *sweeps* over all
//! ids, each of one ask or more. A node asks up to four others a unit while asking helps. A sweep
//! that brings nothing doubles the pause to the next, up to 64 units, and is made of one ask a
//! unit; anything new ends the pause, and so does meeting an unknown origin, whose sender is then
//! asked. So a cluster that is up and complete asks next to nothing, and one that starts, or
//! heals, completes within a few units. While a seed is not among the living, it is asked beside
//! others, and sweeps come every 16 units: one that has said farewell and starts again, with itself
//! as its only seed, knows nobody, and nobody sends to it.

use crate::address::Address;
use crate::entry::NodeId;

/// The longest pause from one sweep to the next, in units of time.
const MAX_PAUSE: u32 = 64;
/// The longest pause of a node that knows no other: its seeds may be late.
const MAX_PAUSE_ALONE: u32 = 4;
/// The longest pause of a node one of whose seeds is not among the living.
const MAX_PAUSE_WITHOUT_SEED: u32 = 16;

/// The most asks in one unit of time: an answer is one datagram, and may hold but one entry.
pub(crate) const MAX_ASKS: usize = 4;

/// When, whom and about which ids to ask next.
#[derive(Debug)]
pub(crate) struct CatchUp {
    enabled: bool,
    /// Units until the next sweep.
    wait: u32,
    /// Units from its start to that of the one after it.
    pause: u32,
    /// Whether a sweep has begun and not reached the largest id.
    sweeping: bool,
    /// First id of the next ask's range.
    first: NodeId,
    /// The address of a node that has what this one lacks.
    sender: Option<Address>,
    /// Whom to ask for members, whether or not they are known.
    seeds: Vec<Address>,
    /// The seed that the last sweep has found missing, until it is asked.
    missing: Option<Address>,
    /// The seed that was looked at last.
    turn: usize,
}

impl CatchUp {
    pub(crate) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            wait: 0,
            pause: 1,
            sweeping: false,
            first: NodeId(0),
            sender: None,
            seeds: vec![],
            missing: None,
            turn: 0,
        }
    }

    /// A unit has passed; how many asks are due. `alone`: no other member is known. When a sweep
    /// begins, `is_missing` says whether a seed is not among the living.
    pub(crate) fn due(&mut self, alone: bool, is_missing: impl FnOnce(Address) -> bool) -> usize {
        if !self.enabled {
            return 0;
        }
        self.wait = self.wait.saturating_sub(1);
        if !self.sweeping {
            if self.wait > 0 {
                return 0;
            }
            self.sweeping = true;
            self.missing = self.next_seed().filter(|&seed| is_missing(seed));
            let longest = match self.missing {
                _ if alone => MAX_PAUSE_ALONE,
                Some(_) => MAX_PAUSE_WITHOUT_SEED,
                None => MAX_PAUSE,
            };
            self.wait = self.pause.min(longest);
            self.pause = (2 * self.pause).min(longest);
        }
        if self.pause <= 2 { MAX_ASKS } else { 1 }
    }

    /// The seeds, one after the other.
    fn next_seed(&mut self) -> Option<Address> {
        self.turn = (self.turn + 1).checked_rem(self.seeds.len())?;
        Some(self.seeds[self.turn])
    }

    /// Names nodes to ask for members, in place of those that were named before.
    pub(crate) fn set_seeds(&mut self, seeds: impl Iterator<Item = Address>) {
        self.seeds.clear();
        self.seeds.extend(seeds);
        self.gained();
    }

    /// Nobody is to be asked at this address any more.
    pub(crate) fn drop_seed(&mut self, address: Address) {
        self.seeds.retain(|&seed| seed != address);
    }

    /// Nodes to ask for members.
    pub(crate) fn seeds(&self) -> &[Address] {
        &self.seeds
    }

    /// First id of the next ask's range.
    pub(crate) fn first(&self) -> NodeId {
        self.first
    }

    /// A seed to ask beside others, since it is missing.
    pub(crate) fn take_missing(&mut self) -> Option<Address> {
        self.missing.take()
    }

    /// Whom to ask before all others.
    pub(crate) fn take_sender(&mut self) -> Option<Address> {
        self.sender.take()
    }

    /// The last ask covered the ids up to `last`.
    pub(crate) fn asked_to(&mut self, last: NodeId) {
        self.first = NodeId(last.0.wrapping_add(1));
        // What is asked beyond the end restarts, but no sweep of its own.
        self.sweeping &= self.first != NodeId(0);
    }

    /// The member at this address is not among the living any more.
    pub(crate) fn lost(&mut self, address: Address) {
        if self.seeds.contains(&address) {
            self.wait = self.wait.min(MAX_PAUSE_WITHOUT_SEED);
        }
    }

    /// Something new came of asking.
    pub(crate) fn gained(&mut self) {
        self.pause = 1;
        self.wait = self.wait.min(1);
    }

    /// `sender` knows something this node does not.
    pub(crate) fn lacks(&mut self, sender: Address) {
        self.sender = Some(sender);
        self.gained();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGEST: NodeId = NodeId(u32::MAX);

    /// Asks due in a unit, each of which covers all ids.
    fn due(catch_up: &mut CatchUp, alone: bool) -> usize {
        let asks = catch_up.due(alone, |_| false);
        (0..asks).for_each(|_| catch_up.asked_to(LARGEST));
        asks
    }

    /// Units at which it asks, among the first `units`.
    fn asks(catch_up: &mut CatchUp, units: u32, alone: bool) -> Vec<u32> {
        (0..units).filter(|_| due(catch_up, alone) > 0).collect()
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
    fn a_seed_that_is_missing_is_asked_every_16_units() {
        let mut catch_up = CatchUp::new(true);
        let seed = Address::from_bytes(&[7]).expect("one byte fits");
        catch_up.set_seeds([seed].into_iter());
        let mut asked = Vec::new();
        for unit in 0..80 {
            if catch_up.due(false, |_| true) > 0 {
                assert_eq!(catch_up.take_missing(), Some(seed));
                asked.push(unit);
                catch_up.asked_to(LARGEST);
            }
        }
        assert_eq!(asked, [0, 1, 3, 7, 15, 31, 47, 63, 79]);
    }

    #[test]
    fn a_seed_that_goes_is_missed_within_16_units() {
        let mut catch_up = CatchUp::new(true);
        let seed = Address::from_bytes(&[7]).expect("one byte fits");
        catch_up.set_seeds([seed].into_iter());
        assert_eq!(asks(&mut catch_up, 64, false).last(), Some(&63));
        catch_up.lost(Address::from_bytes(&[8]).expect("one byte fits"));
        assert_eq!(asks(&mut catch_up, 20, false), []);
        catch_up.lost(seed);
        let asked = (0..40).filter(|_| {
            let asks = catch_up.due(false, |_| true);
            (0..asks).for_each(|_| catch_up.asked_to(LARGEST));
            asks > 0
        });
        assert_eq!(asked.collect::<Vec<_>>(), [15, 31]);
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
        assert_eq!([0; 4].map(|_| due(&mut catch_up, false)), [MAX_ASKS, 1, 0, 1]);
        catch_up.gained();
        assert_eq!(due(&mut catch_up, false), MAX_ASKS);
    }

    /// However many asks cover all ids, and wherever among the asks of a unit the last of them
    /// comes.
    #[test]
    fn sweeps_of_many_asks_come_ever_more_rarely_too() {
        for ranges in 2..12u32 {
            let mut catch_up = CatchUp::new(true);
            let width = u32::MAX / ranges;
            let mut unit = || {
                let asks = catch_up.due(false, |_| false);
                for _ in 0..asks {
                    let first = catch_up.first.0;
                    let rest = u32::MAX - first;
                    catch_up.asked_to(NodeId(if rest < 2 * width {
                        u32::MAX
                    } else {
                        first + width
                    }));
                }
                asks
            };
            assert!((0..300).map(|_| unit()).sum::<usize>() > 0);
            let asks: usize = (0..64).map(|_| unit()).sum();
            assert!((1..=ranges as usize).contains(&asks), "{asks} asks for {ranges} ranges");
        }
    }
}
