//! The loop that owns the node: it sleeps until a datagram, a timer, a question or a signal comes,
//! passes it to the core, and sends the core's output.
//!
//! No protocol logic is here, only the core's contract: after every input, send its transmits,
//! fetch its events, and sleep until its timeout. Every turn of the loop does a bounded amount of
//! work, so that a flood of datagrams delays the round timer by no more than that.

mod answer;
mod checkups;
mod colonies;
mod company;
mod contacts;
mod gathering;
mod inbox;
mod life;
mod mismatches;
mod placing;
mod reading;
mod reload;
mod surveys;
mod visiting;
mod visits;
mod vitals;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tidings_control::Mode;
use tidings_gossip::payload::{FIXED_BYTES, NodeState, Settled};
use tidings_gossip::{Address, Event, Instant};
use tidings_placement::Reservations;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tracing::{debug, error, info, warn};

use crate::board::{Publisher, Turn};
use crate::clock::Clock;
use crate::collect::Collector;
use crate::config::{Settings, SettledUser};
use crate::endpoint::Endpoint;
use crate::gather::{Gathered, LeftOut};
use crate::incarnation;
use crate::logging::Budget;
use crate::notices::Noticeboard;
use crate::resolve::Found;
use crate::token::Token;
use crate::user_metrics::UserMetrics;
use company::Company;
use contacts::Contacts;
pub(crate) use inbox::Inbox;
use inbox::Wake;
pub(crate) use mismatches::dropped_there;
pub(crate) use reading::Reloading;
use visits::Visits;
use vitals::Vitals;

/// How long leaving may take when the socket is congested.
const FAREWELL: Duration = Duration::from_millis(500);

/// Units of time for seeds to answer before the log reports that none does.
const SEEDS_ANSWER_UNITS: u32 = 40;

/// The parts of a driver.
pub(crate) struct Parts {
    pub(crate) endpoint: Endpoint,
    pub(crate) clock: Clock,
    pub(crate) collector: Collector,
    pub(crate) settings: Settings,
    pub(crate) standing: Standing,
    pub(crate) reloading: Reloading,
    /// Where the token goes that scrapes must show.
    pub(crate) token: watch::Sender<Option<Token>>,
}

/// What does not change while this agent runs, for its reports.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) address: String,
    pub(crate) http: Option<String>,
    pub(crate) scrape: Option<String>,
    pub(crate) mode: Mode,
    /// Others, as they were known at the start: by them the own address is found until seeds are.
    pub(crate) others: Vec<SocketAddr>,
    pub(crate) encrypted: bool,
    pub(crate) keys: usize,
    pub(crate) memory_bound_bytes: u64,
}

/// The owner of the node.
pub(crate) struct Driver {
    endpoint: Endpoint,
    clock: Clock,
    collector: Collector,
    /// When the machine is read next.
    next_collection: Instant,
    settings: Settings,
    standing: Standing,
    reloading: Reloading,
    token: watch::Sender<Option<Token>>,
    state: NodeState,
    settled: Settled,
    /// The same of user metrics.
    settled_user: SettledUser,
    payload: Vec<u8>,
    user: UserMetrics,
    gathered: Gathered,
    /// Metrics of collectors for which there was no room at the last time.
    left_out: LeftOut,
    reservations: Reservations,
    seeds: Vec<Address>,
    contacts: Contacts,
    /// Seeds of the configuration that have an address.
    seeds_found: usize,
    seeds_checked: bool,
    visits: Visits,
    board: Publisher,
    /// An incarnation that could not be recorded yet.
    unsaved: Option<u32>,
    /// Whether others rejected this node at the last check.
    rejected: bool,
    /// Whether this node was alone, or with too few, at the last check.
    lonely: bool,
    /// Whether the age target was met at the last check.
    age_kept: Option<bool>,
    vitals: Vitals,
    company: Company,
    notices: Noticeboard,
    counters: LoopCounters,
    mismatch_lines: Budget,
    event_lines: Budget,
    error_lines: Budget,
    gather_lines: Budget,
    ends: Option<&'static str>,
}

