//! Which life of the node this is, kept on disk, and the address where it is lived.
//!
//! Both may have to be looked after while the agent runs. A disk may be full when a new incarnation
//! begins: it is written as soon as there is room. A host may get another address: where the agent
//! took its own from the routes of its host, it looks at them again and again, and tells the others
//! by a new incarnation, since a card is of an incarnation.

use tidings_control::Mode;
use tracing::{info, warn};

use super::Driver;
use crate::identity::own_address;
use crate::incarnation;

impl Driver {
    /// Writes down that this incarnation has begun, now or when there is room.
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

    /// Tries again to write down what could not be.
    pub(super) fn keep_what_was_not(&mut self) {
        let Some(number) = self.unsaved else { return };
        if incarnation::keep(&self.settings.runtime_dir, number).is_ok() {
            self.unsaved = None;
            info!(incarnation = number, "the incarnation is written now");
        }
    }

    /// Looks whether the host has another address, if the node's is the host's.
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
            "this host has another address; the others are told, by a new incarnation"
        );
        self.keep_incarnation(life.get());
    }
}
