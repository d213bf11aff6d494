//! Homes: in which part of a store a tuple lies, and which part can do a statement.
//!
//! A store may have several parts, each with a coordinator of its own. A tuple lies in one of them,
//! whose coordinator claims it in one step. Which one follows from names and values alone, so all
//! who put and pull agree without asking each other:
//!
//! | the name of its space | its part |
//! |---|---|
//! | `NAME@QUEUE` | that of the queue, so that the queue's tasks pull and put there with their end |
//! | `NAME*` | *spread*: that of the tuple's first field |
//! | any other | part 0 |
//!
//! A statement is one commit, so all that it is about has to lie in one part. A template that does
//! not name the first field of a spread space may find its tuple in any: then the coordinator of
//! each is asked to claim, and what is claimed in more than one is given back
//! (docs/decisions/0064-tuples-of-several-parts.md).
//!
//! Invariant: the coordinator of a part refuses what would put a tuple there whose home is
//! elsewhere; so nobody who looks at a tuple's home misses it.

use super::field::{Field, Tuple};
use super::index;
use super::statement::{Statement, Term};
use super::template::Pattern;
use crate::id::{Epoch, Part};

/// What stands before the queue in the name of a space that lies where the queue does.
const QUEUE: char = '@';

/// The end of the name of a space that is spread.
const SPREAD: char = '*';

/// The bits of a number that count the tuples of an epoch.
const COUNTED_BITS: u32 = 40;

/// Where the tuples of a space lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// All of them in this part.
    Of(Part),
    /// Each in the part of its first field.
    Spread,
}

/// Which part can do a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// This one.
    To(Part),
    /// Any that has what the only in of it wants.
    Any,
}

/// Where something of a statement lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    In(Part),
    /// Where this in finds its tuple.
    With(usize),
}

impl Home {
    /// That of a space, in a store of so many parts.
    pub fn of(space: &str, parts: u16) -> Self {
        if parts <= 1 {
            return Self::Of(Part(0));
        }
        match space.rsplit_once(QUEUE) {
            Some((_, queue)) => Self::Of(Part::of(queue, parts)),
            None if space.ends_with(SPREAD) => Self::Spread,
            None => Self::Of(Part(0)),
        }
    }

    fn with(self, first: &Field, parts: u16) -> Part {
        match self {
            Self::Of(part) => part,
            Self::Spread => Part((index::spread(first) % u64::from(parts.max(1))) as u16),
        }
    }
}

/// The part in which a tuple of a space lies.
pub fn part_of(space: &str, tuple: &Tuple, parts: u16) -> Part {
    let first = tuple.fields().first();
    first.map_or(Part(0), |first| Home::of(space, parts).with(first, parts))
}

/// A number that no tuple of any part has had: the counted one of an epoch of this part.
pub fn number(epoch: Epoch, counted: u64, (part, parts): (Part, u16)) -> u64 {
    let within = counted.wrapping_mul(u64::from(parts.max(1))).wrapping_add(u64::from(part.0));
    (epoch.0 << COUNTED_BITS).wrapping_add(within)
}

/// The part that has given a tuple its number.
pub fn part_of_number(number: u64, parts: u16) -> Part {
    Part(((number & ((1 << COUNTED_BITS) - 1)) % u64::from(parts.max(1))) as u16)
}

impl Statement {
    /// Which part of so many can do it.
    ///
    /// # Errors
    /// No single one, in words.
    pub fn route(&self, parts: u16) -> Result<Route, String> {
        if parts <= 1 {
            return Ok(Route::To(Part(0)));
        }
        self.check()?;
        let mut places = Vec::with_capacity(self.ins.len() + self.outs.len() + self.settled.len());
        for (at, one) in self.ins.iter().enumerate() {
            places.push(match (Home::of(&one.space, parts), one.template.0.first()) {
                (home, Some(Pattern::Is(first))) => Place::In(home.with(first, parts)),
                (Home::Of(part), _) => Place::In(part),
                (Home::Spread, _) => Place::With(at),
            });
        }
        for out in &self.outs {
            places.push(self.place_of_out(Home::of(&out.space, parts), &out.terms, parts)?);
        }
        places.extend(self.settled.iter().map(|one| Place::In(part_of_number(one.number, parts))));
        places.sort_unstable();
        places.dedup();
        match places[..] {
            [Place::In(part)] => Ok(Route::To(part)),
            [] => Ok(Route::Any),
            [Place::With(_)] if self.ins.len() == 1 => Ok(Route::Any),
            _ => Err(SEVERAL.to_owned()),
        }
    }

    fn place_of_out(&self, home: Home, terms: &[Term], parts: u16) -> Result<Place, String> {
        let Home::Spread = home else { return Ok(Place::In(home.with(&Field::Int(0), parts))) };
        let of = match terms.first() {
            Some(Term::Is(first)) => return Ok(Place::In(home.with(first, parts))),
            Some(Term::Found(of, field)) => (usize::from(*of), usize::from(*field)),
            None => return Err(SEVERAL.to_owned()),
        };
        let found = self.ins.get(of.0);
        if let Some(Pattern::Is(first)) = found.and_then(|one| one.template.0.get(of.1)) {
            return Ok(Place::In(home.with(first, parts)));
        }
        // The first field of what lies in a spread space says where that is.
        let is_spread = found.is_some_and(|one| Home::of(&one.space, parts) == Home::Spread);
        if of.1 == 0 && is_spread { Ok(Place::With(of.0)) } else { Err(SEVERAL.to_owned()) }
    }
}

