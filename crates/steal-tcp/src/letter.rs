//! Letters: what processes say to each other over a connection that both have greeted on.
//!
//! A letter is its kind in a byte, its length in four, and its bytes; a record holds some. Numbers
//! are little endian. A decoder believes nothing: lengths are compared with the bytes that are
//! there, counts with how many workers and words there can be.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

use tidings_primitives::bytes::Reader;
use tidings_recovery::Place;
use tidings_recovery::array::MAX_BLOCK_WORDS;
use tidings_steal::Message;

use crate::assembly::{Came, Decision};
use crate::greeting::widened;
use crate::rules::{MAX_WORKERS, SHOWN_WORDS};

/// What is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Letter {
    /// From worker to worker.
    Steal(Message),
    /// To who decides a meeting.
    Came(Came),
    /// A meeting is decided.
    Decided(Decision),
    /// These have not come, and who says so does not wait any more.
    Missing(Vec<u32>),
    /// These are dead; some by their silence.
    Dead {
        /// All that the sender knows of.
        dead: Vec<u32>,
        /// Of whom nothing but silence is known.
        silent: Vec<u32>,
    },
    /// The sender lives.
    Beat,
    /// Where all listen, by number.
    Roster(Vec<SocketAddr>),
    /// From participant to participant, of phases that are recovered.
    Recover(Box<tidings_recovery::Message>),
    /// To the owner of a block: what is in it?
    Ask {
        /// Which of the sender's questions it is.
        number: u32,
        /// The block.
        place: Place,
    },
    /// To one who asked.
    Answer {
        /// The number of the question.
        number: u32,
        /// What is known of the block there.
        held: Held,
    },
}

/// What one who is asked for a block knows of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Held {
    /// It is somewhere else, or will come.
    Elsewhere,
    /// It has no owner any more.
    Lost,
    /// These are its elements.
    Words(Vec<u64>),
}

impl Letter {
    /// Appends its bytes.
    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        let at = to.len();
        to.extend([0; 5]);
        to[at] = match self {
            Self::Steal(message) => {
                to.extend(message.encode());
                0
            }
            Self::Came(came) => {
                put_came(to, came);
                1
            }
            Self::Decided(decision) => {
                put_decision(to, decision);
                2
            }
            Self::Missing(missing) => {
                put_workers(to, missing);
                3
            }
            Self::Dead { dead, silent } => {
                put_workers(to, dead);
                put_workers(to, silent);
                4
            }
            Self::Beat => 5,
            Self::Roster(addresses) => {
                put_addresses(to, addresses);
                6
            }
            Self::Recover(message) => {
                to.extend(message.encode());
                7
            }
            Self::Ask { number, place } => {
                to.extend(number.to_le_bytes());
                to.extend(place.array.to_le_bytes());
                to.extend(place.block.to_le_bytes());
                8
            }
            Self::Answer { number, held } => {
                to.extend(number.to_le_bytes());
                match held {
                    Held::Elsewhere => to.push(0),
                    Held::Lost => to.push(1),
                    Held::Words(words) => {
                        to.push(2);
                        to.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                    }
                }
                9
            }
        };
        let length = (to.len() - at - 5) as u32;
        to[at + 1..at + 5].copy_from_slice(&length.to_le_bytes());
    }

    fn get(kind: u8, bytes: &[u8]) -> Option<Self> {
        if kind == 0 {
            return Message::decode(bytes).map(Self::Steal);
        }
        if kind == 7 {
            let message = tidings_recovery::Message::decode(bytes)?;
            return Some(Self::Recover(Box::new(message)));
        }
        let mut reader = Reader(bytes);
        let letter = match kind {
            1 => Self::Came(get_came(&mut reader)?),
            2 => Self::Decided(get_decision(&mut reader)?),
            3 => Self::Missing(get_workers(&mut reader)?),
            4 => Self::Dead { dead: get_workers(&mut reader)?, silent: get_workers(&mut reader)? },
            5 => Self::Beat,
            6 => Self::Roster(get_addresses(&mut reader)?),
            8 => {
                let number = reader.u32()?;
                Self::Ask { number, place: Place { array: reader.u16()?, block: reader.u32()? } }
            }
            9 => Self::Answer { number: reader.u32()?, held: get_held(&mut reader)? },
            _ => return None,
        };
        reader.0.is_empty().then_some(letter)
    }

    /// Passes on the letters of a record; `None` if that is not what it holds.
    pub(crate) fn all(record: &[u8], mut pass: impl FnMut(Self)) -> Option<()> {
        let mut reader = Reader(record);
        while !reader.0.is_empty() {
            let (kind, length) = (reader.u8()?, reader.u32()? as usize);
            pass(Self::get(kind, reader.bytes(length)?)?);
        }
        Some(())
    }
}

