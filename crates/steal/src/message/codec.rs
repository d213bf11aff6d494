//! The bytes of messages. Numbers are little endian, lists are preceded by their length.
//!
//! A decoder believes nothing: a length is compared with the bytes that are there before anything
//! is allocated, the dead have to be in order, and what follows a message makes it invalid.

use tidings_primitives::bytes::Reader;

use super::{Body, Counted, List, Lists, Message, Seeding, Sums};
use crate::frame::{Frame, INLINE_BYTES, Scope, State};
use crate::queue::Want;

/// The most frames in a message.
pub const MAX_FRAMES: usize = 65_535;

/// The longest message.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// What a frame takes beside its state.
pub(crate) const FRAME_BYTES: usize = 2 + 4 + 8 + 8 + 2;

/// What sums take.
const SUMS_BYTES: usize = 5 * 8;

/// The kinds of seedings, by number.
const SEEDINGS: [Seeding; 6] = [
    Seeding::Retained,
    Seeding::Given,
    Seeding::First,
    Seeding::OtherWorkers,
    Seeding::OtherNumber,
    Seeding::OtherTasks,
];

impl Message {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_to(&mut out);
        out
    }

    /// Replaces what `out` has by its bytes.
    pub fn encode_to(&self, out: &mut Vec<u8>) {
        out.clear();
        // The last frame is written with what lies behind it.
        out.reserve(self.encoded_bytes() + INLINE_BYTES);
        out.extend(self.phase.to_le_bytes());
        self.body.put(out);
    }

    /// The message of these bytes; `None` if they are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_MESSAGE_BYTES {
            return None;
        }
        let mut reader = Reader(bytes);
        let phase = reader.u32()?;
        let body = Body::get(&mut reader)?;
        reader.0.is_empty().then_some(Self { phase, body })
    }

    /// How many bytes [`Message::encode`] makes, without making them.
    pub fn encoded_bytes(&self) -> usize {
        let counted = |dead: &[u32], what: usize| 5 + 2 + 4 * dead.len() + what;
        match &self.body {
            Body::Lifeline => 5,
            Body::Given { frames, again, .. } => {
                let states: usize = frames.iter().map(|frame| frame.state.bytes().len()).sum();
                5 + 1 + 8 + 4 + again.map_or(0, |_| 4) + 2 + FRAME_BYTES * frames.len() + states
            }
            Body::Steal { .. } => 21,
            Body::Refused { .. } => 13,
            Body::Joined { .. } => 9,
            Body::Entered(said) => counted(&said.dead, 40),
            Body::Seed(said) => counted(&said.dead, 1),
            Body::Report(said) | Body::End(said) => counted(&said.dead, SUMS_BYTES),
            Body::Confirm(said) => counted(&said.dead, 8),
            Body::Confirmed(said) => counted(&said.dead, 8 + SUMS_BYTES),
            Body::Dead(dead) => counted(dead, 0),
        }
    }
}

impl Body {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Steal { want } => {
                out.push(0);
                out.extend(want.most_ns.to_le_bytes());
                out.extend(want.beyond_ns.to_le_bytes());
            }
            Self::Lifeline => out.push(1),
            Self::Given { lifeline, left_ns, number, again, frames } => {
                out.extend([2, u8::from(*lifeline) | u8::from(again.is_some()) << 1]);
                out.extend(left_ns.to_le_bytes());
                out.extend(number.to_le_bytes());
                out.extend(again.iter().flat_map(|again| again.to_le_bytes()));
                out.extend((frames.len() as u16).to_le_bytes());
                for frame in frames {
                    put_frame(out, frame);
                }
            }
            Self::Refused { left_ns } => {
                out.push(3);
                out.extend(left_ns.to_le_bytes());
            }
            Self::Joined { number } => {
                out.push(4);
                out.extend(number.to_le_bytes());
            }
            Self::Entered(said) => {
                put_dead(out, 5, &said.dead);
                put_lists(out, &said.what);
            }
            Self::Seed(said) => {
                put_dead(out, 6, &said.dead);
                out.push(said.what as u8);
            }
            Self::Report(said) => {
                put_dead(out, 7, &said.dead);
                put_sums(out, &said.what);
            }
            Self::Confirm(said) => {
                put_dead(out, 8, &said.dead);
                out.extend(said.what.to_le_bytes());
            }
            Self::Confirmed(said) => {
                put_dead(out, 9, &said.dead);
                out.extend(said.what.0.to_le_bytes());
                put_sums(out, &said.what.1);
            }
            Self::End(said) => {
                put_dead(out, 10, &said.dead);
                put_sums(out, &said.what);
            }
            Self::Dead(dead) => put_dead(out, 11, dead),
        }
    }

    fn get(reader: &mut Reader<'_>) -> Option<Self> {
        let kind = reader.u8()?;
        Some(match kind {
            0 => {
                let (most_ns, beyond_ns) = (number(reader)?, number(reader)?);
                Self::Steal { want: Want { most_ns, beyond_ns } }
            }
            1 => Self::Lifeline,
            2 => {
                let flags = reader.u8().filter(|flags| *flags < 4)?;
                let (left_ns, gift) = (number(reader)?, reader.u32()?);
                let again = if flags & 2 == 0 { None } else { Some(reader.u32()?) };
                let count = usize::from(reader.u16()?);
                if count * FRAME_BYTES > reader.0.len() {
                    return None;
                }
                let mut frames = Vec::with_capacity(count);
                for _ in 0..count {
                    frames.push(get_frame(reader)?);
                }
                Self::Given { lifeline: flags & 1 == 1, left_ns, number: gift, again, frames }
            }
            3 => Self::Refused { left_ns: number(reader)? },
            4 => Self::Joined { number: reader.u32()? },
            5 => Self::Entered(counted(reader, get_lists)?),
            6 => Self::Seed(counted(reader, |reader| {
                SEEDINGS.get(usize::from(reader.u8()?)).copied()
            })?),
            7 => Self::Report(counted(reader, get_sums)?),
            8 => Self::Confirm(counted(reader, number)?),
            9 => Self::Confirmed(counted(reader, |reader| {
                Some((number(reader)?, get_sums(reader)?))
            })?),
            10 => Self::End(counted(reader, get_sums)?),
            11 => Self::Dead(get_dead(reader)?),
            _ => return None,
        })
    }
}

