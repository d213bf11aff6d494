//! The node's incarnation, kept on disk, and its address. Both may change while the agent runs. If
//! the disk is full when a new incarnation begins, it is written as soon as there is room. A host
//! may get another address: if the agent took its address from the routes of its host, it checks
//! them repeatedly, and announces a new address by a new incarnation, since a card belongs to an
//! incarnation.

use tidings_control::Mode;
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
