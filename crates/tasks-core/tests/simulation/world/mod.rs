//! The world: what happens when, in virtual time.

mod deeds;
mod ends;
mod gaps;
mod links;
mod processes;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::{Chance, Instant};
use tidings_tasks_core::coordinator::{Read, Reply, Ticket};
use tidings_tasks_core::id::{Epoch, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Refusal, Request};
use tidings_tasks_core::record::{Finished, Outcome, Reign, Task};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::{CommitError, Key, Revision, Session, Transaction};

use crate::check::{Checked, PART};
use crate::faults::{FAULTS, Fault, Weather};
use crate::gap::Gaps;
use crate::party::{CHILDREN, Deed, KINDS, Kind, Party, submission};
use crate::process::{Health, Input, Process};

/// When the faults end.
const FAULTS_END: Duration = Duration::from_secs(8);
/// The time after them in which all must have ended.
const PATIENCE: Duration = Duration::from_secs(40);
const PROCESSES: usize = 3;
const WORKERS: usize = 5;
const CLIENTS: usize = 2;

/// What happens.
enum Event {
    Commit(usize, u64, u64, Ticket, Transaction),
    Late(Transaction),
    Read(usize, u64, u64, Ticket, Read),
    Take(usize, u64, Transaction, Epoch),
    Process(usize, u64, Input),
    Party(usize, u64, Peer, Message),
    /// A connection has broken, as the party learns.
    Broken(usize, Peer),
    Tick(usize),
    Elect(usize),
    Silence(usize, u64),
    /// The store no longer hears of a process that was killed.
    End(Session),
    Heal(Side),
    Fault,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Process(usize),
    Party(usize),
}

/// Who is connected to whom.
struct Link {
    party: usize,
    process: usize,
    life: u64,
    /// When the last message arrives, there and back: none overtakes another.
    arrival: [Instant; 2],
}

/// What has happened in all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    faults: BTreeMap<Fault, u32>,
    commits: u64,
    unknown: [u64; 3],
    reigns: u64,
    crashes: u64,
    done: u64,
    failed: u64,
    cancelled: u64,
    superseded: u64,
    poisoned: u64,
    /// Portions of children that were too many for one commit.
    staged: u64,
    /// Tasks that ran once their inputs were done, those that failed for want of one, and
    /// submissions that were refused.
    released: u64,
    doomed: u64,
    circles: u64,
    conflicts: u64,
    /// Tasks that were forgotten, and those that were shown in a list.
    forgotten: u64,
    listed: u64,
    /// How often a tuple was claimed.
    claims: u64,
    digest: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        for (fault, count) in &other.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        for at in 0..3 {
            self.unknown[at] += other.unknown[at];
        }
        self.commits += other.commits;
        self.reigns += other.reigns;
        self.crashes += other.crashes;
        self.done += other.done;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.superseded += other.superseded;
        self.poisoned += other.poisoned;
        self.staged += other.staged;
        self.released += other.released;
        self.doomed += other.doomed;
        self.circles += other.circles;
        self.conflicts += other.conflicts;
        self.forgotten += other.forgotten;
        self.listed += other.listed;
        self.claims += other.claims;
        self.digest ^= other.digest;
    }

    pub(crate) fn reached_everything(&self) -> bool {
        let counts = [self.done, self.failed, self.cancelled, self.superseded, self.poisoned];
        let faults = FAULTS.iter().all(|fault| self.faults.contains_key(fault));
        let more = [&self.crashes, &self.conflicts, &self.forgotten, &self.listed, &self.staged];
        let graphs = [&self.released, &self.doomed, &self.circles, &self.claims];
        let others = self.unknown.iter().chain(&counts).chain(more).chain(graphs);
        faults && others.copied().all(|count| count > 0)
    }
}