fn number(reader: &mut Reader<'_>) -> Option<u64> {
    reader.array().map(u64::from_le_bytes)
}

/// A frame is written at once, and read so: thousands go in a message.
pub(crate) fn put_frame(out: &mut Vec<u8>, frame: &Frame) {
    let mut head = [0; FRAME_BYTES + INLINE_BYTES];
    let bytes = frame.state.bytes().len();
    head[..2].copy_from_slice(&frame.function.to_le_bytes());
    head[2..6].copy_from_slice(&frame.step.to_le_bytes());
    head[6..14].copy_from_slice(&frame.work_ns.to_le_bytes());
    head[14..18].copy_from_slice(&frame.scope.home.to_le_bytes());
    head[18..22].copy_from_slice(&frame.scope.number.to_le_bytes());
    head[22..FRAME_BYTES].copy_from_slice(&(bytes as u16).to_le_bytes());
    let end = out.len() + FRAME_BYTES + bytes;
    if let Some(inline) = frame.state.inline() {
        head[FRAME_BYTES..].copy_from_slice(inline);
        out.extend_from_slice(&head);
        out.truncate(end);
    } else {
        out.extend_from_slice(&head[..FRAME_BYTES]);
        out.extend_from_slice(frame.state.bytes());
    }
}

#[inline]
pub(crate) fn get_frame(reader: &mut Reader<'_>) -> Option<Frame> {
    let head: [u8; FRAME_BYTES] = reader.array()?;
    let number = |from: usize| head[from..].first_chunk().copied().map(u32::from_le_bytes);
    let short = |from: usize| head[from..].first_chunk().copied().map(u16::from_le_bytes);
    let work_ns = u64::from_le_bytes(*head[6..].first_chunk()?);
    let scope = Scope { home: number(14)?, number: number(18)? };
    let len = usize::from(short(22)?);
    let state = State::of_first(len, reader.0)?;
    reader.bytes(len)?;
    Some(Frame { function: short(0)?, step: number(2)?, work_ns, state, scope })
}

fn put_dead(out: &mut Vec<u8>, kind: u8, dead: &[u32]) {
    out.push(kind);
    out.extend((dead.len() as u16).to_le_bytes());
    out.extend(dead.iter().flat_map(|worker| worker.to_le_bytes()));
}

fn get_dead(reader: &mut Reader<'_>) -> Option<Vec<u32>> {
    let count = usize::from(reader.u16()?);
    let mut bytes = Reader(reader.bytes(4 * count)?);
    let dead: Vec<u32> = core::iter::from_fn(|| bytes.u32()).collect();
    dead.is_sorted_by(|one, next| one < next).then_some(dead)
}

