//! Mismatches in words: who does not understand whom, why, and what to do about it.

use std::net::SocketAddr;

use tidings_control::MismatchReport;
use tidings_gossip::mismatch::{Difference, Side};
use tidings_gossip::{Address, Instant, Mismatch};
use tracing::warn;

use super::Driver;
use crate::config::Settings;

impl Driver {
    /// The mismatches of the last minute, those that were seen most recently first.
    pub(super) fn mismatches(&self, now: Instant) -> Vec<MismatchReport> {
        let node = &self.endpoint.node;
        let mut present: Vec<&Mismatch> = node.mismatches(now).collect();
        present.sort_by_key(|mismatch| std::cmp::Reverse(mismatch.last));
        present.into_iter().map(|mismatch| self.mismatch_report(mismatch, now)).collect()
    }

    fn mismatch_report(&self, mismatch: &Mismatch, now: Instant) -> MismatchReport {
        let address = SocketAddr::try_from(mismatch.address)
            .map_or_else(|_| "?".to_owned(), |address| address.to_string());
        let name = mismatch.id.and_then(|id| self.endpoint.node.member_name(id)).map(str::to_owned);
        let who = match &name {
            Some(name) if mismatch.difference != Difference::Name => format!("{name} ({address})"),
            _ => address.clone(),
        };
        let text = match mismatch.side {
            Side::Here => {
                let why = dropped_here(mismatch.difference, &self.settings);
                format!("datagrams of {who} are dropped: {why}")
            }
            Side::There => {
                let why = dropped_there(mismatch.difference);
                format!("{who} drops what this node sends: {why}")
            }
        };
        MismatchReport {
            address,
            name,
            difference: mismatch.difference.word().to_owned(),
            dropped: if mismatch.side == Side::Here { "here" } else { "there" }.to_owned(),
            datagrams: mismatch.count,
            last_ms: now.saturating_since(mismatch.last).as_millis() as u64,
            text,
        }
    }

    /// Logs a mismatch.
    pub(super) fn report_mismatch(
        &mut self,
        now: Instant,
        (address, difference, side): (Address, Difference, Side),
    ) {
        let is_it = |row: &&Mismatch| {
            (row.address, row.difference, row.side) == (address, difference, side)
        };
        let Some(mismatch) = self.endpoint.node.mismatches(now).find(is_it).copied() else {
            return;
        };
        let Some(withheld) = self.mismatch_lines.allow(now) else { return };
        let text = self.mismatch_report(&mismatch, now).text;
        warn!(withheld, "{text}");
    }
}

/// Why this node drops what another sends.
fn dropped_here(difference: Difference, settings: &Settings) -> String {
    match difference {
        Difference::Version => "they are of a version of the format that this agent does not \
                                read: install the same release on both"
            .to_owned(),
        Difference::Cluster => "they are of another cluster or colony: cluster and colony must be \
                                the same on both"
            .to_owned(),
        Difference::Key => "they are sealed with a key that this node does not have: the key \
                            files of both must be the same"
            .to_owned(),
        Difference::Payload if settings.payload_bytes_most > 0 => {
            let most = settings.payload_bytes_most;
            format!("their payloads have more than {most} bytes: raise payload_bytes_most here")
        }
        Difference::Payload => {
            let bytes = settings.payload_bytes;
            format!("their payloads are not of {bytes} bytes: payload_bytes differs")
        }
        Difference::Roster => "the roster of this node does not name their sender".to_owned(),
        Difference::Name => {
            "their sender has the name of this node: give each its own with name".to_owned()
        }
        Difference::Clock => "their incarnation lies more than two years ahead of this host's \
                              clock: one of the two clocks is wrong"
            .to_owned(),
        Difference::Seal => "their seal does not hold: they are damaged on the way, forged, or \
                             sealed with another key"
            .to_owned(),
    }
}

/// Why another drops what this node sends.
pub(crate) fn dropped_there(difference: Difference) -> &'static str {
    match difference {
        Difference::Version => {
            "it does not read the version of the format that this node writes: install the same \
             release on both, or set wire_version"
        }
        Difference::Cluster => {
            "it is of another cluster or colony: cluster and colony must be the same on both"
        }
        Difference::Key => {
            "it does not have the key that this node seals with: the key files of both must be the \
             same"
        }
        Difference::Payload => {
            "its payloads have another size: payload_bytes must be the same, or payload_bytes_most \
             no less there"
        }
        Difference::Roster => "its roster does not name this node",
        Difference::Name => "it has the name of this node: give each its own with name",
        Difference::Clock => {
            "the incarnation of this node lies more than two years ahead of its clock: one of the \
             two clocks is wrong"
        }
        Difference::Seal => {
            "the seal does not hold there: datagrams are damaged on the way, or the keys differ"
        }
    }
}
