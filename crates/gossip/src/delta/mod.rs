//! Deltas: entries in as few bytes as what their receiver holds allows.
//!
//! On most nodes little but the age has changed since a receiver last heard. So an origin chooses
//! an entry now and then as a *base*, and each of its entries travels as what it says otherwise
//! than its base, which for most is nothing. The origin alone makes bases, and names them by
//! incarnation and sequence, so what is said by one node can be forwarded by any other, and means
//! the same to all. A new base costs little, since most receivers hold the one before: they are
//! told it by a *step*, as what it says otherwise than that. Who holds it holds it whole, so there
//! are no chains to follow. Which readings are news at all is the origin's matter too
//! ([`Settled`](crate::payload::Settled)); other nodes need not know its tolerances.
//!
//! They are the windows of version 3: pushes and answers to pulls, to members that read them. A
//! pull says which bases its sender holds (`wire/inventory.rs`); which entry goes in which form:
//! `window.rs`. What is decided, with numbers, and what is still to come:
//! docs/decisions/0078-changes-by-bases.md, and of steps 0091-steps-between-bases.md.
//!
//! # Bytes
//!
//! A body begins with the preamble of a window: schema 1, marks 1, payload bytes 2, entries 2. Then
//! come groups until all entries are there.
//!
//! | bytes of a group | field |
//! |---|---|
//! | 0 | 0: each entry names its base; 1: sender and receiver agree on the bases; 5, 4: by steps |
//! | 1–2 | bytes of the group from 8 on |
//! | 3 | entries, 1 to 255 |
//! | 4 | bases that come along; 0 where they are agreed on |
//! | 5–6 | least age, coded as in an entry |
//! | 7 | order of the ages, low four bits, and of the distances |
//! | 8–21, if agreed | first id 4, digest 8, least distance 2 |
//! | then | bits: the entries, one after the other, filled up with zeros |
//! | then | the bases that come along, payload bytes each |
//!
//! | bits of an entry | field |
//! |---|---|
//! | named: 32, 24, 24, 1 | origin, incarnation, sequence of its base, whether that comes along |
//! | agreed: order 0 | bases between this one and the one before, at most 255 |
//! | 4: 1 | whether a step follows |
//! | a step: order 4 | how much later the base is than the one named or agreed on, less one |
//! | then see `change.rs` | what it says otherwise than that |
//! | order of the distances | distance: its sequence less that of its base; if agreed less the least |
//! | order of the ages | code of its age less the least |
//! | see `change.rs` | what it says otherwise than its base; one bit if nothing |
//!
//! Whole entries are a group of another form: 2, or 3 if each of them is a base; entries 1, 1 to
//! 255; then the entries, as in a window of version 1.
//!
//! In kind 5 no base comes along, and there is no bit that says so: a step follows each name.
//! Numbers with an order are Exp-Golomb codes (`bits.rs`). A distance of 0 is the base itself,
//! which has no change; farewells and tombstones are their own bases.
//!
//! The *agreed* bases are, in the order of ids, all that the receiver holds from the first id on,
//! less those passed over. The digest is the beginning of the SHA-256 of `tidings bases 1 ` and of
//! origin 4, incarnation 3 and sequence 3 of each. If it is not what the receiver finds, nothing of
//! that group is used.
//!
//! # Invariants
//!
//! What is read is what its origin said under that stamp, or nothing: an entry whose base is not
//! held is passed over and reported ([`Step`]), never guessed; a step is taken from the base that
//! it is named by alone, or not needed where the later one is held. So loss, doubling and
//! reordering cost freshness only. A body is complete in itself but for bases, which are named.
//! Nothing is believed before it is bounded: at most 255 entries and 1,024 places in a group,
//! distances by the sequences there are, changes by the payload; a body that is malformed anywhere
//! is not used at all. Nothing allocates.

mod bases;
pub(crate) mod bits;
mod change;
mod differences;
mod form;
mod notes;
mod origin;
#[cfg(test)]
mod plain;
mod reader;
mod shelf;
pub(crate) mod window;
mod word;
mod writer;

pub use bases::{Base, Bases, Name};
pub use origin::{MAX_DISTANCE, Origin};
pub use reader::{Entries, Said, Step, decode};
pub use shelf::{Shelf, Taken};
pub use writer::{Body, Item};
