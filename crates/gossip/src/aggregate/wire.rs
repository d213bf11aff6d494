//! The bytes of an aggregate, as section 7 of docs/protocol.md fixes them.
//!
//! Counts and sums are varints, codes two bytes, bins Rice codes. Nothing is written that follows
//! from what is there: the shift and number of a sketch's bins follow from its ends, the parameter
//! of the Rice code from the count, the last bin from the others.
//!
//! There are two schemas: the first has no count of the dead, and is written where there are none,
//! so that programs of version 0.1 read it; the second has one, which is not 0.
//!
//! Invariants: an aggregate has one form, and decoding accepts no other, so what decodes encodes
//! into the same bytes. Nothing that was read is believed before it is bounded: nodes by
//! [`MAX_NODES`], readings by the nodes, bins by the readings, sums by count and ends. There are no
//! floating-point numbers, so none is infinite or not a number.

use thiserror::Error;

use super::nodes::Aggregate;
use super::reading::{COUNT, Reading};
use super::sketch::{BINS, Sketch};
use crate::quantity;
use crate::wire::body::{Reader, Writer};

/// The version of this layout for nodes none of which is dead.
pub const SCHEMA: u8 = 1;
/// The same with a count of the dead.
pub const SCHEMA_DEAD: u8 = 2;

/// The most nodes an aggregate on the wire is of: more than a colony may have.
pub const MAX_NODES: u32 = 65_536;

/// Bytes of a varint below `2^bits`.
const fn varint_bytes(bits: u32) -> usize {
    bits.div_ceil(7) as usize
}

/// Bits of a count of nodes, and of the sum of as many quantity codes (42 bits each).
const COUNT_BITS: u32 = MAX_NODES.ilog2() + 1;
pub(super) const SUM_BITS: u32 = MAX_NODES.ilog2() + 42;

/// The most bits of a sketch's bins. Each but the last has a remainder and the end of a unary part;
/// the unary parts have one bit for each multiple of the remainder's range that the count holds.
/// Most are there with all bins and all nodes, as a test finds by trying all.
const BIN_BITS: usize = (BINS - 1) * (1 + (MAX_NODES as usize / BINS).ilog2() as usize) + BINS;

/// The most bytes an aggregate takes on the wire.
///
/// This counts four numbers of nodes, though there are five with the dead: all five take more than
/// four of the longest only where four are of 16,384 nodes each, and then bins take less.
pub const MAX_BYTES: usize = {
    let head = 1 + 4 * varint_bytes(COUNT_BITS) + 2 + varint_bytes(SUM_BITS);
    let sketch = varint_bytes(COUNT_BITS) + 4 + varint_bytes(SUM_BITS) + BIN_BITS.div_ceil(8);
    head + COUNT * sketch
};

const _: () = assert!(MAX_BYTES <= 512, "the bound that the protocol states");

/// Why an aggregate could not be written or read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// It is of too many nodes to travel. Nothing was written.
    #[error("an aggregate of {nodes} nodes: at most {MAX_NODES} can be sent; send its parts")]
    TooManyNodes {
        /// The nodes it is of.
        nodes: u32,
    },
    /// The buffer is too short. Nothing was written.
    #[error("an aggregate of {bytes} bytes does not fit in {room}: MAX_BYTES always suffice")]
    NoRoom {
        /// Bytes it takes.
        bytes: usize,
        /// Bytes there are.
        room: usize,
    },
    /// It is of another version. Nothing was read.
    #[error("an aggregate of schema {found}; this program reads {SCHEMA} and {SCHEMA_DEAD}")]
    Schema {
        /// The version it says it has.
        found: u8,
    },
    /// No aggregate has these bytes. Nothing was taken in.
    #[error("before byte {at} of the aggregate: {what}")]
    Malformed {
        /// Up to where it was read.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
}

