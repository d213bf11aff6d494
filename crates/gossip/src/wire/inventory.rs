//! An inventory: which bases the sender of a pull holds of the nodes that it asks for.
//!
//! It stands in front of the body of a pull in version 3; one of colonies, with the marks of what
//! their aggregates are told by, stands behind that.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | members of the range, *m*, at most 64; 0: it says nothing, and the pull follows |
//! | 1 | salt |
//! | 2–5 | roll: a number of the ids in the range |
//! | then, *m* times | mark of the base held of that member, in the order of ids; 0 if none |
//!
//! Who answers knows from this what its receiver holds, and keeps nothing of receivers. The roll is
//! the same only where both know the same members in that range; else the marks say nothing. A mark
//! is 8 bits of a base's name, so another base may have it, once in 255 times: the digest of
//! [`delta`](crate::delta) then finds it, and another salt has other marks the next time. Bases
//! that follow each other seldom have one, since that of the base before decides too what is sent.
//!
//! *Roll* of the ids in ascending order: from 0 on, for each the lower half of SplitMix64's output
//! function of (the number before shifted left by 32) XOR id. *Mark* of a base: 1 + (((the same
//! function of (incarnation · 2^24 + sequence, without the last 7 bits) XOR (salt · 2^56) XOR (the
//! id rotated left by 40 bits)) modulo 255) + these 7 bits) modulo 255.

use tidings_primitives::chance::mix;

use super::body::{BodyError, Reader, Writer};
use crate::base::Name;
use crate::entry::NodeId;

/// The most members that it speaks of: what an answer may hold.
pub(crate) const MAX_MEMBERS: usize = 64;
/// Bytes before the marks, if there are any.
pub(crate) const HEAD_BYTES: usize = 6;

/// Which bases somebody holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Inventory {
    salt: u8,
    roll: u32,
    members: u8,
    marks: [u8; MAX_MEMBERS],
}

impl Inventory {
    /// It says nothing: its receiver sends bases along.
    pub(crate) const NONE: Self = Self { salt: 0, roll: 0, members: 0, marks: [0; MAX_MEMBERS] };

    /// Of these members, with the names of the bases that are held of them; nothing if there are
    /// none, or more than [`MAX_MEMBERS`].
    pub(crate) fn of(salt: u8, ids: &[NodeId], base: impl Fn(NodeId) -> Option<Name>) -> Self {
        let mark = |&id: &NodeId| (id.0, base(id).map_or(0, |name| name.mark(salt)));
        Self::of_marks(salt, ids.iter().map(mark))
    }

    /// Of whatever has these ids, which ascend, and these marks under the salt.
    pub(crate) fn of_marks(salt: u8, held: impl ExactSizeIterator<Item = (u32, u8)>) -> Self {
        let members = held.len();
        if members == 0 || members > MAX_MEMBERS {
            return Self::NONE;
        }
        let (mut roll, mut marks) = (0, [0; MAX_MEMBERS]);
        for (room, (id, mark)) in marks.iter_mut().zip(held) {
            (*room, roll) = (mark, rolled(roll, id));
        }
        Self { salt, roll, members: members as u8, marks }
    }

    /// Whether it is of these members: only then its marks mean anything.
    pub(crate) fn is_of(&self, ids: &[NodeId]) -> bool {
        self.is_of_ids(ids.iter().map(|id| id.0))
    }

    /// Whether it is of what has these ids.
    pub(crate) fn is_of_ids(&self, ids: impl ExactSizeIterator<Item = u32>) -> bool {
        usize::from(self.members) == ids.len()
            && self.members > 0
            && self.roll == ids.fold(0, rolled)
    }

    /// Whether a base is held of the member that is `at`-th in the order.
    pub(crate) fn has_any(&self, at: usize) -> bool {
        self.marks().get(at).is_some_and(|&mark| mark > 0)
    }

    /// Whether it is this one, as far as marks say.
    pub(crate) fn has(&self, at: usize, name: Name) -> bool {
        self.has_mark(at, |salt| name.mark(salt))
    }

    /// Whether it is one with this mark.
    pub(crate) fn has_mark(&self, at: usize, mark: impl Fn(u8) -> u8) -> bool {
        self.marks().get(at).is_some_and(|&held| held == mark(self.salt))
    }

    fn marks(&self) -> &[u8] {
        &self.marks[..usize::from(self.members)]
    }

