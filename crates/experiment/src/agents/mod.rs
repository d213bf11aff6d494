//! Real agents: processes on this machine ([`Cluster`]) or on hosts of their own ([`Site`]), who
//! knew when of a kill ([`Vigil`]), and how old news are on their boards ([`Boards`]).
//!
//! A measurement with agents that do not start is none: what fails here panics and says why.

mod ages;
mod cluster;
mod kills;
mod site;

pub use ages::{Boards, Look};
pub use cluster::{Agent, Cluster, programs};
pub use kills::{Kill, Vigil, median};
pub use site::{KEY, Site, name};
