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
//! | then, if there is room for eight | how many keys it holds, 0 if it says none, then the [`Fingerprint`]s, that of the sealing one first |
//! | then | zeros, up to the bytes of the check |
//!
//! An answer is as long as the check: so that both directions are tried with one size, and nobody
//! can have more sent than he sends.

use tidings_primitives::seal::{FINGERPRINT_BYTES, Fingerprint, MAX_KEYS};

use super::body::{BodyError, Reader, Writer};
use super::extension::Versions;
use super::window::Format;
use crate::address::{Address, MAX_ADDRESS_BYTES};
use crate::entry::EntryState;

/// The least bytes of a check's body: what the longest answer needs.
pub const LEAST_BYTES: usize = 27 + 2 * (1 + MAX_ADDRESS_BYTES);

/// The same of a check whose answer is to name the keys.
pub const LEAST_BYTES_WITH_KEYS: usize = LEAST_BYTES + 1 + MAX_KEYS * FINGERPRINT_BYTES;

/// The keys that a node holds, as it says: that with which it seals first. None from a node without
/// a secret, or of a release that does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    count: u8,
    fingerprints: [Fingerprint; MAX_KEYS],
}

impl Held {
    /// Those of a ring, which has no more than [`MAX_KEYS`].
    pub fn of(keys: &[Fingerprint]) -> Self {
        let mut fingerprints = [Fingerprint::default(); MAX_KEYS];
        fingerprints.iter_mut().zip(keys).for_each(|(place, key)| *place = *key);
        Self { count: keys.len().min(MAX_KEYS) as u8, fingerprints }
    }

    /// Their fingerprints.
    pub fn fingerprints(&self) -> &[Fingerprint] {
        &self.fingerprints[..usize::from(self.count)]
    }

    fn put(&self, body: &mut Writer<'_>) {
        body.put(&[self.count]);
        self.fingerprints().iter().for_each(|key| body.put(&key.0));
    }

    /// None where the body ends before, or names more than a ring holds.
    fn take(body: &mut Reader<'_>) -> Option<Self> {
        let count = body.u8()?;
        let mut held = Self { count, ..Self::default() };
        for place in held.fingerprints.get_mut(..usize::from(count))? {
            *place = Fingerprint(body.array()?);
        }
        Some(held)
    }
}

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
    /// The keys that it holds.
    pub keys: Held,
}

impl Checked {
    /// Writes it over all of `buffer`.
    ///
    /// # Panics
    /// If the buffer is shorter than [`LEAST_BYTES`].
    pub fn write(&self, buffer: &mut [u8]) {
        buffer.fill(0);
        let has_room_for_keys = buffer.len() >= LEAST_BYTES_WITH_KEYS;
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
        if has_room_for_keys {
            self.keys.put(&mut body);
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
            keys: Held::take(&mut body).unwrap_or_default(),
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
            keys: Held::default(),
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

    fn with_keys(count: u8) -> Checked {
        let keys: Vec<_> = (0..count).map(|key| Fingerprint([key, 1, 2, 3])).collect();
        Checked {
            token: 1,
            format: FORMAT,
            writes: 1,
            reads: Versions::READ,
            wall_micros: None,
            members: 3,
            held: None,
            from: Address::from_bytes(&[7; MAX_ADDRESS_BYTES]).expect("short enough"),
            address: None,
            keys: Held::of(&keys),
        }
    }

    #[test]
    fn keys_are_said_where_there_is_room_for_all() {
        for count in 0..=MAX_KEYS as u8 {
            let checked = with_keys(count);
            let mut body = [9; LEAST_BYTES_WITH_KEYS];
            checked.write(&mut body);
            assert_eq!(Checked::read(&body), Some(checked), "{count} keys");
            let mut short = [9; LEAST_BYTES_WITH_KEYS - 1];
            checked.write(&mut short);
            let silent = Checked { keys: Held::default(), ..checked };
            assert_eq!(Checked::read(&short), Some(silent), "else none, rather than some");
        }
    }

    /// Earlier releases send zeros there, and later ones may hold more keys.
    #[test]
    fn keys_that_cannot_be_read_are_none_and_the_rest_counts() {
        let silent = with_keys(0);
        let mut body = [0; LEAST_BYTES_WITH_KEYS];
        silent.write(&mut body);
        let count_at = LEAST_BYTES - MAX_ADDRESS_BYTES;
        assert_eq!(body[count_at], 0);
        body[count_at] = MAX_KEYS as u8 + 1;
        assert_eq!(Checked::read(&body), Some(silent));
        body[count_at] = MAX_KEYS as u8;
        assert_eq!(Checked::read(&body[..LEAST_BYTES]), Some(silent), "cut off");
    }
}
