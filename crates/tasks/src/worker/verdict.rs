//! Verdicts: what is reported to a coordinator about a try that has ended.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use tidings_tasks_core::message::{Effect, Put, Submission};
use tidings_tasks_core::record::MAX_FAILURE_BYTES;
use tidings_tasks_core::retry::Cause;

use crate::payloads::PayloadError;
use crate::work::{Output, Report, WorkLimits};

use super::ending::{Order, Why};
use super::room::Short;

/// How a try has ended.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Why it has failed, and in words; none: it is done.
    pub(super) failure: Option<(Cause, String)>,
    /// What a program reads of a failure.
    pub(super) detail: Vec<u8>,
    /// None if nothing could be started.
    pub(super) report: Option<Box<Report>>,
    pub(super) children: Vec<Submission>,
    pub(super) effects: Vec<Effect>,
    pub(super) puts: Vec<Put>,
    /// Its host has no room for it: others are to do it.
    pub(super) short: Option<Short>,
}

impl Verdict {
    /// It has failed before anything was started.
    pub(super) fn failed(cause: Cause, text: impl Into<String>) -> Self {
        Self { failure: Some((cause, text.into())), ..Self::default() }
    }

    /// The same, unless it is done and its host has no room for what it has printed.
    pub(super) fn unless(self, short: Option<Short>) -> Self {
        match short {
            Some(short) if self.failure.is_none() => Self::no_room(short),
            _ => self,
        }
    }

    /// It is given back, since its host has no room for it.
    pub(super) fn no_room(short: Short) -> Self {
        Self { short: Some(short.clone()), ..Self::failed(Cause::Returned, short.text) }
    }
}

/// The verdict where a folder of the host is full, if this is why something was not written there:
/// it is given back. Else that of another fault of the host.
pub(super) fn not_written(folder: &Path, error: &io::Error) -> Verdict {
    match Short::of_file(folder, 0, error) {
        Some(short) => Verdict::no_room(short),
        None => host_fault(error),
    }
}

/// The verdict where a payload cannot be had.
pub(super) fn not_read(error: &PayloadError, text: String) -> Verdict {
    match Short::of_payload(error, 0) {
        Some(short) => Verdict::no_room(short),
        None => Verdict::failed(Cause::Error, text),
    }
}

/// The verdict where the host is at fault: another may do it.
pub(super) fn host_fault(error: &io::Error) -> Verdict {
    Verdict::failed(Cause::Lost, format!("the host could not run a process: {error}"))
}

/// The exit status, or minus the signal.
pub(super) fn number(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(-1)
}

/// Why a try has failed, and in a sentence; none if its status says that it is done.
pub(super) fn failure(
    why: Option<Why>,
    was_out_of_memory: bool,
    status: ExitStatus,
    limits: WorkLimits,
) -> Option<(Cause, String)> {
    let limit = limits.memory_bytes;
    Some(match (why, status.signal()) {
        (Some(why), _) => ended(why, limits),
        (None, Some(_)) if was_out_of_memory && limit > 0 => {
            let text = format!("it needed more memory than the {limit} bytes that it may have");
            (Cause::Memory, text)
        }
        (None, Some(_)) if was_out_of_memory => {
            (Cause::Memory, "the host had no memory left for it; give it a limit".to_owned())
        }
        (None, Some(signal)) => (Cause::Signal, format!("signal {signal} ended it")),
        (None, None) if status.success() => return None,
        (None, None) => (Cause::Exit, format!("it ended with status {}", number(status))),
    })
}

/// What is said of a try that its worker has ended.
pub(super) fn ended(why: Why, limits: WorkLimits) -> (Cause, String) {
    match why {
        Why::Time => (Cause::Time, format!("it took longer than {} ms", limits.time_ms)),
        Why::Memory(bytes) => {
            let limit = limits.memory_bytes;
            (Cause::Memory, format!("it had {bytes} bytes of memory; {limit} is its limit"))
        }
        Why::Room => (Cause::Returned, "its host has no room for what it prints".to_owned()),
        Why::Order(Order::Stop) => (Cause::Returned, "it was no longer wanted".to_owned()),
        Why::Order(_) => (Cause::Returned, "its worker gave it back".to_owned()),
    }
}

