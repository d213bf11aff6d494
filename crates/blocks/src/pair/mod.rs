//! Pairs: state in parts, each of which two processes have, so that one may die.
//!
//! For each view and part all processes compute the same *owner* and *backup* (`placing`). Calls
//! go to the owner, which applies them in order, and passes each on to the backup; when that has
//! applied it too, the caller is answered. So what was answered is in two memories. (Where one
//! process alone takes part it is in one.)
//!
//! **A process that was shut out does no harm.** Each message names the view it belongs to. A
//! process that has entered a later view ignores it, and one of the two that an owner needs for an
//! answer, or both, are in the next view or dead. So an owner that does not know yet that it is
//! none any more gets no answer out, not even to a question.
//!
//! **After a change of the view** each process says what it has of each part: the view in which its
//! copy was last part of a pair, the copy's *tag*, and how many calls that has had. The largest
//! tells who has all that was answered: a copy gets the tag of a view before anything is answered
//! in it, on both sides. The owner fetches that copy, brings the backup to the same state, by the
//! calls that are missing there or as a whole, and goes on. Callers send what was not answered
//! again. What has been applied already is known by its number, and is answered again instead.
//!
//! If both of a pair die before there is another copy, what they had is lost. Whether that may be
//! the case follows from the views since the best tag: it is said ([`Twins::lost`]), not hidden.
//!
//! Nothing here is a matter of time. Source: primary and backup with views (Oki and Liskov, 1988),
//! with the store's record in the place of the vote.

mod copy;
mod placing;
mod said;
mod twins;

pub use copy::State;
pub use placing::{MAX_PARTS, Placing, part_of};
pub use twins::{Call, Twins};
