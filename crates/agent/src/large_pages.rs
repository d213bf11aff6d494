//! The vector and the board on pages of 2 MiB, if the configuration says so.
//!
//! Done before the agent sends anything, by its own thread, so that no page is provided in a round;
//! and again for each board. It is never a condition: the log says what the kernel gave.

use std::io;

use tidings_board::Writer;
use tidings_gossip::Node;
use tidings_pages::Report;
use tracing::{info, warn};

/// Puts the arrays of a node's vector on large pages.
pub(crate) fn put_vector(node: &Node) {
    let arrays = node.extents().map(|extent| tidings_pages::enlarge(&extent));
    let total = arrays.into_iter().try_fold(Report::default(), |total, array| {
        let array = array?;
        Ok(Report {
            resident_kib: total.resident_kib + array.resident_kib,
            large_kib: total.large_kib + array.large_kib,
        })
    });
    tell("the vector", total);
}

/// Puts a board on large pages.
pub(crate) fn put_board(writer: &Writer) {
    tell("the board", writer.enlarge_pages());
}

fn tell(what: &str, given: io::Result<Report>) {
    match given {
        Ok(Report { resident_kib: 0, .. }) => {
            info!("large_pages: {what} fills no page of 2 MiB, and stays on small ones");
        }
        Ok(Report { resident_kib, large_kib }) => {
            info!(resident_kib, large_kib, "large_pages: {what}");
        }
        Err(error) => warn!(%error, "large_pages: {what} stays on the pages it has"),
    }
}
