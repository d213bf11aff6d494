//! The service: a thread on the service core that runs the calls of all lanes.
//!
//! It looks at the lanes in turn, takes at most a few calls of each, and looks again. It never
//! sleeps in the kernel while it is served by a core of its own: a wake-up costs a hundred times
//! what a call does. With nothing to do it first spins and then yields its core at each look, so
//! that others who share the core are not held up. It ends when the [`Service`] is dropped, after
//! what was fired by then.
//!
//! With one core there is nobody to ship calls to: a caller would wait for a thread that waits for
//! its core. So [`Service::start`] refuses there, and [`Service::best`] has calls run in place by
//! their caller, through the same interface, and says why.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::{LaneError, StartError};
use crate::lane::{CALL_WORDS, MOST_LANES, MOST_LINES, Server};
use crate::memory::{Life, Memory};

/// How many calls of one lane are run before the next lane gets its turn.
const BURST: usize = 16;

/// How the service runs.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The core that it is bound to; `None` leaves that to the system.
    pub core: Option<usize>,
    /// How many looks in vain it spins for before it yields its core at each.
    pub spins: u32,
}

impl Default for Settings {
    /// No core of its own; spins for some tens of microseconds.
    fn default() -> Self {
        Self { core: None, spins: 10_000 }
    }
}

/// What runs the calls of a lane: on the service's thread, or on the caller's in its place.
pub(crate) trait Handler: Send {
    /// Runs a call; its result, as the kernel gives it: up to 4,095 below 2^64 is an error. `None`
    /// if it has to wait: then it is tried again, before all later ones of its lane.
    fn run(&mut self, words: &[u64; CALL_WORDS]) -> Option<u64>;

    /// Whether an error is counted, for callers that do not look at each result.
    fn counts_failures(&self) -> bool {
        true
    }
}

/// Where the calls of a service are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// On the thread of the service.
    Shipped,
    /// By the caller, at once, for the reason given.
    InPlace(String),
}

/// A thread that runs the calls of others; or, where there can be none, the promise that callers
/// run their own.
#[derive(Debug)]
pub struct Service {
    way: Way,
    thread: Option<Running>,
}

#[derive(Debug)]
struct Running {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the service's thread and its owner share.
#[derive(Debug, Default)]
struct Shared {
    /// Changes with the list of lanes, and is [`END`] in the end.
    version: AtomicU64,
    lanes: Mutex<Lanes>,
}

#[derive(Debug, Default)]
struct Lanes {
    /// Those that the thread has not seen yet.
    new: Vec<New>,
    /// All that somebody has.
    all: Vec<Weak<Memory>>,
}

const END: u64 = u64::MAX;

/// A lane that the thread has not seen yet.
struct New {
    memory: Arc<Memory>,
    handler: Box<dyn Handler>,
}

impl std::fmt::Debug for New {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.memory.fmt(formatter)
    }
}

impl Service {
    /// Starts the thread.
    ///
    /// # Errors
    /// If this process may use one core only, if the core of the settings cannot be had, or if the
    /// system starts no thread. Nothing is left running.
    pub fn start(settings: Settings) -> Result<Self, StartError> {
        let allowed = sched_getaffinity(None).map_err(StartError::Affinity)?;
        if allowed.count() < 2 && settings.core.is_none_or(|core| is_in(&allowed, core)) {
            return Err(StartError::OneCore);
        }
        Self::start_anyway(settings)
    }

    /// Starts the thread, also where it shares the one core with its callers: then each call waits
    /// for the scheduler, and shipping is slower than calling. For tests of order, which holds.
    ///
    /// # Errors
    /// As for [`Service::start`], but for the one core.
    pub fn start_anyway(settings: Settings) -> Result<Self, StartError> {
        let shared = Arc::<Shared>::default();
        let theirs = Arc::clone(&shared);
        let (ready, began) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("tidings-service".into())
            .spawn(move || begin(&theirs, settings, &ready))
            .map_err(|source| StartError::Thread { source })?;
        let mut running = Running { shared, thread: Some(thread) };
        // A thread that ends before it says how it began has panicked, which nothing in it does.
        let began = began.recv().unwrap_or(Err(StartError::Ended));
        if let Err(error) = began {
            running.end();
            return Err(error);
        }
        Ok(Self { way: Way::Shipped, thread: Some(running) })
    }

    /// Starts the thread if that can be, and else has calls run in place, with the reason.
    pub fn best(settings: Settings) -> Self {
        match Self::start(settings) {
            Ok(service) => service,
            Err(error) => Self::in_place(&error.to_string()),
        }
    }

    /// A service without a thread: all calls run in place.
    pub fn in_place(why: &str) -> Self {
        Self { way: Way::InPlace(why.to_owned()), thread: None }
    }

    /// Where calls are run.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// Opens a lane of `lines`, a power of two; `None` in place of its memory if calls run in
    /// place. The handler of a lane comes back if it is the caller's to run.
    pub(crate) fn open<H: Handler + 'static>(
        &self,
        lines: usize,
        handler: H,
    ) -> Result<Seat<H>, LaneError> {
        if !lines.is_power_of_two() || lines > MOST_LINES {
            return Err(LaneError::Lines { lines });
        }
        let Some(running) = &self.thread else { return Ok(Seat::InPlace(handler)) };
        let memory = Arc::new(Memory::new(lines).map_err(|source| LaneError::Memory { source })?);
        let mut given = running.shared.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        given.all.retain(|lane| lane.strong_count() > 0);
        if given.all.len() >= MOST_LANES {
            return Err(LaneError::TooMany);
        }
        memory.set_life(Life::Served);
        given.all.push(Arc::downgrade(&memory));
        given.new.push(New { memory: Arc::clone(&memory), handler: Box::new(handler) });
        running.shared.version.fetch_add(1, Ordering::Release);
        Ok(Seat::Shipped(memory))
    }
}

