//! A measurement from its first to its last sample: probes, the kernel's events, files.
//!
//! Each probe is a thread that never waits. The calling thread empties their queues and the
//! kernel's buffers ten times a second, on cores that are not measured where it may; events and
//! gaps meet there at a *horizon*, a time up to which everything has been read. Memory is bounded
//! by the queues and by what comes in a few rounds.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use rustix::thread::gettid;
use tidings_cores::CoreSet;
use tidings_cores::enter::{Role, enter};
use tidings_cores::here::{Here, bind};
use tidings_experiment::conduct::Watcher;

use crate::clock::now_ns;
use crate::counters::{Counters, Counts, Thread};
use crate::files::{self, Files};
use crate::machine::{allowed, is_guest, online};
use crate::naming::name;
use crate::probe::{Loop, Own, Queues, run, usual_step_ns};
use crate::result::{Attributed, Kernel, Outcome, Probe};
use crate::samples::{Gap, NO_CORE, NamedGap, Quantum};
use crate::settings::{Attribution, Method, Settings, Way};
use crate::source::{Kind, Names, SourceId};
use crate::summary::{Summary, share_of};
use crate::timeline::Timeline;
use crate::trace::Event;
use crate::trace::tracefs::{By, Tracer};
use crate::{NoiseError, result};

/// Samples that a queue holds: some seconds of quanta of a millisecond.
const QUEUE: usize = 1 << 14;
/// How a gap is called in which a guest's kernel did nothing.
const OUTSIDE: &str = "no event of this kernel";
/// How often queues and buffers are emptied.
const ROUND: Duration = Duration::from_millis(100);

/// Where a probe is while it runs, and what came of it.
struct Seat {
    core: Option<u32>,
    thread: u32,
    quanta: Receiver<Quantum>,
    gaps: Receiver<Gap>,
    pending: VecDeque<Gap>,
    passed_ns: u64,
    outside_ns: u64,
    files: Files,
    summary: Summary,
}

/// A probe that waits for its start.
struct Ready<'scope> {
    handle: ScopedJoinHandle<'scope, Option<Ended>>,
    start: SyncSender<u64>,
}

/// What a probe says of itself, and the kernel of its thread.
type Ended = (Own, Thread);

/// The account of a run.
struct Keeper {
    seats: Vec<Seat>,
    names: Names,
    fault: SourceId,
    unknown: SourceId,
    outside: Option<SourceId>,
    tracer: Option<Tracer>,
    reason: Option<String>,
    timeline: Timeline,
    events: Vec<Event>,
}