/// Why a statement is no single commit.
const SEVERAL: &str = "what this statement is about may lie in several parts of the store, and it \
                       is one commit in one of them: use spaces of one queue (NAME@QUEUE), name \
                       the first field in spaces that are spread (NAME*), or do it in several \
                       statements";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuple::{In, Out, Settled, Template};

    const PARTS: u16 = 4;

    fn one(space: &str, patterns: Vec<Pattern>) -> In {
        In { space: space.to_owned(), template: Template(patterns), is_pulled: true }
    }

    fn out(space: &str, terms: Vec<Term>) -> Out {
        Out { space: space.to_owned(), terms }
    }

    fn of(ins: Vec<In>, outs: Vec<Out>) -> Statement {
        Statement { ins, outs, ..Statement::default() }
    }

    #[test]
    fn names_say_where_tuples_lie() {
        assert_eq!(Home::of("s", PARTS), Home::Of(Part(0)));
        assert_eq!(Home::of("s@q", PARTS), Home::Of(Part::of("q", PARTS)));
        assert_eq!(Home::of("a@b@q*", PARTS), Home::Of(Part::of("q*", PARTS)));
        assert_eq!(Home::of("s*", PARTS), Home::Spread);
        for name in ["s", "s@q", "s*"] {
            assert_eq!(Home::of(name, 1), Home::Of(Part(0)), "{name}");
        }
    }

    #[test]
    fn first_fields_spread_over_all_parts_and_equal_ones_are_together() {
        let part = |first: Field| part_of("s*", &Tuple::new(vec![first]), PARTS);
        let parts: Vec<u16> = (0..64).map(|n| part(Field::Int(n)).0).collect();
        for wanted in 0..PARTS {
            assert!(parts.iter().filter(|part| **part == wanted).count() >= 8, "{parts:?}");
        }
        assert_eq!(part(0.0.into()), part(Field::Float(-0.0)));
        assert_eq!(part(f64::NAN.into()), part(Field::Float(-f64::NAN)));
    }

    #[test]
    fn a_number_tells_its_part_and_is_unique_over_all() {
        let mut numbers = std::collections::BTreeSet::new();
        for (part, counted) in (0..PARTS).flat_map(|part| (1..9).map(move |c| (Part(part), c))) {
            let number = number(Epoch(7), counted, (part, PARTS));
            assert!(numbers.insert(number));
            assert_eq!(part_of_number(number, PARTS), part);
        }
        assert_eq!(number(Epoch(1), 5, (Part(0), 1)), (1 << 40) + 5, "as in stores of one part");
    }

    #[test]
    fn a_statement_goes_where_all_lies_that_it_is_about() {
        let any = || vec![Pattern::Any, Pattern::Any];
        let at = |first: i64| part_of("s*", &Tuple::new(vec![first.into()]), PARTS);
        let q = Part::of("q", PARTS);
        assert_eq!(of(vec![one("s*", any())], vec![]).route(PARTS), Ok(Route::Any));
        let named = one("s*", vec![3.into(), Pattern::Any]);
        assert_eq!(of(vec![named.clone()], vec![]).route(PARTS), Ok(Route::To(at(3))));
        let moved = out("t*", vec![Term::Found(0, 0), 1.into()]);
        assert_eq!(of(vec![named], vec![moved.clone()]).route(PARTS), Ok(Route::To(at(3))));
        assert_eq!(of(vec![one("s*", any())], vec![moved]).route(PARTS), Ok(Route::Any));
        let both = vec![one("a@q", any()), one("b@q", any())];
        let into = vec![out("c@q", vec![Term::Found(1, 1)])];
        assert_eq!(of(both, into).route(PARTS), Ok(Route::To(q)));
        let number = number(Epoch(1), 1, (Part(2), PARTS));
        let settled = vec![Settled { number, is_gone: true }];
        let settles = Statement { settled, ..Statement::default() };
        assert_eq!(settles.route(PARTS), Ok(Route::To(Part(2))));
        assert_eq!(Statement::default().route(PARTS), Ok(Route::Any), "it opens a slot");
    }

    #[test]
    fn what_lies_in_several_parts_is_refused_in_words() {
        let any = || vec![Pattern::Any, Pattern::Any];
        let mut names = (0..64).map(|n| format!("q{n}"));
        let other = names.find(|name| Part::of(name, PARTS) != Part(0)).unwrap();
        for statement in [
            of(vec![one("s", any()), one(&format!("s@{other}"), any())], vec![]),
            of(vec![one("s*", any()), one("s*", any())], vec![]),
            of(vec![one("s*", any())], vec![out("s*", vec![1.into()])]),
            of(vec![one("s*", any())], vec![out("t*", vec![Term::Found(0, 1)])]),
            of(vec![one("s*", any())], vec![out("done", vec![Term::Found(0, 0)])]),
        ] {
            assert!(statement.route(PARTS).unwrap_err().contains("NAME@QUEUE"), "{statement:?}");
            assert_eq!(statement.route(1), Ok(Route::To(Part(0))), "one part has all");
        }
    }
}
