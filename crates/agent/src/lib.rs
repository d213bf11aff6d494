//! The agent: one unprivileged process per node that drives the gossip core over UDP.
//!
//! No protocol logic is here. The agent gives the core a clock, a socket, entropy and readings of
//! the machine, and gives users a configuration, logs, a control socket and pages for programs.
//!
//! | module | what it does |
//! |---|---|
//! | `start`, `check`, `identity` | from the command line to a running agent, or to a clear message |
//! | [`config`], `prepare`, `resolve` | settings, the files they name, host names |
//! | `driver`, [`Endpoint`] | the loop that owns the node, and its part that gossips |
//! | `socket`, `clock`, `timer`, `watched` | UDP, time, and how the thread waits for both |
//! | `incarnation`, `home` | restarts, the runtime directory |
//! | [`collect`], `user_metrics` | this node's payload |
//! | `checkup`, `survey` | what lies between this node and another; which keys all hold |
//! | `question`, `control`, `http`, `metrics` | its answers to programs on the machine |
//! | `page` | its page for a browser |
//! | `logging`, `notify`, `process`, `processor` | log lines, readiness, own cost and cores |
//!
//! One thread does everything. Connections ask the loop through one bounded queue; nothing is
//! shared.

mod asked;
mod board;
mod check;
mod checkup;
mod clock;
pub mod collect;
pub mod config;
mod control;
mod driver;
mod endpoint;
mod gather;
mod home;
mod http;
mod identity;
mod incarnation;
mod large_pages;
mod logging;
mod memory;
mod metrics;
mod node_metrics;
mod notices;
mod notify;
mod page;
mod prepare;
mod process;
mod processor;
mod question;
mod refusals;
mod reply;
mod resolve;
mod scrape;
mod socket;
mod start;
mod survey;
mod timer;
mod token;
mod user_metrics;
mod watched;

pub use clock::Clock;
pub use endpoint::Endpoint;
pub use gather::Device;
pub use identity::StartError;
pub use processor::ProcessorError;
pub use socket::{BindError, DatagramSocket, KernelBuffers};
pub use start::run;
pub use token::TokenError;
