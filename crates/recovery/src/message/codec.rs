//! The bytes of messages. Numbers are little endian, lists are preceded by their length.
//!
//! A decoder believes nothing: a length is compared with the bytes that are there before anything
//! is allocated, the dead have to be in order, and what follows a message makes it invalid.

use tidings_primitives::bytes::Reader;

use super::{Body, Content, Message};
use crate::locations::Ticket;
use crate::plan::{Mark, Place};

/// The most tasks, or contributions, in a list.
pub const MAX_LISTED: usize = 1 << 15;

/// The longest message.
pub const MAX_MESSAGE_BYTES: usize = 1 << 23;

const PLACE_BYTES: usize = 2 + 4;
const MARK_BYTES: usize = 8 + 1;

impl Message {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_bytes());
        out.extend(self.round.to_le_bytes());
        out.extend((self.dead.len() as u16).to_le_bytes());
        out.extend(self.dead.iter().flat_map(|worker| worker.to_le_bytes()));
        self.body.put(&mut out);
        out
    }

    /// The message of these bytes; `None` if they are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_MESSAGE_BYTES {
            return None;
        }
        let mut reader = Reader(bytes);
        let round = reader.u32()?;
        let count = usize::from(reader.u16()?);
        let mut listed = Reader(reader.bytes(4 * count)?);
        let dead: Vec<u32> = core::iter::from_fn(|| listed.u32()).collect();
        let body = Body::get(&mut reader)?;
        let is_one = reader.0.is_empty() && dead.is_sorted_by(|one, next| one < next);
        is_one.then_some(Self { round, dead, body })
    }

    /// How many bytes [`Message::encode`] makes, without making them.
    pub fn encoded_bytes(&self) -> usize {
        let body = match &self.body {
            Body::Steal(message) => message.encoded_bytes(),
            Body::Add { words, .. } => PLACE_BYTES + MARK_BYTES + 4 + 8 * words.len(),
            Body::Added { .. } => MARK_BYTES,
            Body::Block { content, .. } => {
                let content = content.as_ref();
                let words = |content: &Content| 8 + 8 * (content.words.len() + content.bits.len());
                PLACE_BYTES + 1 + content.map_or(0, words)
            }
            Body::Taken { .. } | Body::Refused { .. } => PLACE_BYTES,
            Body::Missing { tasks, .. } | Body::Answer { missing: tasks, .. } => {
                4 + 4 + 8 * tasks.len()
            }
            Body::Noted { .. } => 4,
            Body::Moved { tickets, .. } => 4 + 4 + 12 * tickets.len(),
            Body::Ask { wanted, .. } => 4 + 4 + (PLACE_BYTES + MARK_BYTES) * wanted.len(),
            Body::Refusal { .. } => PLACE_BYTES + 8,
        };
        4 + 2 + 4 * self.dead.len() + 1 + body
    }
}

impl Body {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Steal(message) => {
                out.push(0);
                out.extend(message.encode());
            }
            Self::Add { place, mark, words } => {
                put_place(out, 1, *place);
                put_mark(out, *mark);
                put_words(out, words);
            }
            Self::Added { mark } => {
                out.push(2);
                put_mark(out, *mark);
            }
            Self::Block { place, content } => {
                put_place(out, 3, *place);
                out.push(u8::from(content.is_some()));
                if let Some(Content { words, bits }) = content {
                    put_words(out, words);
                    put_words(out, bits);
                }
            }
            Self::Taken { place } => put_place(out, 4, *place),
            Self::Missing { number, tasks } => put_numbered(out, 5, *number, tasks),
            Self::Noted { number } => {
                out.push(6);
                out.extend(number.to_le_bytes());
            }
            Self::Moved { to, tickets } => {
                put_head(out, 7, *to, tickets.len());
                for Ticket { task, version } in tickets {
                    out.extend(task.to_le_bytes());
                    out.extend(version.to_le_bytes());
                }
            }
            Self::Ask { number, wanted } => {
                put_head(out, 8, *number, wanted.len());
                for (place, mark) in wanted {
                    out.extend(place.array.to_le_bytes());
                    out.extend(place.block.to_le_bytes());
                    put_mark(out, *mark);
                }
            }
            Self::Answer { number, missing } => put_numbered(out, 9, *number, missing),
            Self::Refusal { place, missing } => {
                put_place(out, 10, *place);
                out.extend(missing.to_le_bytes());
            }
            Self::Refused { place } => put_place(out, 11, *place),
        }
    }

    fn get(reader: &mut Reader<'_>) -> Option<Self> {
        let kind = reader.u8()?;
        Some(match kind {
            0 => {
                let rest = reader.bytes(reader.0.len())?;
                Self::Steal(tidings_steal::Message::decode(rest)?)
            }
            1 => {
                let (place, mark) = (get_place(reader)?, get_mark(reader)?);
                Self::Add { place, mark, words: get_words(reader)? }
            }
            2 => Self::Added { mark: get_mark(reader)? },
            3 => {
                let place = get_place(reader)?;
                let content = match reader.u8()? {
                    0 => None,
                    1 => Some(Content { words: get_words(reader)?, bits: get_words(reader)? }),
                    _ => return None,
                };
                Self::Block { place, content }
            }
            4 => Self::Taken { place: get_place(reader)? },
            5 => Self::Missing { number: reader.u32()?, tasks: get_tasks(reader)? },
            6 => Self::Noted { number: reader.u32()? },
            7 => {
                let to = reader.u32()?;
                let tickets = get_list(reader, 12, |reader| {
                    Some(Ticket { task: number(reader)?, version: reader.u32()? })
                })?;
                Self::Moved { to, tickets }
            }
            8 => {
                let asked = reader.u32()?;
                let wanted = get_list(reader, PLACE_BYTES + MARK_BYTES, |reader| {
                    Some((get_place(reader)?, get_mark(reader)?))
                })?;
                Self::Ask { number: asked, wanted }
            }
            9 => Self::Answer { number: reader.u32()?, missing: get_tasks(reader)? },
            10 => Self::Refusal { place: get_place(reader)?, missing: number(reader)? },
            11 => Self::Refused { place: get_place(reader)? },
            _ => return None,
        })
    }
}

