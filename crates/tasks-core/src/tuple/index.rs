//! Tuples by what is in them.
//!
//! Each tuple is entered under several *places*, 64-bit hashes: one of its number of fields, one of
//! its types, and one of each of its fields. A template is looked for under the places of the
//! fields that it names, all of them at a time: the lists of numbers, which are in order, are
//! walked together, each to the first number that is not below that of the others (leapfrog
//! join). Where it names none, the place of its types serves, or that of its number of fields. So
//! the oldest tuple that matches is found without a look at those that do not, whichever fields are
//! wildcards; docs/decisions/0030-tuples-by-each-field.md has the numbers.
//!
//! Two values may have one hash. So what is found is compared.
//!
//! Source: Veldhuizen, *Leapfrog triejoin* (2014); the hash is FNV-1a.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::field::{Field, MAX_FIELDS, Tuple, Type};
use super::template::{Pattern, Template};

/// Under which a tuple is entered.
pub type Place = u64;

/// Tuples of any spaces, by their numbers, and the places at which they are.
#[derive(Debug)]
pub struct Index {
    tuples: BTreeMap<u64, (Arc<str>, Tuple)>,
    places: BTreeSet<(Place, u64)>,
    /// How many leading fields have places.
    fields: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self::of_leading(MAX_FIELDS)
    }
}

impl Index {
    /// One in which only so many leading fields have places: for comparison.
    pub fn of_leading(fields: usize) -> Self {
        Self { tuples: BTreeMap::new(), places: BTreeSet::new(), fields }
    }

    /// Enters a tuple under a number that no other has.
    pub fn insert(&mut self, number: u64, space: Arc<str>, tuple: Tuple) {
        for place in places(&space, &tuple, self.fields) {
            self.places.insert((place, number));
        }
        self.tuples.insert(number, (space, tuple));
    }

    /// Takes a tuple out. Returns whether it was there.
    pub fn remove(&mut self, number: u64) -> bool {
        let Some((space, tuple)) = self.tuples.remove(&number) else { return false };
        for place in places(&space, &tuple, self.fields) {
            self.places.remove(&(place, number));
        }
        true
    }

    /// A tuple that is entered.
    pub fn get(&self, number: u64) -> Option<&Tuple> {
        self.tuples.get(&number).map(|(_, tuple)| tuple)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tuples.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tuples.is_empty()
    }

    /// The first tuple of a space, from a number on, that a template matches.
    pub fn first(&self, space: &str, template: &Template, from: u64) -> Option<u64> {
        let wanted = wanted(space, template, self.fields);
        let mut number = from;
        loop {
            number = self.common(&wanted, number)?;
            let (own, tuple) = self.tuples.get(&number)?;
            if **own == *space && template.matches(tuple) {
                return Some(number);
            }
            number = number.checked_add(1)?;
        }
    }

    /// The first number, from one on, that is at all of some places.
    fn common(&self, wanted: &[Place], mut number: u64) -> Option<u64> {
        loop {
            let mut agreed = true;
            for &place in wanted {
                let (_, next) = self.places.range((place, number)..=(place, u64::MAX)).next()?;
                agreed &= *next == number;
                number = *next;
            }
            if agreed || wanted.len() == 1 {
                return Some(number);
            }
        }
    }
}

/// The places of a tuple, of which so many leading fields have one.
pub fn places(space: &str, tuple: &Tuple, fields: usize) -> impl Iterator<Item = Place> {
    let base = base(space, tuple.fields().len());
    let types = of_types(base, tuple.fields().iter().map(Field::kind));
    let own = tuple.fields().iter().take(fields).enumerate();
    [base, types].into_iter().chain(own.map(move |(at, field)| of_field(base, at, field)))
}

/// The places at which a template is looked for: at least one.
pub fn wanted(space: &str, template: &Template, fields: usize) -> Vec<Place> {
    let base = base(space, template.0.len());
    let named = template.0.iter().take(fields).enumerate();
    let named = named.filter_map(|(at, pattern)| match pattern {
        Pattern::Is(field) => Some(of_field(base, at, field)),
        Pattern::Of(_) | Pattern::Any => None,
    });
    let named: Vec<Place> = named.collect();
    if !named.is_empty() {
        return named;
    }
    let types: Option<Vec<Type>> = template.0.iter().map(of_pattern).collect();
    vec![types.map_or(base, |types| of_types(base, types.into_iter()))]
}

