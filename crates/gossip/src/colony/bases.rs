//! Bases of colonies: of each one aggregate by which later ones are told as changes.
//!
//! A representative makes an aggregate that a call brought a base; others learn it with a record.
//! Of two bases the one that was born later is kept, so all holders come to hold one. It is paid
//! for by rent: what changes by the aggregate of the call before would have saved, until that is
//! what a base costs. Rent is due when a record is sent, so for a pull of many units that many
//! times as much: who asks less often is told the base for fewer changes.
//!
//! Invariants: memory is taken at construction, and only where changes are sent; what is kept is an
//! aggregate that [`Aggregate::decode`] takes, in the form in which it travels.

use tidings_primitives::time::Instant;

use super::id::ColonyId;
use super::name::Name;
use crate::aggregate::{Aggregate, MAX_BYTES};

/// A base of a colony.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// When it was made, on the local clock.
    pub(crate) birth: Instant,
    pub(crate) name: Name,
    /// What a later one would have saved so far, in bits a record that is sent.
    rent_bits: u32,
    aggregate_bytes: u16,
    aggregate: [u8; MAX_BYTES],
}

/// Bytes of memory that the base of each colony takes.
pub(crate) const BASE_MEMORY_BYTES: usize = core::mem::size_of::<Option<Base>>();

impl Base {
    fn of(colony: ColonyId, bytes: &[u8], birth: Instant) -> Self {
        let mut aggregate = [0; MAX_BYTES];
        aggregate[..bytes.len()].copy_from_slice(bytes);
        let (name, aggregate_bytes) = (Name::of(colony, bytes), bytes.len() as u16);
        Self { birth, name, rent_bits: 0, aggregate_bytes, aggregate }
    }

    /// The aggregate as it travels.
    pub(crate) fn aggregate(&self) -> &[u8] {
        &self.aggregate[..usize::from(self.aggregate_bytes)]
    }
}

/// The bases of all colonies of a table, in its order; empty where none are kept.
pub(crate) struct ColonyBases(Vec<Option<Base>>);

impl ColonyBases {
    /// No bases, and no room for any.
    pub(crate) const NONE: Self = Self(Vec::new());

    /// No bases yet, and room for those of so many colonies.
    pub(crate) fn with_capacity(colonies: usize) -> Self {
        Self(Vec::with_capacity(colonies))
    }

    pub(crate) fn are_kept(&self) -> bool {
        self.0.capacity() > 0
    }

    /// Another colony was learnt of, which has this place in the table now.
    pub(crate) fn make_room(&mut self, place: usize) {
        if self.are_kept() {
            self.0.insert(place, None);
        }
    }

    pub(crate) fn get(&self, place: usize) -> Option<&Base> {
        self.0.get(place)?.as_ref()
    }

    /// Keeps an aggregate as the base of the colony in a place, if it was born later than the one
    /// that is held, and is another; returns whether it was kept.
    pub(crate) fn keep(
        &mut self,
        place: usize,
        (colony, aggregate): (ColonyId, &[u8]),
        birth: Instant,
    ) -> bool {
        let Some(base) = self.0.get_mut(place) else { return false };
        let is_later =
            base.as_ref().is_none_or(|held| held.birth < birth && held.aggregate() != aggregate);
        if is_later {
            *base = Some(Base::of(colony, aggregate, birth));
        }
        is_later
    }

    /// Pays the rent of the base in a place: a record that tells `is` goes to somebody once in
    /// `pace` units, and `before` would have been its base. Whether `is` is to be the next base.
    pub(crate) fn is_due(&mut self, at: usize, pace: u32, is: &[u8], before: &[u8]) -> bool {
        let Some(base) = self.0.get_mut(at) else { return false };
        let Some(base) = base else { return true };
        let bits = |base| change(base, is, &mut [0; MAX_BYTES]).unwrap_or(is.len()) as u32 * 8;
        base.rent_bits =
            base.rent_bits.saturating_add(bits(base.aggregate()).saturating_sub(bits(before)));
        base.rent_bits / pace.max(1) >= 8 * is.len() as u32
    }
}

/// Writes what an aggregate says otherwise than a base, both as they travel, to the start of `out`;
/// returns the bytes, `None` if it is no shorter than whole.
pub(crate) fn change(base: &[u8], is: &[u8], out: &mut [u8]) -> Option<usize> {
    let shorter = is.len().checked_sub(1)?.min(out.len());
    let (base, is) = (Aggregate::decode(base).ok()?, Aggregate::decode(is).ok()?);
    is.encode_change(&base, &mut out[..shorter])
}

