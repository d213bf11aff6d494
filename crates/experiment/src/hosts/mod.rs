//! Hosts made here: network namespaces on one switch, with what lies between them.

mod delay_line;
mod fabric;
mod home;
mod network;

pub use fabric::{CARD, Fabric, MOST_HOSTS, address, host_name, remove, tag};
pub use home::{Home, clear};
pub use network::Network;