/// A place in a service.
pub(crate) enum Seat<H> {
    /// Its lane.
    Shipped(Arc<Memory>),
    /// Calls run in place, by this.
    InPlace(H),
}

impl Running {
    fn end(&mut self) {
        self.shared.version.store(END, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // it says how it ended by what it does to its lanes
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn is_in(set: &CpuSet, core: usize) -> bool {
    core < CpuSet::MAX_CPU && set.is_set(core)
}

/// Sets the thread up, says how that went, and serves.
fn begin(shared: &Shared, settings: Settings, ready: &SyncSender<Result<(), StartError>>) {
    let prepared = prepare(settings);
    let failed = prepared.is_err();
    if ready.send(prepared).is_err() || failed {
        return; // who waits for the word has it, or has gone
    }
    serve(shared, settings.spins);
}

/// Signals are for the program's threads; and the core is set before the first call.
fn prepare(settings: Settings) -> Result<(), StartError> {
    crate::kernel::block_signals().map_err(StartError::Signals)?;
    let Some(core) = settings.core else { return Ok(()) };
    let refused = |source: io::Error| StartError::Core { core, source };
    if core >= CpuSet::MAX_CPU {
        return Err(refused(io::ErrorKind::InvalidInput.into()));
    }
    let mut own = CpuSet::new();
    own.set(core);
    sched_setaffinity(None, &own).map_err(|error| refused(error.into()))
}

/// The lane of one caller, as the thread has it; its callers know when the thread lets go of it.
struct Served {
    memory: Arc<Memory>,
    server: Server,
    handler: Box<dyn Handler>,
}

impl Served {
    /// Runs what was fired, up to a few calls; whether there was any.
    fn run(&mut self) -> bool {
        let lane = self.memory.lane();
        for count in 0..BURST {
            let Some(words) = self.server.next(lane) else { return count > 0 };
            let Some(result) = self.handler.run(&words) else { return count > 0 };
            let failed = error_in(result).filter(|_| self.handler.counts_failures());
            if let Some(error) = failed {
                self.memory.count_failure(error);
            }
            self.server.finish(lane, result);
        }
        true
    }

    /// Nobody has the caller's end any more, and nothing is left to do.
    fn is_left(&self) -> bool {
        Arc::strong_count(&self.memory) == 1 && self.server.next(self.memory.lane()).is_none()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.memory.set_life(Life::Ended);
    }
}

/// The error in a result, if it is one.
pub(crate) fn error_in(result: u64) -> Option<u64> {
    let error = result.wrapping_neg();
    (1..=4095).contains(&error).then_some(error)
}

fn serve(shared: &Shared, spins: u32) {
    let (mut lanes, mut known, mut vain) = (Vec::<Served>::new(), 0, 0u32);
    loop {
        let version = shared.version.load(Ordering::Acquire);
        if version != known {
            let mut all = shared.lanes.lock().unwrap_or_else(PoisonError::into_inner);
            let new = std::mem::take(&mut all.new);
            drop(all);
            lanes.extend(new.into_iter().map(|New { memory, handler }| Served {
                memory,
                server: Server::default(),
                handler,
            }));
            known = version;
        }
        let mut ran = false;
        for lane in &mut lanes {
            ran |= lane.run();
        }
        if version == END && !ran {
            return; // what has to wait even now is refused by the end of its lane
        }
        if ran {
            vain = 0;
            continue;
        }
        vain = vain.saturating_add(1);
        if vain > spins {
            rest(&mut lanes);
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Lets go of lanes that their callers have left, and of the core for others who want it.
fn rest(lanes: &mut Vec<Served>) {
    lanes.retain(|lane| !lane.is_left());
    thread::yield_now();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_near_the_end_are_errors() {
        assert_eq!(error_in(0), None);
        assert_eq!(error_in(7), None);
        assert_eq!(error_in(1 << 63), None);
        assert_eq!(error_in(1u64.wrapping_neg()), Some(1));
        assert_eq!(error_in(4095u64.wrapping_neg()), Some(4095));
        assert_eq!(error_in(4096u64.wrapping_neg()), None);
    }

    #[test]
    fn a_core_that_is_not_there_is_an_error_with_its_number() {
        for core in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            let settings = Settings { core: Some(core), ..Settings::default() };
            let error = Service::start_anyway(settings).expect_err("nobody has so many cores");
            assert!(error.to_string().contains(&core.to_string()), "{error}");
        }
    }

    /// One core: started there, the service would make its callers wait for the scheduler.
    #[test]
    fn with_one_core_calls_run_in_place_and_the_reason_is_said() {
        let one = || {
            let all = sched_getaffinity(None).expect("this thread has cores");
            let first = (0..CpuSet::MAX_CPU).find(|&core| all.is_set(core)).expect("one at least");
            let mut own = CpuSet::new();
            own.set(first);
            sched_setaffinity(None, &own).expect("a core of its own set");
            let service = Service::best(Settings::default());
            (service.way().clone(), Service::start(Settings::default()).map(drop))
        };
        let (way, started) = thread::spawn(one).join().expect("it does not panic");
        assert!(matches!(started, Err(StartError::OneCore)), "{started:?}");
        assert!(matches!(way, Way::InPlace(why) if why.contains("one core")));
    }
}
