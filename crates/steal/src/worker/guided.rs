//! A worker that begins with the tree of steals of the last iteration ([`crate::guide`]).

use core::time::Duration;

use tidings_primitives::Instant;

use super::Worker;
use super::came::Came;
use crate::frame::Frame;
use crate::guide::Guide;
use crate::retention;
use crate::trace::Trace;

impl Worker {
    /// The phase begins with these tasks: what is known of the last one of this name may fit.
    pub(super) fn begin_guided(&mut self, guide: Option<Guide>, tasks: &[Frame]) {
        if !self.config.retain {
            return;
        }
        self.begins = retention::list(tasks);
        let (begins, workers) = (self.begins, self.view.live());
        let fits = |guide: &Guide| self.script.is_none() && guide.fits(begins, workers);
        self.guide = guide.filter(fits);
    }

    /// What this phase is for the next one. A list alone is retained as a list.
    pub(super) fn next_guide(&self) -> Option<Guide> {
        if !self.config.retain || self.listed || !self.retention.may_guide() {
            return None;
        }
        let (_, events) = Trace::read(self.trace.tasks, self.trace.bytes()).ok()?;
        Guide::of(self.begins, self.view.live(), &events)
    }

    pub(super) fn guided_idle(&mut self) {
        if let Some(guide) = &mut self.guide {
            guide.idle();
        }
    }

    pub(super) fn guided_gift(&mut self, again: Option<(u32, u32)>) {
        let step = self.steps();
        if let Some(guide) = &mut self.guide {
            guide.got(again, step);
        }
    }

    /// Takes what came while it had something else, what came first last time; whether there was
    /// anything.
    pub(super) fn take_held(&mut self, now: Instant) -> bool {
        let place = |came: &Came| self.guide.as_ref().map_or(0, |guide| guide.place(came.gift()));
        let first = (0..self.held.len()).min_by_key(|at| place(&self.held[*at]));
        let came = first.and_then(|at| self.held.remove(at));
        came.map(|came| self.take_now(came, now)).is_some()
    }

    /// Gives what was stolen after as many steps the last time.
    pub(super) fn follow_guide(&mut self) {
        let step = self.steps();
        while let Some(gift) = self.guide.as_mut().and_then(|guide| guide.due(step)) {
            let may = self.view.lives(gift.to) && gift.to != self.me;
            if may && self.give_again(gift.to, true, gift.want, Some(gift.number)) {
                self.counters.guided += 1;
            }
        }
    }

    /// Whether what it has is to be given to others yet.
    pub(super) fn has_gifts_to_make(&self) -> bool {
        self.guide.as_ref().is_some_and(Guide::has_gifts)
    }

    /// Until when it waits for what came last time, before it asks anybody.
    pub(super) fn awaits_gift(&mut self, now: Instant) -> Option<Instant> {
        let slack_us = 2 * self.config.sharing.keep_ns / 1000;
        let now_us = now.saturating_since(self.began).as_micros() as u64;
        let guide = self.guide.as_mut()?;
        let until_us = guide.waits_until_us(now_us, slack_us);
        if !guide.holds_good() {
            self.retention.unguide();
        }
        let until_us = until_us?;
        Some(self.began + Duration::from_micros(until_us))
    }
}
