//! The world: what happens when, in virtual time.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::{Chance, Instant};
use tidings_tasks_core::broadcast::FAN;
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings};
use tidings_tasks_core::id::{Epoch, Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Request};
use tidings_tasks_core::output::Owner;
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::tree::Tree;

use crate::party::{Copying, Party};
use crate::uplink::COPY;

/// What names the blob.
pub(crate) const BLOB: [u8; 32] = [7; 32];

/// The host that has made the blob, and holds the store; the client is there too.
pub(crate) const OWNER: usize = 0;

/// When all must have ended.
const PATIENCE: Duration = Duration::from_secs(200);

/// What a world is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    hosts: usize,
    deaths: usize,
    takeovers: usize,
    /// The numbers that are added up.
    leaves: u64,
    /// Whether the blob lies with the store, or in the owner's depot.
    is_of_store: bool,
    /// Whether the owner frees the blob while others copy it.
    is_freed: bool,
}

/// What happens.
pub(crate) enum Event {
    Request(Peer, Call, Request),
    Message(Peer, Message),
    Want(usize),
    Sent(usize, u64),
    Copied(usize, u64, usize),
    Lost(usize, u64),
    Done(usize, u64, TaskId, f64),
    Die,
    Begin(usize),
    Gone(Peer),
    HostLost(String),
    TakeOver,
    Free,
    Beat,
}

/// What has happened in all.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) copies: u64,
    pub(crate) deaths: u64,
    pub(crate) reigns: u64,
    /// Copies that ended with their sender.
    pub(crate) broken: u64,
    /// Hosts that were told that nobody has it.
    pub(crate) lost: u64,
    /// Owners that have freed it.
    pub(crate) freed: u64,
    /// To how many the owner has sent it, and to how many whoever has sent it to most.
    pub(crate) of_owner: usize,
    pub(crate) most: usize,
    pub(crate) depth: usize,
    pub(crate) relayed: u64,
    /// The time until all had it, in those of one copy.
    pub(crate) copy_times: f64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        self.copies += other.copies;
        self.deaths += other.deaths;
        self.reigns += other.reigns;
        self.broken += other.broken;
        self.lost += other.lost;
        self.freed += other.freed;
        self.of_owner = self.of_owner.max(other.of_owner);
        self.most = self.most.max(other.most);
        self.depth = self.depth.max(other.depth);
        self.relayed += other.relayed;
        self.copy_times = self.copy_times.max(other.copy_times);
    }

    pub(crate) fn reached_everything(&self) -> bool {
        [self.deaths, self.reigns, self.broken, self.relayed, self.freed]
            .iter()
            .all(|count| *count > 0)
    }
}

pub(crate) struct World {
    setting: Setting,
    pub(crate) chance: Chance,
    pub(crate) now: Instant,
    events: BTreeMap<(Instant, u64), Event>,
    scheduled: u64,
    ledger: Ledger,
    coordinator: Coordinator,
    epoch: u64,
    pub(crate) parties: Vec<Party>,
    /// Which party a connection is of; when its last messages arrive, there and back.
    links: BTreeMap<Peer, (usize, [Instant; 2])>,
    last: u64,
    /// The depot of the owner, and where the blob was at first.
    pub(crate) owner: u64,
    pub(crate) of: Owner,
    pub(crate) transfers: u64,
    /// To which depots each has begun to send it.
    pub(crate) begun: BTreeMap<Owner, Vec<u64>>,
    dead: BTreeSet<u64>,
    pub(crate) tree: Option<Tree>,
    pub(crate) is_collected: bool,
    pub(crate) last_copy: Instant,
    /// Hosts and coordinators that are to begin.
    pending: usize,
    pub(crate) totals: Totals,
}

impl Setting {
    /// Nobody dies.
    pub(crate) fn calm(hosts: usize) -> Self {
        Self { hosts, deaths: 0, takeovers: 0, leaves: 0, is_of_store: true, is_freed: false }
    }

