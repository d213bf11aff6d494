//! A time line of tasks, in the JSON of Chrome's trace viewer, which Perfetto reads.
//!
//! A host is a process of the trace, a place of one of its workers a thread, and a try a slice of
//! that: from its assignment to its end, as the coordinator has seen them, so all times are of one
//! clock. The tries of a place follow each other, as the format wants it. A try that runs begins a
//! slice without an end.
//!
//! Where a task has read what another one made, a *flow* goes from the slice of that one to its
//! own: an event `s` in the last microsecond of the first, since a reader of the format looks for
//! the slice that is open then, and an event `f` at the begin of the second, both with one number,
//! name and category. Slices of no length have no inside, so no flow begins or ends there.
//!
//! Slices are written as they are added. What is kept is a number for each host and place, for
//! flows the place of each task's last slice, and what each has read: inputs come in any order.
//!
//! Source: the "Trace Event Format" of the Chromium project, of which these are the events M, X, B,
//! s and f.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::name::Name;
use tidings_tasks_core::record::{Running, State, Task};
use tidings_tasks_core::view::{Shown, TryView};

use super::kinds;

/// The category of slices that make an output again, beside the queue.
const AGAIN: &str = "made again";

/// The name and category of flows.
const FLOW: (&str, &str) = ("reads", "input");

/// Microseconds, in which the format counts.
const US_PER_MS: u64 = 1_000;

/// A time line that is being written.
pub(super) struct Timeline<W: Write> {
    to: W,
    hosts: BTreeMap<Name, Host>,
    /// Processes and threads have numbers of one row: none is used twice.
    last_number: u64,
    events: u64,
    summary: Summary,
    /// Where the tasks ended that are done, by their slices.
    ends: BTreeMap<TaskId, Slice>,
    /// What was read, and by which slice.
    reads: Vec<(TaskId, Slice)>,
}

/// A slice that was written.
#[derive(Clone, Copy)]
struct Slice {
    pid: u64,
    tid: u64,
    since_ms: u64,
    /// `None` if it has no end.
    ended_ms: Option<u64>,
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
    places: BTreeMap<(Name, u32), u64>,
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
    /// The number of a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// Of the end of a flow: that it is in the slice which is open then.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
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
    /// Bytes of its inputs that came from other nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_bytes: Option<u64>,
    /// Whether it makes an output that was made before and is lost.
    #[serde(skip)]
    is_again: bool,
}

/// What is said of a flow: nothing.
#[derive(Serialize)]
struct Nothing {}

impl<'t> About<'t> {
    /// A try that runs.
    fn running(id: TaskId, task: &'t Task) -> Self {
        Self {
            task: id.to_string(),
            attempt: task.attempt.0,
            queue: &task.queue,
            outcome: "running",
            text: "",
            moved_bytes: None,
            is_again: task.made > 0,
        }
    }
}

impl<W: Write> Timeline<W> {
    pub(super) fn begin(mut to: W) -> io::Result<Self> {
        to.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        let (hosts, summary) = (BTreeMap::new(), Summary::default());
        let (ends, reads) = (BTreeMap::new(), Vec::new());
        Ok(Self { to, hosts, last_number: 0, events: 0, summary, ends, reads })
    }

    /// Writes the tries of a task.
    pub(super) fn add(&mut self, id: TaskId, shown: &Shown) -> io::Result<()> {
        let (task, label) = (shown.task(), kinds::label(shown));
        let mut kept = task.failures.len() as u64;
        let mut last = None;
        for failure in &task.failures {
            last = Some(self.ended(&label, &TryView::failed(id, task, failure), None, false)?);
        }
        match shown {
            Shown::Finished(finished) => {
                if let Some(done) = TryView::done(id, finished) {
                    let moved = kinds::shown_report(shown).map(|report| report.moved_bytes);
                    let moved = moved.filter(|bytes| *bytes > 0);
                    let slice = self.ended(&label, &done, moved, task.made > 1)?;
                    self.ends.insert(id, slice);
                    last = Some(slice);
                    kept += 1;
                }
            }
            Shown::Live(live) => {
                if let State::Running(by) = &live.state {
                    let about = About::running(id, live);
                    last = Some(self.slice(&label, by, None, about)?);
                    kept += 1;
                }
            }
        }
        if let Some(slice) = last {
            self.reads.extend(task.inputs.iter().map(|input| (*input, slice)));
        }
        self.summary.unkept += u64::from(task.attempt.0).saturating_sub(kept);
        Ok(())
    }

    /// Writes the end of the file.
    pub(super) fn end(mut self) -> io::Result<Summary> {
        self.flows()?;
        self.to.write_all(b"\n]}\n")?;
        self.to.flush()?;
        Ok(Summary { hosts: self.hosts.len() as u64, ..self.summary })
    }

