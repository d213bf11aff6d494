//! The copying of the blob: asked for, sent over uplinks, lost with its sender, asked for again.

use core::time::Duration;

use tidings_tasks_core::broadcast::AT_A_TIME;
use tidings_tasks_core::message::Request;
use tidings_tasks_core::output::{Owner, Source};

use crate::party::{Copying, Party};
use crate::uplink::{COPY, PIECES, Transfer};
use crate::world::{BLOB, Event, OWNER, World};

/// After so long a host that says nothing is given up.
const SILENCE: Duration = Duration::from_secs(5);

impl World {
    /// A host wants the blob.
    pub(crate) fn want(&mut self, at: usize, failed: Option<Owner>) {
        let party = &self.parties[at];
        if !party.is_up || party.depth.is_some() {
            return;
        }
        let mut owners = vec![Owner::Store, Owner::Depot(self.owner)];
        owners.retain(|owner| Some(*owner) != failed && *owner == self.of);
        let call = self.ask(at, Request::Source { blob: BLOB.into(), owners, failed });
        self.parties[at].copying = Some(Copying::Asks(call));
    }

    /// A host is told from where to copy it.
    pub(crate) fn copy(&mut self, at: usize, source: &Source) {
        let owner = match source {
            Source::Store => Owner::Store,
            Source::Depot(reached) => Owner::Depot(reached.depot.id),
            Source::Here => panic!("no two processes have one depot"),
            Source::Nowhere => {
                let has = self.parties.iter().any(|party| party.is_up && party.depth.is_some());
                // A coordinator that begins knows of the owner alone.
                assert!(!has || self.totals.reigns > 0, "somebody has it");
                self.totals.lost += 1;
                return;
            }
        };
        self.transfers += 1;
        let number = self.transfers;
        self.parties[at].copying = Some(Copying::From(owner, number));
        let Some(from) = self.sender(owner) else {
            // It has died meanwhile: nobody answers there.
            let delay = self.delay();
            return self.after(delay, Event::Lost(at, number));
        };
        self.begun.entry(owner).or_default().push(self.parties[at].life);
        let to = (at, self.parties[at].life);
        let life = |party: &Party| if party.is_up { party.life } else { 0 };
        let lives: Vec<u64> = self.parties.iter().map(life).collect();
        let uplink = &mut self.parties[from].uplink;
        uplink.transfers.retain(|transfer| lives[transfer.to.0] == transfer.to.1);
        let is_idle = uplink.begin(Transfer { number, to, left: PIECES });
        // A coordinator that begins does not know what is on its way.
        let most = AT_A_TIME * (1 + self.totals.reigns as usize);
        assert!(uplink.transfers.len() <= most, "{owner:?} sends too many: {uplink:?}");
        if is_idle {
            self.after(COPY / PIECES, Event::Sent(from, self.parties[from].life));
        }
    }

    /// The owner does not have it any more.
    pub(crate) fn free(&mut self) {
        self.parties[OWNER].depth = None;
        self.totals.freed += 1;
        self.break_uplink(OWNER, false);
    }

    /// Who has the blob, as long as that lives.
    fn sender(&self, owner: Owner) -> Option<usize> {
        match owner {
            Owner::Store => Some(OWNER),
            Owner::Depot(life) => {
                let mut all = self.parties.iter().filter(|party| party.is_up);
                all.find(|party| party.life == life && party.depth.is_some())
                    .map(|party| party.number)
            }
        }
    }

    /// A host has sent a piece.
    pub(crate) fn sent(&mut self, at: usize, life: u64) {
        if self.parties[at].life != life || !self.parties[at].is_up {
            return;
        }
        let (ended, has_more) = self.parties[at].uplink.sent();
        if let Some(transfer) = ended {
            let delay = self.delay();
            let depth = self.parties[at].depth.expect("it has what it sends") + 1;
            self.after(delay, Event::Copied(transfer.to.0, transfer.number, depth));
        }
        if has_more {
            self.after(COPY / PIECES, Event::Sent(at, life));
        }
    }

    /// A host has got all.
    pub(crate) fn copied(&mut self, at: usize, number: u64, depth: usize) {
        if !self.is_copying(at, number) {
            return;
        }
        self.parties[at].copying = None;
        self.parties[at].depth = Some(depth);
        self.totals.copies += 1;
        self.totals.depth = self.totals.depth.max(depth);
        self.last_copy = self.now;
        self.ask(at, Request::Copied { blob: BLOB.into(), is_there: true });
        self.offer(at);
    }

    /// The one from which a host copies it is gone.
    pub(crate) fn lost(&mut self, at: usize, number: u64) {
        if let Some(Copying::From(owner, own)) = self.parties[at].copying {
            if own == number && self.parties[at].is_up {
                self.totals.broken += 1;
                self.want(at, Some(owner));
            }
        }
    }

    fn is_copying(&self, at: usize, number: u64) -> bool {
        let copying = &self.parties[at].copying;
        self.parties[at].is_up && matches!(copying, Some(Copying::From(_, own)) if *own == number)
    }

    /// What a host sent that has died is lost: the others are told so, or hear nothing any more.
    pub(crate) fn break_uplink(&mut self, at: usize, is_silent: bool) {
        let uplink = core::mem::take(&mut self.parties[at].uplink);
        for transfer in uplink.transfers {
            let delay = if is_silent { SILENCE } else { self.delay() };
            self.after(delay, Event::Lost(transfer.to.0, transfer.number));
        }
    }
}
