//! Tokens: tuples that parties put, move, claim and wait for. Whoever dies meanwhile, after each
//! commit each token that was put is there once.

use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::Chance;
use tidings_tasks_core::message::{Answer, Call, Place, Refusal, Request};
use tidings_tasks_core::tuple::{
    Field, Matched, Out, Settled, Statement, Stored, Template, Term, Tuple, Type,
};

/// The space in which they are, and how many are put.
const SPACE: &str = "tokens";
pub(crate) const TOKENS: i64 = 6;

/// A slot of a session: one statement at a time.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    sequence: u64,
    /// What was asked, and whether it changes something and claims.
    asked: Option<(Call, bool, bool)>,
    claimed: Option<Matched>,
}

fn any() -> Template {
    Template(vec![Type::Text.into(), Type::Int.into()])
}

fn out(terms: Vec<Term>) -> Out {
    Out { space: SPACE.to_owned(), terms }
}

impl Desk {
    /// What is asked next, if nothing is; `next` is the next token.
    pub(crate) fn wish(&mut self, next: &mut i64, chance: &mut Chance) -> Option<Request> {
        let place = self.place();
        if self.asked.is_some() {
            // It no longer waits for that: what it was answered comes again, if it was done.
            let gives_up = self.sequence > 0 && chance.happens(0.05);
            return gives_up.then_some(Request::GiveUp { place });
        }
        let statement =
            if self.sequence == 0 { Statement::default() } else { self.draw(next, chance) };
        let alters = statement.alters() || self.sequence == 0;
        self.asked = Some((Call(0), alters, statement.claims() > 0));
        Some(Request::Execute { place, statement: Box::new(statement) })
    }

    fn place(&self) -> Place {
        Place { slot: 0, sequence: self.sequence }
    }

    fn draw(&mut self, next: &mut i64, chance: &mut Chance) -> Statement {
        let wait_ms = Some([0, 50, 400][chance.below(3)]);
        if let Some(Matched { number, tuple }) = self.claimed.take() {
            // It is put again in the commit that consumes it, or given back.
            let is_gone = chance.happens(0.5);
            let terms = tuple.fields().iter().cloned().map(Term::Is).collect();
            let outs = if is_gone { vec![out(terms)] } else { Vec::new() };
            let settled = vec![Settled { number, is_gone }];
            return Statement { settled, outs, ..Statement::default() };
        }
        if *next < TOKENS && chance.happens(0.3) {
            *next += 1;
            return Statement::put(SPACE, &Tuple::new(vec!["token".into(), Field::Int(*next)]));
        }
        let statement = Statement::of_one(SPACE, any(), chance.happens(0.8));
        if statement.alters() && chance.happens(0.6) {
            let outs = vec![out(vec![Term::Found(0, 0), Term::Found(0, 1)])];
            return Statement { consumes: true, outs, wait_ms, ..statement };
        }
        Statement { wait_ms, ..statement }
    }

    /// The number of the request that was made of a wish. Returns the one that it takes the place
    /// of.
    pub(crate) fn numbered(&mut self, call: Call) -> Option<Call> {
        let (asked, ..) = self.asked.as_mut()?;
        let before = core::mem::replace(asked, call);
        (before != Call(0)).then_some(before)
    }

    pub(crate) fn answered(&mut self, call: Call, answer: &Answer) {
        let Some((_, alters, claims)) = self.asked.take_if(|(asked, ..)| *asked == call) else {
            return;
        };
        match answer {
            Answer::Matched(found) => {
                self.sequence += u64::from(alters);
                self.claimed = claims.then(|| found[0].clone());
            }
            Answer::Refused(Refusal::Lapsed) => *self = Self::default(),
            Answer::NoMatch | Answer::Refused(Refusal::NoClaim) => {}
            other => panic!("{other:?} to a statement"),
        }
    }
}

/// The tokens in the store: each that was ever there is there once.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    put: BTreeSet<i64>,
    there: BTreeMap<i64, u32>,
    /// How often one was claimed.
    pub(crate) claims: u32,
}

impl Tokens {
    /// A tuple has changed in a commit.
    pub(crate) fn change(&mut self, old: Option<&Stored>, new: Option<&Stored>) {
        let number = |stored: &Stored| match stored.tuple.fields() {
            [_, Field::Int(number)] => *number,
            other => panic!("{other:?} is no token"),
        };
        if let Some(gone) = old.map(number) {
            *self.there.entry(gone).or_default() -= 1;
        }
        if let Some(put) = new.map(number) {
            self.put.insert(put);
            *self.there.entry(put).or_default() += 1;
        }
        let is_claimed = new.is_some_and(|stored| stored.claim.is_some());
        self.claims += u32::from(is_claimed);
    }

    /// A commit has happened.
    pub(crate) fn check(&self) {
        let is_once = |number: &i64| self.there.get(number) == Some(&1);
        assert!(self.put.iter().all(is_once), "tokens are lost, or there twice: {self:?}");
    }
}
