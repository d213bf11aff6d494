//! Descriptors that the thread waits for while it sleeps.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A type that owns one descriptor from beginning to end, and never exchanges it.
pub(crate) trait Owner: AsRawFd {}

impl Owner for OwnedFd {}
impl Owner for UdpSocket {}

/// Makes the runtime around it wait for `owner`, only for `interest`.
///
/// # Errors
/// When the system refuses.
#[allow(unsafe_code, reason = "the safe way to do the same is deprecated as unsound")]
pub(crate) fn watch<T: Owner>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: an `Owner` keeps its descriptor open for as long as it lives, and the same one; the
    // `AsyncFd` takes it, and nothing here exchanges it.
    let watched = unsafe { AsyncFd::register_with_interest(owner, interest) };
    Ok(watched?)
}