impl Aggregate {
    /// Writes it to the start of `out`; returns the bytes written, at most [`MAX_BYTES`].
    ///
    /// # Errors
    /// It is of more than [`MAX_NODES`] nodes, or `out` is too short; `out` is then as it was.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, AggregateError> {
        let nodes = self.nodes();
        if nodes > MAX_NODES {
            return Err(AggregateError::TooManyNodes { nodes });
        }
        let mut bytes = [0; MAX_BYTES];
        let mut writer = Writer::new(&mut bytes);
        writer.put(&[if self.dead == 0 { SCHEMA } else { SCHEMA_DEAD }]);
        let dead = (self.dead > 0).then_some(self.dead);
        let gone = [Some(self.left), dead].into_iter().flatten();
        for count in [self.fresh, self.stale].into_iter().chain(gone).chain([self.unheard]) {
            put_varint(&mut writer, u64::from(count));
        }
        if self.fresh > 0 {
            writer.put(&self.age_max.to_le_bytes());
            put_varint(&mut writer, self.age_steps);
        }
        for sketch in &self.sketches {
            put_sketch(&mut writer, sketch, self.fresh);
        }
        let written = writer.len();
        let room = out.len();
        let to = out.get_mut(..written).ok_or(AggregateError::NoRoom { bytes: written, room })?;
        to.copy_from_slice(&bytes[..written]);
        Ok(written)
    }

    /// Reads one from exactly its bytes, from any writer.
    ///
    /// # Errors
    /// Where they are not what [`Aggregate::encode`] writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, AggregateError> {
        let mut body = Body { reader: Reader(bytes), bytes: bytes.len() };
        let schema = body.byte()?;
        if ![SCHEMA, SCHEMA_DEAD].contains(&schema) {
            return Err(AggregateError::Schema { found: schema });
        }
        let mut aggregate = body.counts(schema == SCHEMA_DEAD)?;
        body.ages(&mut aggregate)?;
        for (reading, sketch) in Reading::ALL.into_iter().zip(&mut aggregate.sketches) {
            *sketch = body.sketch(reading, aggregate.fresh)?;
        }
        body.check(body.reader.0.is_empty(), "bytes follow its end")?;
        Ok(aggregate)
    }
}

fn put_varint(writer: &mut Writer<'_>, mut value: u64) {
    while value >= 0x80 {
        writer.put(&[value as u8 | 0x80]);
        value >>= 7;
    }
    writer.put(&[value as u8]);
}

fn put_sketch(writer: &mut Writer<'_>, sketch: &Sketch, fresh: u32) {
    put_varint(writer, u64::from(fresh - sketch.count()));
    let Some((min, max)) = sketch.ends() else { return };
    writer.put(&min.to_le_bytes());
    writer.put(&max.to_le_bytes());
    put_varint(writer, sketch.sum());
    let (first, last) = (*sketch.used().start(), *sketch.used().end());
    let parameter = rice_parameter(sketch);
    let mut codes = BitWriter { writer, held: 0, held_bits: 0 };
    for bin in first..last {
        codes.put_rice(sketch.in_bin(bin), parameter);
    }
    codes.finish();
}

/// Bits of the remainder in the code of a bin: those of the mean bin, less one.
fn rice_parameter(sketch: &Sketch) -> u32 {
    let bins = sketch.used().end() - sketch.used().start() + 1;
    rice_parameter_of(bins, sketch.count())
}

fn rice_parameter_of(bins: u32, count: u32) -> u32 {
    (count / bins).checked_ilog2().unwrap_or(0)
}

/// The most bits that the codes of so many bins take with so many readings in them.
#[cfg(test)]
pub(super) fn rice_code_bits(bins: u32, count: u32) -> u32 {
    let parameter = rice_parameter_of(bins, count);
    (bins - 1) * (1 + parameter) + (count >> parameter)
}

/// Collects bits, the lowest of a byte first.
struct BitWriter<'w, 'a> {
    writer: &'w mut Writer<'a>,
    held: u64,
    held_bits: u32,
}

impl BitWriter<'_, '_> {
    /// The number divided by `2^parameter` as so many ones and a zero, then the remainder.
    fn put_rice(&mut self, number: u32, parameter: u32) {
        for _ in 0..number >> parameter {
            self.put(1, 1);
        }
        self.put(0, 1);
        self.put(number & ((1 << parameter) - 1), parameter);
    }

    fn put(&mut self, bits: u32, count: u32) {
        self.held |= u64::from(bits) << self.held_bits;
        self.held_bits += count;
        while self.held_bits >= 8 {
            self.writer.put(&[self.held as u8]);
            self.held >>= 8;
            self.held_bits -= 8;
        }
    }

    /// Fills the last byte with zeros.
    fn finish(mut self) {
        if self.held_bits > 0 {
            self.put(0, 8 - self.held_bits);
        }
    }
}

/// An aggregate that is being read, front to back.
struct Body<'a> {
    reader: Reader<'a>,
    bytes: usize,
}

