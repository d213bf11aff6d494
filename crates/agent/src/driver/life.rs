//! The node's incarnation, kept on disk, and its address. Both may change while the agent runs. If
//! the disk is full when a new incarnation begins, it is written as soon as there is room. A host
//! may get another address: if the agent took its address from the routes of its host, it checks
//! them repeatedly, and announces a new address by a new incarnation, since a card belongs to an
//! incarnation.

use tidings_control::Mode;
use tidings_gossip::Instant;
use tracing::{info, warn};

use super::Driver;
use crate::identity::own_address;
use crate::incarnation;

impl Driver {
    /// Records that this incarnation has begun, now or when there is room.
    pub(super) fn keep_incarnation(&mut self, number: u32) {
        let Err(error) = incarnation::keep(&self.settings.runtime_dir, number) else {
            self.unsaved = None;
            return;
        };
        self.unsaved = Some(number);
        self.counters.incarnation_unsaved += 1;
        warn!(
            %error,
            "the incarnation could not be written, and is tried again; a start before that relies \
             on the clock"
        );
    }

    /// Tries again to record what could not be written.
    pub(super) fn keep_what_was_not(&mut self) {
        let Some(number) = self.unsaved else { return };
        if incarnation::keep(&self.settings.runtime_dir, number).is_ok() {
            self.unsaved = None;
            info!(incarnation = number, "the incarnation is written now");
        }
    }

    /// Reports a node whose incarnation cannot be.
    pub(super) fn report_implausible(&mut self, now: Instant, name: &str, incarnation: u32) {
        if let Some(withheld) = self.event_lines.allow(now) {
            warn!(
                name,
                incarnation,
                withheld,
                "an incarnation more than two years ahead of this host's clock is refused: one of \
                 the two clocks is wrong, or somebody with the key makes it up"
            );
        }
    }

    /// Whether the agent does its work and others can take what it says, or what is wrong.
    pub(super) fn health(&self, now: Instant) -> Result<(), String> {
        self.vitals.health(now)?;
        self.rejection(now).map_or(Ok(()), Err)
    }

    /// Why others do not take what this node says, if it can be known here.
    fn rejection(&self, now: Instant) -> Option<String> {
        let node = &self.endpoint.node;
        if let Some(incarnation) = node.outranked(now) {
            let incarnation = incarnation.get();
            return Some(format!(
                "others hold an entry of this node with incarnation {incarnation}, which it cannot \
                 exceed, so they refuse what it says; they let it go once the clocks of their \
                 hosts are right"
            ));
        }
        node.is_unheeded(now).then(|| {
            format!(
                "others answer this node, but none sends it anything: they know max_nodes nodes \
                 that live, which their logs say, or do not reach {}",
                self.standing.address
            )
        })
    }

    /// Reports when others begin to reject this node, and when they take it again.
    pub(super) fn follow_rejection(&mut self, now: Instant) {
        let rejection = self.rejection(now);
        let before = std::mem::replace(&mut self.rejected, rejection.is_some());
        match rejection {
            Some(reason) if !before => warn!("{reason}"),
            None if before => info!("other nodes take what this one says again"),
            _ => {}
        }
    }

    /// Reports that a node finds no room.
    pub(super) fn report_no_room(&mut self, now: Instant, name: &str) {
        let max_nodes = self.settings.max_nodes;
        if let Some(withheld) = self.event_lines.allow(now) {
            warn!(
                name,
                max_nodes,
                withheld,
                "no room for this node: all max_nodes members live; raise max_nodes on all nodes \
                 and restart their agents"
            );
        }
    }

    /// Checks whether the host has another address, if the node uses the host's.
    pub(super) fn follow_address(&mut self) {
        let is_fixed = self.settings.advertise.is_some() || self.standing.mode == Mode::Roster;
        if is_fixed || !self.settings.listen.ip().is_unspecified() {
            return;
        }
        let Ok(local) = self.endpoint.socket.local_address() else { return };
        // A host without a route keeps its address: it may get the same again.
        let Ok(address) = own_address(&self.settings, &[], local) else { return };
        let now = self.clock.now();
        let Some(life) = self.endpoint.node.move_to(address.into(), now) else { return };
        let before = std::mem::replace(&mut self.standing.address, address.to_string());
        warn!(
            before,
            address = self.standing.address,
            incarnation = life.get(),
            "this host has another address; it is announced by a new incarnation"
        );
        self.keep_incarnation(life.get());
    }
}
