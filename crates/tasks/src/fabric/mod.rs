//! Fabrics: the memory of another host, read by its card.
//!
//! libfabric reaches cards that read the memory of other hosts without help of their processors
//! (RDMA). Where a process has one, and the cluster says that its fabric is trusted
//! ([`FABRIC`]), large blobs are read so: the owner registers the blob and says over the sealed
//! connection where it lies, and the reader reads it into a file of its own, whose hash is checked,
//! since nothing is sealed. In all other cases the connection carries the blob.
//!
//! | module | what it holds |
//! |---|---|
//! | `setting` | whether and what is trusted |
//! | `library` | libfabric, loaded at run time |
//! | `abi` | its structures |
//! | `endpoint` | what a process has of it; regions that others read |
//! | `reading` | reads a region of another |
//!
//! Why so: docs/decisions/0049-bulk-and-one-sided.md.
//!
//! Source: libfabric, <https://ofiwg.github.io/libfabric>.

#![expect(unsafe_code, reason = "libfabric is a library in C, called through tables of functions")]

mod abi;
mod endpoint;
mod library;
mod reading;
mod setting;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

pub(crate) use endpoint::{Fabric, FabricError, Place};
pub use setting::FABRIC;

/// The endpoint of this process, made when it is first asked for; none if the environment does not
/// say that the fabric is trusted, or no provider fits.
pub(crate) fn of_process() -> Option<Arc<Fabric>> {
    static OPENED: OnceLock<Option<Arc<Fabric>>> = OnceLock::new();
    let opened = OPENED.get_or_init(|| {
        let text = std::env::var(FABRIC).ok().filter(|text| !text.is_empty())?;
        let opened = text.parse().map_err(|error: setting::SettingError| error.to_string());
        let opened =
            opened.and_then(|trusted| Fabric::open(&trusted).map_err(|error| error.to_string()));
        // Whoever has set it wants to know; everything works without.
        opened.map_err(|why| eprintln!("tidings: blobs go over TCP: {why}")).ok()
    });
    opened.clone().filter(|fabric| fabric.is_well())
}
