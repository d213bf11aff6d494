//! The bytes of a worker's trace. Numbers are written in groups of seven bits, the lowest first.
//!
//! An event begins with the steps since the one before, and its kind in the lowest three bits. Only
//! arrivals and the end of work have a time. What a thief wants is nothing or two numbers of two
//! bytes, and an arrival names its gift only if gifts have overtaken each other. So a steal takes
//! some ten bytes at both sides together.

use core::fmt;
use std::collections::BTreeMap;

use tidings_primitives::bytes::Reader;

use super::{Event, Stamped};
use crate::queue::Want;

const GAVE_HALF: u64 = 0;
const GAVE_WANTED: u64 = 1;
const GOT_NEXT: u64 = 2;
const GOT: u64 = 3;
const JOINED: u64 = 4;
const IDLE: u64 = 5;
const ORDERED: u64 = 6;

/// The bits of a kind.
const KIND_BITS: u32 = 3;

/// What one worker did in one phase.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trace {
    /// The hash of the tasks with which the worker began, with what was predicted of them.
    pub tasks: u64,
    bytes: Vec<u8>,
    last: Last,
}

/// What the next event is told apart from.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Last {
    step: u64,
    at_us: u64,
    /// The numbers of the next gifts, by victim, if they do not overtake each other.
    next: BTreeMap<u32, u32>,
    is_idle: bool,
}

/// The bytes are no whole trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Torn {
    /// How many bytes could be read.
    pub bytes: usize,
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {} bytes no event follows: the trace is torn or damaged", self.bytes)
    }
}

impl core::error::Error for Torn {}

impl Trace {
    /// One that begins with tasks of this hash.
    pub fn new(tasks: u64) -> Self {
        Self { tasks, ..Self::default() }
    }

    /// The trace that these bytes are, with its events.
    ///
    /// # Errors
    /// If they end within an event, or have a number that is too large.
    pub fn read(tasks: u64, bytes: &[u8]) -> Result<(Self, Vec<Stamped>), Torn> {
        let (mut reader, mut last, mut events) = (Reader(bytes), Last::default(), Vec::new());
        while !reader.0.is_empty() {
            let read = bytes.len() - reader.0.len();
            events.push(last.event(&mut reader).ok_or(Torn { bytes: read })?);
        }
        Ok((Self { tasks, bytes: bytes.to_vec(), last }, events))
    }

    /// Whether the last event is that nothing was left to do.
    pub fn is_idle(&self) -> bool {
        self.last.is_idle
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds an event. Steps and times never go back.
    pub fn note(&mut self, step: u64, at_us: u64, event: Event) {
        let steps = step.saturating_sub(self.last.step);
        self.last.step = step;
        self.last.is_idle = event == Event::Idle;
        let (kind, numbers) = match event {
            Event::Gave { to, want } if want == Want::HALF => {
                (GAVE_HALF, [Some(u64::from(to)), None, None])
            }
            Event::Gave { to, want } => {
                let (most, beyond) = want.codes();
                (GAVE_WANTED, [Some(u64::from(to)), Some(most.into()), Some(beyond.into())])
            }
            Event::Got { from, number } => {
                let (from_whom, since) = (Some(u64::from(from)), Some(self.last.since(at_us)));
                if self.last.is_next(from, number) {
                    (GOT_NEXT, [from_whom, since, None])
                } else {
                    (GOT, [from_whom, Some(u64::from(number)), since])
                }
            }
            Event::Joined { number } => (JOINED, [Some(u64::from(number)), None, None]),
            Event::Idle => (IDLE, [Some(self.last.since(at_us)), None, None]),
            Event::Ordered => (ORDERED, [None; 3]),
        };
        put(&mut self.bytes, steps << KIND_BITS | kind);
        for number in numbers.into_iter().flatten() {
            put(&mut self.bytes, number);
        }
    }
}

impl Last {
    fn since(&mut self, at_us: u64) -> u64 {
        let since = at_us.saturating_sub(self.at_us);
        self.at_us = self.at_us.max(at_us);
        since
    }

