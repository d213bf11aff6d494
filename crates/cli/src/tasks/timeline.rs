//! A time line of tasks, in the JSON of Chrome's trace viewer, which Perfetto reads.
//!
//! A host is a process of the trace, a place of one of its workers a thread, and a try a slice of
//! that: from its assignment to its end, as the coordinator has seen them, so all times are of one
//! clock. The tries of a place follow each other, as the format wants it. A try that runs begins a
//! slice without an end.
//!
//! Events are written as they are added; what is kept is a number for each host and place.
//!
//! Source: the "Trace Event Format" of the Chromium project, of which these are the events M, X
//! and B.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::record::{Running, State};
use tidings_tasks_core::view::{Shown, TryView};

use super::kinds;

/// Microseconds, in which the format counts.
const US_PER_MS: u64 = 1_000;

/// A time line that is being written.
pub(super) struct Timeline<W: Write> {
    to: W,
    hosts: BTreeMap<String, Host>,
    /// Processes and threads have numbers of one row: none is used twice.
    last_number: u64,
    events: u64,
    summary: Summary,
}

/// What a time line has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Summary {
    /// Slices.
    pub(super) tries: u64,
    /// Processes.
    pub(super) hosts: u64,
    /// Tries of which the records say nothing, since a task has had too many.
    pub(super) unkept: u64,
}

struct Host {
    number: u64,
    places: BTreeMap<(String, u32), u64>,
}

/// An event of the format.
#[derive(Serialize)]
struct Event<'e, A: Serialize> {
    name: &'e str,
    ph: &'static str,
    pid: u64,
    tid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'e str>,
    args: A,
}

/// What a metadata event says.
#[derive(Serialize)]
struct Meta<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort_index: Option<u32>,
}

/// What is said of a try.
#[derive(Serialize)]
struct About<'t> {
    task: String,
    attempt: u32,
    queue: &'t str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'t str,
}

impl<W: Write> Timeline<W> {
    pub(super) fn begin(mut to: W) -> io::Result<Self> {
        to.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        let (hosts, summary) = (BTreeMap::new(), Summary::default());
        Ok(Self { to, hosts, last_number: 0, events: 0, summary })
    }

    /// Writes the tries of a task.
    pub(super) fn add(&mut self, id: TaskId, shown: &Shown) -> io::Result<()> {
        let (task, label) = (shown.task(), kinds::label(shown));
        let mut kept = task.failures.len() as u64;
        for failure in &task.failures {
            self.ended(&label, &TryView::failed(id, task, failure))?;
        }
        match shown {
            Shown::Finished(finished) => {
                if let Some(done) = TryView::done(id, finished) {
                    self.ended(&label, &done)?;
                    kept += 1;
                }
            }
            Shown::Live(live) => {
                if let State::Running(by) = &live.state {
                    let (attempt, queue) = (live.attempt.0, live.queue.as_str());
                    let task = id.to_string();
                    let about = About { task, attempt, queue, outcome: "running", text: "" };
                    self.slice(&label, by, None, about)?;
                    kept += 1;
                }
            }
        }
        self.summary.unkept += u64::from(task.attempt.0).saturating_sub(kept);
        Ok(())
    }

    /// Writes the end of the file.
    pub(super) fn end(mut self) -> io::Result<Summary> {
        self.to.write_all(b"\n]}\n")?;
        self.to.flush()?;
        Ok(Summary { hosts: self.hosts.len() as u64, ..self.summary })
    }

    fn ended(&mut self, label: &str, one: &TryView) -> io::Result<()> {
        let outcome = one.cause.map_or("done", kinds::cause);
        let label = match one.cause {
            Some(_) => format!("{label}: {outcome}"),
            None => label.to_owned(),
        };
        let about = About {
            task: one.task.to_string(),
            attempt: one.attempt.0,
            queue: &one.queue,
            outcome,
            text: &one.text,
        };
        let dur_ms = one.ended_ms.saturating_sub(one.by.since_ms);
        self.slice(&label, &one.by, Some(dur_ms), about)
    }

    fn slice(
        &mut self,
        label: &str,
        by: &Running,
        dur_ms: Option<u64>,
        args: About<'_>,
    ) -> io::Result<()> {
        let (pid, tid) = self.track(by)?;
        self.summary.tries += 1;
        self.write(&Event {
            name: label,
            ph: if dur_ms.is_some() { "X" } else { "B" },
            pid,
            tid,
            ts: Some(by.since_ms.saturating_mul(US_PER_MS)),
            dur: dur_ms.map(|ms| ms.saturating_mul(US_PER_MS)),
            cat: Some(args.queue),
            args,
        })
    }

