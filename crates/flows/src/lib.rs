//! A fluid model of messages on a machine's links: what an MPI machine does under load where there
//! are too many processes to simulate each packet, or each process.
//!
//! The intuition: a large message is a flow, and flows that meet on a link share it. Rates are
//! those of max-min fairness ([`links`]): no flow can have more without taking from one that has
//! less. They hold until a flow begins or ends; then those that it can have touched are computed
//! again ([`engine`]). Messages that all begin together are grouped first, by colours that no
//! exchange of two equal flows changes ([`symmetry`]), so that an exchange of half a million
//! messages takes as long as one of some thousands ([`phase`]).
//!
//! A [`machine`] has a [`shape`] with its routes, engines that inject and eject, a latency for each
//! link and a cost of receiving. On it run the tests of Balaji et al. (Toward Message Passing for a
//! Million Processes, 2009) that the model can answer: [`trial`]. Their rows are those that
//! `mpi/characterize` measures, with one sample each.
//!
//! Invariants: no link carries more than its capacity; every flow has a link that is full and on
//! which no flow of its weight has more; the order in which flows are named changes nothing.
//! Nothing here touches the machine that it runs on, or MPI.
//!
//! Sources: Bertsekas and Gallager, Data Networks, section 6.5.2 (progressive filling); Velho et
//! al., On the validity of flow-level TCP network models (2013), for the weights; the routes of
//! SimGrid 3.32.

#![forbid(unsafe_code)]

pub mod engine;
pub mod error;
pub mod grid;
pub mod links;
pub mod machine;
pub mod order;
pub mod own_link;
pub mod phase;
pub mod shape;
pub mod symmetry;
pub mod trial;
