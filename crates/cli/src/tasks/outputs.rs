//! Outputs of tasks: as a whole where their worker has kept them, else the end of them.

use std::path::PathBuf;

use tidings_tasks::payloads::Payloads;
use tidings_tasks::store::address::Address;
use tidings_tasks::usual;
use tidings_tasks::work::{Output, Report};

use super::client::Place;
use super::failure::TasksError;
use super::kinds;
use crate::output;

/// Where a worker puts large outputs: where the blobs of the store lie; where the store is on
/// another host, here they are copies.
pub(super) fn folder(place: &Place) -> Option<PathBuf> {
    match &place.address {
        Address::Tcp(_) => Some(usual::cache()),
        _ => place.blobs.clone(),
    }
}

/// Writes what a task has written, to standard output and standard error.
pub(super) async fn write(report: &Report, payloads: &Payloads) -> Result<(), TasksError> {
    let note = |bytes: &[u8]| {
        output::note(bytes);
        Ok(())
    };
    pass(&report.stderr, payloads, note).await?;
    pass(&report.stdout, payloads, kinds::write_output).await
}

/// Passes on all of an output that can be had.
async fn pass(
    output: &Output,
    payloads: &Payloads,
    pass: impl Fn(&[u8]) -> Result<(), TasksError>,
) -> Result<(), TasksError> {
    let missing = output.bytes_total.saturating_sub(output.tail.len() as u64);
    if missing == 0 {
        return pass(&output.tail);
    }
    if let Some(handle) = output.blob {
        match payloads.get(handle).await {
            Ok(whole) => return pass(&whole),
            Err(error) => output::complain(&error.to_string()),
        }
    }
    output::complain(&format!("the first {missing} bytes of what a task wrote were not kept"));
    pass(&output.tail)
}
