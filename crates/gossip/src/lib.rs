//! The gossip core of Tidings: one state machine, [`Node`], without clock, socket or thread.
//!
//! Each node of a cluster holds a *vector*, one aged entry a node, and each unit of time sends its
//! newest entries to another node. Time, datagrams and a seed go in; datagrams, timeouts and events
//! come out. The same code runs in the agent, over MPI and in the simulator.
//!
//! ```toml
//! [dependencies]
//! tidings-gossip = "0.1"
//! ```
//!
//! Two nodes, with a loop in place of a network and of a clock. The second one learns what the
//! first one says of itself, and how old that is:
//!
//! ```
//! use tidings_gossip::{Address, Config, Incarnation, Instant, KeyRing, Member, Node};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::default();
//! let address = |number: u8| Address::from_bytes(&[number]).expect("there is room for 18 bytes");
//! let member = |number: u8| Member { name: format!("n{number}"), address: address(number) };
//! let roster = [member(0), member(1)];
//! let begin = |number: u8| {
//!     let (keys, life, seed) = (KeyRing::open("tidings"), Incarnation::new(1), number.into());
//!     Node::new(config.clone(), keys, member(number), &roster, life, seed, Instant::EPOCH)
//! };
//! let mut nodes = [begin(0)?, begin(1)?];
//! nodes[0].publish(b"half busy")?;
//!
//! let (mut now, mut buffer) = (Instant::EPOCH, [0; 1452]);
//! while nodes[1].entry("n0", now).is_none_or(|entry| !entry.payload.starts_with(b"half busy")) {
//!     now = nodes[0].poll_timeout().min(nodes[1].poll_timeout());
//!     for at in [0, 1] {
//!         if now >= nodes[at].poll_timeout() {
//!             nodes[at].handle_timeout(now);
//!         }
//!         while let Some(sent) = nodes[at].poll_transmit(now, &mut buffer) {
//!             for datagram in buffer[..sent.bytes].chunks_mut(sent.segment_bytes) {
//!                 nodes[1 - at].handle_datagram(now, address(at as u8), datagram);
//!             }
//!         }
//!     }
//! }
//! let entry = nodes[1].entry("n0", now).expect("it is on the roster");
//! println!("{} said so {:?} ago", entry.name, entry.age);
//! # Ok(())
//! # }
//! ```
//!
//! A driver for UDP is `examples/udp.rs`; what else a driver does is in docs/guides/embedding.md.
//!
//! | module | what it holds |
//! |---|---|
//! | [`node`] | the state machine and the contract with its driver |
//! | [`vector`], [`vector::merge`], `calendar` | entries, how they are taken in, their order by age |
//! | [`entry`], [`age`] | what identifies and orders news |
//! | [`dissemination`], [`urgent`], `catch_up` | whom to send to, what first, when to ask |
//! | [`detector`] | who has fallen silent, and whether it is dead |
//! | `membership`, [`roster`], [`address`], `share` | who belongs, where, and what each may ask |
//! | [`wire`], [`quantity`] | datagrams, keys, numbers in two bytes |
//! | [`payload`] | what the agent's entries say |
//! | [`delta`] | entries as changes by bases |
//! | [`signed`], [`signature`] | what one node alone can have said |
//! | [`aggregate`], [`colony`] | what a whole colony is like, and how others receive it |
//! | [`model`] | how fresh a cluster will be, at what cost, without simulating it |
//! | [`config`], `memory`, [`error`], [`event`], [`counters`] | what goes in and what is reported |
//!
//! The protocol is fixed byte for byte in docs/protocol.md. Source of the algorithm: Levy, Barak,
//! Shiloh, Lieber, Weinhold, Härtig, "Overhead of a decentralized gossip algorithm on the
//! performance of HPC applications", ROSS'14; Amar, Barak, Drezner, Okun, CC:PE 21, 2009.

#![forbid(unsafe_code)]

pub mod address;
pub mod age;
mod age_keeper;
pub mod aggregate;
mod base;
mod calendar;
mod catch_up;
mod changes;
pub mod colony;
pub mod config;
pub mod counters;
pub mod delta;
pub mod detector;
pub mod dissemination;
pub mod entry;
mod entry_cost;
pub mod error;
pub mod event;
mod id_table;
mod membership;
mod memory;
pub mod mismatch;
pub mod model;
pub mod node;
pub mod payload;
pub mod quantity;
pub mod roster;
mod share;
pub mod signature;
pub mod signed;
pub mod urgent;
pub mod vector;
pub mod view;
pub mod wire;

pub use tidings_primitives::seal::{Fingerprint, Key, KeyError, KeyRing};
pub use tidings_primitives::time::{self, Instant};

pub use address::Address;
pub use age::Ages;
pub use aggregate::Aggregate;
pub use colony::{ColonyConfig, ColonyId};
pub use config::{AgeTarget, Capacity, Config, Window};
pub use counters::Counters;
pub use dissemination::Strategy;
pub use entry::{EntryState, Incarnation, NodeId, Stamp};
pub use error::{ConfigError, ParseError, PayloadTooLong};
pub use event::Event;
pub use membership::Member;
pub use mismatch::Mismatch;
pub use node::{Change, Checker, Heard, Node, Transmit, VersionsHeard};
pub use signature::{PublicKey, SignatureError, Signer};
pub use signed::{Identities, IdentitiesError};
pub use vector::merge;
pub use view::EntryView;
