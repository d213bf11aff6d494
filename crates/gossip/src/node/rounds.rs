//! Rounds: what a node does with time.

use tidings_primitives::time::Instant;

use super::forgetting::{Forgetting, Forgotten};
use super::machine::Node;
use super::rhythm::NEVER;
use crate::age_keeper::AgeKeeper;
use crate::colony::RECORD_BYTES;
use crate::dissemination::context::{Context, Disseminate};
use crate::dissemination::layout::{Budget, RecordTraffic};
use crate::event::Event;
use crate::wire::{frame_bytes, overhead_bytes};

impl Node {
    /// Does what is due at `now`: the rounds of the units that have begun.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.vector.advance(now);
        if self.own.has_left() || now < self.poll_timeout() {
            return;
        }
        self.look_at_ages(now);
        if self.rhythm.round_is_due(now) {
            let late = self.rhythm.late(now);
            if self.detection.resumes(now, late, self.config.interval) {
                self.all_changed();
            }
            self.counters.rounds_skipped += self.rhythm.begin_round(now);
            self.round(now);
            let next = self.play(now, |strategy, context| strategy.next_round(context));
            self.rhythm.end_round(next);
        } else if self.rhythm.look_is_due(now) {
            if self.asks {
                self.play(now, |strategy, context| strategy.look(context));
            }
            self.look_at_calls(now);
        }
        self.look_at_row(now);
        self.look_at_doubts(now);
        self.rhythm.plan_look(self.strategy.looks(self.config.interval), now);
    }

    /// When [`Node::handle_timeout`] wants to be called; far ahead after [`Node::leave`].
    pub fn poll_timeout(&self) -> Instant {
        if self.own.has_left() {
            return NEVER;
        }
        // What was asked for may be here by now.
        let asks = self.asks && self.strategy.wants_look();
        let looks = asks || self.awaits_colonies();
        let due = self.rhythm.due(looks);
        self.detection.due().map_or(due, |doubt| due.min(doubt))
    }

    /// One unit's work.
    fn round(&mut self, now: Instant) {
        self.counters.rounds += 1;
        self.room.begin_round();
        let own = self.vector.own().stamp;
        // After 2⁴⁸ units the last stamp is repeated: it cannot be exceeded.
        self.begin_verifying();
        self.say(own.next().unwrap_or(own));
        self.changed(self.own.id());
        self.forget(now);
        self.vector.look_at_lengths(Forgetting::checks(&self.membership));
        self.look_at_costs();
        self.choose_window(now);
        self.begin_ask();
        self.begin_sending();
        self.look_for_silence(now);
        self.play(now, |strategy, context| strategy.round(context));
        self.watch_row(now);
        self.begin_calls(now);
        self.look_at_calls(now);
    }

    /// Gives up what the last round has not sent yet, and picks the farewells for this one.
    pub(super) fn begin_sending(&mut self) {
        let most = self.strategy.urgent_entries(self.window_entries());
        self.counters.entries_unsent += self.outbox.begin_round(most, &self.vector);
    }

    /// Lets the strategy act on what there is now.
    pub(super) fn play<R>(
        &mut self,
        now: Instant,
        act: impl FnOnce(&mut dyn Disseminate, &mut Context<'_>) -> R,
    ) -> R {
        let budget = self.budget();
        let colonies = self.colony.as_ref().map(|colony| {
            let traffic = RecordTraffic {
                colonies: colony.table.len(),
                record_bytes: RECORD_BYTES,
                average_bytes: self.costs.record_bytes,
                room_bytes: self.room_bytes(),
            };
            (&colony.table, traffic)
        });
        let mut context = Context {
            now,
            unit: self.config.interval,
            id: self.own.id(),
            membership: &self.membership,
            vector: &self.vector,
            chance: &mut self.chance,
            budget,
            cluster: self.sealer.cluster(),
            wall_offset: self.rhythm.wall_offset(),
            orders: self.outbox.orders(),
            colonies,
        };
        act(&mut *self.strategy, &mut context)
    }

    /// Forgets members of which nothing was heard for too long, a few candidates a unit.
    fn forget(&mut self, now: Instant) {
        let oldest = now - self.config.forget_after;
        let highest = self.lives.highest();
        for _ in 0..Forgetting::checks(&self.membership) {
            let forgotten = self.forgetting.look(&self.membership, &self.vector, oldest, highest);
            let Some(Forgotten { id, floor, name, implausible }) = forgotten else { continue };
            self.changed(id);
            self.vector.remove(id);
            if implausible && self.with_cards {
                self.membership.remove(id);
            } else if implausible {
                self.membership.disbelieve(id);
                self.membership.set_target(id, true);
            } else if self.with_cards {
                self.membership.bury(id, floor);
            } else {
                self.membership.raise_floor(id, floor);
                self.membership.set_target(id, true);
            }
            self.counters.members_forgotten += 1;
            self.emit(Event::Forgotten(name));
        }
    }

    /// Entries in its present windows.
    pub fn window_entries(&self) -> usize {
        let members = self.membership.targets() + 1;
        let chosen = self.age_keeper.as_ref().and_then(|keeper| keeper.window_entries(members));
        chosen.unwrap_or_else(|| self.config.window.entries(members))
    }

    /// Whether its entries have lately been as young as `age_target` requests; `None` without a
    /// target, and until enough was seen after the start; it is evaluated again every 26 units.
    pub fn keeps_age(&self) -> Option<bool> {
        self.age_keeper.as_ref().and_then(AgeKeeper::kept)
    }

    /// Chooses the window again for the age to be kept, if there is one and something has changed.
    fn choose_window(&mut self, now: Instant) {
        let (members, interval) = (self.membership.targets() + 1, self.config.interval);
        let means = (self.config.strategy, self.budget());
        if let Some(keeper) = self.age_keeper.as_mut() {
            keeper.choose(now, members, interval, means);
        }
    }

    /// Looks at the ages if an age is to be kept and it is time. Nothing has come since that
    /// time: the ages were what they are now, but for what has passed.
    pub(super) fn look_at_ages(&mut self, now: Instant) {
        let Some(keeper) = self.age_keeper.as_mut() else { return };
        let Some((at, mut seen)) = keeper.due(now, self.config.interval) else { return };
        for record in self.membership.iter_targets() {
            if let Some(entry) = self.vector.get(record.id) {
                seen.count(at.saturating_since(entry.birth));
            }
        }
        keeper.note(&seen, self.config.interval);
    }

    /// Bytes that a datagram has for entries.
    fn room_bytes(&self) -> usize {
        usize::from(self.config.datagram_bytes) - overhead_bytes(self.config.wire_version)
    }

    /// What may be sent in a unit, and what things cost.
    fn budget(&self) -> Budget {
        let entry_bytes = self.format().entry_bytes();
        let room = self.room_bytes();
        let whole = Budget {
            entry_bytes,
            frame_bytes: frame_bytes(self.config.wire_version),
            datagram_entries: (room / entry_bytes).max(1),
            window_entries: self.window_entries(),
            changes: None,
        };
        if !self.speaks_changes() {
            return whole;
        }
        whole.with_changes(self.costs.entry.entry_bytes(entry_bytes), room)
    }
}