fn put_workers(to: &mut Vec<u8>, workers: &[u32]) {
    to.extend((workers.len() as u16).to_le_bytes());
    to.extend(workers.iter().flat_map(|worker| worker.to_le_bytes()));
}

fn get_workers(reader: &mut Reader<'_>) -> Option<Vec<u32>> {
    let count = usize::from(reader.u16()?);
    let mut bytes = Reader(reader.bytes(4 * count)?);
    let workers: Vec<u32> = core::iter::from_fn(|| bytes.u32()).collect();
    let is_sorted = workers.is_sorted_by(|one, next| one < next);
    (is_sorted && workers.iter().all(|worker| *worker < MAX_WORKERS)).then_some(workers)
}

fn put_words(to: &mut Vec<u8>, words: &[u64]) {
    to.extend((words.len() as u16).to_le_bytes());
    to.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn get_held(reader: &mut Reader<'_>) -> Option<Held> {
    Some(match reader.u8()? {
        0 => Held::Elsewhere,
        1 => Held::Lost,
        2 => {
            let length = reader.0.len();
            let fits = length % 8 == 0 && length / 8 <= MAX_BLOCK_WORDS as usize;
            Held::Words(as_words(reader.bytes(length).filter(|_| fits)?)?)
        }
        _ => return None,
    })
}

fn as_words(bytes: &[u8]) -> Option<Vec<u64>> {
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes);
    bytes.chunks_exact(8).map(word).collect::<Result<_, _>>().ok()
}

fn get_words(reader: &mut Reader<'_>) -> Option<Vec<u64>> {
    let count = usize::from(reader.u16()?);
    let bytes = reader.bytes(8 * count).filter(|_| count <= SHOWN_WORDS)?;
    as_words(bytes)
}

fn put_came(to: &mut Vec<u8>, came: &Came) {
    to.extend(came.count.to_le_bytes());
    to.extend(came.tag.to_le_bytes());
    put_words(to, &came.words);
}

fn get_came(reader: &mut Reader<'_>) -> Option<Came> {
    Some(Came { count: number(reader)?, tag: number(reader)?, words: get_words(reader)? })
}

fn put_decision(to: &mut Vec<u8>, decision: &Decision) {
    to.extend(decision.count.to_le_bytes());
    to.extend(decision.by.to_le_bytes());
    to.extend(decision.differing.unwrap_or(u32::MAX).to_le_bytes());
    put_workers(to, &decision.dead);
    to.extend((decision.shown.len() as u16).to_le_bytes());
    for shown in &decision.shown {
        to.push(u8::from(shown.is_some()));
        if let Some(words) = shown {
            put_words(to, words);
        }
    }
}

fn get_decision(reader: &mut Reader<'_>) -> Option<Decision> {
    let (count, by, differing) = (number(reader)?, reader.u32()?, reader.u32()?);
    let dead = get_workers(reader)?;
    let workers = u32::from(reader.u16()?);
    if workers > MAX_WORKERS {
        return None;
    }
    let mut shown = Vec::new();
    for _ in 0..workers {
        shown.push(match reader.u8()? {
            0 => None,
            1 => Some(get_words(reader)?),
            _ => return None,
        });
    }
    let differing = (differing != u32::MAX).then_some(differing);
    Some(Decision { count, by, differing, dead, shown })
}

