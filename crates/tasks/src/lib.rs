//! Durable tasks: the rules of `tidings-tasks-core` with stores, clocks and connections.
//!
//! | module | what it holds |
//! |---|---|
//! | [`blocks`] | building blocks of this process and others: ids, who takes part, connections |
//! | [`blobs`] | what is too large for a record, by the hash of its bytes |
//! | [`keeper`] | frees blobs that no task names any more |
//! | [`depot`] | the same in the folder of a node |
//! | [`inspect`] | what lies in a store that nobody holds, whether it fits together, and as one file |
//! | [`store`] | where tasks lie: one trait, engines in memory, in a file and in an etcd |
//! | [`service`] | a coordinator with a clock, a store and connections |
//! | [`socket`] | the service for other processes of the machine |
//! | [`stream`] | requests and messages over any stream of bytes |
//! | [`member`] | the processes that use one store: one holds it, another takes over |
//! | [`net`] | the service for processes of other hosts |
//! | [`standby`] | the processes that share a store: one coordinates, another takes over |
//! | [`parts`] | how many parts a store has, each with a coordinator of its own |
//! | [`payloads`] | payloads and results of any length |
//! | [`client`] | what a program that uses a store has of it |
//! | [`handles`] | large blobs that stay in the memory of the node that puts them |
//! | [`fabric`] | cards that read the memory of other hosts, by libfabric |
//! | [`holds`] | the tasks that a process has submitted, and whose records it needs still |
//! | [`inputs`] | what tasks have come to that another one waits for |
//! | [`value`] | values that are written once and read by many |
//! | [`collection`] | results that are combined along a tree |
//! | [`space`] | tuples that processes put, read and pull |
//! | [`flow`] | computations that are declared by what their tasks read, move on and change |
//! | [`queue`] | queues of data for programs in Rust: put, claim, complete |
//! | [`semaphore`] | counting semaphores for programs in Rust: permits that cannot leak |
//! | [`items`] | tasks that carry data for programs that claim them |
//! | [`replies`] | answers about many tasks, in one queue |
//! | [`session`] | a worker's or client's side, which outlives connections and coordinators |
//! | [`worker`] | what takes tasks and does them in processes |
//! | [`work`] | what a payload says is to be done, and the report that is its result |
//! | [`runtime`] | what a worker and a process that calls functions say to each other |
//! | [`usual`] | the store and cluster that are used where nothing is said |

// One file maps blobs, one starts processes, one folder calls libfabric: each says why it may.
#![deny(unsafe_code)]

pub mod blobs;
pub mod blocks;
mod changes;
pub mod client;
pub mod collection;
mod copying;
pub mod depot;
pub mod fabric;
pub mod flow;
mod frame;
pub mod handles;
pub mod holds;
pub mod inputs;
pub mod inspect;
pub mod items;
pub mod keeper;
pub mod member;
pub mod net;
pub mod parts;
pub mod payloads;
mod placement;
pub mod queue;
mod renewal;
mod replicas;
pub mod replies;
pub mod runtime;
pub mod semaphore;
pub mod service;
pub mod session;
pub mod socket;
pub mod space;
pub mod spawn;
pub mod standby;
pub mod store;
pub mod stream;
pub mod usual;
pub mod value;
pub mod work;
pub mod worker;
