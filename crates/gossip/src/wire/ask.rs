//! Asks and answers: how a node catches up with members and entries it has never heard of.
//!
//! Windows alone bring every entry to every node, but the last of them late: the wait for one given
//! entry has an exponential tail. So a node that lacks some names those it has in a range of ids,
//! and the asked node sends what is missing there. An ask is padded to the size of the largest
//! answer, so that asking never makes the network carry more towards a third party than the asker
//! spent.
//!
//! Preamble of both: flags 1 (bit 0: entries come with *cards*), schema 1, payload bytes 2.
//!
//! | ask, then | bytes |
//! |---|---|
//! | card of the sender, if flagged | see below |
//! | entry of the sender | as in a window |
//! | first and last id of the range | 4 and 4 |
//! | ids the sender has in that range | count 2, then 4 each |
//! | padding | zeros |
//!
//! An answer has a count (2 bytes), then that many times a card, if flagged, and an entry. A card
//! is what it takes to reach a node: length of its name 1, name, length of its address 1, address.

use tidings_primitives::time::Instant;

use super::body::{BodyError, Reader, Writer};
use super::size::{ENTRY_OVERHEAD_BYTES, least_datagram_bytes, overhead_bytes};
use super::window::{Format, Reads, WireEntry, write_entry};
use crate::address::{Address, MAX_ADDRESS_BYTES};
use crate::entry::NodeId;
use crate::vector::Entry;

/// The most bytes of a node's name.
pub const MAX_NAME_BYTES: usize = 63;
/// Bit 0 of the flags: entries come with cards.
const WITH_CARDS: u8 = 1;
/// The most bytes of a card.
pub const MAX_CARD_BYTES: usize = 2 + MAX_NAME_BYTES + MAX_ADDRESS_BYTES;
/// What an ask takes at most beside its sender's payload: frame, block and preamble, card, entry,
/// range and count; and eight ids.
const ASK_BYTES: usize = overhead_bytes(2) + MAX_CARD_BYTES + ENTRY_OVERHEAD_BYTES + 10 + 8 * 4;
const _: () = assert!(ASK_BYTES <= least_datagram_bytes(0), "an ask fits");

/// Whether `name` can be a node's: 1 to 63 bytes of `A–Z a–z 0–9 . _ -`.
pub fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// A node's name and address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Card<'a> {
    /// See [`is_name`].
    pub name: &'a str,
    /// Where its datagrams go.
    pub address: Address,
}

impl<'a> Card<'a> {
    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        2 + self.name.len() + self.address.as_bytes().len()
    }

    fn write(&self, body: &mut Writer<'_>) {
        for part in [self.name.as_bytes(), self.address.as_bytes()] {
            body.put(&[part.len() as u8]);
            body.put(part);
        }
    }

    fn read(body: &mut Reader<'a>) -> Option<Self> {
        let name_bytes = body.u8()?;
        let name = core::str::from_utf8(body.bytes(usize::from(name_bytes))?).ok()?;
        let address_bytes = body.u8()?;
        let address = Address::from_bytes(body.bytes(usize::from(address_bytes))?)?;
        is_name(name).then_some(Self { name, address })
    }
}

/// An ask as received.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The sender's card, in a cluster joined by seeds.
    pub card: Option<Card<'a>>,
    /// The sender's own entry.
    pub own: WireEntry<'a>,
    /// First id of the range asked about.
    pub first: NodeId,
    /// Last id of the range.
    pub last: NodeId,
    ids: &'a [u8],
}

impl<'a> Ask<'a> {
    /// Reads an ask.
    ///
    /// # Errors
    /// If it is not well formed, or its payloads are none that are read.
    pub fn read(body: &'a [u8], reads: impl Into<Reads>) -> Result<Self, BodyError> {
        let mut body = Reader(body);
        let (with_cards, format) = read_preamble(&mut body, reads.into())?;
        Self::read_rest(&mut body, format, with_cards).ok_or(BodyError::Malformed)
    }

    fn read_rest(body: &mut Reader<'a>, format: Format, with_cards: bool) -> Option<Self> {
        let card = if with_cards { Some(Card::read(body)?) } else { None };
        let own = WireEntry::read(body.bytes(format.entry_bytes())?)?;
        let (first, last) = (NodeId(body.u32()?), NodeId(body.u32()?));
        let count = usize::from(body.u16()?);
        let ids = body.bytes(4 * count)?;
        Some(Self { card, own, first, last, ids })
    }

    /// The ids the sender has in the range.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = NodeId> + Clone + 'a {
        let chunk = |b: &[u8]| NodeId(u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        self.ids.chunks_exact(4).map(chunk)
    }
}

