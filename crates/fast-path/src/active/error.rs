//! What can go wrong with active messages, with what to do.

use std::io;
use std::net::SocketAddrV4;

use thiserror::Error;

use super::layout::{MOST_WORDS, SESSIONS};

/// The privileges that programs in the kernel take.
pub(super) const REMEDY: &str =
    "give CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW, and lift a lockdown of the kernel";

/// Why there is no responder, caller or arena, or a call has no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ActiveError {
    /// No responder has so many words.
    #[error("{words} words: take a power of two up to {MOST_WORDS}")]
    Words {
        /// How many were asked for.
        words: usize,
    },
    /// No arena has so many pages.
    #[error("an arena of {pages} pages: take 1 to {most}")]
    Pages {
        /// How many were asked for.
        pages: usize,
        /// How many it may have.
        most: usize,
    },
    /// The kernel refuses.
    #[error("{call}: {source}: {REMEDY}")]
    Kernel {
        /// What was asked of it.
        call: &'static str,
        /// What it says.
        source: io::Error,
    },
    /// There is no such interface.
    #[error("interface {interface}: {source}: name one that `ip link` shows")]
    Interface {
        /// Its name.
        interface: String,
        /// What the system says.
        source: io::Error,
    },
    /// The address cannot be had.
    #[error("{address}: {source}: name an address of this host and a port that is free")]
    Address {
        /// Which.
        address: SocketAddrV4,
        /// What the system says.
        source: io::Error,
    },
    /// There is no thread for it.
    #[error("no thread for a responder: {source}: raise the limit of threads (ulimit -u)")]
    Thread {
        /// What the system says.
        source: io::Error,
    },
    /// All sessions are open.
    #[error("this responder has {SESSIONS} sessions: close some, or start another one")]
    TooManySessions,
    /// Too many messages are on their way.
    #[error("64 messages are on their way: take their answers first")]
    Full,
    /// The message was refused.
    #[error("message {sequence} was refused: it names words that the responder has not")]
    Refused {
        /// Which.
        sequence: u64,
    },
    /// No answer comes.
    #[error(
        "no answer from {address}, asked {tries} times: see that the responder runs and that the \
         way to it is open"
    )]
    Silent {
        /// Who was asked.
        address: SocketAddrV4,
        /// How often.
        tries: u32,
    },
    /// A message cannot be sent or an answer not be received.
    #[error("{call}: {source}")]
    System {
        /// The system call.
        call: &'static str,
        /// What it says.
        source: io::Error,
    },
}
