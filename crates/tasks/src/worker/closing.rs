//! Closing: what is left of a process that has ended, and the report on it.

use std::io;
use std::process::ExitStatus;

use crate::work::Report;

use super::process::Process;
use super::room::Short;
use super::shared::{Shared, Try};
use super::verdict;

/// What is known of a process that has ended.
pub(super) struct Closed {
    pub(super) report: Report,
    pub(super) status: ExitStatus,
    pub(super) was_out_of_memory: bool,
    /// There was no room for what it has printed.
    pub(super) short: Option<Short>,
}

/// Ends what is left of a process and its group, and reads the rest of what they have written.
///
/// # Errors
/// Something else has waited for it; how it ended is unknown.
pub(super) async fn close(shared: &Shared, of: &Try, process: Process) -> io::Result<Closed> {
    let Process { leader, mut streams, .. } = process;
    let ended = leader.reap()?;
    streams.finish().await;
    let printed = (streams.stdout.split(), streams.stderr.split());
    let (stdout, stderr, short) = shared.outputs(printed, of).await;
    let report = Report {
        status: verdict::number(ended.reaped.status),
        cpu_us: ended.reaped.cpu_us,
        max_rss_bytes: ended.reaped.max_rss_bytes,
        host: shared.settings.host.clone(),
        stdout,
        stderr,
        ..Report::default()
    };
    let was_out_of_memory = ended.was_out_of_memory;
    Ok(Closed { report, status: ended.reaped.status, was_out_of_memory, short })
}
