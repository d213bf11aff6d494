//! Statements: pulls, reads and puts that happen together, or not at all.
//!
//! | part | what it does |
//! |---|---|
//! | *ins* | each is a template and has a tuple of its own, which is pulled, or stays |
//! | *outs* | tuples that are put; a field may be one of a tuple that an in has found |
//! | *settled* | tuples that were pulled before: they are gone now, or there again |
//!
//! A pulled tuple is gone at once if the statement *consumes*. Else it is *claimed*: nobody else
//! sees it, and it is there again when the session, the try of a task, that pulled it ends.

use minicbor::{Decode, Encode};

use super::field::{Field, MAX_TUPLE_BYTES, Tuple};
use super::template::Template;
use crate::id::{Attempt, TaskId};
use crate::keys::MAX_NAME_BYTES;

/// The ins of a statement, its outs, and what it settles: at most so many of each. All of them,
/// with a condition and a write each, are fewer than the 128 operations that an etcd commits.
pub const MAX_PARTS: usize = 16;

/// The bytes of all tuples that one statement finds, or puts.
pub const MAX_STATEMENT_BYTES: usize = 4 * MAX_TUPLE_BYTES;

/// A tuple that is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct In {
    /// In which space.
    #[n(0)]
    pub space: String,
    /// What it is like.
    #[n(1)]
    pub template: Template,
    /// Whether it is pulled; else it stays.
    #[n(2)]
    pub is_pulled: bool,
}

/// A tuple that is put.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Out {
    /// Into which space.
    #[n(0)]
    pub space: String,
    /// Its fields.
    #[n(1)]
    pub terms: Vec<Term>,
}

/// A field of a tuple that is put.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Term {
    /// This value.
    #[n(0)]
    Is(#[n(0)] Field),
    /// A field of the tuple that an in has found: which in, which field, both from 0.
    #[n(1)]
    Found(#[n(0)] u8, #[n(1)] u8),
}

impl<F: Into<Field>> From<F> for Term {
    fn from(value: F) -> Self {
        Self::Is(value.into())
    }
}

/// A tuple that was claimed before.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Settled {
    /// Its number.
    #[n(0)]
    pub number: u64,
    /// Whether it is gone now; else it is there again.
    #[n(1)]
    pub is_gone: bool,
}

/// What happens together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct Statement {
    /// Tuples that are wanted.
    #[n(0)]
    pub ins: Vec<In>,
    /// Tuples that are put.
    #[n(1)]
    pub outs: Vec<Out>,
    /// Tuples that were claimed before, by the same owner.
    #[n(2)]
    pub settled: Vec<Settled>,
    /// Whether what is pulled is gone at once; else it is claimed.
    #[n(3)]
    pub consumes: bool,
    /// The try of a task with which claims end; else they end with the session.
    #[n(4)]
    pub owner: Option<(TaskId, Attempt)>,
    /// How long it waits for what it wants, in milliseconds: 0 not at all, `None` for ever.
    #[n(5)]
    pub wait_ms: Option<u64>,
}

impl Statement {
    /// Puts one tuple.
    pub fn put(space: &str, tuple: &Tuple) -> Self {
        let terms = tuple.fields().iter().cloned().map(Term::Is).collect();
        Self { outs: vec![Out { space: space.to_owned(), terms }], ..Self::default() }
    }

    /// Wants one tuple.
    pub fn of_one(space: &str, template: Template, is_pulled: bool) -> Self {
        Self { ins: vec![In { space: space.to_owned(), template, is_pulled }], ..Self::default() }
    }

    /// Whether it changes anything.
    pub fn alters(&self) -> bool {
        let pulls = self.ins.iter().any(|one| one.is_pulled);
        pulls || !self.outs.is_empty() || !self.settled.is_empty()
    }

    /// How many tuples it claims.
    pub fn claims(&self) -> usize {
        if self.consumes { 0 } else { self.ins.iter().filter(|one| one.is_pulled).count() }
    }