pub(crate) struct World {
    chance: Chance,
    now: Instant,
    events: BTreeMap<(Instant, u64), Event>,
    scheduled: u64,
    store: Checked,
    store_calls: u64,
    weather: Weather,
    processes: Vec<Process>,
    suspects: BTreeSet<usize>,
    parties: Vec<Party>,
    links: BTreeMap<Peer, Link>,
    last_peer: u64,
    /// Tasks that were submitted, those whose submission was acknowledged, and those that somebody
    /// has tried to cancel.
    tasks: Vec<(TaskId, Kind)>,
    acknowledged: BTreeSet<TaskId>,
    cancelled: BTreeSet<TaskId>,
    /// Tasks that somebody has tried to forget.
    forgotten: BTreeSet<TaskId>,
    /// How many tokens were put, or were to be.
    tokens: i64,
    /// Requests about tasks whose submission was acknowledged before.
    sure: BTreeSet<(usize, Call)>,
    totals: Totals,
    gaps: Option<Gaps>,
}

fn ms(count: usize) -> Duration {
    Duration::from_millis(count as u64)
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let weather = Weather::new(&mut chance);
        let slots = |number| if number < WORKERS { 1 + number as u32 % 3 } else { 0 };
        let party = |number| Party::new(number, number % 4, slots(number));
        let mut world = Self {
            chance,
            now: Instant::EPOCH,
            events: BTreeMap::new(),
            scheduled: 0,
            store: Checked::default(),
            store_calls: 0,
            weather,
            processes: (0..PROCESSES).map(|_| Process::new()).collect(),
            suspects: BTreeSet::new(),
            parties: (0..WORKERS + CLIENTS).map(party).collect(),
            links: BTreeMap::new(),
            last_peer: 0,
            tasks: Vec::new(),
            acknowledged: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            forgotten: BTreeSet::new(),
            tokens: 0,
            sure: BTreeSet::new(),
            totals: Totals::default(),
            gaps: None,
        };
        for process in 0..PROCESSES {
            world.after(ms(10 * process), Event::Elect(process));
        }
        for party in 0..WORKERS + CLIENTS {
            world.after(ms(20 + party), Event::Tick(party));
        }
        world.after(ms(200), Event::Fault);
        world
    }

    /// Lets it run until all has ended, and returns what has happened.
    pub(crate) fn run(mut self) -> Totals {
        let deadline = Instant::EPOCH + FAULTS_END + PATIENCE;
        let mut ended_at = None;
        while let Some(((at, _), event)) = self.events.pop_first() {
            self.now = at;
            self.happen(event);
            if self.is_quiet() && ended_at.is_none() && self.live() == 0 {
                ended_at = Some(self.now + Duration::from_secs(12));
            }
            if ended_at.is_some_and(|end| end <= self.now) {
                break;
            }
            if self.now > deadline {
                let left = self.live();
                let page = self.store.ledger.scan(
                    &keys::tasks(PART),
                    keys::tasks(PART).after_prefix().as_ref(),
                    3,
                );
                let some: Vec<_> = page
                    .records
                    .iter()
                    .map(|record| {
                        (keys::id_of(&record.key), minicbor::decode::<Task>(&record.value))
                    })
                    .collect();
                let who: Option<Reign> = self.value(&keys::role(PART));
                for process in &self.processes {
                    let inside = format!("{:?}", process.coordinator);
                    eprintln!(
                        "{:?} {} {}: {inside:.3000}",
                        process.health, process.life, process.is_taking
                    );
                }
                for party in &self.parties {
                    eprintln!(
                        "{} {:?} {:?} {:?}",
                        party.name(),
                        party.health,
                        party.peer,
                        party.calls
                    );
                }
                panic!("{left} tasks have not ended after the faults: {who:?} {some:?}");
            }
        }
        self.check_end();
        self.totals
    }

    fn is_quiet(&self) -> bool {
        self.now >= Instant::EPOCH + FAULTS_END
    }

    /// Tasks that have not ended, and what is to become tasks.
    fn live(&self) -> usize {
        let count = |prefix: Key| {
            let end = prefix.after_prefix();
            self.store.ledger.scan(&prefix, end.as_ref(), usize::MAX).records.len()
        };
        count(keys::tasks(PART)) + count(keys::all_staged(PART))
    }

    fn after(&mut self, delay: Duration, event: Event) {
        self.scheduled += 1;
        self.events.insert((self.now + delay, self.scheduled), event);
    }

    /// A delay: mostly short, now and then long.
    fn delay(&mut self) -> Duration {
        let most = if self.chance.happens(0.02) && !self.is_quiet() { 200_000 } else { 2_000 };
        Duration::from_micros(100 + self.chance.below(most) as u64)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Commit(process, life, reign, ticket, transaction) => {
                self.commit((process, life, reign), ticket, transaction);
            }
            Event::Late(transaction) => drop(self.store.commit(self.now, &transaction)),
            Event::Read(process, life, reign, ticket, read) => {
                self.store_call(process);
                let reply = self.read(&read);
                let delay = self.delay();
                self.after(delay, Event::Process(process, life, Input::Read(reign, ticket, reply)));
            }
            Event::Take(process, life, transaction, epoch) => {
                let [before, after, _] = self.weather.unknown;
                let mut answer = Err(CommitError::Unknown);
                if !self.chance.happens(before) {
                    answer = self.store.ledger.commit(&transaction);
                }
                if self.chance.happens(after) {
                    answer = Err(CommitError::Unknown);
                }
                let delay = self.delay();
                self.after(delay, Event::Process(process, life, Input::Taken(answer, epoch)));
            }
            Event::Process(process, life, input) => self.reach(process, life, input),
            Event::Party(party, life, peer, message) => {
                if self.parties[party].life == life {
                    self.hear(party, peer, message);
                }
            }
            Event::Broken(party, peer) => self.parties[party].disconnected(peer),
            Event::Tick(party) => self.tick(party),
            Event::Elect(process) => self.elect(process),
            Event::Silence(process, life) => {
                let one = &mut self.processes[process];
                if one.life != life || one.health == Health::Up {
                    return;
                }
                if let Some(session) = one.session.take() {
                    self.store.ledger.end_session(session).expect("it has not ended");
                }
            }
            Event::End(session) => drop(self.store.ledger.end_session(session)),
            Event::Heal(side) => self.heal(side),
            Event::Fault => self.fault(),
        }
    }

    // The store.

    fn store_call(&mut self, process: usize) {
        self.store_calls += 1;
        if self.weather.crash_every.is_some_and(|every| self.store_calls % every == 0) {
            self.totals.crashes += 1;
            self.kill_process(process);
        }
    }

    fn commit(
        &mut self,
        (process, life, reign): (usize, u64, u64),
        ticket: Ticket,
        transaction: Transaction,
    ) {
        if self.chance.happens(0.5) {
            self.store_call(process); // it is killed before its commit happens, which happens
        }
        let odds = self.weather.unknown;
        let unknown = odds.map(|probability| self.chance.happens(probability));
        let answer = if self.now < self.weather.lost_until {
            Err(CommitError::Lost("out of reach".to_owned()))
        } else if self.now < self.weather.full_until {
            Err(CommitError::Full("no space".to_owned()))
        } else if unknown[0] {
            Err(CommitError::Unknown)
        } else if unknown[2] {
            let delay = ms(50 + self.chance.below(900));
            self.after(delay, Event::Late(transaction));
            Err(CommitError::Unknown)
        } else {
            let answer = self.store.commit(self.now, &transaction);
            self.totals.commits += 1;
            self.totals.conflicts += u64::from(matches!(answer, Err(CommitError::Conflict { .. })));
            if unknown[1] { Err(CommitError::Unknown) } else { answer }
        };
        for (count, happened) in self.totals.unknown.iter_mut().zip(unknown) {
            *count += u64::from(happened);
        }
        self.store_call(process);
        let delay = self.delay();
        let input = Input::Committed(reign, ticket, answer);
        self.after(delay, Event::Process(process, life, input));
    }

    fn read(&mut self, read: &Read) -> Reply {
        if self.now < self.weather.lost_until || self.chance.happens(self.weather.unknown[0]) {
            return Reply::Lost;
        }
        let ledger = &self.store.ledger;
        match read {
            Read::Get(keys) => {
                Reply::Records(keys.iter().filter_map(|key| ledger.get(key)).collect())
            }
            Read::Scan { from, end, limit } => {
                Reply::Page(ledger.scan(from, end.as_ref(), (*limit).min(17)))
            }
        }
    }

    fn value<T: for<'b> minicbor::Decode<'b, ()>>(&self, key: &Key) -> Option<T> {
        let record = self.store.ledger.get(key)?;
        minicbor::decode(&record.value).ok()
    }
}
