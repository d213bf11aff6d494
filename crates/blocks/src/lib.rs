//! Building blocks: objects of a cluster with a representative where they are used.
//!
//! A *block* has one id in the whole cluster and no home. Each process that uses it makes a
//! *representative* on first use, and so does each core, where a block wants that. A call is always
//! local: it goes to the representative here, and what representatives say to each other is their
//! own business. So a block looks the same from everywhere, and what is behind it may differ from
//! node to node.
//!
//! | module | what it holds |
//! |---|---|
//! | [`id`] | numbers of blocks, and of the processes that take part |
//! | [`record`] | what the store has of blocks and of who takes part, as transactions |
//! | [`view`] | who takes part: numbered, the same for all |
//! | [`block`] | what the author of a block writes: its interface and its handler |
//! | [`reference`](mod@reference) | the way to a representative: one load and one branch |
//! | [`table`] | from ids to representatives, and the kinds of blocks that a program knows |
//! | [`host`] | the process: passes messages and changes of the view to handlers |
//! | [`envelope`] | messages on their way from one process to another |
//! | [`line`](mod@line) | each message once and in order, over connections that break |
//! | [`reply`] | an answer that comes later |
//! | [`seat`], [`cores`] | the core on which a thread counts, and representatives for each |
//! | [`counter`], [`histogram`] | blocks with a representative a core; [`tally`] collects them |
//! | [`map`], [`log`] | blocks whose content two processes have: the [`pair`] of each part |
//! | [`store`] | a store for tasks in the memory of its processes |
//!
//! **Handlers run to completion.** Messages, calls that cannot be answered at once, and changes of
//! the view are passed to a handler one at a time, by one thread. A handler never waits, so it
//! needs no lock. What is called from many threads at a time is the interface, and that has no lock
//! either: it is read, counts on its own core, or posts a call to the handler.
//!
//! Nothing in here has a clock, a socket or a thread: a driver (`tidings_tasks::blocks`) passes
//! things in and out, and so does a test with a seed.
//!
//! Source: EbbRT (Schatzberg et al., OSDI 2016; FOX final report, section 3.2).

#![forbid(unsafe_code)]

pub mod block;
pub mod cores;
pub mod counter;
pub mod envelope;
pub mod histogram;
pub mod host;
pub mod id;
pub mod line;
pub mod log;
pub mod map;
pub mod pair;
pub mod record;
pub mod reference;
pub mod reply;
pub mod seat;
pub mod store;
pub mod table;
pub mod tally;
pub mod view;

pub use block::{Block, Handler, Here, Outbox};
pub use id::{BlockId, Node};
pub use reference::Ref;
pub use reply::{Asker, Reply, Unanswered};
pub use view::View;