/// What the loop did, apart from the core and the socket.
#[derive(Clone, Copy, Debug, Default)]
struct LoopCounters {
    wakeups: u64,
    questions: u64,
    collections: u64,
    reloads: u64,
    reloads_failed: u64,
    incarnation_unsaved: u64,
    boards_failed: u64,
    gatherings: u64,
    gatherings_failed: u64,
}

impl Driver {
    /// A driver that has not run yet.
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { endpoint, clock, collector, settings, standing, reloading, token } = parts;
        let ten_seconds = Duration::from_secs(10);
        Self {
            payload: vec![0; usize::from(endpoint.node.content_bytes())],
            user: UserMetrics::new(endpoint.node.content_bytes()),
            gathered: Gathered::default(),
            left_out: LeftOut::default(),
            reservations: Reservations::default(),
            vitals: Vitals::new(settings.interval),
            company: Company::new(
                &settings.runtime_dir,
                settings.min_members,
                (standing.mode == Mode::Roster).then(|| endpoint.node.members()),
                settings.interval * SEEDS_ANSWER_UNITS,
            ),
            notices: Noticeboard::default(),
            state: NodeState::default(),
            settled: Settled::default(),
            settled_user: SettledUser::default(),
            seeds: Vec::new(),
            contacts: Contacts::default(),
            seeds_found: 0,
            seeds_checked: false,
            visits: Visits::default(),
            board: Publisher::new(&settings, clock),
            unsaved: None,
            rejected: false,
            lonely: false,
            age_kept: None,
            counters: LoopCounters::default(),
            event_lines: Budget::new(20, ten_seconds),
            mismatch_lines: Budget::new(4, ten_seconds),
            error_lines: Budget::new(2, ten_seconds),
            gather_lines: Budget::new(4, ten_seconds),
            ends: None,
            next_collection: Instant::EPOCH,
            endpoint,
            clock,
            collector,
            settings,
            standing,
            reloading,
            token,
        }
    }

    /// Runs until a signal or a request ends it, and leaves the cluster.
    ///
    /// # Errors
    /// When the socket can no longer be waited for.
    pub(crate) async fn run(mut self, inbox: Inbox) -> io::Result<()> {
        let (to, mut letters) = mpsc::channel(1);
        tokio::spawn(inbox.pass_on(to));
        self.collect(self.clock.now());
        while self.ends.is_none() {
            let wake = tokio::select! {
                ready = self.endpoint.ready() => Wake::Gossip(ready),
                Some(wake) = letters.recv() => wake,
            };
            self.handle(wake)?;
            self.advance();
        }
        self.farewell().await;
        Ok(())
    }

    fn handle(&mut self, wake: Wake) -> io::Result<()> {
        self.counters.wakeups += 1;
        match wake {
            Wake::Gossip(ready) => {
                ready?;
                self.endpoint.receive();
            }
            Wake::Question(question) => self.answer(question),
            Wake::Seeds(found) => self.meet(&found),
            Wake::Roster(looked) => self.meet_members(&looked),
            Wake::Reloaded(reloaded) => self.apply(reloaded),
            Wake::Gathered(news) => self.gather(news),
            Wake::HangUp => self.reload(),
            Wake::End(cause) => self.ends = Some(cause),
        }
        Ok(())
    }

    /// What follows any input: the round if it is due, datagrams, events.
    fn advance(&mut self) {
        let now = self.clock.now();
        if now >= self.next_collection && (self.endpoint.is_due() || now >= self.last_call()) {
            self.collect(now);
        }
        if self.endpoint.is_due() && self.user.next_end().is_some_and(|end| end <= now) {
            self.publish(now);
        }
        if let Some(lateness) = self.endpoint.advance() {
            self.vitals.round(now, lateness);
        }
        self.vitals.look(now, &self.endpoint.node);
        self.check_age(now);
        while let Some(event) = self.endpoint.node.poll_event() {
            self.report(now, event);
        }
        self.go_on_visiting(now);
        self.show(now);
        if let Some(error) = self.endpoint.socket.take_error() {
            if let Some(withheld) = self.error_lines.allow(now) {
                warn!(%error, withheld, "a datagram could not be sent or received");
            }
        }
    }

    /// When the machine is read at the latest, if nothing else is due then. Usually it is read when
    /// the node's timeout comes: the readings are then as new as possible, and the agent need not
    /// wake up for them.
    fn last_call(&self) -> Instant {
        let unit = self.settings.interval;
        let grace = if unit <= self.settings.collect_interval { unit } else { Duration::ZERO };
        self.next_collection + grace
    }

    /// Reads the machine and publishes what it found.
    fn collect(&mut self, now: Instant) {
        self.counters.collections += 1;
        self.next_collection = now + self.settings.collect_interval;
        self.endpoint.set_alarm(self.last_call());
        self.keep_what_was_not();
        self.follow_address();
        self.endpoint.node.believe_up_to(incarnation::highest());
        self.follow_rejection(now);
        self.follow_company(now);
        self.state = self.collector.collect(self.clock.uptime());
        self.publish(now);
        self.contacts.introduce_again(now, &mut self.endpoint.node);
        self.check_seeds();
    }

    /// Adds seeds that were looked up.
    fn meet(&mut self, found: &[Found]) {
        self.seeds_found += found.len();
        let own = self.seeds.len();
        self.seeds.extend(found.iter().filter(|(colony, _)| colony.is_none()).map(|(_, at)| at));
        if self.seeds.len() > own {
            self.endpoint.node.join(&self.seeds);
        }
        for &(colony, address) in found {
            let Some(colony) = colony else { continue };
            if !self.contacts.introduce(colony, address, &mut self.endpoint.node) {
                warn!(%colony, "there is no room for this colony: raise max_colonies and restart");
            }
        }
    }

    /// Reports once if no seed has answered: a node with another key or cluster name sees no error,
    /// since the others only count its datagrams.
    fn check_seeds(&mut self) {
        let patience = self.settings.interval * SEEDS_ANSWER_UNITS;
        let asked = !self.seeds.is_empty() || !self.contacts.is_empty();
        let late = asked && self.clock.uptime() >= patience;
        if !late || std::mem::replace(&mut self.seeds_checked, true) {
            return;
        }
        let now = self.clock.now();
        let silent = self.contacts.unheard(now, &self.endpoint.node);
        if silent > 0 {
            warn!(
                colonies = silent,
                "these colonies with seeds are not known yet: are they up, and \
                 cluster, keys and colony the same there? `tidings colonies` lists them. The agent \
                 continues to ask"
            );
        }
        if !self.seeds.is_empty() && self.endpoint.node.ages(now).members == 1 {
            warn!(
                seeds = self.seeds.len(),
                "no seed answers: is one of them up, and are its address, the cluster's name, the \
                 colony and the keys the same there? The agent continues to ask"
            );
        }
    }

    /// Reports when the entries become older than the age target, and when they no longer are.
    fn check_age(&mut self, now: Instant) {
        let kept = self.endpoint.node.keeps_age();
        let before = std::mem::replace(&mut self.age_kept, kept);
        if kept == before || (before.is_none() && kept == Some(true)) {
            return;
        }
        let Some(withheld) = self.event_lines.allow(now) else { return };
        let age_avg_ms = self.endpoint.node.ages(now).age_avg.as_millis();
        let window_entries = self.endpoint.node.window_entries();
        let keeps = self.settings.window_text();
        if kept == Some(false) {
            warn!(
                keeps,
                age_avg_ms,
                window_entries,
                withheld,
                "the entries are older than the age target: the window grows while it can; if it \
                 holds all members, a shorter interval would help"
            );
        } else {
            info!(keeps, age_avg_ms, window_entries, withheld, "the age target is met again");
        }
    }

    /// Makes the last readings and the user metrics alive at `now` this node's payload.
    fn publish(&mut self, now: Instant) {
        self.state.user = self.user.alive(now);
        if self.payload.len() < FIXED_BYTES {
            return; // the cluster agreed on payloads without readings
        }
        self.add_gathered(now);
        self.settled_user.settle(&self.settings.tolerances, &mut self.state.user);
        let tolerances = self.settings.tolerances();
        if let Err(error) = self.settled.encode(&tolerances, &self.state, &mut self.payload) {
            error!(%error, "the readings cannot be published"); // the table was checked to fit
            return;
        }
        if let Err(error) = self.endpoint.node.publish(&self.payload) {
            error!(%error, "the readings cannot be published");
        }
    }

    fn report(&mut self, now: Instant, event: Event) {
        self.notices.add(&event, &self.endpoint.node, now);
        match &event {
            Event::Refuted(incarnation) => {
                warn!(
                    incarnation = incarnation.get(),
                    "an entry of this node by another: a new incarnation supersedes it; if this \
                     repeats, another agent has this name: give each its own with --name"
                );
                self.keep_incarnation(incarnation.get());
                return;
            }
            Event::Outlived(incarnation) => {
                warn!(
                    incarnation = incarnation.get(),
                    "others have declared this node dead; it refutes that. Was the agent \
                     stopped, starved, or cut off for longer than death_after?"
                );
                self.keep_incarnation(incarnation.get());
                return;
            }
            Event::NoRoom(name) => return self.report_no_room(now, name),
            Event::Implausible(name, incarnation) => {
                return self.report_implausible(now, name, incarnation.get());
            }
            Event::Unsigned(name, from) => return self.report_unsigned(now, name, *from),
            &Event::Mismatch(at, what, side) => return self.report_mismatch(now, (at, what, side)),
            Event::IdCollision(name) => {
                error!(name, "this node and another share an id: set id_salt on every node");
                return;
            }
            Event::Visited(colony, complete) => return self.visited(now, *colony, *complete),
            _ => {}
        }
        let Some(withheld) = self.event_lines.allow(now) else { return };
        if withheld > 0 {
            info!(withheld, "as many events of other nodes were not logged");
        }
        match event {
            Event::Joined(name) => info!(name, "node joined"),
            Event::Restarted(name, incarnation) => {
                info!(name, incarnation = incarnation.get(), "node restarted");
            }
            Event::Suspected(name) => info!(name, "node suspected: it does not answer"),
            Event::Cleared(name) => info!(name, "node answers again"),
            Event::Died(name, incarnation) => {
                warn!(name, incarnation = incarnation.get(), "node dead");
            }
            Event::Left(name) => info!(name, "node left"),
            Event::Returned(name, incarnation) => {
                info!(name, incarnation = incarnation.get(), "node returned");
            }
            Event::Forgotten(name) => {
                info!(name, "node forgotten: gone for too long, or its place was needed");
            }
            other => debug!(?other, "event"),
        }
    }

    /// Updates the board from the node.
    fn show(&mut self, now: Instant) {
        match self.board.publish(now, &mut self.endpoint.node) {
            Ok(Turn::Usual) => {}
            Ok(Turn::Made(bytes)) => {
                let path = self.board.path().map(|path| path.display().to_string());
                info!(path, bytes, "board");
                if self.board.lies_in_memory() == Some(false) {
                    warn!(
                        path,
                        "the board is on a disk, and the agent waits whenever it is \
                        written back: name a file in memory (tmpfs) with board, or turn it off"
                    );
                }
            }
            Err(error) => {
                self.counters.boards_failed += 1;
                warn!(
                    %error,
                    "there is no board; the agent continues, and tries again in a minute, or at \
                     once on SIGHUP"
                );
            }
        }
    }

    async fn farewell(&mut self) {
        info!(cause = self.ends, "leaving");
        if let Err(error) = self.board.leave() {
            warn!(%error, "the board could not be removed; its readers see that it is closed");
        }
        self.endpoint.node.leave(self.clock.now());
        let sent = async {
            loop {
                self.endpoint.send(self.clock.now());
                if !self.endpoint.socket.is_blocked() || self.endpoint.socket.ready().await.is_err()
                {
                    return;
                }
            }
        };
        if timeout(FAREWELL, sent).await.is_err() {
            warn!("the network is congested: not all nodes were notified");
        }
    }
}
