//! The node's incarnation, kept on disk, and its address. Both may change while the agent runs. If
//! the disk is full when a new incarnation begins, it is written as soon as there is room. A host
//! may get another address: if the agent took its address from the routes of its host, it checks
//! them repeatedly, and announces a new address by a new incarnation, since a card belongs to an
//! incarnation.

use std::net::SocketAddr;

use tidings_control::Mode;
use tidings_gossip::{Address, Instant};
use tracing::{debug, info, warn};

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

    /// Reports an entry that its node has not signed.
    pub(super) fn report_unsigned(&mut self, now: Instant, name: &str, from: Address) {
        let Some(withheld) = self.event_lines.allow(now) else { return };
        let from = SocketAddr::try_from(from).map(|from| from.to_string()).unwrap_or_default();
        warn!(
            name,
            from,
            withheld,
            "an entry about this node is refused, since it lacks the signature of the node: it has \
             no identity, identities has no line of it or another, or somebody with the key makes \
             it up"
        );
    }

    /// Whether the agent does its work and others can take what it says, or what is wrong.
    pub(super) fn health(&self, now: Instant) -> Result<(), String> {
        self.vitals.health(now)?;
        self.rejection(now).or_else(|| self.loneliness(now)).map_or(Ok(()), Err)
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

    /// Why this node is not among those that are expected, if it is not.
    fn loneliness(&self, now: Instant) -> Option<String> {
        let seeds = self.seeds_asked();
        if self.company.is_alone() {
            let others = self.company.expected(seeds).unwrap_or(2).saturating_sub(1).max(1);
            let reason = self
                .mismatches(now)
                .into_iter()
                .next()
                .map_or_else(|| self.where_to_look(), |mismatch| mismatch.text);
            return Some(format!(
                "alone: none of at least {others} other nodes is alive here; {reason}"
            ));
        }
        let (alive, least) = self.company.lack()?;
        Some(format!("{alive} nodes are alive here, and min_members is {least}"))
    }

    /// What to do about it if nothing that arrives shows why.
    fn where_to_look(&self) -> String {
        let unresolved = self.unresolved();
        if unresolved > 0 {
            return format!("{unresolved} names cannot be resolved, which the log lists");
        }
        let whom = if self.standing.mode == Mode::Roster { "members" } else { "seeds" };
        format!(
            "nothing arrives from the {whom}: are they up, and is {} reachable from there? Try \
             `tidings doctor peer HOST`",
            self.standing.address
        )
    }

    /// Names of seeds and of the roster without an address.
    pub(super) fn unresolved(&self) -> usize {
        self.seeds_missing() + self.reloading.unresolved
    }

    /// Seeds without an address.
    fn seeds_missing(&self) -> usize {
        self.settings.seeds.len().saturating_sub(self.seeds_found)
    }

    /// Seeds of the own colony that are not this node itself.
    pub(super) fn seeds_asked(&self) -> usize {
        let own = &self.standing.address;
        let is_other = |seed: &&tidings_gossip::Address| {
            SocketAddr::try_from(**seed).map_or(true, |address| address.to_string() != *own)
        };
        self.seeds_missing() + self.seeds.iter().filter(is_other).count()
    }

    /// Looks whether this node is among others, and reports when that changes.
    pub(super) fn follow_company(&mut self, now: Instant) {
        let seeds = self.seeds_asked();
        self.company.look(now, &self.endpoint.node, seeds);
        if let Err(error) = self.company.keep(now) {
            debug!(%error, "the number of members could not be written");
        }
        let loneliness = self.loneliness(now);
        report_turn(&mut self.lonely, loneliness, "this node is among others again");
    }

    /// Reports when others begin to reject this node, and when they take it again.
    pub(super) fn follow_rejection(&mut self, now: Instant) {
        let rejection = self.rejection(now);
        report_turn(&mut self.rejected, rejection, "other nodes take what this one says again");
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
        let seeds = self.seeds.iter().filter_map(|&seed| SocketAddr::try_from(seed).ok());
        let mut others: Vec<SocketAddr> = seeds.collect();
        if others.is_empty() {
            others.clone_from(&self.standing.others);
        }
        let Ok(address) = own_address(&self.settings, &[], local, &others) else { return };
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

/// Logs what is wrong now if nothing was before, or that it no longer is.
fn report_turn(was: &mut bool, wrong: Option<String>, over: &str) {
    let before = std::mem::replace(was, wrong.is_some());
    match wrong {
        Some(reason) if !before => warn!("{reason}"),
        None if before => info!("{over}"),
        _ => {}
    }
}
