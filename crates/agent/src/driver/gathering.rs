//! What collectors say, and its place in the payload beside what users publish.

use tidings_gossip::Instant;
use tidings_gossip::payload::FIXED_BYTES;
use tracing::{info, warn};

use super::Driver;
use crate::gather::{News, Turn};

impl Driver {
    /// Takes what a collector says.
    pub(super) fn gather(&mut self, news: News) {
        let (now, collector) = (self.clock.now(), news.source.clone());
        self.counters.gatherings += 1;
        self.counters.gatherings_failed += u64::from(news.outcome.is_err());
        match self.gathered.take(news, now) {
            Turn::Same => {}
            Turn::Fails(reason) => {
                if let Some(withheld) = self.gather_lines.allow(now) {
                    warn!(collector, withheld, "{reason}");
                }
            }
            Turn::Works => info!(collector, "the collector works again"),
        }
        self.publish(now);
    }

    /// Adds to this node's state what collectors have said, as far as there is room.
    pub(super) fn add_gathered(&mut self, now: Instant) {
        let room = self.payload.len().saturating_sub(FIXED_BYTES);
        let left_out = self.gathered.add_to(&mut self.state.user, room, now);
        if left_out == self.left_out {
            return;
        }
        if !left_out.keys.is_empty() {
            if let Some(withheld) = self.gather_lines.allow(now) {
                let (keys, bytes) = (left_out.keys.join(" "), left_out.bytes);
                warn!(
                    keys,
                    bytes,
                    withheld,
                    "these metrics of collectors have no room: raise payload_bytes by so many bytes"
                );
            }
        }
        self.left_out = left_out;
    }
}
