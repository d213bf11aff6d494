//! A vector as it is after a cluster has run for a while, without running one.
//!
//! Among n nodes with windows of w, the number of entries younger than t units grows like eᵗ until
//! it reaches w at t* = ln(w(n−1)/(n−w)) (Amar et al., CC:PE 2009), so an entry of a window has the
//! age max(0, t* + ln u) with u uniform. Fed with such windows of random origins, a vector
//! comes to the order and the spread of ages that it has in life. Of the entries received, four in
//! five are news: 80 % at 256, 1,024 and 4,096 nodes alike, counted in runs of real nodes.

use tidings_gossip::merge::{Arrival, Merged};
use tidings_gossip::vector::{Entry, Vector};
use tidings_gossip::wire::window::{self, Format};
use tidings_gossip::wire::{header, keys};
use tidings_gossip::{Incarnation, Instant, NodeId, Stamp};
use tidings_primitives::Chance;

/// What a datagram holds of entries and their preamble, by its bytes.
pub const fn body_bytes(datagram_bytes: usize) -> usize {
    datagram_bytes - header::BYTES - keys::TAG_BYTES
}

/// Of received entries, the share that is news in the steady state.
pub const NEWS_SHARE: f64 = 0.8;
/// The unit of time, in microseconds.
pub const UNIT_MICROS: i64 = 256_000;

/// A window as it arrived: the bodies of its datagrams, one behind the other.
#[derive(Clone, Default)]
pub struct Received {
    /// All bodies.
    pub bytes: Vec<u8>,
    /// Length of each.
    pub lengths: Vec<usize>,
}

/// The windows that arrive at a node from others, one after the other.
pub struct Arrivals {
    /// What the payloads are.
    pub format: Format,
    /// The most bytes of a datagram's body.
    pub body_bytes: usize,
    window: usize,
    origins: Origins,
    payload: Vec<u8>,
    chance: Chance,
}

impl Arrivals {
    /// Windows of `window` entries of these origins, in datagrams of up to `datagram_bytes`.
    pub fn of(
        origins: Vec<NodeId>,
        window: usize,
        payload_bytes: u16,
        datagram_bytes: usize,
    ) -> Self {
        Self {
            format: Format { schema: 1, payload_bytes },
            body_bytes: body_bytes(datagram_bytes),
            window,
            origins: Origins(origins),
            payload: vec![0xA5; usize::from(payload_bytes)],
            chance: Chance::new(1),
        }
    }

    /// Makes `received` a window as another node would send it now, in this unit of time, a given
    /// share of it news.
    ///
    /// Reuses its memory: an allocation here would empty the caches of what is measured after it.
    pub fn fill(&mut self, received: &mut Received, now: Instant, unit: i64, news_share: f64) {
        let n = self.origins.0.len() as f64 + 1.0;
        let w = self.window as f64;
        let cut = (w * (n - 1.0) / (n - w).max(1.0)).ln();
        received.lengths.clear();
        let mut at = 0;
        let mut left = self.window;
        while left > 0 {
            let count = left.min(self.format.entries_in(self.body_bytes));
            let length = window::PREAMBLE_BYTES + count * self.format.entry_bytes();
            received.bytes.resize(received.bytes.len().max(at + length), 0);
            let (preamble, entries) =
                received.bytes[at..at + length].split_at_mut(window::PREAMBLE_BYTES);
            preamble[..2].copy_from_slice(&[self.format.schema, 0]);
            preamble[2..4].copy_from_slice(&self.format.payload_bytes.to_le_bytes());
            preamble[4..].copy_from_slice(&(count as u16).to_le_bytes());
            for bytes in entries.chunks_exact_mut(self.format.entry_bytes()) {
                let age = (cut - self.chance.exponential(1.0)).max(0.0) * UNIT_MICROS as f64;
                let news = self.chance.real() < news_share;
                let sequence = if news { unit as u32 + 1 } else { 0 };
                let entry = Entry {
                    id: self.origins.next(&mut self.chance, left, self.window),
                    stamp: Stamp::new(Incarnation::new(1), sequence),
                    birth: now.before(age as u64),
                    payload: &self.payload,
                };
                window::write_entry(bytes, &entry, now);
                left -= 1;
            }
            received.lengths.push(length);
            at += length;
        }
    }
}

