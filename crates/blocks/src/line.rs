//! Lines: each message once and in order between two processes, over connections that break.
//!
//! A line outlives its connections. What was sent is kept until the other side has confirmed it,
//! and sent again over the next connection; the other side drops what it has. So for a handler
//! there are two cases only: a message arrives, or one of the two nodes is lost and with it the
//! line. Messages have numbers from 1; a confirmation names the last one that has come.
//!
//! Invariants: [`Line::take`] returns each message once, in the order of its number; what is kept
//! is bounded by [`MAX_KEPT_BYTES`], and a peer that lets it grow beyond is as good as lost.

use std::collections::VecDeque;

use minicbor::{Decode, Encode};

use crate::envelope::Envelope;

/// What may wait for confirmations, in bytes.
pub const MAX_KEPT_BYTES: usize = 512 << 20;

/// A message with its number, or a confirmation alone.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Numbered {
    /// The last message that has come from the other side.
    #[n(0)]
    pub confirmed: u64,
    /// The number of this one.
    #[n(1)]
    pub number: u64,
    /// The message; none, to confirm only.
    #[n(2)]
    pub envelope: Option<Envelope>,
}

/// One side of what two processes say to each other.
#[derive(Debug, Default)]
pub struct Line {
    sent: u64,
    /// The last messages that were sent, which are not confirmed.
    kept: VecDeque<Envelope>,
    kept_bytes: usize,
    come: u64,
    told: u64,
}

impl Line {
    /// Keeps a message until it is confirmed: it is among [`Line::after`] now.
    pub fn send(&mut self, envelope: Envelope) {
        self.sent += 1;
        self.kept_bytes += bytes_of(&envelope);
        self.kept.push_back(envelope);
    }

    /// The messages after a number, of which the last is to be named next: what a connection writes
    /// that has written all up to there. A confirmation goes with each.
    pub fn after(&mut self, number: u64) -> impl Iterator<Item = Numbered> {
        self.told = self.come;
        let (confirmed, first) = (self.come, self.sent - self.kept.len() as u64);
        let from = number.max(first);
        let kept = self.kept.range((from - first).min(self.kept.len() as u64) as usize..);
        (from + 1..).zip(kept).map(move |(number, envelope)| Numbered {
            confirmed,
            number,
            envelope: Some(envelope.clone()),
        })
    }

    /// The number of the last message that was sent.
    pub fn last(&self) -> u64 {
        self.sent
    }

    /// Confirms what has come: the first thing that each side says over a connection, so that the
    /// other knows what is missing.
    pub fn confirmation(&mut self) -> Numbered {
        self.told = self.come;
        Numbered { confirmed: self.come, number: 0, envelope: None }
    }

    /// Whether something has come that was not confirmed.
    pub fn is_due(&self) -> bool {
        self.come > self.told
    }

    /// Whether the other side has all that was sent.
    pub fn is_settled(&self) -> bool {
        self.kept.is_empty()
    }

    /// Takes what has arrived: the message, if it is the next one. What has come before is dropped.
    pub fn take(&mut self, numbered: Numbered) -> Option<Envelope> {
        self.confirm(numbered.confirmed);
        let envelope = numbered.envelope?;
        if numbered.number != self.come + 1 {
            return None;
        }
        self.come += 1;
        Some(envelope)
    }

    /// Whether the other side lets too much wait.
    pub fn is_overfull(&self) -> bool {
        self.kept_bytes > MAX_KEPT_BYTES
    }

    fn confirm(&mut self, confirmed: u64) {
        let kept = self.kept.len() as u64;
        let first = self.sent - kept;
        for envelope in self.kept.drain(..confirmed.saturating_sub(first).min(kept) as usize) {
            self.kept_bytes -= bytes_of(&envelope);
        }
    }
}

fn bytes_of(envelope: &Envelope) -> usize {
    let body = match &envelope.body {
        crate::envelope::Body::Message(bytes) => bytes.len(),
        crate::envelope::Body::Refused(_) => 0,
    };
    size_of::<Envelope>() + body
}

#[cfg(test)]
mod tests {
    use tidings_primitives::Chance;

    use super::*;
    use crate::envelope::Body;
    use crate::id::{BlockId, Node};

    fn message(number: u64) -> Envelope {
        let body = Body::Message(number.to_be_bytes().to_vec());
        Envelope { from: Node(1), to: Node(2), block: BlockId(1), body }
    }

    /// Two sides whose connection breaks at any moment, with what is on its way.
    #[test]
    fn each_message_comes_once_and_in_order_whatever_breaks() {
        for seed in 0..50 {
            let mut chance = Chance::new(seed);
            let mut sides = [Line::default(), Line::default()];
            let mut ways: [VecDeque<Numbered>; 2] = [VecDeque::new(), VecDeque::new()];
            let (mut sent, mut come) = ([0_u64; 2], [0_u64; 2]);
            let mut written = [0_u64; 2];
            while come[0] < 300 || come[1] < 300 {
                let side = chance.below(2);
                match chance.below(20) {
                    0 => {
                        for (from, to) in [(0, 1), (1, 0)] {
                            ways[from].clear();
                            let confirmation = sides[to].confirmation();
                            written[from] = confirmation.confirmed;
                            assert_eq!(sides[from].take(confirmation), None);
                        }
                    }
                    1..8 if sent[side] < 300 => {
                        sent[side] += 1;
                        sides[side].send(message(sent[side]));
                    }
                    8..11 => {
                        ways[side].extend(sides[side].after(written[side]));
                        written[side] = sides[side].last();
                    }
                    _ => {
                        let Some(numbered) = ways[side].pop_front() else { continue };
                        if let Some(envelope) = sides[1 - side].take(numbered) {
                            come[side] += 1;
                            assert_eq!(envelope, message(come[side]), "seed {seed}");
                        }
                        if sides[1 - side].is_due() && chance.happens(0.1) {
                            let confirmation = sides[1 - side].confirmation();
                            ways[1 - side].push_back(confirmation);
                        }
                    }
                }
            }
            assert_eq!(come, [300, 300]);
        }
    }

    #[test]
    fn what_is_confirmed_is_not_kept() {
        let (mut here, mut there) = (Line::default(), Line::default());
        for number in 1..=200 {
            here.send(message(number));
            let numbered = here.after(number - 1).next().unwrap();
            assert!(there.take(numbered.clone()).is_some());
            assert_eq!(there.take(numbered), None, "it has come before");
            if number % 64 == 0 {
                assert!(there.is_due());
                assert_eq!(here.take(there.confirmation()), None);
                assert!(here.is_settled() && !there.is_due());
            }
        }
        assert_eq!(here.kept.len(), 200 % 64);
        here.take(there.confirmation());
        assert!(here.after(0).next().is_none() && here.kept_bytes == 0);
        let strange = Numbered { confirmed: u64::MAX, number: 7, envelope: Some(message(7)) };
        assert_eq!(here.take(strange), None);
    }
}