fn put_place(out: &mut Vec<u8>, kind: u8, place: Place) {
    out.push(kind);
    out.extend(place.array.to_le_bytes());
    out.extend(place.block.to_le_bytes());
}

fn get_place(reader: &mut Reader<'_>) -> Option<Place> {
    Some(Place { array: reader.u16()?, block: reader.u32()? })
}

fn put_mark(out: &mut Vec<u8>, mark: Mark) {
    out.extend(mark.task.to_le_bytes());
    out.push(mark.output);
}

fn get_mark(reader: &mut Reader<'_>) -> Option<Mark> {
    Some(Mark { task: number(reader)?, output: reader.u8()? })
}

fn put_words(out: &mut Vec<u8>, words: &[u64]) {
    out.extend((words.len() as u32).to_le_bytes());
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn get_words(reader: &mut Reader<'_>) -> Option<Vec<u64>> {
    let count = reader.u32()? as usize;
    // In one piece: of what is received this is the most, and word by word takes 20 times as long.
    let words = reader.bytes(count.checked_mul(8)?)?.chunks_exact(8);
    let word = |bytes| <[u8; 8]>::try_from(bytes).expect("a chunk has eight bytes");
    Some(words.map(|bytes| u64::from_le_bytes(word(bytes))).collect())
}

fn put_head(out: &mut Vec<u8>, kind: u8, number: u32, listed: usize) {
    out.push(kind);
    out.extend(number.to_le_bytes());
    out.extend((listed as u32).to_le_bytes());
}

fn put_numbered(out: &mut Vec<u8>, kind: u8, number: u32, tasks: &[u64]) {
    put_head(out, kind, number, tasks.len());
    out.extend(tasks.iter().flat_map(|task| task.to_le_bytes()));
}

fn get_tasks(reader: &mut Reader<'_>) -> Option<Vec<u64>> {
    get_list(reader, 8, number)
}

/// A list that says how many it has; as many bytes as they take have to be there.
fn get_list<T>(
    reader: &mut Reader<'_>,
    each_bytes: usize,
    get: impl Fn(&mut Reader<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let count = reader.u32()? as usize;
    if count > MAX_LISTED || count > reader.0.len() / each_bytes {
        return None;
    }
    (0..count).map(|_| get(reader)).collect()
}

fn number(reader: &mut Reader<'_>) -> Option<u64> {
    reader.array().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place() -> impl Strategy<Value = Place> {
        any::<(u16, u32)>().prop_map(|(array, block)| Place { array, block })
    }

    fn mark() -> impl Strategy<Value = Mark> {
        any::<(u64, u8)>().prop_map(|(task, output)| Mark { task, output })
    }

    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(any::<u64>(), 0..9)
    }

    fn ticket() -> impl Strategy<Value = Ticket> {
        any::<(u64, u32)>().prop_map(|(task, version)| Ticket { task, version })
    }

    fn body() -> impl Strategy<Value = Body> {
        let steal = tidings_steal::Message { phase: 3, body: tidings_steal::Body::Lifeline };
        let content = (numbers(), numbers()).prop_map(|(words, bits)| Content { words, bits });
        prop_oneof![
            Just(Body::Steal(steal)),
            (place(), mark(), numbers()).prop_map(|(place, mark, words)| Body::Add {
                place,
                mark,
                words
            }),
            mark().prop_map(|mark| Body::Added { mark }),
            (place(), prop::option::of(content))
                .prop_map(|(place, content)| Body::Block { place, content }),
            place().prop_map(|place| Body::Taken { place }),
            (any::<u32>(), numbers()).prop_map(|(number, tasks)| Body::Missing { number, tasks }),
            any::<u32>().prop_map(|number| Body::Noted { number }),
            (any::<u32>(), prop::collection::vec(ticket(), 0..9))
                .prop_map(|(to, tickets)| Body::Moved { to, tickets }),
            (any::<u32>(), prop::collection::vec((place(), mark()), 0..9))
                .prop_map(|(number, wanted)| Body::Ask { number, wanted }),
            (any::<u32>(), numbers())
                .prop_map(|(number, missing)| Body::Answer { number, missing }),
            (place(), any::<u64>()).prop_map(|(place, missing)| Body::Refusal { place, missing }),
            place().prop_map(|place| Body::Refused { place }),
        ]
    }

    fn message() -> impl Strategy<Value = Message> {
        let dead = prop::collection::btree_set(any::<u32>(), 0..5);
        (any::<u32>(), dead, body()).prop_map(|(round, dead, body)| Message {
            round,
            dead: dead.into_iter().collect(),
            body,
        })
    }

    proptest! {
        #[test]
        fn messages_come_back(message in message()) {
            let bytes = message.encode();
            prop_assert_eq!(bytes.len(), message.encoded_bytes());
            prop_assert_eq!(Message::decode(&bytes), Some(message));
        }

        #[test]
        fn a_part_or_more_than_a_message_is_none(message in message(), cut in 0usize..200) {
            let mut bytes = message.encode();
            let len = bytes.len();
            prop_assert_eq!(Message::decode(&bytes[..cut.min(len - 1)]), None);
            bytes.push(0);
            prop_assert_eq!(Message::decode(&bytes), None);
        }

        #[test]
        fn hostile_bytes_are_a_message_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            kind in 0u8..14,
        ) {
            let mut hostile = vec![1, 0, 0, 0, 0, 0, kind];
            hostile.extend(bytes);
            if let Some(message) = Message::decode(&hostile) {
                prop_assert_eq!(message.encode(), hostile);
            }
        }
    }

    #[test]
    fn bytes_are_as_they_always_were() {
        let (place, mark) = (Place { array: 1, block: 2 }, Mark { task: 3, output: 4 });
        let bytes = |body| Message { round: 5, dead: vec![6], body }.encode();
        let head = [5, 0, 0, 0, 1, 0, 6, 0, 0, 0];
        let block = [1, 0, 2, 0, 0, 0];
        let one = [3, 0, 0, 0, 0, 0, 0, 0, 4];
        let word = [7, 0, 0, 0, 0, 0, 0, 0];
        let list = [1, 0, 0, 0];
        let add = Body::Add { place, mark, words: vec![7] };
        assert_eq!(bytes(add), [&head[..], &[1], &block, &one, &list, &word].concat());
        let content = Some(Content { words: vec![7], bits: Vec::new() });
        let taken = bytes(Body::Block { place, content });
        assert_eq!(taken, [&head[..], &[3], &block, &[1], &list, &word, &[0; 4]].concat());
        let ask = bytes(Body::Ask { number: 9, wanted: vec![(place, mark)] });
        assert_eq!(ask, [&head[..], &[8, 9, 0, 0, 0], &list, &block, &one].concat());
        let moved = Body::Moved { to: 9, tickets: vec![Ticket { task: 7, version: 1 }] };
        assert_eq!(bytes(moved), [&head[..], &[7, 9, 0, 0, 0], &list, &word, &list].concat());
    }

    #[test]
    fn lengths_are_compared_with_limits_and_with_the_bytes() {
        let missing = |tasks: usize| Body::Missing { number: 0, tasks: vec![0; tasks] };
        let message = |body| Message { round: 1, dead: Vec::new(), body }.encode();
        assert!(Message::decode(&message(missing(MAX_LISTED))).is_some());
        assert_eq!(Message::decode(&message(missing(MAX_LISTED + 1))), None);
        let mut claims = message(missing(0));
        let at = claims.len() - 4;
        claims[at..].copy_from_slice(&[0xFF, 0xFF, 0, 0]);
        assert_eq!(Message::decode(&claims), None);
        let long = Body::Add {
            place: Place { array: 0, block: 0 },
            mark: Mark { task: 0, output: 0 },
            words: vec![0; MAX_MESSAGE_BYTES / 8],
        };
        assert_eq!(Message::decode(&message(long)), None);
        let disorder = Message { round: 1, dead: vec![2, 1], body: missing(0) }.encode();
        assert_eq!(Message::decode(&disorder), None);
    }
}