    /// Writes a flow for each input that ended before its reader began: one that was made again
    /// since is not what the reader has read.
    fn flows(&mut self) -> io::Result<()> {
        let is_long = |slice: &Slice| slice.ended_ms != Some(slice.since_ms);
        let mut number = 0;
        for (input, reader) in core::mem::take(&mut self.reads) {
            let Some(from) = self.ends.get(&input).copied() else { continue };
            let ended_ms = from.ended_ms.unwrap_or_default();
            if ended_ms > reader.since_ms || !is_long(&from) || !is_long(&reader) {
                continue;
            }
            number += 1;
            self.flow("s", number, from, ended_ms.saturating_mul(US_PER_MS) - 1)?;
            self.flow("f", number, reader, reader.since_ms.saturating_mul(US_PER_MS))?;
        }
        Ok(())
    }

    fn flow(&mut self, ph: &'static str, id: u64, at: Slice, ts: u64) -> io::Result<()> {
        let (name, cat) = FLOW;
        self.write(&Event {
            name,
            ph,
            pid: at.pid,
            tid: at.tid,
            ts: Some(ts),
            dur: None,
            cat: Some(cat),
            id: Some(id),
            bp: (ph == "f").then_some("e"),
            args: Nothing {},
        })
    }

    fn ended(
        &mut self,
        label: &str,
        one: &TryView,
        moved_bytes: Option<u64>,
        is_again: bool,
    ) -> io::Result<Slice> {
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
            moved_bytes,
            is_again,
        };
        self.slice(&label, &one.by, Some(one.ended_ms.max(one.by.since_ms)), about)
    }

    fn slice(
        &mut self,
        label: &str,
        by: &Running,
        ended_ms: Option<u64>,
        args: About<'_>,
    ) -> io::Result<Slice> {
        let (pid, tid) = self.track(by)?;
        self.summary.tries += 1;
        let dur_ms = ended_ms.map(|ended_ms| ended_ms - by.since_ms);
        let again = if args.is_again { format!(",{AGAIN}") } else { String::new() };
        let cat = format!("{}{again}", args.queue);
        self.write(&Event {
            name: label,
            ph: if dur_ms.is_some() { "X" } else { "B" },
            pid,
            tid,
            ts: Some(by.since_ms.saturating_mul(US_PER_MS)),
            dur: dur_ms.map(|ms| ms.saturating_mul(US_PER_MS)),
            cat: Some(&cat),
            id: None,
            bp: None,
            args,
        })?;
        Ok(Slice { pid, tid, since_ms: by.since_ms, ended_ms })
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
        let (ph, none) = ("M", None);
        let (ts, dur, id) = (none, none, none);
        self.write(&Event { name: event, ph, pid, tid, ts, dur, cat: None, id, bp: None, args })
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
    use tidings_tasks_core::record::{Failure, Finished, Outcome};
    use tidings_tasks_core::resources::Need;
    use tidings_tasks_core::retry::{Cause, Retry, Tally};

    use super::*;

    fn by(host: &str, slot: u32, since_ms: u64) -> Running {
        Running { worker: format!("worker-{host}").into(), host: host.into(), since_ms, slot }
    }

    fn task(attempt: u32, state: State) -> Task {
        Task {
            queue: "jobs".into(),
            group: Name::default(),
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
            abroad: Vec::new(),
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

    fn done(made: u32, moved_bytes: u64, by: Running, ended_ms: u64, inputs: &[u64]) -> Shown {
        let report = Report { name: "sim".to_owned(), moved_bytes, ..Report::default() };
        let inputs = inputs.iter().map(|at| TaskId::of("t", *at)).collect();
        Shown::Finished(Finished {
            outcome: Outcome::Done(report.to_result()),
            task: Task { made, inputs, ..task(1, State::Ready) },
            ended_ms,
            done_by: Some(by),
            kept: None,
        })
    }

    /// A reader of two, one of which ends as it begins and was made again before; one that runs
    /// and reads both of these; then those that have no flow: from an input that was made again
    /// after it was read, from one of no length, and from one without a record.
    #[test]
    fn what_was_read_is_a_flow() {
        let reads = |inputs: [u64; 2]| inputs.map(|at| TaskId::of("t", at)).to_vec();
        let running = State::Running(by("n1", 1, 1_500));
        let mut bytes = Vec::new();
        let mut timeline = Timeline::begin(&mut bytes).unwrap();
        for (at, shown) in [
            done(0, 70_000, by("n2", 0, 1_300), 1_400, &[1, 2]),
            done(2, 0, by("n1", 0, 1_100), 1_300, &[]),
            done(1, 0, by("n1", 1, 1_000), 1_250, &[]),
            Shown::Live(Task { inputs: reads([0, 1]), ..task(1, running) }),
            done(0, 0, by("n3", 0, 1_100), 1_200, &[1, 5, 9]),
            done(0, 0, by("n3", 0, 1_050), 1_050, &[]),
        ]
        .iter()
        .enumerate()
        {
            timeline.add(TaskId::of("t", at as u64), shown).unwrap();
        }
        timeline.end().unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), include_str!("flows.json"));
    }

    #[test]
    fn a_time_line_without_tries_is_one_as_well() {
        let mut bytes = Vec::new();
        Timeline::begin(&mut bytes).unwrap().end().unwrap();
        let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read["traceEvents"], serde_json::json!([]));
    }
}
