//! One colony in rows of births: the rules of strategy `grid` and of calls, without datagrams.
//!
//! A member's row holds the birth of each member's entry it knows, and the birth of each other
//! colony's aggregate. Layout, pace and representation are the core's own. Other colonies are here
//! as far as they matter: whether a node that is called is up, and which nodes it would name.
//!
//! Where it differs from the full mode: messages arrive at once; ages are exact; all aggregates are
//! of one size; an answer is lost as a whole; the members that a reply names are drawn among those
//! that were up recently, whichever answers; and a reply's bytes are counted in the caller's
//! colony.

mod calls;
mod contacts;
mod pulls;
mod run;
mod wake;

pub(super) use run::CompactColony;
