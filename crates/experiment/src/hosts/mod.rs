//! Hosts made here: network namespaces on one switch, with what lies and goes wrong between them.
//!
//! A [`Fabric`] makes them as it is asked, for programs that find their own way; [`Hosts`] are
//! hosts of a fabric for agents. A [`Mesh`] has links of their own from host to host instead of a
//! switch, in a [`Shape`], which [`gauge`] compares with what was asked. A [`Home`] clears away
//! what processes that were killed have left.

mod cabling;
mod cards;
mod delay_line;
mod fabric;
mod gauge;
mod home;
mod mesh;
mod network;
mod numbered;
mod relay;
mod shape;
mod travelling;

pub use cards::Count;
pub use fabric::{CARD, Fabric, MOST_HOSTS, address, host_name, remove, tag};
pub use gauge::{Gauged, TOLERANCE, gauge};
pub use home::{Home, clear};
pub use mesh::Mesh;
pub use network::{Network, OwnLink};
pub use numbered::Hosts;
pub use relay::{Conduct, Passed, Relay};
pub use shape::{Cable, Shape};