/// Writes an ask that fills `buffer`, with as many of `ids` (ascending) as fit.
///
/// Returns the last id of the range: that of the last id written, or the largest there is if all
/// were.
pub(crate) fn write_ask(
    buffer: &mut [u8],
    format: Format,
    card: Option<Card<'_>>,
    (own, now): (&Entry<'_>, Instant),
    first: NodeId,
    mut ids: impl Iterator<Item = NodeId>,
) -> NodeId {
    let mut body = Writer::new(buffer);
    write_preamble(&mut body, format, card.is_some());
    if let Some(card) = card {
        card.write(&mut body);
    }
    write_entry(body.take(format.entry_bytes()), own, now);
    body.put(&first.0.to_le_bytes());
    let last_at = body.len();
    body.put(&[0; 4]);
    let count_at = body.len();
    body.put(&[0; 2]);
    let mut count = 0u16;
    let mut last = NodeId(u32::MAX);
    while let Some(id) = ids.next() {
        body.put(&id.0.to_le_bytes());
        count += 1;
        if body.room() < 4 || count == u16::MAX {
            if ids.next().is_some() {
                last = id;
            }
            break;
        }
    }
    body.patch_u16(count_at, count);
    body.patch_u16(last_at, last.0 as u16);
    body.patch_u16(last_at + 2, (last.0 >> 16) as u16);
    body.pad();
    last
}

/// An answer as it is written: entries, each with a card if the cluster is joined by seeds.
pub(crate) struct AnswerWriter<'a> {
    body: Writer<'a>,
    format: Format,
    count_at: usize,
    count: u16,
}

impl<'a> AnswerWriter<'a> {
    pub(crate) fn new(buffer: &'a mut [u8], format: Format, with_cards: bool) -> Self {
        let mut body = Writer::new(buffer);
        write_preamble(&mut body, format, with_cards);
        let count_at = body.len();
        body.put(&[0; 2]);
        Self { body, format, count_at, count: 0 }
    }

    /// Adds an entry as of `now`; `false`, and nothing written, if it does not fit.
    pub(crate) fn push(&mut self, card: Option<Card<'_>>, entry: &Entry<'_>, now: Instant) -> bool {
        let bytes = card.map_or(0, |card| card.bytes()) + self.format.entry_bytes();
        if self.body.room() < bytes {
            return false;
        }
        if let Some(card) = card {
            card.write(&mut self.body);
        }
        write_entry(self.body.take(self.format.entry_bytes()), entry, now);
        self.count += 1;
        true
    }

    /// Bytes of the body.
    pub(crate) fn finish(mut self) -> usize {
        self.body.patch_u16(self.count_at, self.count);
        self.body.len()
    }
}

/// A received answer, entry by entry.
#[derive(Clone)]
pub struct Answer<'a> {
    body: Reader<'a>,
    format: Format,
    with_cards: bool,
    left: u16,
}

impl<'a> Answer<'a> {
    /// Reads the preamble of an answer.
    ///
    /// # Errors
    /// If it is not well formed, or its payloads are none that are read.
    pub fn read(body: &'a [u8], reads: impl Into<Reads>) -> Result<Self, BodyError> {
        let mut body = Reader(body);
        let (with_cards, format) = read_preamble(&mut body, reads.into())?;
        let left = body.u16().ok_or(BodyError::Malformed)?;
        Ok(Self { body, format, with_cards, left })
    }

    fn read_one(&mut self) -> Option<(Option<Card<'a>>, WireEntry<'a>)> {
        let card = if self.with_cards { Some(Card::read(&mut self.body)?) } else { None };
        let entry = WireEntry::read(self.body.bytes(self.format.entry_bytes())?)?;
        Some((card, entry))
    }
}

impl<'a> Iterator for Answer<'a> {
    type Item = Result<(Option<Card<'a>>, WireEntry<'a>), BodyError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            let excess = !core::mem::take(&mut self.body.0).is_empty();
            return excess.then_some(Err(BodyError::Malformed));
        }
        self.left -= 1;
        let Some(one) = self.read_one() else {
            (self.left, self.body.0) = (0, &[]);
            return Some(Err(BodyError::Malformed));
        };
        Some(Ok(one))
    }
}

fn write_preamble(body: &mut Writer<'_>, format: Format, with_cards: bool) {
    body.put(&[if with_cards { WITH_CARDS } else { 0 }, format.schema]);
    body.put(&format.payload_bytes.to_le_bytes());
}

/// Whether the rest comes with cards, and what its payloads are.
fn read_preamble(body: &mut Reader<'_>, reads: Reads) -> Result<(bool, Format), BodyError> {
    let flags = body.u8().filter(|flags| flags & !WITH_CARDS == 0).ok_or(BodyError::Malformed)?;
    let schema = body.u8().ok_or(BodyError::Malformed)?;
    let payload_bytes = body.u16().ok_or(BodyError::Malformed)?;
    let format = reads.format(schema, payload_bytes)?;
    Ok((flags & WITH_CARDS != 0, format))
}