fn put_addresses(to: &mut Vec<u8>, addresses: &[SocketAddr]) {
    to.extend((addresses.len() as u16).to_le_bytes());
    for address in addresses {
        if let IpAddr::V6(ip) = widened(address.ip()) {
            to.extend(ip.octets());
        }
        to.extend(address.port().to_le_bytes());
    }
}

fn get_addresses(reader: &mut Reader<'_>) -> Option<Vec<SocketAddr>> {
    let count = u32::from(reader.u16()?);
    let mut addresses = Vec::new();
    for _ in 0..count.min(MAX_WORKERS) {
        let ip = IpAddr::V6(Ipv6Addr::from(reader.array::<16>()?)).to_canonical();
        addresses.push(SocketAddr::new(ip, reader.u16()?));
    }
    (count <= MAX_WORKERS).then_some(addresses)
}

fn number(reader: &mut Reader<'_>) -> Option<u64> {
    reader.array().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidings_steal::Body;

    use super::*;

    fn workers() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::btree_set(0..MAX_WORKERS, 0..5).prop_map(|set| set.into_iter().collect())
    }

    fn words() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(any::<u64>(), 0..5)
    }

    fn letter() -> impl Strategy<Value = Letter> {
        let shown = prop::collection::vec(prop::option::of(words()), 0..6);
        let address = (any::<[u8; 4]>(), any::<u16>());
        prop_oneof![
            any::<u32>().prop_map(|phase| Letter::Steal(Message { phase, body: Body::Lifeline })),
            (any::<u64>(), any::<u64>(), words())
                .prop_map(|(count, tag, words)| Letter::Came(Came { count, tag, words })),
            (any::<u64>(), any::<u32>(), prop::option::of(0..9_u32), workers(), shown).prop_map(
                |(count, by, differing, dead, shown)| {
                    Letter::Decided(Decision { count, by, differing, dead, shown })
                }
            ),
            workers().prop_map(Letter::Missing),
            (workers(), workers()).prop_map(|(dead, silent)| Letter::Dead { dead, silent }),
            Just(Letter::Beat),
            (any::<u32>(), any::<u32>()).prop_map(|(round, number)| {
                let body = tidings_recovery::Body::Noted { number };
                let message = tidings_recovery::Message { round, dead: vec![1, 3], body };
                Letter::Recover(Box::new(message))
            }),
            (any::<u32>(), any::<u16>(), any::<u32>()).prop_map(|(number, array, block)| {
                Letter::Ask { number, place: Place { array, block } }
            }),
            (any::<u32>(), words()).prop_map(|(number, words)| Letter::Answer {
                number,
                held: [Held::Words(words), Held::Lost, Held::Elsewhere][number as usize % 3]
                    .clone(),
            }),
            prop::collection::vec(address.prop_map(SocketAddr::from), 0..5)
                .prop_map(Letter::Roster),
        ]
    }

    proptest! {
        #[test]
        fn letters_come_back(letters in prop::collection::vec(letter(), 0..6)) {
            let mut record = Vec::new();
            for letter in &letters {
                letter.put(&mut record);
            }
            let mut got = Vec::new();
            prop_assert_eq!(Letter::all(&record, |letter| got.push(letter)), Some(()));
            prop_assert_eq!(got, letters);
        }

        #[test]
        fn hostile_bytes_are_letters_or_none(
            kind in 0u8..11,
            bytes in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            if let Some(letter) = Letter::get(kind, &bytes) {
                let mut again = Vec::new();
                letter.put(&mut again);
                prop_assert_eq!(Letter::get(again[0], &again[5..]), Some(letter));
            }
        }
    }

    #[test]
    fn counts_are_compared_with_what_there_can_be() {
        let mut many = Vec::new();
        put_words(&mut many, &vec![0; SHOWN_WORDS + 1]);
        assert_eq!(get_words(&mut Reader(&many)), None);
        assert_eq!(get_words(&mut Reader(&[0xFF, 0xFF, 0])), None);
        assert_eq!(get_workers(&mut Reader(&[1, 0, 0, 1, 0, 0])), None);
        assert_eq!(get_addresses(&mut Reader(&[0xFF, 0xFF])), None);
    }
}
