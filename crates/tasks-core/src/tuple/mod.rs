//! Tuples: what processes exchange without knowing each other.
//!
//! A *tuple* is a short list of typed fields in a named *space*. It is found by what is in it: a
//! *template* says of each field which value it has, which type, or nothing. A *statement* pulls
//! some tuples, reads some and puts others, all of it in one commit or nothing.
//!
//! | module | what it holds |
//! |---|---|
//! | [`field`] | the values of a tuple, and their types |
//! | [`template`] | what tuples are wanted |
//! | [`statement`] | pulls, reads and puts that happen together |
//! | [`index`] | tuples by what is in them |
//! | [`home`] | in which part of a store a tuple lies |
//! | [`stored`] | what a store holds of them |
//!
//! Source: Linda (Gelernter, *Generative communication in Linda*, 1985), as FOX-tuple has it (FOX
//! final report, §3.3): put, read, pull, and wildcards in any field. Statements are those of
//! FT-Linda (Bakken and Schlichting, 1995): what guards and what is put happen together.

pub mod field;
pub mod home;
pub mod index;
pub mod statement;
pub mod stored;
pub mod template;

pub use field::{Field, MAX_FIELDS, MAX_TUPLE_BYTES, Tuple, Type};
pub use home::{Home, Route};
pub use statement::{In, Out, Settled, Statement, Term};
pub use stored::{Claim, Matched, Past, Stored};
pub use template::{Pattern, Template};