/// Writes the aggregate that is told by a change to the start of `out`, as it travels whole;
/// returns the bytes, `None` if there is none.
pub(crate) fn changed(base: &[u8], change: &[u8], out: &mut [u8; MAX_BYTES]) -> Option<usize> {
    let is = Aggregate::decode_change(&Aggregate::decode(base).ok()?, change)?;
    is.encode(out).ok()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::aggregate::Contribution;

    const COLONY: ColonyId = ColonyId(4);

    /// An aggregate of 40 nodes, of which so many are heard.
    fn bytes(heard: usize) -> Vec<u8> {
        let mut payload = [0; 64];
        let nodes = (0..40u16).map(|n| {
            let load1 = Some(f64::from(n) * heard as f64);
            let state = crate::payload::NodeState { load1, ..Default::default() };
            state.encode(&mut payload).expect("64 bytes hold it");
            payload
        });
        let payloads: Vec<_> = nodes.collect();
        let age = Duration::from_millis(3);
        let alive = payloads[..heard].iter().map(|payload| Contribution::Alive { age, payload });
        let nodes = alive.chain(payloads[heard..].iter().map(|_| Contribution::Unheard));
        let mut bytes = [0; MAX_BYTES];
        let written = Aggregate::of(nodes, Duration::from_secs(9)).encode(&mut bytes);
        bytes[..written.expect("few nodes fit")].to_vec()
    }

    #[test]
    fn the_base_that_was_born_later_is_kept() {
        let mut bases = ColonyBases::with_capacity(2);
        bases.make_room(0);
        let mut keep = |bytes: &[u8], at| {
            let kept = bases.keep(0, (COLONY, bytes), Instant::from_micros(at));
            (kept, bases.get(0).expect("there is one by now").aggregate().to_vec())
        };
        let (one, other) = (bytes(3), bytes(7));
        assert_eq!(keep(&one, 50), (true, one.clone()));
        assert_eq!(keep(&other, 50), (false, one.clone()), "of the same time");
        assert_eq!(keep(&one, 60), (false, one), "the same");
        assert_eq!(keep(&other, 60), (true, other));
        let mut none = ColonyBases::NONE;
        none.make_room(0);
        assert!(!none.keep(0, (COLONY, &bytes(1)), Instant::EPOCH) && none.get(0).is_none());
        assert!(!none.is_due(0, 1, &bytes(1), &bytes(2)));
        const { assert!(BASE_MEMORY_BYTES <= 544, "the documentation says 0.5 kB") };
    }

    #[test]
    fn a_base_is_made_when_changes_by_a_later_one_would_have_saved_its_price() {
        let mut bases = ColonyBases::with_capacity(1);
        bases.make_room(0);
        assert!(bases.is_due(0, 1, &bytes(30), &[]), "there is none");
        bases.keep(0, (COLONY, &bytes(8)), Instant::EPOCH);
        let is = bytes(30);
        assert!(!(0..1_000).any(|_| bases.is_due(0, 1, &is, &bytes(8))), "it is as good");
        let due = |bases: &mut ColonyBases, pace| {
            (1..1_000).find(|_| bases.is_due(0, pace, &is, &bytes(30))).expect("some time")
        };
        let each_unit = due(&mut bases, 1);
        assert!(each_unit > 1, "{each_unit}");
        bases.keep(0, (COLONY, &bytes(9)), Instant::from_micros(1));
        assert!(due(&mut bases, 4) >= 3 * each_unit, "rent is due when a record is sent");
    }

    #[test]
    fn a_change_gives_the_aggregate_again_in_the_form_in_which_it_travels() {
        let (base, is) = (bytes(30), bytes(29));
        let (mut told, mut out) = ([0; MAX_BYTES], [0; MAX_BYTES]);
        let told_bytes = change(&base, &is, &mut told).expect("they are alike");
        assert!(told_bytes < is.len());
        let read = changed(&base, &told[..told_bytes], &mut out).expect("it was written so");
        assert_eq!(out[..read], is);
        assert_eq!(change(&[9], &is, &mut told), None, "by no aggregate");
        assert_eq!(changed(&base, &[0xFF; 7], &mut out), None);
    }
}