/// Measures, with raw samples into a folder that is there.
///
/// # Errors
/// [`NoiseError`]. A signal is no error here: the outcome names it.
pub fn measure(
    settings: &Settings,
    folder: &Path,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, NoiseError> {
    settings.check()?;
    let (tracer, reason) = tracer(settings)?;
    let stop = AtomicBool::new(false);
    let home = allowed()?;
    let outcome = thread::scope(|scope| {
        let outcome = conduct(settings, folder, watcher, (tracer, reason), scope, &stop);
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    let _ = bind(&home);
    outcome
}

/// The tracer, or why there is none.
fn tracer(settings: &Settings) -> Result<(Option<Tracer>, Option<String>), NoiseError> {
    let cores = if settings.is_pinned { settings.cores.clone() } else { online()? };
    let osnoise = || {
        if settings.is_pinned {
            Tracer::begin(&cores, By::Osnoise)
        } else {
            Err("it does not say where a probe runs that is not pinned".to_owned())
        }
    };
    let tracepoints = || Tracer::begin(&cores, By::Tracepoints);
    let (asked, tracer) = match settings.attribution {
        Attribution::Proc => return Ok((None, Some("as asked".to_owned()))),
        Attribution::Osnoise => ("osnoise", osnoise()),
        Attribution::Tracepoints => ("tracepoints", tracepoints()),
        Attribution::Auto => ("auto", osnoise().or_else(|_| tracepoints())),
    };
    match tracer {
        Ok(tracer) => Ok((Some(tracer), None)),
        Err(reason) if settings.attribution == Attribution::Auto => Ok((None, Some(reason))),
        Err(reason) => Err(NoiseError::Trace { asked, reason }),
    }
}

fn conduct<'scope>(
    settings: &'scope Settings,
    folder: &Path,
    watcher: &mut dyn Watcher,
    (tracer, reason): (Option<Tracer>, Option<String>),
    scope: &'scope Scope<'scope, '_>,
    stop: &'scope AtomicBool,
) -> Result<Outcome, NoiseError> {
    let (mut seats, mut ready) = (Vec::new(), Vec::new());
    for (place, core) in settings.cores.iter().enumerate() {
        let (seat, probe) = begin(settings, folder, (place, core), scope, stop)?;
        seats.push(seat);
        ready.push(probe);
    }
    let keeper_cores = step_aside(settings)?;
    let mut names = Names::default();
    let (unknown, fault) = (names.id(Kind::Unknown, ""), names.id(Kind::PageFault, ""));
    let is_traced_guest = tracer.is_some() && is_guest();
    let outside = is_traced_guest.then(|| names.id(Kind::Steal, OUTSIDE));
    let threads: Vec<u32> = seats.iter().map(|seat| seat.thread).collect();
    let timeline = Timeline::new(&threads, &mut names);
    let events = Vec::new();
    let mut keeper =
        Keeper { seats, names, fault, unknown, outside, tracer, reason, timeline, events };
    let before = Counters::now();
    let begin_ns = now_ns();
    let end_ns = begin_ns + nanoseconds(settings.duration);
    for probe in &ready {
        let _ = probe.start.send(end_ns); // a probe that is gone is found when it is joined
    }
    let signal = keeper.attend(settings, watcher, &ready, begin_ns, stop)?;
    let own: Vec<Ended> =
        ready.into_iter().filter_map(|probe| probe.handle.join().ok().flatten()).collect();
    keeper.round()?;
    let counted = Counters::now().since(&before);
    for seat in &mut keeper.seats {
        seat.files.flush()?;
    }
    keeper.outcome(settings, &own, &counted, keeper_cores, signal)
}

/// Starts a probe, which waits.
fn begin<'scope>(
    settings: &'scope Settings,
    folder: &Path,
    (place, core): (usize, u32),
    scope: &'scope Scope<'scope, '_>,
    stop: &'scope AtomicBool,
) -> Result<(Seat, Ready<'scope>), NoiseError> {
    let pinned = settings.is_pinned.then_some(core);
    let files = Files::make(folder, &place_name(pinned, place), pinned.unwrap_or(NO_CORE))?;
    let (quanta_in, quanta) = sync_channel(QUEUE);
    let (gaps_in, gaps) = sync_channel(QUEUE);
    let (thread_in, thread) = sync_channel(1);
    let (start, started) = sync_channel::<u64>(1);
    let cores = pinned.map_or(settings.cores.clone(), |core| CoreSet::from_iter([core]));
    let body = move || {
        let thread = gettid().as_raw_nonzero().get() as u32;
        let placed = sit(&settings.way, &cores).map(|()| thread);
        let is_placed = placed.is_ok();
        let step_ns = usual_step_ns(settings.method);
        thread_in.send(placed).ok()?;
        let end_ns = started.recv().ok().filter(|_| is_placed)?;
        let given = Loop {
            method: settings.method,
            end_ns,
            quantum_ns: nanoseconds(settings.quantum),
            work_units: settings.work_units,
            threshold_ns: nanoseconds(settings.threshold),
        };
        let before = Thread::now(thread);
        let own = run(given, step_ns, &Queues { quanta: quanta_in, gaps: gaps_in }, stop);
        Some((own, Thread::now(thread).since(before)))
    };
    let builder = thread::Builder::new().name(format!("noise-probe-{core}"));
    let refused = |error: String| NoiseError::Machine(format!("core {core}: no probe: {error}"));
    let handle = builder.spawn_scoped(scope, body).map_err(|error| refused(error.to_string()))?;
    let thread = thread.recv().map_err(|error| refused(error.to_string()))?;
    let thread = thread.map_err(refused)?;
    let duration_ns = nanoseconds(settings.duration);
    let seat = Seat {
        core: pinned,
        thread,
        quanta,
        gaps,
        pending: VecDeque::new(),
        passed_ns: 0,
        outside_ns: 0,
        files,
        summary: Summary::new(duration_ns, settings.method == Method::Fwq),
    };
    Ok((seat, Ready { handle, start }))
}

/// The calling thread takes its place on these cores.
fn sit(way: &Way, cores: &CoreSet) -> Result<(), String> {
    if let Way::Application(folder) = way {
        enter(&Here, folder, Role::Application).map_err(|error| error.to_string())?;
    }
    bind(cores).map_err(|error| error.to_string())
}

/// The calling thread leaves the cores that are measured, if there are others; which it has.
fn step_aside(settings: &Settings) -> Result<Option<String>, NoiseError> {
    let others = allowed()?.without(&settings.cores);
    let has_gone = !others.is_empty() && bind(&others).is_ok();
    Ok(has_gone.then(|| others.to_string()))
}

/// How the files of a probe are called.
fn place_name(core: Option<u32>, place: usize) -> String {
    core.map_or_else(|| format!("probe-{place}"), |core| format!("core-{core}"))
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Keeper {
    /// Empties queues and buffers until all probes have ended; the signal that came.
    fn attend(
        &mut self,
        settings: &Settings,
        watcher: &mut dyn Watcher,
        ready: &[Ready<'_>],
        begin_ns: u64,
        stop: &AtomicBool,
    ) -> Result<Option<i32>, NoiseError> {
        let all_s = settings.duration.as_secs_f64().ceil() as usize;
        let mut signal = None;
        while ready.iter().any(|probe| !probe.handle.is_finished()) {
            let done_s = ((now_ns() - begin_ns) / 1_000_000_000) as usize;
            watcher.progress(done_s.min(all_s), all_s, settings.method.word());
            signal = signal.or_else(|| watcher.stopped());
            if signal.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            thread::park_timeout(ROUND);
            self.round()?;
        }
        Ok(signal)
    }

    /// Reads all there is, and names the gaps that are over.
    fn round(&mut self) -> Result<(), NoiseError> {
        let horizon_ns = now_ns();
        for seat in &mut self.seats {
            for quantum in seat.quanta.try_iter() {
                seat.files.quantum(&quantum)?;
                seat.summary.quantum(&quantum);
                seat.passed_ns = seat.passed_ns.max(quantum.begin_ns + quantum.length_ns);
            }
            seat.pending.extend(seat.gaps.try_iter());
        }
        self.read_events(horizon_ns);
        for place in 0..self.seats.len() {
            self.name_gaps(place, horizon_ns)?;
        }
        Ok(())
    }

    fn read_events(&mut self, horizon_ns: u64) {
        let Some(tracer) = &mut self.tracer else { return };
        if let Err(error) = tracer.drain(&mut self.names, &mut self.events) {
            self.reason = Some(format!("the kernel's events could not be read: {error}"));
        }
        self.events.sort_by_key(|event| event.at_ns);
        let read = self.events.partition_point(|event| event.at_ns <= horizon_ns);
        for event in self.events.drain(..read) {
            self.timeline.add(event);
        }
        self.timeline.close_all(horizon_ns);
    }

    fn name_gaps(&mut self, place: usize, horizon_ns: u64) -> Result<(), NoiseError> {
        let seat = &mut self.seats[place];
        let taken = self.timeline.seat(place);
        // Where events were lost, silence says nothing.
        let missed = self.tracer.as_ref().map_or(0, |tracer| tracer.missed);
        let outside = self.outside.filter(|_| missed == 0);
        while let Some(&gap) = seat.pending.front().filter(|gap| gap.end_ns() <= horizon_ns) {
            seat.pending.pop_front();
            let mut named = name(&gap, taken.segments(), taken.faults(), self.fault);
            if let Some(outside) = outside.filter(|_| named.is_silent() && taken.is_placed()) {
                named.give(outside);
                seat.outside_ns += gap.lost_ns;
            }
            seat.summary.gap(&gap, &named);
            let source = named.first().map_or(self.unknown, |part| part.source).0;
            seat.files.gap(&NamedGap { gap, named_ns: named.named_ns(), source })?;
            taken.forget(gap.end_ns());
        }
        let next_ns = seat.pending.front().map_or(u64::MAX, |gap| gap.begin_ns);
        taken.forget(seat.passed_ns.min(next_ns));
        Ok(())
    }

    fn outcome(
        mut self,
        settings: &Settings,
        own: &[Ended],
        counted: &Counters,
        keeper_cores: Option<String>,
        signal: Option<i32>,
    ) -> Result<Outcome, NoiseError> {
        if own.len() < self.seats.len() {
            return Err(NoiseError::Machine("a probe ended before it had measured".to_owned()));
        }
        let mut probes = Vec::new();
        for (place, (seat, own)) in self.seats.iter_mut().zip(own).enumerate() {
            let files = files::names(&place_name(seat.core, place));
            let is_traced = self.tracer.is_some();
            probes.push(seat.probe(settings, own, counted, is_traced, &mut self.names, files));
        }
        let measured_s = probes.iter().map(|probe| probe.measured_s).fold(0.0, f64::max);
        let is_time = settings.method != Method::Fwq;
        Ok(Outcome {
            schema: result::SCHEMA.to_owned(),
            method: settings.method.word().to_owned(),
            quantum_us: is_time.then_some(settings.quantum.as_secs_f64() * 1e6),
            work_units: (!is_time).then_some(settings.work_units),
            threshold_ns: nanoseconds(settings.threshold),
            pinned: settings.is_pinned,
            keeper_cores,
            asked_s: settings.duration.as_secs_f64(),
            measured_s,
            signal,
            guest: is_guest(),
            attribution: Attributed {
                by: self.tracer.as_ref().map_or("proc", Tracer::word).to_owned(),
                reason: self.reason,
                events: self.tracer.as_ref().map_or(Vec::new(), |own| own.events.clone()),
                missed: self.tracer.as_ref().map_or(0, |own| own.missed),
            },
            probes,
            sources: self.names.all().to_vec(),
        })
    }
}

impl Seat {
    /// What is kept of the probe.
    fn probe(
        &mut self,
        settings: &Settings,
        (own, thread): &Ended,
        counted: &Counters,
        is_traced: bool,
        names: &mut Names,
        files: [String; 2],
    ) -> Probe {
        let kernel = self.kernel(settings, counted, thread);
        if !is_traced {
            let waited_ns = kernel.waited_ns;
            self.summary.count(waited_ns, &kernel.interrupts, names);
        }
        self.summary.steal(kernel.steal_ns.saturating_sub(self.outside_ns), names);
        let length_ns = own.end_ns - own.begin_ns;
        let measured_s = length_ns as f64 / 1e9;
        let [lost_ns, unknown_ns, edges_ns] = self.summary.lost_ns();
        let [quanta, speed] = self.summary.spreads();
        Probe {
            core: self.core,
            measured_s,
            lost_ns,
            lost_share: share_of(lost_ns, length_ns),
            named_share: share_of(lost_ns - unknown_ns, lost_ns),
            unknown_share: share_of(unknown_ns, lost_ns),
            edges_share: share_of(edges_ns, lost_ns),
            gaps: self.summary.gaps(measured_s),
            quanta,
            speed,
            kernel,
            own: result::Own {
                step_ns: own.step_ns,
                share: share_of(own.own_ns, length_ns),
                dropped: own.dropped,
            },
            sources: self.summary.taken(names),
            histogram: self.summary.histogram().buckets(),
            windows: self.summary.windows(),
            files,
        }
    }

    /// What the kernel counted of the thread and of its core.
    fn kernel(&self, settings: &Settings, counted: &Counters, thread: &Thread) -> Kernel {
        let of_core = |tables: &BTreeMap<u32, Counts>| {
            self.core.and_then(|core| tables.get(&core).cloned()).unwrap_or_default()
        };
        let steal = |core: u32| counted.steal_ns.get(&core).copied().unwrap_or(0);
        let steal_ns = match self.core {
            Some(core) => steal(core),
            // Of probes that move each has the mean.
            None => {
                settings.cores.iter().map(steal).sum::<u64>() / settings.cores.count().max(1) as u64
            }
        };
        Kernel {
            waited_ns: thread.waited_ns,
            preemptions: thread.preemptions,
            faults: thread.faults,
            steal_ns,
            interrupts: of_core(&counted.interrupts),
            softirqs: of_core(&counted.softirqs),
        }
    }
}
