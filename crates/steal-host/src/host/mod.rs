//! A process as one of a host's workers: joining, meeting the others, and looking for mail.
//!
//! A worker meets all others when a phase begins, when it ends, and to show each other words.
//! It says how often it has come, and for what, and waits until all who live have come as often.
//! While it waits it takes in messages, so who is behind is never held up by who is ahead.
//!
//! Invariants: a worker waits for those only who live, as the kernel says, and who have not come;
//! for those who never come it waits a bounded time. Who leaves by an error or a panic says so, and
//! is to the others as one that has ended.

mod phase;
mod task;
mod trace;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::thread::sched_getcpu;
use tidings_primitives::Instant as Time;
use tidings_steal::{Counters, Ending, Lost, Output, Seeding, Worker};

use crate::bell::has_news;
use crate::error::{JoinError, PhaseError};
use crate::identity::Identity;
use crate::layout::{self, SHELF_WORDS};
use crate::machine::Word;
use crate::mail::{Garbage, Mail};
use crate::memory::{Memory, Refusal};
use crate::place;
use crate::rules::{Rules, Search};
use crate::watch::Watch;

pub use phase::Phase;
pub use task::{Body, Task};

/// How many words a worker can show to all.
pub const SHOWN_WORDS: usize = SHELF_WORDS;

/// Looks for news before an idle worker sleeps: some microseconds.
const LOOKS: u32 = 400;

/// A process as a worker.
#[derive(Debug)]
pub struct Host {
    path: PathBuf,
    me: u32,
    rules: Rules,
    worker: Worker,
    mail: Mail,
    /// The beginning of its clock.
    origin: Instant,
    /// What it has last shown of its work, while it shows it.
    shown_ns: Option<u64>,
    /// The processor whose place it has last shown.
    processor: Option<usize>,
    /// How often it has met the others.
    met: u64,
    /// What the segment said when it last looked for who is gone.
    departures: u64,
    gone: Vec<bool>,
    /// Of whose end the program knows.
    reported: Vec<bool>,
    ending: Option<Ending>,
    seeding: Seeding,
    has_left: bool,
    /// Before the memory, which its thread uses.
    #[expect(dead_code, reason = "it is held, not read")]
    watch: Watch,
    memory: Arc<Memory>,
}

impl Host {
    /// Joins the segment at `path`, which is for so many workers, and waits until all have joined.
    ///
    /// # Errors
    /// If there is no such segment, it is for another number of workers or of another version, all
    /// its seats are taken, or others do not join.
    pub fn join(path: &Path, workers: u32) -> Result<Self, JoinError> {
        let (memory, rules) = Memory::open(path).map_err(|refusal| refused(path, refusal))?;
        let (path, found, memory) = (path.to_owned(), memory.workers(), Arc::new(memory));
        if found != workers {
            return Err(JoinError::Workers { path, found, own: workers });
        }
        let failed = |source| JoinError::Io { path: path.clone(), source };
        let own = Identity::own().map_err(failed)?;
        let taken = || JoinError::Taken { path: path.clone(), workers };
        let me = memory.claim(own).ok_or_else(taken)?;
        memory.tell_all(me);
        if let Err(joined) = wait_for_all(&memory, me, rules.patience) {
            memory.depart(me);
            memory.tell_all(me);
            return Err(JoinError::Alone { path, workers, joined, patience: rules.patience });
        }
        let watch = Watch::begin(&memory, me, own).map_err(|source| {
            memory.depart(me);
            memory.tell_all(me);
            failed(source)
        })?;
        Ok(Self {
            path,
            me,
            rules,
            worker: Worker::new(me, workers, &rules.config(), rules.seed),
            mail: Mail::new(me, workers),
            origin: Instant::now(),
            shown_ns: None,
            processor: None,
            met: 0,
            departures: 0,
            gone: vec![false; workers as usize],
            reported: vec![false; workers as usize],
            ending: None,
            seeding: Seeding::Given,
            has_left: false,
            watch,
            memory,
        })
    }

    /// The number of this worker, from 0 on, in the order of joining.
    pub fn number(&self) -> u32 {
        self.me
    }

    /// How many workers there were at first.
    pub fn workers(&self) -> u32 {
        self.memory.workers()
    }