    /// Whether this gift is the one that was expected of that victim; the next one is, from now on.
    fn is_next(&mut self, from: u32, number: u32) -> bool {
        let next = self.next.entry(from).or_default();
        let is_next = *next == number;
        *next = number.wrapping_add(1);
        is_next
    }

    fn event(&mut self, reader: &mut Reader<'_>) -> Option<Stamped> {
        let head = number(reader)?;
        self.step = self.step.checked_add(head >> KIND_BITS)?;
        let event = match head & ((1 << KIND_BITS) - 1) {
            GAVE_HALF => Event::Gave { to: small(reader)?, want: Want::HALF },
            GAVE_WANTED => {
                let (to, most, beyond) = (small(reader)?, small(reader)?, small(reader)?);
                let codes = (u16::try_from(most).ok()?, u16::try_from(beyond).ok()?);
                Event::Gave { to, want: Want::of_codes(codes)? }
            }
            GOT_NEXT => {
                let from = small(reader)?;
                let number = self.next.get(&from).copied().unwrap_or_default();
                Event::Got { from, number }
            }
            GOT => Event::Got { from: small(reader)?, number: small(reader)? },
            JOINED => Event::Joined { number: small(reader)? },
            IDLE => Event::Idle,
            ORDERED => Event::Ordered,
            _ => return None,
        };
        self.is_idle = event == Event::Idle;
        if let Event::Got { from, number } = event {
            self.is_next(from, number);
        }
        if matches!(event, Event::Got { .. } | Event::Idle) {
            self.at_us = self.at_us.checked_add(number(reader)?)?;
        }
        Some(Stamped { step: self.step, at_us: self.at_us, event })
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The next number; `None` if there is none, or it does not fit.
fn number(reader: &mut Reader<'_>) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = reader.u8()?;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn small(reader: &mut Reader<'_>) -> Option<u32> {
    number(reader).and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn any_event() -> impl Strategy<Value = Event> {
        prop_oneof![
            any::<u32>().prop_map(|to| Event::Gave { to, want: Want::HALF }),
            any::<(u32, u64, u64)>().prop_map(|(to, most_ns, beyond_ns)| {
                let want = Want { most_ns, beyond_ns }.rounded();
                Event::Gave { to, want }
            }),
            Just(Event::Ordered),
            (0..3_u32, 0..4_u32).prop_map(|(from, number)| Event::Got { from, number }),
            any::<(u32, u32)>().prop_map(|(from, number)| Event::Got { from, number }),
            any::<u32>().prop_map(|number| Event::Joined { number }),
            Just(Event::Idle),
        ]
    }

    proptest! {
        #[test]
        fn events_come_back(some in vec((0..1_u64 << 40, 0..1_u64 << 40, any_event()), 0..50)) {
            let (mut trace, mut written, mut last) = (Trace::new(7), Vec::new(), (0, 0));
            for (steps, us, event) in some {
                let is_timed = matches!(event, Event::Got { .. } | Event::Idle);
                last = (last.0 + steps, last.1 + if is_timed { us } else { 0 });
                trace.note(last.0, last.1, event);
                written.push(Stamped { step: last.0, at_us: last.1, event });
            }
            let (read, events) = Trace::read(7, trace.bytes()).unwrap();
            prop_assert_eq!(&events, &written);
            prop_assert_eq!(read, trace);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..200)) {
            if let Ok((trace, events)) = Trace::read(0, &bytes) {
                prop_assert_eq!(trace.bytes(), &bytes[..]);
                prop_assert!(events.len() <= bytes.len());
            }
        }
    }

    #[test]
    fn a_steal_of_many_takes_fifteen_bytes_at_most() {
        let (mut victim, mut thief) = (Trace::new(0), Trace::new(0));
        for steal in 0..100 {
            let want = Want { most_ns: 3_000_000, beyond_ns: 70_000 }.rounded();
            victim.note(50 * steal, 0, Event::Gave { to: 1_000, want });
            thief.note(50 * steal, 4_000 * steal, Event::Got { from: 1_001, number: steal as u32 });
        }
        let bytes = victim.bytes().len() + thief.bytes().len();
        assert!(bytes <= 1_500, "{bytes}");
    }
}