/// A stream of received windows and the vector they are merged into.
pub struct Steady {
    /// The vector.
    pub vector: Vector,
    /// What its payloads are.
    pub format: Format,
    /// The most bytes of a datagram's body.
    pub body_bytes: usize,
    /// Units of time that have passed.
    pub units: i64,
    arrivals: Arrivals,
}

impl Steady {
    /// A vector of `nodes` entries in the steady state of windows of `window`, which come in
    /// datagrams of up to `datagram_bytes`.
    pub fn new(nodes: u32, window: usize, payload_bytes: u16, datagram_bytes: usize) -> Self {
        let own = (NodeId(0), Stamp::new(Incarnation::new(1), 0));
        let unit = UNIT_MICROS as u64;
        let bytes = usize::from(payload_bytes);
        let vector = Vector::new(nodes as usize, bytes, unit, own, Instant::EPOCH);
        // Spread over all ids as the hashes of names are.
        let origins = (1..nodes).map(|n| NodeId(n.wrapping_mul(0x9E37_79B1))).collect();
        let arrivals = Arrivals::of(origins, window, payload_bytes, datagram_bytes);
        let (format, body_bytes) = (arrivals.format, arrivals.body_bytes);
        let mut steady = Self { vector, format, body_bytes, units: 0, arrivals };
        let mut received = Received::default();
        // Enough units for each entry to have been renewed ten times on average.
        for _ in 0..10 * nodes as usize / window {
            steady.pass();
            steady.receive(&mut received, 1.0);
            steady.merge(&received);
        }
        steady
    }

    /// Lets one unit pass: the own entry is renewed.
    pub fn pass(&mut self) {
        self.units += 1;
        self.vector.advance(Instant::from_micros(self.units * UNIT_MICROS));
        self.vector.renew_own(Stamp::new(Incarnation::new(1), self.units as u32), &[]);
    }

    /// Makes `received` a window as another node would send it now: see [`Arrivals::fill`].
    pub fn receive(&mut self, received: &mut Received, news_share: f64) {
        let now = self.vector.own().birth;
        self.arrivals.fill(received, now, self.units, news_share);
    }

    /// Decodes and merges a window; returns how many entries were news.
    ///
    /// # Panics
    /// If `received` is not what [`Steady::receive`] made.
    pub fn merge(&mut self, received: &Received) -> usize {
        let now = self.vector.own().birth;
        let (mut news, mut rest) = (0, &received.bytes[..]);
        for (at, &length) in received.lengths.iter().enumerate() {
            let (body, behind) = rest.split_at(length);
            rest = behind;
            let datagram = ((self.units as u32) << 12) | at as u32 | (1 << 31);
            let (_, entries) = window::decode(body, self.format).expect("it was encoded just now");
            let mut ahead = entries.clone();
            for (at, entry) in entries.enumerate() {
                self.vector.look_ahead(at, &mut ahead);
                let arrival = Arrival {
                    datagram,
                    id: entry.id,
                    stamp: entry.stamp,
                    birth: now.before(entry.age_micros),
                    payload: entry.payload,
                };
                let merged = self.vector.merge(&arrival, |_| true).0;
                news += usize::from(matches!(merged, Merged::News(_) | Merged::First));
            }
        }
        news
    }
}

/// Origins in random order, none twice within a window.
struct Origins(Vec<NodeId>);

impl Origins {
    /// The next of a window of which `left` are still to come, this one among them: a step of
    /// Fisher and Yates, which deals from the front into the back.
    fn next(&mut self, chance: &mut Chance, left: usize, window: usize) -> NodeId {
        let end = self.0.len() - (window - left);
        let at = chance.below(end);
        self.0.swap(at, end - 1);
        self.0[end - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The benchmark's ground is what it says: all entries news, the average age that of life.
    #[test]
    fn a_steady_vector_has_the_ages_of_life() {
        let mut steady = Steady::new(1024, 204, 8, 1452);
        let mut received = Received::default();
        steady.pass();
        steady.receive(&mut received, 1.0);
        assert_eq!(steady.merge(&received), 204);
        let now = steady.vector.own().birth;
        let ages = steady.vector.iter().map(|e| now.saturating_since(e.birth).as_micros());
        let average = ages.sum::<u128>() as f64 / 1024.0 / UNIT_MICROS as f64;
        // A fifth of 1,024 nodes renewed each unit: 4.4 units plus the age on arrival, about 4.8.
        assert!((8.0..11.5).contains(&average), "{average} units");
    }
}