/// The type that a pattern wants, if it wants one.
fn of_pattern(pattern: &Pattern) -> Option<Type> {
    match pattern {
        Pattern::Is(field) => Some(field.kind()),
        Pattern::Of(kind) => Some(*kind),
        Pattern::Any => None,
    }
}

/// The place of all tuples of a space with so many fields.
fn base(space: &str, fields: usize) -> Place {
    hash(hash(OFFSET, space.as_bytes()), &[0xFF, fields as u8])
}

fn of_types(base: Place, types: impl Iterator<Item = Type>) -> Place {
    types.fold(hash(base, &[0xFE]), |place, kind| hash(place, &[kind as u8]))
}

fn of_field(base: Place, at: usize, field: &Field) -> Place {
    let place = hash(base, &[at as u8, field.kind() as u8]);
    match field {
        Field::Int(value) => hash(place, &value.to_le_bytes()),
        Field::Float(value) => hash(place, &like(*value).to_le_bytes()),
        Field::Text(text) => hash(place, text.as_bytes()),
        Field::Bytes(bytes) => hash(place, bytes),
        Field::Bool(value) => hash(place, &[u8::from(*value)]),
        Field::Handle(blob) => hash(place, &blob.hash),
    }
}

/// What decides to which part a tuple with this first field is spread: equal fields have one.
///
/// FNV-1a changes its low bits little by the last bytes: what divides it by a number of parts first
/// folds the high bits in.
pub(super) fn spread(first: &Field) -> u64 {
    let place = of_field(OFFSET, 0, first);
    let mixed = (place ^ (place >> 32)).wrapping_mul(PRIME);
    mixed ^ (mixed >> 29)
}

/// The number that stands for all that are equal to it.
fn like(value: f64) -> f64 {
    if value.is_nan() {
        f64::NAN
    } else if value == 0.0 {
        0.0
    } else {
        value
    }
}

/// Where FNV-1a begins, and by what it multiplies.
const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01B3;

fn hash(from: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(from, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(tuples: &[(u64, Vec<Field>)], fields: usize) -> Index {
        let mut index = Index::of_leading(fields);
        for (number, fields) in tuples {
            index.insert(*number, "s".into(), Tuple::new(fields.clone()));
        }
        index
    }

    #[test]
    fn the_oldest_that_matches_is_found_whichever_fields_are_wildcards() {
        let tuples = [
            (1, vec!["a".into(), 1.into()]),
            (2, vec!["b".into(), 2.into()]),
            (3, vec!["b".into(), 1.into()]),
            (4, vec!["b".into(), 1.0.into()]),
        ];
        for fields in [0, 1, MAX_FIELDS] {
            let index = index(&tuples, fields);
            let first = |patterns: Vec<Pattern>| index.first("s", &Template(patterns), 0);
            assert_eq!(first(vec![Pattern::Any, Pattern::Any]), Some(1));
            assert_eq!(first(vec!["b".into(), Pattern::Any]), Some(2));
            assert_eq!(first(vec!["b".into(), 1.into()]), Some(3));
            assert_eq!(first(vec![Pattern::Any, Type::Float.into()]), Some(4));
            assert_eq!(first(vec![Type::Text.into(), Type::Float.into()]), Some(4));
            assert_eq!(first(vec!["a".into(), 2.into()]), None);
            assert_eq!(first(vec![Pattern::Any]), None);
            assert_eq!(index.first("t", &Template(vec![Pattern::Any, Pattern::Any]), 0), None);
        }
    }

    #[test]
    fn what_is_taken_out_leaves_nothing() {
        let mut index = index(&[(1, vec!["a".into(), 0.0.into()])], MAX_FIELDS);
        let zero = Template(vec![Pattern::Any, Field::Float(-0.0).into()]);
        assert_eq!(index.first("s", &zero, 0), Some(1));
        assert!(index.remove(1) && !index.remove(1));
        assert!(index.is_empty() && index.places.is_empty());
    }
}
