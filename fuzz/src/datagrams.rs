//! Datagrams as docs/protocol.md fixes them, written without the core's own encoder: what a peer
//! with the key could send, well formed or not. Only the seal is the core's.

use sha2::{Digest, Sha256};
use tidings_gossip::{Key, KeyRing};

/// The cluster of all nodes here.
pub(crate) const CLUSTER: &str = "fuzz";
/// The key they share.
const KEY: [u8; 32] = [0x5A; 32];

const TAG_BYTES: usize = 16;
/// The mark of a window that its receiver asked for.
const ANSWER: u8 = 4;

/// The sender and the kind that a datagram states.
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    /// Of the format: 1 to 3.
    pub(crate) version: u8,
    /// 1 window, 2 ask, 3 answer, 4 pull, 5 to 8 between colonies, 9 probe, 10 proof; others do not
    /// exist.
    pub(crate) kind: u8,
    /// The colony whose members these are; 0 without colonies.
    pub(crate) colony: u32,
    pub(crate) sender: u32,
    /// 24 bits.
    pub(crate) incarnation: u32,
    pub(crate) salt: u8,
    /// Number of the datagram in the sender's incarnation.
    pub(crate) counter: u32,
}

/// One entry of a window.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) origin: u32,
    /// 24 bits.
    pub(crate) incarnation: u32,
    /// 24 bits.
    pub(crate) sequence: u32,
    /// An age code of 16 bits.
    pub(crate) age: u16,
    /// The value of each byte of the payload.
    pub(crate) fill: u8,
}

/// The id of a node by its name: the first four bytes of SHA-256(salt 0 ‖ name).
pub(crate) fn id_of(name: &str) -> u32 {
    first_word(Sha256::new().chain_update([0; 4]).chain_update(name))
}

/// A sealed datagram with any body, and the block in front of it in version 2.
pub(crate) fn sealed(claim: Claim, block: &[u8], body: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    datagram.extend(b"Tg");
    datagram.extend([claim.version, claim.kind]);
    let colony = if (5..9).contains(&claim.kind) { 0 } else { claim.colony };
    let cluster = first_word(Sha256::new().chain_update(CLUSTER)).wrapping_add(colony);
    datagram.extend(cluster.to_le_bytes());
    datagram.extend(claim.sender.to_le_bytes());
    datagram.extend(&claim.incarnation.to_le_bytes()[..3]);
    let key_digest = Sha256::new().chain_update("tidings key id").chain_update(KEY).finalize();
    datagram.push(key_digest[0] % 255 + 1);
    datagram.extend([claim.salt; 6]);
    datagram.extend(claim.counter.to_le_bytes());
    datagram.extend([0, 0]);
    datagram.extend(block);
    datagram.extend(body);
    datagram.extend([0; TAG_BYTES]);
    keys().seal(&mut datagram);
    datagram
}

/// The ring with the one key.
pub(crate) fn keys() -> KeyRing {
    KeyRing::new(&[Key::from_bytes(KEY)]).expect("one key makes a ring")
}

/// The body of a window with these entries, for payloads of schema 1.
pub(crate) fn window(entries: &[Entry], payload_bytes: u16) -> Vec<u8> {
    let mut body = vec![1, 0];
    body.extend(payload_bytes.to_le_bytes());
    body.extend((entries.len() as u16).to_le_bytes());
    for entry in entries {
        write_entry(&mut body, *entry, payload_bytes);
    }
    body
}

/// The body of a window of version 3 with these entries in one group: 0 by bases that are named, 1
/// by bases that the receiver hardly has, 2 whole. Bit 2 of `form`: their bases come along, or they
/// are bases. Bit 3: the window is an answer.
pub(crate) fn changes(form: u8, entries: &[Entry], payload_bytes: u16) -> Vec<u8> {
    let (kind, count) = (form % 3, entries.len() as u8);
    let bases = if form & 4 == 0 || kind == 1 { 0 } else { count };
    let marks = if form & 8 == 0 { 0 } else { ANSWER };
    let mut body = vec![1, marks];
    body.extend(payload_bytes.to_le_bytes());
    body.extend([count, 0]);
    if entries.is_empty() {
        return body;
    }
    let mut content = Vec::new();
    if kind == 1 {
        content.extend(entries[0].origin.to_le_bytes());
        content.extend([0xD1; 8]);
    }
    let least = entries.iter().map(|entry| entry.age).min().unwrap_or_default();
    if kind == 2 {
        for entry in entries {
            write_entry(&mut content, *entry, payload_bytes);
        }
    } else {
        let mut bits = Bits::default();
        for entry in entries {
            bits.change(*entry, least, (kind, bases > 0));
        }
        content.extend(bits.bytes());
        for entry in entries.iter().take(bases.into()) {
            content.extend(std::iter::repeat_n(entry.fill, usize::from(payload_bytes)));
        }
    }
    if kind == 2 {
        body.extend([if bases > 0 { 3 } else { 2 }, count]);
    } else {
        body.push(kind);
        body.extend((content.len() as u16).to_le_bytes());
        body.extend([count, bases]);
        body.extend(least.to_le_bytes());
        body.push(0);
    }
    body.extend(content);
    body
}