    /// With all that fails.
    pub(crate) fn wild(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        Self {
            hosts: 4 + chance.below(60),
            deaths: chance.below(24),
            takeovers: chance.below(3) / 2,
            leaves: 1 + chance.below(600) as u64,
            is_of_store: seed % 2 == 0,
            is_freed: seed % 4 == 1,
        }
    }
}

fn reign(ledger: &mut Ledger, epoch: u64) -> Settings {
    let (name, host) = (format!("c{epoch}"), "h0".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let seen = ledger.get(&keys::role(Part(0)));
    let (take, _) = reign::take(Part(0), seen.as_ref(), &candidate).expect("a reign");
    let role = ledger.commit(&take).expect("nobody else wants it");
    Settings { epoch: Epoch(epoch), role, ..Settings::in_memory() }
}

impl World {
    pub(crate) fn new(seed: u64, setting: Setting) -> Self {
        let (now, mut ledger) = (Instant::EPOCH, Ledger::default());
        let settings = reign(&mut ledger, 1);
        let mut world = Self {
            setting,
            chance: Chance::new(seed),
            now,
            events: BTreeMap::new(),
            scheduled: 0,
            ledger,
            coordinator: Coordinator::new(settings, now),
            epoch: 1,
            parties: Vec::new(),
            links: BTreeMap::new(),
            last: 0,
            owner: 1,
            of: if setting.is_of_store { Owner::Store } else { Owner::Depot(1) },
            transfers: 0,
            begun: BTreeMap::new(),
            dead: BTreeSet::new(),
            tree: Tree::over(setting.leaves),
            is_collected: setting.leaves == 0,
            last_copy: now,
            pending: setting.deaths + setting.takeovers,
            totals: Totals::default(),
        };
        for number in 0..=setting.hosts {
            let life = world.number();
            world.parties.push(Party::new(number, life));
            world.connect(number);
        }
        world.parties[OWNER].depth = Some(0);
        world.begin();
        world
    }

    fn begin(&mut self) {
        self.submit();
        self.after(Duration::from_secs(1), Event::Beat);
        for at in 1..=self.setting.hosts {
            // Some come late.
            let is_late = self.setting.deaths > 0 && self.chance.below(8) == 0;
            let wait = if is_late { self.chance.below(4_000) } else { self.chance.below(20) };
            self.after(Duration::from_millis(5 + wait as u64), Event::Want(at));
        }
        for _ in 0..self.setting.deaths {
            let at = Duration::from_millis(self.chance.below(6_000) as u64);
            self.after(at, Event::Die);
        }
        for _ in 0..self.setting.takeovers {
            let at = Duration::from_millis(200 + self.chance.below(4_000) as u64);
            self.after(at, Event::TakeOver);
        }
        if self.setting.is_freed {
            let at = Duration::from_millis(600 + self.chance.below(3_000) as u64);
            self.after(at, Event::Free);
        }
    }

    pub(crate) fn run(mut self) -> Totals {
        self.pump();
        while !self.is_over() {
            let (next, _) = *self.events.first_key_value().expect("it goes on").0;
            let due = self.coordinator.poll_timeout().filter(|due| *due < next);
            self.now = due.unwrap_or(next).max(self.now);
            let waits = |party: &&Party| party.is_up && party.depth.is_none();
            let late = || self.parties[1..].iter().filter(waits).count();
            assert!(
                self.now < Instant::EPOCH + PATIENCE,
                "{} hosts wait for ever; the sum: {}",
                late(),
                self.is_collected
            );
            if due.is_some() {
                self.coordinator.handle_timeout(self.now);
            } else if let Some((_, event)) = self.events.pop_first() {
                self.happen(event);
            }
            self.pump();
        }
        self.check();
        self.totals
    }

    fn is_over(&self) -> bool {
        let has_it = |party: &Party| !party.is_up || party.depth.is_some() || party.number == OWNER;
        let have_it = self.totals.lost > 0 || self.parties.iter().all(has_it);
        let is_collected = self.is_collected || self.totals.lost > 0;
        self.pending == 0 && have_it && is_collected
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Request(peer, call, request) => {
                self.coordinator.handle_request(self.now, peer, call, request);
            }
            Event::Message(peer, message) => self.hear(peer, message),
            Event::Want(at) => {
                if self.parties[at].copying.is_none() {
                    self.want(at, None);
                }
            }
            Event::Sent(at, life) => self.sent(at, life),
            Event::Copied(at, number, depth) => self.copied(at, number, depth),
            Event::Lost(at, number) => self.lost(at, number),
            Event::Done(at, life, task, value) => {
                if self.parties[at].is_up && self.parties[at].life == life {
                    self.done(at, task, value);
                }
            }
            Event::Die => self.die(),
            Event::Begin(at) => self.begin_again(at),
            Event::Gone(peer) => self.coordinator.handle_gone(self.now, peer),
            Event::HostLost(host) => self.coordinator.handle_host_lost(self.now, &host),
            Event::TakeOver => self.take_over(),
            Event::Free => self.free(),
            Event::Beat => self.beat(),
        }
    }

    /// The store answers at once; what the coordinator says is on its way.
    fn pump(&mut self) {
        loop {
            while let Some((ticket, read)) = self.coordinator.poll_read() {
                let ledger = &self.ledger;
                let reply = match read {
                    Read::Get(keys) => {
                        Reply::Records(keys.iter().filter_map(|key| ledger.get(key)).collect())
                    }
                    Read::Scan { from, end, limit } => {
                        Reply::Page(ledger.scan(&from, end.as_ref(), limit))
                    }
                };
                self.coordinator.handle_read(self.now, ticket, reply);
            }
            let Some((ticket, transaction)) = self.coordinator.poll_commit() else { break };
            let answer = self.ledger.commit(&transaction);
            self.coordinator.handle_commit(self.now, ticket, answer);
        }
        while let Some((peer, message)) = self.coordinator.poll_message() {
            if let Some(delay) = self.travel(peer, 1) {
                self.after(delay, Event::Message(peer, message));
            }
        }
    }

    fn hear(&mut self, peer: Peer, message: Message) {
        let Some(&(at, _)) = self.links.get(&peer) else { return };
        match message {
            Message::Answer(call, answer) => {
                let is_new = self.parties[at].outstanding.answered(call, &answer);
                match (&answer, &self.parties[at].copying) {
                    (Answer::Source(source), Some(Copying::Asks(asked)))
                        if is_new && *asked == call =>
                    {
                        self.copy(at, source);
                    }
                    (Answer::Outcome(_), _) if is_new => self.outcome(at, call, &answer),
                    _ => {}
                }
            }
            Message::Assign { task, attempt, payload, .. } => {
                let known = self.parties[at].hands.get(&task);
                if known.is_none_or(|hand| hand.attempt != attempt) {
                    self.assigned(at, task, attempt, &payload);
                }
            }
            Message::Stop { task, .. } => drop(self.parties[at].hands.remove(&task)),
            Message::Ended => {}
        }
    }

    pub(crate) fn after(&mut self, delay: Duration, event: Event) {
        self.scheduled += 1;
        self.events.insert((self.now + delay, self.scheduled), event);
    }

    pub(crate) fn delay(&mut self) -> Duration {
        Duration::from_micros(100 + self.chance.below(1_000) as u64)
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn connect(&mut self, at: usize) {
        let peer = Peer(self.number());
        self.parties[at].peer = peer;
        self.links.insert(peer, (at, [self.now; 2]));
        for request in self.parties[at].greetings() {
            let call = self.parties[at].outstanding.number();
            self.send(at, call, request);
        }
        if at != OWNER && self.parties[at].depth.is_some() {
            self.offer(at);
        }
        let again: Vec<(Call, Request)> = self.parties[at]
            .outstanding
            .all()
            .map(|(call, request)| (call, request.clone()))
            .collect();
        for (call, request) in again {
            self.send(at, call, request);
        }
    }

    /// Sends a request, until it is answered.
    pub(crate) fn ask(&mut self, at: usize, request: Request) -> Call {
        let call = self.parties[at].outstanding.add(request.clone());
        self.send(at, call, request);
        call
    }

    fn send(&mut self, at: usize, call: Call, request: Request) {
        let peer = self.parties[at].peer;
        if let Some(delay) = self.travel(peer, 0) {
            self.after(delay, Event::Request(peer, call, request));
        }
    }

    /// How long the next message on a connection travels: none overtakes another.
    fn travel(&mut self, peer: Peer, direction: usize) -> Option<Duration> {
        let at = self.now + self.delay();
        let (_, arrivals) = self.links.get_mut(&peer)?;
        let arrival = &mut arrivals[direction];
        *arrival = at.max(*arrival + Duration::from_micros(1));
        Some(arrival.saturating_since(self.now))
    }

    fn beat(&mut self) {
        for at in 0..self.parties.len() {
            if self.parties[at].is_up {
                let call = self.parties[at].outstanding.number();
                self.send(at, call, Request::Heartbeat);
            }
        }
        self.after(Duration::from_secs(1), Event::Beat);
    }

    /// A host dies; the coordinator is told so by the board or by the system, or hears nothing.
    fn die(&mut self) {
        self.pending -= 1;
        let at = 1 + self.chance.below(self.setting.hosts);
        if !self.parties[at].is_up {
            return;
        }
        self.totals.deaths += 1;
        let is_silent = self.chance.below(3) == 0;
        self.break_uplink(at, is_silent);
        let party = &mut self.parties[at];
        party.is_up = false;
        party.copying = None;
        self.dead.insert(party.life);
        let (peer, host) = (party.peer, party.host());
        self.links.remove(&peer);
        if !is_silent {
            let delay = self.delay();
            self.after(delay, Event::Gone(peer));
        } else if self.chance.below(2) == 0 {
            self.after(Duration::from_millis(500), Event::HostLost(host));
        }
        // Somebody has to do the tasks.
        let is_last = !self.parties[1..].iter().any(|party| party.is_up);
        if is_last || self.chance.below(4) > 0 {
            self.pending += 1;
            let wait = Duration::from_millis(600 + self.chance.below(3_000) as u64);
            self.after(wait, Event::Begin(at));
        }
    }

    /// A host begins again, with nothing.
    fn begin_again(&mut self, at: usize) {
        self.pending -= 1;
        let life = self.number();
        self.parties[at] = Party::new(at, life);
        self.connect(at);
        self.after(Duration::from_millis(5), Event::Want(at));
    }

    /// Another coordinator takes the role: it knows what the store has, and nothing of the blob.
    fn take_over(&mut self) {
        self.pending -= 1;
        self.totals.reigns += 1;
        self.epoch += 1;
        let settings = reign(&mut self.ledger, self.epoch);
        self.coordinator = Coordinator::new(settings, self.now);
        self.events.retain(|_, event| {
            !matches!(event, Event::Request(..) | Event::Message(..) | Event::Gone(_))
        });
        self.links.clear();
        for at in 0..self.parties.len() {
            if self.parties[at].is_up {
                self.connect(at);
            }
        }
    }

    /// Nobody has sent it to more than its share, and to one more for each that has died.
    fn check(&mut self) {
        for (owner, to) in &self.begun {
            let dead = to.iter().filter(|depot| self.dead.contains(depot)).count();
            let share = FAN * (1 + self.totals.reigns as usize);
            assert!(to.len() <= share + dead, "{owner:?} has sent it to {}", to.len());
            self.totals.most = self.totals.most.max(to.len());
        }
        self.totals.of_owner = self.begun.get(&self.of).map_or(0, Vec::len);
        self.totals.relayed = self.coordinator.counters().relayed;
        let time = self.last_copy.saturating_since(Instant::EPOCH).as_secs_f64();
        self.totals.copy_times = time / COPY.as_secs_f64();
    }
}
