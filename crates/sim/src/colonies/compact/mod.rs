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
//!
//! With `death_after` members find out who has died, with the core's own detector (`watch.rs`): a
//! negative birth is a tombstone's (`lives.rs`). Tombstones travel in reports, with pushes and
//! strays in which they are urgent, and in answers; not otherwise among the newest entries of a
//! stray. No host refuses a probe: who has crashed is silent. The window stays what it is with all
//! members, as where it is smaller than a colony.

mod calls;
mod contacts;
mod lives;
mod looks;
mod probes;
mod pulls;
mod run;
mod take;
mod wake;
mod watch;

pub(super) use run::CompactColony;
