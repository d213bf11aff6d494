//! Checks: the bodies by which an operator finds out what lies between two nodes.
//!
//! | bytes of a check | field |
//! |---|---|
//! | 0–7 | token |
//! | 8 | schema of the payloads |
//! | 9–10 | bytes of a payload |
//! | then | zeros, up to the size that is tried |
//!
//! | bytes of what answers it | field |
//! |---|---|
//! | 0–7 | token |
//! | 8 | schema of the payloads |
//! | 9–10 | bytes of a payload |
//! | 11–13 | the version that its sender writes, the lowest and the highest that it reads |
//! | 14–21 | its wall clock in microseconds since 1970; 0 if it has none |
//! | 22–25 | how many members it knows |
//! | 26 | what it holds of the node that checks, 0 unknown, 1 unheard, 2 alive, 3 suspected, 4 dead, 5 left |
//! | 27 | bytes of the address that the check seemed to come from, then the address |
//! | then | bytes of the address that it holds of that node, 0 if none, then the address |
//! | then | zeros, up to the bytes of the check |
//!
//! An answer is as long as the check: so that both directions are tried with one size, and nobody
//! can have more sent than he sends.

use super::body::{BodyError, Reader, Writer};
use super::extension::Versions;
use super::window::Format;
use crate::address::{Address, MAX_ADDRESS_BYTES};
use crate::entry::EntryState;

/// The least bytes of a check's body: what the longest answer needs.
pub const LEAST_BYTES: usize = 27 + 2 * (1 + MAX_ADDRESS_BYTES);

/// What a node may hold of the one that checks, each at its number; at 0 it does not know it.
const HELD: [Option<EntryState>; 6] = [
    None,
    Some(EntryState::Unheard),
    Some(EntryState::Alive),
    Some(EntryState::Suspected),
    Some(EntryState::Dead),
    Some(EntryState::Left),
];

/// A check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// What its answer repeats.
    pub token: u64,
    /// The payloads of the node that checks.
    pub format: Format,
}

impl Check {
    /// Writes it over all of `buffer`.
    ///
    /// # Panics
    /// If the buffer is shorter than [`LEAST_BYTES`].
    pub fn write(&self, buffer: &mut [u8]) {
        buffer.fill(0);
        let mut body = Writer::new(buffer);
        body.put(&self.token.to_le_bytes());
        put_format(&mut body, self.format);
    }

    /// Reads a received body.
    ///
    /// # Errors
    /// If it is shorter than [`LEAST_BYTES`].
    pub fn read(body: &[u8]) -> Result<Self, BodyError> {
        if body.len() < LEAST_BYTES {
            return Err(BodyError::Malformed);
        }
        let mut body = Reader(body);
        let mut next = || Some(Self { token: u64_of(&mut body)?, format: format_of(&mut body)? });
        next().ok_or(BodyError::Malformed)
    }
}

/// The answer to a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checked {
    /// That of the check.
    pub token: u64,
    /// The payloads of the node that answers.
    pub format: Format,
    /// The version that it writes.
    pub writes: u8,
    /// Those that it reads.
    pub reads: Versions,
    /// Its wall clock, in microseconds since 1970; `None` if it has none.
    pub wall_micros: Option<i64>,
    /// How many members it knows.
    pub members: u32,
    /// The state in which it holds the node that checks; `None` if it does not know it.
    pub held: Option<EntryState>,
    /// Where the check seemed to come from.
    pub from: Address,
    /// The address that it holds of the node that checks.
    pub address: Option<Address>,
}

impl Checked {
    /// Writes it over all of `buffer`.
    ///
    /// # Panics
    /// If the buffer is shorter than [`LEAST_BYTES`].
    pub fn write(&self, buffer: &mut [u8]) {
        buffer.fill(0);
        let mut body = Writer::new(buffer);
        body.put(&self.token.to_le_bytes());
        put_format(&mut body, self.format);
        body.put(&[self.writes, self.reads.lowest, self.reads.highest]);
        body.put(&self.wall_micros.unwrap_or_default().to_le_bytes());
        body.put(&self.members.to_le_bytes());
        let held = HELD.iter().position(|held| *held == self.held);
        body.put(&[held.expect("each state has its number") as u8]);
        for address in [Some(self.from), self.address] {
            let bytes = address.as_ref().map_or(&[][..], Address::as_bytes);
            body.put(&[bytes.len() as u8]);
            body.put(bytes);
        }
    }

    /// Reads a received body; `None` if it is too short or says what cannot be.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut body = Reader(body);
        let (token, format) = (u64_of(&mut body)?, format_of(&mut body)?);
        let [writes, lowest, highest] = body.array()?;
        let wall = i64::from_le_bytes(body.array()?);
        let (members, held) = (body.u32()?, *HELD.get(usize::from(body.u8()?))?);
        let mut address = || {
            let bytes = body.u8()?;
            Address::from_bytes(body.bytes(usize::from(bytes))?)
        };
        let (from, held_address) = (address()?, address()?);
        Some(Self {
            token,
            format,
            writes,
            reads: Versions { lowest, highest },
            wall_micros: Some(wall).filter(|&wall| wall != 0),
            members,
            held,
            from,
            address: Some(held_address).filter(|address| !address.as_bytes().is_empty()),
        })
    }
}

fn u64_of(body: &mut Reader<'_>) -> Option<u64> {
    Some(u64::from_le_bytes(body.array()?))
}

fn put_format(body: &mut Writer<'_>, format: Format) {
    body.put(&[format.schema]);
    body.put(&format.payload_bytes.to_le_bytes());
}

fn format_of(body: &mut Reader<'_>) -> Option<Format> {
    Some(Format { schema: body.u8()?, payload_bytes: body.u16()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format { schema: 1, payload_bytes: 256 };

    #[test]
    fn checks_and_answers_survive_the_round_trip() {
        let check = Check { token: 0x0102_0304_0506_0708, format: FORMAT };
        let mut body = [9; 100];
        check.write(&mut body);
        assert_eq!(Check::read(&body), Ok(check));
        assert_eq!(Check::read(&body[..LEAST_BYTES - 1]), Err(BodyError::Malformed));
        let long = Address::from_bytes(&[7; MAX_ADDRESS_BYTES]).expect("short enough");
        let checked = Checked {
            token: check.token,
            format: FORMAT,
            writes: 2,
            reads: Versions::READ,
            wall_micros: Some(1_800_000_000_000_000),
            members: 8192,
            held: Some(EntryState::Dead),
            from: long,
            address: Some(long),
        };
        let mut body = [9; LEAST_BYTES];
        checked.write(&mut body);
        assert_eq!(Checked::read(&body), Some(checked), "the longest fits in the least");
        for cut in 0..LEAST_BYTES {
            assert_eq!(Checked::read(&body[..cut]), None);
        }
        let bare = Checked { wall_micros: None, address: None, held: None, ..checked };
        bare.write(&mut body);
        assert_eq!(Checked::read(&body), Some(bare));
        body[26] = 6;
        assert_eq!(Checked::read(&body), None, "no such state");
        body[26] = 0;
        body[27] = MAX_ADDRESS_BYTES as u8 + 1;
        assert_eq!(Checked::read(&body), None, "no address has that many bytes");
    }
}
