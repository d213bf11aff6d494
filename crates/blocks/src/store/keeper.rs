//! The handler of a store: the pair that has it, those who wait for changes, and those who measure
//! the time of sessions.
//!
//! A change is not told to those who wait: they are told that there is one, and ask for it by a
//! call like any other. So nothing rests on these messages but that nobody waits in vain: who waits
//! tells the owner from which revision on, and again each owner that follows.

use core::any::Any;
use std::collections::BTreeMap;

use tidings_tasks_core::transaction::Revision;

use super::records::{Records, Sessions};
use crate::block::{Handler, Here, Outbox};
use crate::envelope::Refusal;
use crate::id::Node;
use crate::pair::{Call, Placing, Twins};
use crate::reply::Asker;

/// Who may wait for changes at a time in one process.
const MAX_WAITING: usize = 65_536;

/// What a message begins with.
const PAIR: u8 = 0;
const WANT: u8 = 1;
const NEWS: u8 = 2;

/// Who waits for a change after a revision.
pub(super) struct Waits {
    pub(super) after: Revision,
    pub(super) asker: Asker<()>,
}

/// Who measures time, and of how many sessions it knows.
pub(super) struct Clock {
    pub(super) known: Option<u64>,
    pub(super) asker: Asker<Sessions>,
}

/// The handler.
pub(super) struct Keeper {
    twins: Twins<Records>,
    waiting: Vec<Waits>,
    /// After which revision others want to be told of a change.
    wants: BTreeMap<Node, Revision>,
    /// Who measures time here.
    clocks: Vec<Clock>,
}

impl Keeper {
    pub(super) fn new(here: &Here) -> Self {
        // That all was lost shows in the answers.
        let twins = Twins::new(here, 1, |_| ());
        Self { twins, waiting: Vec::new(), wants: BTreeMap::new(), clocks: Vec::new() }
    }

    /// Has the pair do something, and tells what has come of it.
    fn pair(
        &mut self,
        out: &mut Outbox<'_>,
        what: impl FnOnce(&mut Twins<Records>, &mut Outbox<'_>),
    ) {
        let mut inner = Outbox::new(out.own(), out.view());
        what(&mut self.twins, &mut inner);
        for (to, said) in inner.into_sent() {
            out.send(to, [&[PAIR][..], &said].concat());
        }
        self.tell(out);
    }

    /// Tells those who wait, if this process owns the store.
    fn tell(&mut self, out: &mut Outbox<'_>) {
        if owner(out) != Some(out.own()) {
            return;
        }
        let Some((_, state)) = self.twins.copies().next() else { return };
        let revision = state.revision();
        self.wants.retain(|node, after| {
            let is_due = revision > *after;
            if is_due {
                out.send(*node, message(NEWS, revision));
            }
            !is_due
        });
        let opened = state.opened();
        for clock in core::mem::take(&mut self.clocks) {
            if clock.known == Some(opened) {
                self.clocks.push(clock);
            } else {
                clock.asker.answer(Sessions { opened, beats: state.beats().collect() });
            }
        }
    }

    /// Tells the owner that there is somebody here who waits.
    fn want(&self, out: &mut Outbox<'_>) {
        let after = self.waiting.iter().map(|waits| waits.after).min();
        if let (Some(after), Some(owner)) = (after, owner(out)) {
            out.send(owner, message(WANT, after));
        }
    }

    fn hear_news(&mut self, revision: Revision, out: &mut Outbox<'_>) {
        let waiting = core::mem::take(&mut self.waiting);
        let (due, others) = waiting.into_iter().partition(|waits| waits.after < revision);
        self.waiting = others;
        for Waits { asker, .. } in due {
            asker.answer(());
        }
        self.want(out);
    }
}

/// Who owns the store in the present view.
fn owner(out: &Outbox<'_>) -> Option<Node> {
    Placing::of(0, &out.view().nodes).map(|placing| placing.owner)
}

fn message(kind: u8, revision: Revision) -> Vec<u8> {
    [&[kind][..], &revision.0.to_be_bytes()].concat()
}

fn revision(bytes: &[u8]) -> Option<Revision> {
    bytes.try_into().ok().map(|bytes| Revision(u64::from_be_bytes(bytes)))
}

impl Handler for Keeper {
    fn called(&mut self, call: Box<dyn Any + Send>, out: &mut Outbox<'_>) {
        if call.is::<Call<Records>>() {
            return self.pair(out, |twins, out| twins.called(call, out));
        }
        let call = match call.downcast::<Waits>() {
            Ok(waits) => {
                if self.waiting.len() < MAX_WAITING {
                    self.waiting.push(*waits);
                    self.want(out);
                }
                return;
            }
            Err(call) => call,
        };
        if let Ok(clock) = call.downcast::<Clock>() {
            self.clocks.push(*clock);
            self.tell(out);
        }
    }

    fn received(&mut self, from: Node, message: &[u8], out: &mut Outbox<'_>) {
        match message.split_first() {
            Some((&PAIR, said)) => self.pair(out, |twins, out| twins.received(from, said, out)),
            Some((&WANT, said)) => {
                if let Some(after) = revision(said) {
                    let wanted = self.wants.entry(from).or_insert(after);
                    *wanted = after.min(*wanted);
                    self.tell(out);
                }
            }
            Some((&NEWS, said)) => {
                if let Some(revision) = revision(said) {
                    self.hear_news(revision, out);
                }
            }
            _ => {}
        }
    }

    fn refused(&mut self, by: Node, why: &Refusal, out: &mut Outbox<'_>) {
        // Who waits hears that there is no answer, and what is wrong when it asks.
        self.waiting.clear();
        self.pair(out, |twins, out| twins.refused(by, why, out));
    }

    fn view_entered(&mut self, out: &mut Outbox<'_>) {
        self.wants.retain(|node, _| out.view().has(*node));
        self.pair(out, Twins::view_entered);
        self.want(out);
    }
}
