//! Hosts made here: network namespaces on one switch, with what lies and goes wrong between them.
//!
//! A [`Fabric`] makes them as it is asked, for programs that find their own way; [`Hosts`] are
//! hosts of a fabric for agents. A [`Home`] clears away what processes that were killed have left.

mod delay_line;
mod fabric;
mod home;
mod network;
mod numbered;
mod relay;

pub use fabric::{CARD, Fabric, MOST_HOSTS, address, host_name, remove, tag};
pub use home::{Home, clear};
pub use network::Network;
pub use numbered::Hosts;
pub use relay::{Conduct, Passed, Relay};
