//! The mail of one worker: messages as words of rings, a ring for each other worker.
//!
//! A message is its length in bytes and then its bytes as words. What does not fit into a ring
//! waits here and follows as the ring is emptied, so a message may be longer than a ring, and a
//! worker never waits for a reader. How much waits is bounded by what workers say to each other
//! before they get an answer.
//!
//! Invariants: messages of one worker arrive in order, each once. A length is bounded before it is
//! believed, and what is no message is never passed on.

use std::collections::VecDeque;

use tidings_steal::Message;
use tidings_steal::message::MAX_MESSAGE_BYTES;

use crate::machine::Word;
use crate::memory::Memory;
use crate::ring::{Reader, Writer};

/// What one worker has of another.
#[derive(Debug, Default)]
struct Peer {
    writer: Writer,
    reader: Reader,
    /// Words that wait for room.
    waiting: VecDeque<u64>,
    /// Words of a message that is not whole.
    begun: Vec<u64>,
    is_gone: bool,
}

/// What another worker wrote is no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Garbage {
    /// Who.
    pub(crate) from: u32,
}

/// The mail of a worker.
#[derive(Debug)]
pub(crate) struct Mail {
    me: u32,
    peers: Vec<Peer>,
    /// How many others have words waiting.
    waits: usize,
    words: Vec<u64>,
    bytes: Vec<u8>,
    /// Messages that have arrived, and from whom.
    arrived: VecDeque<(u32, Message)>,
}

impl Mail {
    /// Before anything was sent.
    pub(crate) fn new(me: u32, workers: u32) -> Self {
        let peers = (0..workers).map(|_| Peer::default()).collect();
        let (words, bytes, arrived) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { me, peers, waits: 0, words, bytes, arrived }
    }

    /// Whether words wait for room.
    pub(crate) fn waits(&self) -> bool {
        self.waits > 0
    }

    /// Sends a message, now or when there is room.
    pub(crate) fn send(
        &mut self,
        memory: &Memory,
        to: u32,
        message: &Message,
    ) -> Result<(), Garbage> {
        let peer = &mut self.peers[to as usize];
        if peer.is_gone {
            return Ok(());
        }
        as_words(&message.encode(), &mut self.words);
        let mut sent = 0;
        if peer.waiting.is_empty() {
            let ring = memory.ring(self.me, to);
            sent = peer.writer.write(ring, &self.words).map_err(|_| Garbage { from: to })?;
            self.waits += usize::from(sent < self.words.len());
        }
        peer.waiting.extend(&self.words[sent..]);
        if sent > 0 {
            memory.tell(self.me, to);
        }
        Ok(())
    }

    /// Writes what waits, as far as there is room; whether anything was written.
    pub(crate) fn flush(&mut self, memory: &Memory) -> Result<bool, Garbage> {
        let mut any = false;
        for to in 0..self.peers.len() as u32 {
            let peer = &mut self.peers[to as usize];
            if self.waits == 0 || peer.waiting.is_empty() {
                continue;
            }
            let waiting = peer.waiting.make_contiguous();
            let sent = peer.writer.write(memory.ring(self.me, to), waiting);
            let sent = sent.map_err(|_| Garbage { from: to })?;
            peer.waiting.drain(..sent);
            self.waits -= usize::from(peer.waiting.is_empty());
            if sent > 0 {
                memory.tell(self.me, to);
                any = true;
            }
        }
        Ok(any)
    }

    /// Asks those whose rings are full to tell when there is room.
    pub(crate) fn ask_for_room(&self, memory: &Memory) {
        for (to, peer) in (0..).zip(&self.peers) {
            if !peer.waiting.is_empty() {
                memory.hungry(self.me, to).set(1);
            }
        }
        <std::sync::atomic::AtomicU64 as Word>::fence();
    }

    /// Takes in what has arrived; whether there was news.
    #[inline]
    pub(crate) fn take_in(&mut self, memory: &Memory) -> Result<bool, Garbage> {
        let mut any = false;
        for (at, word) in (0..).zip(memory.news(self.me)) {
            if word.get() == 0 {
                continue;
            }
            any = true;
            let mut bits = word.take_bits();
            while bits != 0 {
                self.take_from(memory, 64 * at + bits.trailing_zeros())?;
                bits &= bits - 1;
            }
        }
        Ok(any)
    }