/// A sentence with the last of what the process has written, within what a record keeps.
pub(super) fn with_log(sentence: &str, report: &Report) -> String {
    let has_errors = report.stderr.bytes_total > 0;
    let (name, output) =
        if has_errors { ("error", &report.stderr) } else { ("output", &report.stdout) };
    if output.bytes_total == 0 {
        return sentence.to_owned();
    }
    let whole = output.blob.map(|blob| format!("; all of it: {blob}")).unwrap_or_default();
    let mut text = format!("{sentence}; the last of its standard {name}{whole}:\n");
    let room = MAX_FAILURE_BYTES.saturating_sub(text.len());
    text.push_str(last(output, room).trim_end());
    text
}

/// The end of a text, which says most of an error, within what a record keeps.
pub(super) fn end_of(text: &str) -> String {
    if text.len() <= MAX_FAILURE_BYTES {
        return text.to_owned();
    }
    let sign = "...";
    format!("{sign}{}", suffix(text, MAX_FAILURE_BYTES - sign.len()))
}

/// The end of a text, at most so many bytes.
fn suffix(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The last lines of an output that fit.
fn last(output: &Output, bytes: usize) -> String {
    let all = String::from_utf8_lossy(&output.tail);
    let rest = suffix(&all, bytes);
    let is_cut = rest.len() < all.len() || output.bytes_total > output.tail.len() as u64;
    match rest.split_once('\n') {
        // Half a line says little; but it may be the only one.
        Some((_, whole)) if is_cut && !whole.trim().is_empty() => whole.to_owned(),
        _ => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(raw: i32) -> ExitStatus {
        ExitStatus::from_raw(raw)
    }

    fn cause(why: Option<Why>, was_out_of_memory: bool, raw: i32) -> Option<Cause> {
        let limits = WorkLimits::default();
        failure(why, was_out_of_memory, status(raw), limits).map(|(cause, _)| cause)
    }

    #[test]
    fn a_cause_is_what_happened_first() {
        assert_eq!(cause(None, false, 0), None);
        assert_eq!(cause(None, false, 3 << 8), Some(Cause::Exit));
        assert_eq!(cause(None, false, 11), Some(Cause::Signal));
        assert_eq!(cause(None, true, 9), Some(Cause::Memory));
        // A program that has seen a child of it killed, and says so.
        assert_eq!(cause(None, true, 1 << 8), Some(Cause::Exit));
        assert_eq!(cause(Some(Why::Time), false, 0), Some(Cause::Time));
        assert_eq!(cause(Some(Why::Order(Order::Stop)), true, 9), Some(Cause::Returned));
        assert_eq!([number(status(3 << 8)), number(status(9))], [3, -9]);
    }

    #[test]
    fn the_log_is_cut_to_whole_lines() {
        let tail = "é line\n".repeat(700).into_bytes();
        let bytes_total = tail.len() as u64;
        let stderr = Output { bytes_total, tail, blob: None };
        let report = Report { stderr, ..Report::default() };
        let text = with_log("it ended with status 3", &report);
        assert!(text.len() <= MAX_FAILURE_BYTES && text.len() > MAX_FAILURE_BYTES - 64);
        let mut lines = text.lines();
        let first = "it ended with status 3; the last of its standard error:";
        assert_eq!(lines.next(), Some(first));
        assert!(lines.all(|line| line == "é line"), "{text}");
    }

    #[test]
    fn of_a_long_text_the_end_is_kept() {
        assert_eq!(end_of("short"), "short");
        let text = end_of(&"é".repeat(5_000));
        assert!(text.len() <= MAX_FAILURE_BYTES && text.starts_with("...é"), "{text}");
    }

    #[test]
    fn one_long_line_is_better_than_none() {
        let tail = vec![b'x'; 6_000];
        let stdout = Output { bytes_total: 9_000, tail, blob: None };
        let report = Report { stdout, ..Report::default() };
        let text = with_log("signal 9 ended it", &report);
        assert!(text.contains("standard output") && text.ends_with("xxx"), "{text}");
        assert_eq!(with_log("signal 9 ended it", &Report::default()), "signal 9 ended it");
    }
}