    /// Who has ended, as phases and other meetings have said, in order: the same at all who live.
    pub fn lost(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.workers()).filter(|worker| self.reported[*worker as usize])
    }

    /// The first of those who live: one for what one of them has to do.
    pub fn first(&self) -> u32 {
        let lives = |worker: &u32| !self.reported[*worker as usize];
        (0..self.workers()).find(lives).unwrap_or(self.me)
    }

    /// Whether that is this worker.
    pub fn is_first(&self) -> bool {
        self.first() == self.me
    }

    /// The rules of the segment.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A name for a file beside the segment, the same at all workers until they meet again.
    pub(crate) fn beside(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{}.array", self.met));
        name.into()
    }

    /// What this worker has done since it joined.
    pub fn counters(&self) -> Counters {
        self.worker.counters()
    }

    /// Meets all others and shows them `words`, at most [`SHOWN_WORDS`]; what each shows, by
    /// number, `None` for those of whom it was said before that they are lost. All show the same
    /// number of words.
    ///
    /// # Errors
    /// If there are too many, others do not come or come for something else, or have ended without
    /// showing what they had. After that, those who live can gather again.
    pub fn gather(&mut self, words: &[u64]) -> Result<Vec<Option<Vec<u64>>>, PhaseError> {
        if words.len() > SHOWN_WORDS {
            return Err(PhaseError::Shelf { words: words.len() });
        }
        let count = self.met + 1;
        for (to, word) in self.memory.shelf(self.me, count).iter().zip(words) {
            to.set(*word);
        }
        self.meet_all(tag_of(&("gather", words.len())))?;
        let read = |worker| {
            let has_come = self.memory.met(worker) >= count;
            let shown = self.memory.shelf(worker, count).iter().take(words.len());
            has_come.then(|| shown.map(Word::get).collect())
        };
        Ok((0..self.workers()).map(read).collect())
    }

    /// Meets all others: after it, each sees what all have done before it.
    ///
    /// # Errors
    /// As [`Host::gather`].
    pub fn sync(&mut self) -> Result<(), PhaseError> {
        self.meet_all(tag_of(&"sync"))
    }

    /// Meets all others of whom it was not said that they are lost.
    fn meet_all(&mut self, tag: u64) -> Result<(), PhaseError> {
        self.meet(tag, Some(self.rules.patience))?;
        if self.find_lost() {
            let workers = self.lost().collect();
            return Err(PhaseError::Lost(Lost { workers, sent: 0, finishes: 0 }));
        }
        Ok(())
    }

    /// Notes who has ended before it came as often as this worker; whether anybody is new. All who
    /// live find the same, as they wait for each other until each has come or ended.
    fn find_lost(&mut self) -> bool {
        let mut is_news = false;
        for worker in 0..self.workers() {
            let is_known = &mut self.reported[worker as usize];
            if self.gone[worker as usize] && !*is_known && self.memory.met(worker) < self.met {
                (*is_known, is_news) = (true, true);
            }
        }
        is_news
    }

    /// Waits until all who live have come as often as this worker, for the same.
    fn meet(&mut self, tag: u64, patience: Option<Duration>) -> Result<(), PhaseError> {
        if self.has_left {
            return Err(PhaseError::Ended);
        }
        self.met += 1;
        self.memory.meet(self.me, self.met, tag);
        self.memory.tell_all(self.me);
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        loop {
            self.turn()?;
            let missing = self.missing();
            if missing.is_empty() {
                return self.compare(tag);
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                self.leave();
                let patience = patience.unwrap_or_default();
                return Err(PhaseError::Alone { missing, patience });
            }
            self.rest(until)?;
        }
    }

    /// Who lives and has not come as often.
    fn missing(&self) -> Vec<u32> {
        let is_missing =
            |worker: &u32| !self.gone[*worker as usize] && self.memory.met(*worker) < self.met;
        (0..self.workers()).filter(is_missing).collect()
    }

    /// Whether all have come for the same.
    fn compare(&mut self, tag: u64) -> Result<(), PhaseError> {
        let differs = |worker: &u32| {
            self.memory.met(*worker) >= self.met && self.memory.tag(*worker, self.met) != tag
        };
        let Some(other) = (0..self.workers()).find(differs) else { return Ok(()) };
        self.leave();
        Err(PhaseError::Different { other })
    }

    /// Takes in what has arrived and who is gone; a message of one who is gone comes first.
    #[inline]
    fn turn(&mut self) -> Result<(), PhaseError> {
        let departures = self.memory.departures();
        if departures != self.departures {
            self.departures = departures;
            return self.turn_with_the_gone();
        }
        let taken = self.mail.take_in(&self.memory);
        if self.sound(taken)? {
            self.deliver()?;
        }
        if self.mail.waits() {
            let flushed = self.mail.flush(&self.memory);
            self.sound(flushed)?;
        }
        Ok(())
    }

    #[cold]
    fn turn_with_the_gone(&mut self) -> Result<(), PhaseError> {
        let is_new = |worker: &u32| !self.gone[*worker as usize] && self.memory.is_gone(*worker);
        let gone: Vec<u32> = (0..self.workers()).filter(is_new).collect();
        let taken = self.mail.take_in(&self.memory);
        self.sound(taken)?;
        for worker in &gone {
            let taken = self.mail.take_from(&self.memory, *worker);
            self.sound(taken)?;
        }
        self.deliver()?;
        for worker in gone {
            self.gone[worker as usize] = true;
            self.mail.close(worker);
            self.worker.died(worker);
        }
        self.perform()
    }

    fn deliver(&mut self) -> Result<(), PhaseError> {
        let now = self.time(Instant::now());
        while let Some((from, message)) = self.mail.next() {
            self.worker.receive(from, message, now);
        }
        self.perform()
    }

    /// Does what the worker wants.
    #[inline]
    fn perform(&mut self) -> Result<(), PhaseError> {
        while let Some(output) = self.worker.poll_output() {
            match output {
                Output::Send { to, message } => {
                    let sent = self.mail.send(&self.memory, to, &message);
                    self.sound(sent)?;
                }
                Output::Seeded(seeding) => self.seeding = seeding,
                Output::PhaseDone(ending) => self.ending = Some(ending),
                // Nothing is done again here.
                Output::Diverged(_) => {}
            }
        }
        self.show_work();
        Ok(())
    }

    /// Shows others how long it is busy, if that is shown.
    #[inline]
    fn show_work(&mut self) {
        let Some(shown_ns) = &mut self.shown_ns else { return };
        let work_ns = self.worker.remaining_ns();
        if work_ns != *shown_ns {
            *shown_ns = work_ns;
            self.memory.show_work(self.me, Some(work_ns));
        }
    }

    /// Shows others where it runs, where they look at that.
    fn show_place(&mut self) {
        let processor = sched_getcpu();
        if self.rules.search == Search::Nearest && self.processor != Some(processor) {
            self.processor = Some(processor);
            self.memory.show_place(self.me, place::word_of(processor));
        }
    }

    /// Sleeps until there are news or it is time, after a moment in which an answer may come.
    fn rest(&mut self, until: Option<Instant>) -> Result<(), PhaseError> {
        if self.mail.waits() {
            self.mail.ask_for_room(&self.memory);
            let flushed = self.mail.flush(&self.memory);
            if self.sound(flushed)? {
                return Ok(());
            }
        }
        let news = self.memory.news(self.me);
        for _ in 0..LOOKS {
            if has_news(news) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.memory.sleep(self.me, until);
        Ok(())
    }

    /// This worker leaves if another one has written what none writes.
    fn sound<T>(&mut self, read: Result<T, Garbage>) -> Result<T, PhaseError> {
        read.map_err(|Garbage { from }| {
            self.leave();
            PhaseError::Corrupt { from }
        })
    }

    /// Takes part no more.
    fn leave(&mut self) {
        if !self.has_left {
            self.has_left = true;
            self.memory.depart(self.me);
            self.memory.tell_all(self.me);
        }
    }

    /// A moment on the worker's clock.
    #[inline]
    fn time(&self, now: Instant) -> Time {
        Time::from_micros(now.saturating_duration_since(self.origin).as_micros() as i64)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.leave();
    }
}

fn refused(path: &Path, refusal: Refusal) -> JoinError {
    let path = path.to_owned();
    match refusal {
        Refusal::Io(source) => JoinError::Io { path, source },
        Refusal::Foreign => JoinError::Foreign { path },
        Refusal::Version(found) => JoinError::Version { path, found, own: layout::VERSION },
        Refusal::Numbers => JoinError::Numbers { path },
        Refusal::Namespace => JoinError::Namespace { path },
    }
}

/// Waits until all seats are taken; if they are not, how many are.
fn wait_for_all(memory: &Memory, me: u32, patience: Duration) -> Result<(), u32> {
    let until = Instant::now().checked_add(patience);
    loop {
        // What is taken here is only that somebody came: nobody has sent anything yet.
        for word in memory.news(me) {
            word.take_bits();
        }
        let seated = |worker: &u32| memory.identity(*worker).is_some();
        let joined = (0..memory.workers()).filter(seated).count() as u32;
        if joined == memory.workers() {
            return Ok(());
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            return Err(joined);
        }
        memory.sleep(me, until);
    }
}

/// A number that is the same for the same things, in all programs of one release.
fn tag_of(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
