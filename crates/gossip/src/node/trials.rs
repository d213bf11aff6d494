//! Trials: checks of members that have just been learnt of, before anything else goes there.
//!
//! A card says where a member is, and a holder of the key can invent cards that name a third party.
//! So what is to go to an address that nothing has come from yet waits for the answer to one check,
//! whose random token shows that it was received. At most [`MOST`] checks wait for answers; each is
//! given up after [`WAIT_UNITS`]. So who never answers costs little, however many of them there
//! are, and who does answer costs one round trip.
//!
//! A check is not repeated meanwhile, and may be lost: whom a node has not reached it does not hold
//! dead for want of an answer to its own check alone. Others are asked to probe it, as they are
//! about everybody, and each of them that has not reached it either tries it within its own bound.

use tidings_primitives::time::Instant;

use crate::detector::Query;
use crate::dissemination::context::What;
use crate::entry::NodeId;
use crate::wire::window::Marks;

/// Checks that wait for answers at one time.
pub(super) const MOST: usize = 8;
/// Units of time after which a check is given up.
pub(super) const WAIT_UNITS: u32 = 8;

/// A member that is being checked, and what waits for that.
pub(super) struct Trial {
    pub(super) id: NodeId,
    pub(super) token: u64,
    since: Instant,
    pub(super) is_sent: bool,
    pub(super) waits: Option<Waits>,
}

/// What waits for an answer.
#[derive(Clone, Copy)]
pub(super) enum Waits {
    /// A window or a pull.
    Order(What, Marks),
    /// A probe or a proof.
    Query(Query),
}

/// All of them.
#[derive(Default)]
pub(super) struct Trials(Vec<Trial>);

impl Trials {
    /// The trial of a member: one under way, or a new one with this token; `None` if too
    /// many are under way. Those that began before `oldest` are given up.
    pub(super) fn of(
        &mut self,
        id: NodeId,
        token: u64,
        (now, oldest): (Instant, Instant),
    ) -> Option<&mut Trial> {
        self.0.retain(|trial| trial.since > oldest);
        if let Some(at) = self.0.iter().position(|trial| trial.id == id) {
            return self.0.get_mut(at);
        }
        if self.0.len() >= MOST {
            return None;
        }
        self.0.push(Trial { id, token, since: now, is_sent: false, waits: None });
        self.0.last_mut()
    }

    /// The next one that is to be sent.
    pub(super) fn unsent(&mut self) -> Option<&mut Trial> {
        self.0.iter_mut().find(|trial| !trial.is_sent)
    }

    /// Ends the trial of a member that was reached.
    pub(super) fn end(&mut self, id: NodeId) -> Option<Trial> {
        let at = self.0.iter().position(|trial| trial.id == id)?;
        Some(self.0.swap_remove(at))
    }

    /// Whether a member is to answer a check with this token.
    pub(super) fn expects(&self, id: NodeId, token: u64) -> bool {
        self.0.iter().any(|one| one.id == id && one.token == token && one.is_sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_bounded_number_is_under_way_and_old_ones_give_way() {
        let mut all = Trials::default();
        for number in 0..MOST as u32 {
            assert!(all.of(NodeId(number), 7, (at(1), at(0))).is_some());
        }
        assert!(all.of(NodeId(1000), 7, (at(2), at(0))).is_none(), "there is no room");
        assert!(all.of(NodeId(3), 8, (at(2), at(0))).is_some(), "this one is under way");
        assert!(!all.expects(NodeId(3), 7), "it was not sent yet");
        all.unsent().expect("none was sent").is_sent = true;
        assert!(all.expects(NodeId(0), 7) && !all.expects(NodeId(0), 8));
        assert!(all.of(NodeId(1000), 7, (at(9), at(1))).is_some(), "they were given up");
    }
}