impl Body<'_> {
    fn malformed(&self, what: &'static str) -> AggregateError {
        AggregateError::Malformed { at: self.bytes - self.reader.0.len(), what }
    }

    fn check(&self, holds: bool, what: &'static str) -> Result<(), AggregateError> {
        if holds { Ok(()) } else { Err(self.malformed(what)) }
    }

    fn byte(&mut self) -> Result<u8, AggregateError> {
        self.reader.u8().ok_or_else(|| self.malformed("it is cut off"))
    }

    fn code(&mut self) -> Result<u16, AggregateError> {
        self.reader.u16().ok_or_else(|| self.malformed("it is cut off"))
    }

    /// Seven bits a byte, the lowest first, in as few bytes as they need.
    fn varint(&mut self) -> Result<u64, AggregateError> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            self.check(shift <= 56, "a number of more than 63 bits")?;
            value |= bits << shift;
            if byte < 0x80 {
                self.check(byte > 0 || shift == 0, "a number with needless zeros")?;
                return Ok(value);
            }
            shift += 7;
        }
    }

    /// A number of nodes.
    fn count(&mut self, most: u32) -> Result<u32, AggregateError> {
        let count = self.varint()?;
        self.check(count <= u64::from(most), "more nodes than there can be")?;
        Ok(count as u32)
    }

    fn counts(&mut self, with_dead: bool) -> Result<Aggregate, AggregateError> {
        let fresh = self.count(MAX_NODES)?;
        let stale = self.count(MAX_NODES - fresh)?;
        let left = self.count(MAX_NODES - fresh - stale)?;
        let mut dead = 0;
        if with_dead {
            dead = self.count(MAX_NODES - fresh - stale - left)?;
            self.check(dead > 0, "a count of the dead that is 0")?;
        }
        let unheard = self.count(MAX_NODES - fresh - stale - left - dead)?;
        Ok(Aggregate { fresh, stale, left, dead, unheard, ..Aggregate::default() })
    }

    fn ages(&mut self, aggregate: &mut Aggregate) -> Result<(), AggregateError> {
        if aggregate.fresh > 0 {
            aggregate.age_max = self.code()?;
            aggregate.age_steps = self.varint()?;
            let (max, steps) = (quantity::decode(aggregate.age_max), aggregate.age_steps);
            let possible = max <= steps && steps <= max * u64::from(aggregate.fresh);
            self.check(possible, "a sum of ages that the largest contradicts")?;
        }
        Ok(())
    }

    fn sketch(&mut self, reading: Reading, fresh: u32) -> Result<Sketch, AggregateError> {
        let count = fresh - self.count(fresh)?;
        if count == 0 {
            return Ok(Sketch::default());
        }
        let (min, max) = (self.code()?, self.code()?);
        self.check(min <= max && max <= reading.max_code(), "ends that no readings have")?;
        let sum = self.varint()?;
        let (low, high) = (reading.steps(min), reading.steps(max));
        // One reading is the smallest and one the largest; a single one is both.
        let others = u64::from(count - 1);
        let possible = low * others + high <= sum && sum <= high * others + low;
        self.check(possible, "a sum that smallest and largest contradict")?;
        let mut sketch = Sketch::unfilled(count, sum, (min, max));
        self.bins(&mut sketch)?;
        Ok(sketch)
    }

    fn bins(&mut self, sketch: &mut Sketch) -> Result<(), AggregateError> {
        let (first, last) = (*sketch.used().start(), *sketch.used().end());
        let parameter = rice_parameter(sketch);
        let mut left = sketch.count();
        let mut bits = Bits { held: 0, held_bits: 0 };
        for bin in first..last {
            let number = bits.rice(self, parameter, left)?;
            *sketch.bin_mut(bin) = number;
            left -= number;
        }
        self.check(bits.held == 0, "ones behind the last bin")?;
        *sketch.bin_mut(last) = left;
        let ends_are_there = sketch.in_bin(first) > 0 && sketch.in_bin(last) > 0;
        self.check(ends_are_there, "no reading in the bin of the smallest or the largest")
    }
}

/// What is left of the last byte of bins that was read.
struct Bits {
    held: u8,
    held_bits: u32,
}

impl Bits {
    /// A Rice code of a number up to `most`.
    fn rice(
        &mut self,
        body: &mut Body<'_>,
        parameter: u32,
        most: u32,
    ) -> Result<u32, AggregateError> {
        let mut number = 0;
        while self.bit(body)? == 1 {
            number += 1 << parameter;
            body.check(number <= most, "more readings in bins than nodes")?;
        }
        for place in 0..parameter {
            number |= self.bit(body)? << place;
        }
        body.check(number <= most, "more readings in bins than nodes")?;
        Ok(number)
    }

    fn bit(&mut self, body: &mut Body<'_>) -> Result<u32, AggregateError> {
        if self.held_bits == 0 {
            (self.held, self.held_bits) = (body.byte()?, 8);
        }
        let bit = self.held & 1;
        self.held >>= 1;
        self.held_bits -= 1;
        Ok(u32::from(bit))
    }
}