    /// Writes it to the start of `buffer`; returns its bytes.
    ///
    /// # Panics
    /// If the buffer is shorter than that: [`HEAD_BYTES`] and one a member.
    pub(crate) fn write(&self, buffer: &mut [u8]) -> usize {
        let mut body = Writer::new(buffer);
        body.put(&[self.members]);
        if self.members > 0 {
            body.put(&[self.salt]);
            body.put(&self.roll.to_le_bytes());
            body.put(self.marks());
        }
        body.len()
    }

    /// Reads what stands in front of a pull, and gives the pull.
    ///
    /// # Errors
    /// If it ends early, or speaks of too many members.
    pub(crate) fn read(body: &[u8]) -> Result<(Self, &[u8]), BodyError> {
        let mut body = Reader(body);
        let mut next = || {
            let members = body.u8()?;
            if members == 0 {
                return Some(Self::NONE);
            }
            let (salt, roll) = (body.u8()?, body.u32()?);
            let mut marks = [0; MAX_MEMBERS];
            marks.get_mut(..usize::from(members))?.copy_from_slice(body.bytes(members.into())?);
            Some(Self { salt, roll, members, marks })
        };
        let inventory = next().ok_or(BodyError::Malformed)?;
        Ok((inventory, body.0))
    }
}

/// A number that other members have another of, with one member more.
fn rolled(roll: u32, id: u32) -> u32 {
    mix(u64::from(roll) << 32 ^ u64::from(id)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Incarnation;

    fn name(id: NodeId) -> Name {
        Name { id, incarnation: Incarnation::new(7), sequence: 100 + id.0 }
    }

    fn ids(count: u32) -> Vec<NodeId> {
        (0..count).map(|id| NodeId(3 * id + 1)).collect()
    }

    #[test]
    fn inventories_survive_the_round_trip_and_are_bounded() {
        for count in [0, 1, 16, 64] {
            let ids = ids(count);
            let held = |id: NodeId| (id.0 % 2 == 0).then(|| name(id));
            let inventory = Inventory::of(9, &ids, held);
            let mut body = [0xAA; 100];
            let bytes = inventory.write(&mut body);
            assert_eq!(bytes, if count == 0 { 1 } else { HEAD_BYTES + count as usize });
            body[bytes] = 0x77;
            let (read, rest) = Inventory::read(&body[..=bytes]).expect("it was written so");
            assert_eq!((read, rest), (inventory, &[0x77][..]));
            assert_eq!(read.is_of(&ids), count > 0);
            for (at, &id) in ids.iter().enumerate() {
                assert_eq!(read.has_any(at), id.0 % 2 == 0);
                assert_eq!(read.has(at, name(id)), id.0 % 2 == 0);
            }
            assert!(!read.has_any(ids.len()));
            for cut in 0..bytes {
                assert_eq!(Inventory::read(&body[..cut]), Err(BodyError::Malformed), "{cut}");
            }
        }
        let many = Inventory::of(9, &ids(65), |id| Some(name(id)));
        assert_eq!(many, Inventory::NONE, "more than there is room for");
        assert_eq!(Inventory::read(&[65; 200]), Err(BodyError::Malformed));
    }

    #[test]
    fn other_members_have_another_roll() {
        let of = |ids: &[NodeId]| Inventory::of(0, ids, |id| Some(name(id)));
        let all = ids(16);
        assert!(!of(&all[1..]).is_of(&all) && !of(&all).is_of(&all[1..]));
        let mut other = all.clone();
        other[7] = NodeId(21);
        assert!(!of(&other).is_of(&all));
        assert!(!Inventory::NONE.is_of(&[]));
    }

    #[test]
    fn bases_with_one_mark_have_two_under_another_salt() {
        let base = |sequence| Name { sequence, ..name(NodeId(5)) };
        let same = (1..2_000).find(|&n| base(n).mark(1) == base(0).mark(1));
        let same = base(same.expect("255 marks are soon used up"));
        let apart = (2..40).filter(|&salt| same.mark(salt) != base(0).mark(salt)).count();
        assert!(apart > 35, "{apart}");
    }

    #[test]
    fn a_base_is_not_taken_for_the_one_before() {
        let mark = |sequence, salt| Name { sequence, ..name(NodeId(5)) }.mark(salt);
        let in_one_block = |(one, other): (u32, u32)| one / 128 == other / 128;
        let pairs = (0..512).flat_map(|one| (1..20).map(move |units| (one, one + units)));
        let mut alike =
            pairs.filter(|&pair| in_one_block(pair) && mark(pair.0, 3) == mark(pair.1, 3));
        assert_eq!(alike.next(), None);
        assert!((0..2_000).all(|sequence| mark(sequence, 9) > 0));
    }
}