    /// Takes in what has arrived from one.
    pub(crate) fn take_from(&mut self, memory: &Memory, from: u32) -> Result<(), Garbage> {
        let Some(peer) = self.peers.get_mut(from as usize) else { return Err(Garbage { from }) };
        if peer.is_gone || from == self.me {
            return Ok(());
        }
        let ring = memory.ring(from, self.me);
        let read = peer.reader.read(ring, &mut peer.begun).map_err(|_| Garbage { from })?;
        if read == 0 {
            return Ok(());
        }
        <std::sync::atomic::AtomicU64 as Word>::fence();
        let hungry = memory.hungry(from, self.me);
        if hungry.get() != 0 {
            hungry.set(0);
            memory.tell(self.me, from);
        }
        let (bytes, arrived) = (&mut self.bytes, &mut self.arrived);
        let used = whole(&peer.begun, bytes, |message| arrived.push_back((from, message)));
        let used = used.ok_or(Garbage { from })?;
        peer.begun.drain(..used);
        Ok(())
    }

    /// A message that has arrived.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(u32, Message)> {
        self.arrived.pop_front()
    }

    /// Nothing goes to this one any more, nor comes from it.
    pub(crate) fn close(&mut self, worker: u32) {
        let peer = &mut self.peers[worker as usize];
        self.waits -= usize::from(!peer.waiting.is_empty());
        peer.waiting = VecDeque::new();
        peer.begun = Vec::new();
        peer.is_gone = true;
    }
}

/// A message's words.
fn as_words(message: &[u8], words: &mut Vec<u64>) {
    words.clear();
    words.push(message.len() as u64);
    words.extend(message.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
}

/// Passes on the messages that are whole; how many words they took, `None` if these are none.
fn whole(words: &[u64], bytes: &mut Vec<u8>, mut pass: impl FnMut(Message)) -> Option<usize> {
    let mut used = 0;
    while let Some(&len) = words.get(used) {
        let len = usize::try_from(len).ok().filter(|len| *len <= MAX_MESSAGE_BYTES)?;
        let count = len.div_ceil(8);
        let Some(said) = words.get(used + 1..used + 1 + count) else { break };
        bytes.clear();
        bytes.extend(said.iter().flat_map(|word| word.to_le_bytes()));
        pass(Message::decode(&bytes[..len])?);
        used += 1 + count;
    }
    Some(used)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidings_steal::{Body, Frame};

    use super::*;
    use crate::rules::Rules;
    use crate::segment::Segment;

    fn message(phase: u32, states: &[usize]) -> Message {
        let frame = |bytes: &usize| Frame::new(1, 2, &vec![phase as u8; *bytes]).expect("it fits");
        let frames = states.iter().map(frame).collect();
        Message {
            phase,
            body: Body::Given { lifeline: false, left_ns: 3, number: 0, again: None, frames },
        }
    }

    proptest! {
        /// Rings of 4 KiB, messages of up to 80 KiB.
        #[test]
        fn all_messages_arrive_in_order(
            sizes in prop::collection::vec(prop::collection::vec(0usize..4000, 0..20), 1..30),
            turns in prop::collection::vec(any::<bool>(), 0..100),
        ) {
            let directory = tempfile::tempdir().expect("a directory");
            let path = directory.path().join("segment");
            let rules = Rules { ring_bytes: Some(4096), ..Rules::default() };
            let _segment = Segment::create(&path, 2, &rules).expect("room");
            let (memory, _) = Memory::open(&path).expect("a segment");
            let (mut one, mut other) = (Mail::new(0, 2), Mail::new(1, 2));
            let (mut turns, mut got) = (turns.into_iter(), Vec::new());
            let mut read = |other: &mut Mail| {
                other.take_in(&memory).expect("honest");
                got.extend(std::iter::from_fn(|| other.next()));
            };
            for (phase, states) in (0..).zip(&sizes) {
                one.send(&memory, 1, &message(phase, states)).expect("honest");
                if turns.next() == Some(true) {
                    read(&mut other);
                    one.flush(&memory).expect("honest");
                }
            }
            while one.waits() {
                read(&mut other);
                one.flush(&memory).expect("honest");
            }
            read(&mut other);
            let sent = (0..).zip(&sizes).map(|(phase, states)| (0, message(phase, states)));
            prop_assert_eq!(got, sent.collect::<Vec<_>>());
        }

        #[test]
        fn words_that_are_no_message_are_refused(
            words in prop::collection::vec(any::<u64>(), 1..20),
        ) {
            let (mut bytes, mut any) = (Vec::new(), 0);
            let read = whole(&words, &mut bytes, |_| any += 1);
            prop_assert!(read.is_none() || read == Some(0) || any > 0);
        }
    }
}