fn counted<T>(
    reader: &mut Reader<'_>,
    get: impl FnOnce(&mut Reader<'_>) -> Option<T>,
) -> Option<Counted<T>> {
    Some(Counted { dead: get_dead(reader)?, what: get(reader)? })
}

fn put_sums(out: &mut Vec<u8>, sums: &Sums) {
    let Sums { made, gone, lost, waiting, deaths } = *sums;
    out.extend([made, gone, lost, waiting, deaths].into_iter().flat_map(u64::to_le_bytes));
}

fn get_sums(reader: &mut Reader<'_>) -> Option<Sums> {
    let (made, gone, lost) = (number(reader)?, number(reader)?, number(reader)?);
    Some(Sums { made, gone, lost, waiting: number(reader)?, deaths: number(reader)? })
}

fn put_lists(out: &mut Vec<u8>, lists: &Lists) {
    for list in [lists.given, lists.kept] {
        out.extend([list.tasks, list.fingerprint].into_iter().flat_map(u64::to_le_bytes));
    }
    out.extend([lists.first, lists.other].into_iter().flat_map(u32::to_le_bytes));
}

fn get_lists(reader: &mut Reader<'_>) -> Option<Lists> {
    let mut list = || Some(List { tasks: number(reader)?, fingerprint: number(reader)? });
    let (given, kept) = (list()?, list()?);
    Some(Lists { given, kept, first: reader.u32()?, other: reader.u32()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dead() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::btree_set(any::<u32>(), 0..5).prop_map(|set| set.into_iter().collect())
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let state = prop::collection::vec(any::<u8>(), 0..60);
        let numbers = (any::<u16>(), any::<u32>(), any::<u64>(), any::<u32>(), any::<u32>());
        (numbers, state).prop_map(|((function, step, work_ns, home, number), state)| Frame {
            function,
            step,
            work_ns,
            state: State::of(&state).unwrap(),
            scope: Scope { home, number },
        })
    }

    fn counted_of<T>(what: impl Strategy<Value = T>) -> impl Strategy<Value = Counted<T>>
    where
        T: core::fmt::Debug,
    {
        (dead(), what).prop_map(|(dead, what)| Counted { dead, what })
    }

    fn sums() -> impl Strategy<Value = Sums> {
        any::<[u64; 5]>().prop_map(|[made, gone, lost, waiting, deaths]| Sums {
            made,
            gone,
            lost,
            waiting,
            deaths,
        })
    }

    fn lists() -> impl Strategy<Value = Lists> {
        any::<([u64; 4], u32, u32)>().prop_map(
            |([tasks, fingerprint, most, least], first, other)| {
                let (given, kept) =
                    (List { tasks, fingerprint }, List { tasks: most, fingerprint: least });
                Lists { given, kept, first, other }
            },
        )
    }

    fn body() -> impl Strategy<Value = Body> {
        prop_oneof![
            any::<[u64; 2]>()
                .prop_map(|[most_ns, beyond_ns]| Body::Steal { want: Want { most_ns, beyond_ns } }),
            Just(Body::Lifeline),
            (any::<bool>(), any::<(u64, u32, Option<u32>)>(), prop::collection::vec(frame(), 0..5))
                .prop_map(|(lifeline, (left_ns, number, again), frames)| {
                    Body::Given { lifeline, left_ns, number, again, frames }
                }),
            any::<u64>().prop_map(|left_ns| Body::Refused { left_ns }),
            any::<u32>().prop_map(|number| Body::Joined { number }),
            counted_of(lists()).prop_map(Body::Entered),
            counted_of(prop::sample::select(SEEDINGS.to_vec())).prop_map(Body::Seed),
            counted_of(sums()).prop_map(Body::Report),
            counted_of(any::<u64>()).prop_map(Body::Confirm),
            counted_of((any::<u64>(), sums())).prop_map(Body::Confirmed),
            counted_of(sums()).prop_map(Body::End),
            dead().prop_map(Body::Dead),
        ]
    }

    proptest! {
        #[test]
        fn messages_come_back(phase: u32, body in body()) {
            let message = Message { phase, body };
            let bytes = message.encode();
            prop_assert_eq!(bytes.len(), message.encoded_bytes());
            prop_assert_eq!(Message::decode(&bytes), Some(message));
        }

        #[test]
        fn a_part_or_more_than_a_message_is_none(phase: u32, body in body(), cut in 0usize..200) {
            let mut bytes = Message { phase, body }.encode();
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
            let mut bytes = bytes;
            if let Some(place) = bytes.get_mut(4) {
                *place = kind;
            }
            if let Some(message) = Message::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }

    #[test]
    fn the_dead_are_in_order_and_lengths_are_compared_with_the_bytes() {
        let dead = |dead: &[u32]| Message { phase: 1, body: Body::Dead(dead.to_vec()) }.encode();
        assert!(Message::decode(&dead(&[1, 2])).is_some());
        assert_eq!(Message::decode(&dead(&[2, 1])), None);
        assert_eq!(Message::decode(&dead(&[1, 1])), None);
        let mut claims = vec![0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF];
        assert_eq!(Message::decode(&claims), None);
        claims.resize(MAX_MESSAGE_BYTES + 1, 0);
        assert_eq!(Message::decode(&claims), None);
    }
}