    /// Why it can never be done, in words.
    ///
    /// # Errors
    /// It is outside of its bounds, or no tuple could match.
    pub fn check(&self) -> Result<(), String> {
        for (what, count) in
            [("ins", self.ins.len()), ("outs", self.outs.len()), ("settled", self.settled.len())]
        {
            if count > MAX_PARTS {
                return Err(format!("a statement with {count} {what}; at most {MAX_PARTS}"));
            }
        }
        for one in &self.ins {
            check_space(&one.space)?;
            one.template.check()?;
        }
        for out in &self.outs {
            check_space(&out.space)?;
            self.check_terms(&out.terms)?;
        }
        let mut numbers: Vec<u64> = self.settled.iter().map(|one| one.number).collect();
        numbers.sort_unstable();
        if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("a statement settles one claim twice".to_owned());
        }
        Ok(())
    }

    fn check_terms(&self, terms: &[Term]) -> Result<(), String> {
        let placeholder = |term: &Term| match term {
            Term::Is(field) => Ok(field.clone()),
            Term::Found(of, field) => {
                let found = self.ins.get(usize::from(*of));
                let has = found.is_some_and(|one| usize::from(*field) < one.template.0.len());
                let wrong = || format!("there is no field {field} of in {of} that could be put");
                has.then_some(Field::Bool(false)).ok_or_else(wrong)
            }
        };
        let fields: Vec<_> = terms.iter().map(placeholder).collect::<Result<_, _>>()?;
        Tuple::new(fields).check()
    }

    /// The tuples that are put when its ins have found these.
    ///
    /// # Errors
    /// What is put would be too large, in words.
    pub fn puts(&self, found: &[&Tuple]) -> Result<Vec<Tuple>, String> {
        let field = |term: &Term| match term {
            Term::Is(field) => Some(field.clone()),
            Term::Found(of, field) => {
                found.get(usize::from(*of))?.fields().get(usize::from(*field)).cloned()
            }
        };
        let mut bytes = found.iter().map(|tuple| tuple.bytes()).sum::<usize>();
        let mut puts = Vec::with_capacity(self.outs.len());
        for out in &self.outs {
            let tuple = Tuple::new(out.terms.iter().filter_map(field).collect::<Vec<_>>());
            tuple.check()?;
            bytes += tuple.bytes();
            puts.push(tuple);
        }
        if bytes > MAX_STATEMENT_BYTES {
            return Err(format!(
                "the tuples of a statement have {bytes} bytes; at most {MAX_STATEMENT_BYTES}"
            ));
        }
        Ok(puts)
    }
}

/// Whether a space can have this name.
pub(crate) fn check_space(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        let bytes = name.len();
        return Err(format!(
            "the name of a space has 1 to {MAX_NAME_BYTES} bytes, this has {bytes}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuple::{Pattern, Type};

    #[test]
    fn what_is_put_may_be_what_was_found() {
        let mut statement =
            Statement::of_one("s", Template(vec![Pattern::Any, Type::Int.into()]), true);
        statement
            .outs
            .push(Out { space: "s".to_owned(), terms: vec!["done".into(), Term::Found(0, 1)] });
        assert_eq!(statement.check(), Ok(()));
        let found = Tuple::new(vec!["to do".into(), 7.into()]);
        let put = Tuple::new(vec!["done".into(), 7.into()]);
        assert_eq!(statement.puts(&[&found]), Ok(vec![put]));
        statement.outs[0].terms.push(Term::Found(0, 2));
        assert!(statement.check().unwrap_err().contains("no field 2 of in 0"));
        statement.outs[0].terms[2] = Term::Found(1, 0);
        assert!(statement.check().unwrap_err().contains("no field 0 of in 1"));
    }

    #[test]
    fn statements_are_bounded() {
        let put = |space: &str| Statement::put(space, &Tuple::new(vec![1.into()]));
        assert!(put("").check().unwrap_err().contains("1 to 255 bytes"));
        assert!(put(&"n".repeat(256)).check().unwrap_err().contains("this has 256"));
        let mut many = put("s");
        many.outs = vec![many.outs[0].clone(); 17];
        assert!(many.check().unwrap_err().contains("17 outs; at most 16"));
        let settled = vec![Settled { number: 1, is_gone: true }; 2];
        let twice = Statement { settled, ..Statement::default() };
        assert!(twice.check().unwrap_err().contains("twice"));
    }
}