/// Bits, the lowest of a byte first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn put(&mut self, number: u32, count: u32) {
        self.0.extend((0..count).map(|bit| number >> bit & 1 == 1));
    }

    /// A number in the code of order 0.
    fn number(&mut self, number: u32) {
        let above = number + 1;
        let length = above.ilog2();
        self.0.extend((0..length).map(|_| true));
        self.put(0, 1);
        self.put(above & ((1 << length) - 1), length);
    }

    /// An entry up to three units later than its base, which may differ in the first word.
    fn change(&mut self, entry: Entry, least: u16, (kind, with_base): (u8, bool)) {
        if kind == 0 {
            self.put(entry.origin, 32);
            self.put(entry.incarnation, 24);
            self.put(entry.sequence, 24);
            self.put(u32::from(with_base), 1);
        } else {
            self.number(0);
        }
        let distance = u32::from(entry.fill % 4);
        self.number(distance);
        self.number(u32::from(entry.age - least));
        if distance < 2 {
            return self.number(0);
        }
        // One word, the first: no zeros, not negative, of one bit.
        self.number(1);
        self.put(0, 2);
        self.put(0, 5);
        self.number(0);
    }

    fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |sum, &bit| sum << 1 | u8::from(bit));
        self.0.chunks(8).map(byte).collect()
    }
}

/// The body of a pull of the ids from `first` to `last`, whatever their age.
pub(crate) fn pull([first, last]: [u32; 2], payload_bytes: u16) -> Vec<u8> {
    let mut body = vec![1, 0];
    body.extend(payload_bytes.to_le_bytes());
    body.extend(first.to_le_bytes());
    body.extend(last.to_le_bytes());
    body.extend([0xFF, 0xFF, 0, 0]);
    body
}

/// The body of a probe or a proof: whether for another, and of which node; the stamp held of the
/// receiver (a stamp), and an entry.
pub(crate) fn probe(
    (for_another, target): (u8, u32),
    (held, entry): (Entry, Entry),
    payload_bytes: u16,
) -> Vec<u8> {
    let mut body = vec![1, for_another];
    body.extend(payload_bytes.to_le_bytes());
    body.extend(target.to_le_bytes());
    body.extend(&held.sequence.to_le_bytes()[..3]);
    body.extend(&held.incarnation.to_le_bytes()[..3]);
    write_entry(&mut body, entry, payload_bytes);
    body
}

/// The body of an answer that introduces these members, all at one address.
pub(crate) fn answer(members: &[(String, Entry)], payload_bytes: u16) -> Vec<u8> {
    let mut body = vec![1, 1];
    body.extend(payload_bytes.to_le_bytes());
    body.extend((members.len() as u16).to_le_bytes());
    for (name, entry) in members {
        body.push(name.len() as u8);
        body.extend(name.as_bytes());
        body.extend([6, 10, 0, 0, 9, 0x25, 0x90]);
        write_entry(&mut body, *entry, payload_bytes);
    }
    body
}

fn write_entry(body: &mut Vec<u8>, entry: Entry, payload_bytes: u16) {
    body.extend(entry.origin.to_le_bytes());
    body.extend(&entry.sequence.to_le_bytes()[..3]);
    body.extend(&entry.incarnation.to_le_bytes()[..3]);
    body.extend(entry.age.to_le_bytes());
    body.extend(std::iter::repeat_n(entry.fill, usize::from(payload_bytes)));
}

fn first_word(hash: Sha256) -> u32 {
    let digest = hash.finalize();
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}