    /// The process and thread of a try, which are named when they are first met.
    fn track(&mut self, by: &Running) -> io::Result<(u64, u64)> {
        let place = (by.worker.clone(), by.slot);
        let known = self.hosts.get(&by.host).map(|host| (host.number, host.places.get(&place)));
        let pid = match known {
            Some((pid, Some(tid))) => return Ok((pid, *tid)),
            Some((pid, None)) => pid,
            None => {
                let pid = self.next_number();
                self.name("process_name", (pid, pid), &by.host)?;
                let host = Host { number: pid, places: BTreeMap::new() };
                self.hosts.insert(by.host.clone(), host);
                pid
            }
        };
        let tid = self.next_number();
        self.name("thread_name", (pid, tid), &format!("{} slot {}", by.worker, by.slot))?;
        let args = Meta { name: None, sort_index: Some(by.slot) };
        self.meta("thread_sort_index", (pid, tid), args)?;
        if let Some(host) = self.hosts.get_mut(&by.host) {
            host.places.insert(place, tid);
        }
        Ok((pid, tid))
    }

    fn name(&mut self, event: &str, of: (u64, u64), name: &str) -> io::Result<()> {
        self.meta(event, of, Meta { name: Some(name), sort_index: None })
    }

    fn meta(&mut self, event: &str, (pid, tid): (u64, u64), args: Meta<'_>) -> io::Result<()> {
        self.write(&Event { name: event, ph: "M", pid, tid, ts: None, dur: None, cat: None, args })
    }

    fn write(&mut self, event: &Event<'_, impl Serialize>) -> io::Result<()> {
        self.to.write_all(if self.events == 0 { b"\n" } else { b",\n" })?;
        self.events += 1;
        serde_json::to_writer(&mut self.to, event).map_err(io::Error::from)
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks::work::{Report, Work};
    use tidings_tasks_core::id::Attempt;
    use tidings_tasks_core::record::{Failure, Finished, Outcome, Task};
    use tidings_tasks_core::resources::Need;
    use tidings_tasks_core::retry::{Cause, Retry, Tally};

    use super::*;

    fn by(host: &str, slot: u32, since_ms: u64) -> Running {
        Running { worker: format!("worker-{host}"), host: host.to_owned(), since_ms, slot }
    }

    fn task(attempt: u32, state: State) -> Task {
        Task {
            queue: "jobs".to_owned(),
            group: String::new(),
            priority: 0,
            sequence: 1,
            payload: Work::command("sim", vec!["./sim".to_owned()]).to_payload(),
            retry: Retry::default(),
            attempt: Attempt(attempt),
            state,
            failures: Vec::new(),
            cancelled: false,
            submitted_ms: 900,
            tally: Tally::default(),
            need: Need::default(),
            filter: String::new(),
            inputs: Vec::new(),
            copies: 0,
            made: 0,
        }
    }

    fn failure(attempt: u32, cause: Cause, by: Running, at_ms: u64) -> Failure {
        let Running { worker, host, since_ms, slot } = by;
        let text = "it was \"silent\"\n".to_owned();
        let (attempt, detail) = (Attempt(attempt), Vec::new());
        Failure { attempt, cause, text, host, at_ms, since_ms, worker, slot, detail }
    }

    /// One task that was lost and then done, one that runs, one whose record has lost a try, one
    /// that waits.
    fn written() -> (String, Summary) {
        let mut bytes = Vec::new();
        let mut timeline = Timeline::begin(&mut bytes).unwrap();
        let mut lost = task(2, State::Ready);
        lost.failures.push(failure(1, Cause::Lost, by("n1", 0, 1_000), 1_250));
        lost.payload.clear();
        let report = Report { name: "sim".to_owned(), ..Report::default() };
        let finished = Finished {
            outcome: Outcome::Done(report.to_result()),
            task: lost,
            ended_ms: 1_400,
            done_by: Some(by("n2", 0, 1_300)),
            kept: None,
        };
        let running = task(1, State::Running(by("n2", 1, 1_310)));
        let mut failed = task(2, State::Ready);
        failed.failures.push(failure(2, Cause::Exit, by("n2", 0, 1_400), 1_400));
        let (done_by, ended_ms) = (None, 1_400);
        let failed =
            Finished { outcome: Outcome::Failed, task: failed, ended_ms, done_by, kept: None };
        let all = [
            Shown::Finished(finished),
            Shown::Live(running),
            Shown::Finished(failed),
            Shown::Live(task(0, State::Ready)),
        ];
        for (at, shown) in all.iter().enumerate() {
            timeline.add(TaskId::of("t", at as u64), shown).unwrap();
        }
        let summary = timeline.end().unwrap();
        (String::from_utf8(bytes).unwrap(), summary)
    }

    #[test]
    fn a_time_line_is_written_as_before() {
        let (text, summary) = written();
        assert_eq!(summary, Summary { tries: 4, hosts: 2, unkept: 1 });
        assert_eq!(text, include_str!("timeline.json"));
    }

    #[test]
    fn a_time_line_without_tries_is_one_as_well() {
        let mut bytes = Vec::new();
        Timeline::begin(&mut bytes).unwrap().end().unwrap();
        let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read["traceEvents"], serde_json::json!([]));
    }
}
