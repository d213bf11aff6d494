//! The loop's answers: the node's knowledge in the terms of the control protocol.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tidings_control::{
    Ages, ErrorKind, ErrorReport, Leaving, NodeReport, Nodes, Published, PublishedAll, Reply,
    Request, State, Status,
};
use tidings_gossip::wire::ENTRY_OVERHEAD_BYTES;
use tidings_gossip::{EntryState, EntryView, Instant};

use tokio::sync::oneshot;

use super::{Driver, company};
use crate::metrics::{self, Count};
use crate::process;
use crate::question::Question;
use crate::reply::{picture_line, reply_line};

impl Driver {
    /// Answers `question`. The asker may have gone; that is not a failure.
    pub(super) fn answer(&mut self, question: Question) {
        self.counters.questions += 1;
        let now = self.clock.now();
        match question {
            Question::Control(request, back) => self.control(request, back, now),
            Question::Watch(back) => {
                drop(back.send(self.notices.admit(self.endpoint.node.name())));
            }
            Question::Nodes(back) => drop(back.send(self.nodes(now))),
            Question::Colonies(back) => drop(back.send(self.colonies(now))),
            Question::Events(from, back) => {
                drop(back.send(self.notices.recent(self.endpoint.node.name(), from)));
            }
            Question::Status(back) => drop(back.send(self.status(now))),
            Question::Metrics(back) => {
                let text = metrics::exposition(&self.status(now), &self.counts());
                drop(back.send(text));
            }
            Question::Health(back) => drop(back.send(self.health(now))),
        }
    }

    fn control(&mut self, request: Request, back: oneshot::Sender<String>, now: Instant) {
        let line = match request {
            Request::Visit { colony } => return self.visit(colony, back, now),
            Request::Check { host } => return self.check_up(host, back, now),
            Request::Keys => return self.survey(back, now),
            Request::Status => reply_line(&Reply::Result(self.status(now))),
            Request::Ages => reply_line(&Reply::Result(self.ages(now))),
            Request::Nodes => {
                let nodes = self.nodes(now);
                picture_line(nodes.nodes.len(), &Reply::Result(nodes))
            }
            Request::Pick(pick) => reply_line(&self.pick_nodes(&pick, now)),
            Request::Colonies => reply_line(&Reply::Result(self.colonies(now))),
            Request::Node { name } => reply_line(&self.node_called(&name, now)),
            Request::Publish { key, value, ttl_s } => {
                let done = self.publish_user([(&*key, &*value)], ttl_s, now);
                let published = |user_metrics| Published { key, ttl_s, user_metrics };
                reply_line(&Reply::from(done.map(published)))
            }
            Request::PublishAll { metrics, ttl_s } => {
                let pairs = metrics.iter().map(|(key, value)| (&**key, &**value));
                let done = self.publish_user(pairs, ttl_s, now);
                let keys = metrics.into_keys().collect();
                let published = |user_metrics| PublishedAll { keys, ttl_s, user_metrics };
                reply_line(&Reply::from(done.map(published)))
            }
            // Connections use a separate question for it.
            Request::Watch => self.notices.admit(self.endpoint.node.name()).0,
            Request::Leave => {
                self.ends = Some("a request to leave");
                reply_line(&Reply::Result(Leaving { name: self.endpoint.node.name().to_owned() }))
            }
        };
        drop(back.send(line));
    }

    fn node_called(&self, name: &str, now: Instant) -> Reply<NodeReport> {
        if let Some(view) = self.endpoint.node.entry(name, now) {
            return Reply::Result(report(&view));
        }
        let members = self.endpoint.node.ages(now).members;
        let message = format!("no node {name:?} among the {members} members known here");
        Reply::Error(ErrorReport::new(ErrorKind::NotFound, message))
    }

    /// Publishes what users ask for, all or nothing; how many metrics there are then.
    fn publish_user<'a>(
        &mut self,
        metrics: impl IntoIterator<Item = (&'a str, &'a str)>,
        ttl_s: u64,
        now: Instant,
    ) -> Result<usize, ErrorReport> {
        let published = self.user.publish(metrics, ttl_s, now);
        published.map_err(|refused| ErrorReport::new(ErrorKind::BadValue, refused.to_string()))?;
        self.publish(now);
        Ok(self.user.len())
    }

    pub(super) fn nodes(&self, now: Instant) -> Nodes {
        let mut nodes: Vec<NodeReport> =
            self.endpoint.node.entries(now).map(|view| report(&view)).collect();
        nodes.sort_by(|one, other| one.name.cmp(&other.name));
        Nodes {
            colony: self.endpoint.node.colony().map(|id| id.0),
            cluster: self.settings.cluster.clone(),
            observer: self.endpoint.node.name().to_owned(),
            interval_ms: self.interval_ms(),
            nodes,
        }
    }

    fn ages(&self, now: Instant) -> Ages {
        let ages = self.endpoint.node.ages(now);
        let counters = self.endpoint.node.counters();
        Ages {
            name: self.endpoint.node.name().to_owned(),
            now_ms: now.as_micros() as f64 / 1e3,
            members: ages.members as usize,
            known: ages.known as usize,
            age_avg_ms: ages.age_avg.as_secs_f64() * 1e3,
            age_max_ms: ages.age_max.as_secs_f64() * 1e3,
            rounds: counters.rounds,
            datagrams_sent: counters.datagrams_sent,
            bytes_sent: counters.bytes_sent,
            cpu_seconds: process::cpu_seconds(),
            rss_bytes: process::rss_bytes(),
            uptime_s: self.clock.uptime().as_secs_f64(),
            first_full_view_s: self.vitals.first_full_view_s(),
        }
    }

    fn status(&self, now: Instant) -> Status {
        let (ages, interval_ms) = (self.ages(now), self.interval_ms());
        let (reach, heard) = (self.reach(now), self.endpoint.node.versions_heard());
        let read = self.endpoint.node.versions_read();
        let payload_bytes_sent = self.endpoint.node.payload_bytes_sent();
        Status {
            cluster: self.settings.cluster.clone(),
            colony: self.settings.colony.map(|id| id.0),
            colonies: reach.colonies,
            colonies_heard: reach.heard,
            colony_age_max_ms: reach.age_max.map(|age| age.as_secs_f64() * 1e3),
            name: ages.name,
            address: self.standing.address.clone(),
            http: self.standing.http.clone(),
            scrape: self.standing.scrape.clone(),
            board: self.board.path().map(|path| path.display().to_string()),
            board_in_memory: self.board.lies_in_memory(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            interval_ms,
            window_entries: self.endpoint.node.window_entries() as u32,
            window: self.settings.window_text(),
            age_target_ms: self.settings.age_target.map(|age| age.as_secs_f64() * 1e3),
            age_target_quantile: self.settings.age_target_quantile,
            age_target_kept: self.endpoint.node.keeps_age(),
            strategy: self.settings.strategy.to_string(),
            payload_bytes: self.settings.payload_bytes,
            payload_bytes_most: self.settings.payload_room(),
            payload_bytes_sent,
            entry_bytes: ENTRY_OVERHEAD_BYTES as u32 + u32::from(payload_bytes_sent),
            mode: self.standing.mode,
            encrypted: self.standing.encrypted,
            keys: self.standing.keys,
            key_fingerprints: self.own_keys(),
            ill: self.health(now).err(),
            wire_version: self.settings.wire_version,
            wire_versions_read: [read.lowest, read.highest],
            wire_heard: heard.members,
            wire_written_lowest: heard.written_lowest,
            wire_read_lowest: heard.read_lowest,
            uptime_s: ages.uptime_s,
            members: ages.members,
            known: ages.known,
            states: company::count(&self.endpoint.node, now),
            expected: self.company.expected(self.seeds_asked()),
            alone: self.company.is_alone(),
            unresolved: self.unresolved(),
            mismatches: self.mismatches(now),
            age_avg_ms: ages.age_avg_ms,
            age_max_ms: ages.age_max_ms,
            age_avg_units: ages.age_avg_ms / interval_ms,
            age_max_units: ages.age_max_ms / interval_ms,
            cpu_seconds: ages.cpu_seconds,
            rss_bytes: ages.rss_bytes,
            memory_bound_bytes: self.standing.memory_bound_bytes,
            counters: by_name(self.counts()),
        }
    }

    pub(super) fn interval_ms(&self) -> f64 {
        self.settings.interval.as_secs_f64() * 1e3
    }

    /// Every counter: the core's, the socket's, the loop's.
    fn counts(&self) -> Vec<Count> {
        let (socket, own) = (self.endpoint.socket.counters(), self.counters);
        let mut counts: Vec<Count> = self.endpoint.node.counters().iter().collect();
        counts.extend([
            ("socket_send_calls", "System calls to send.", socket.send_calls),
            ("socket_send_blocked", "Times the send buffer was full.", socket.send_blocked),
            (
                "socket_send_too_large",
                "Transmits rejected as larger than the path's MTU: lower mtu.",
                socket.send_too_large,
            ),
            (
                "socket_send_refused",
                "Transmits not made: beyond loopback without a key.",
                socket.send_refused,
            ),
            (
                "socket_send_nowhere",
                "Transmits not made: the name of the member is not resolved yet.",
                socket.send_nowhere,
            ),
            ("socket_send_failed", "Transmits that failed otherwise.", socket.send_failed),
            ("socket_receive_calls", "System calls to receive.", socket.receive_calls),
            ("socket_receive_failed", "Receiving calls that failed.", socket.receive_failed),
            ("socket_came_back", "Datagrams whose host reported a closed port.", socket.came_back),
            ("wakeups", "Times the agent woke up.", own.wakeups),
            ("questions", "Control and HTTP requests answered.", own.questions),
            ("collections", "Times the machine was read.", own.collections),
            ("reloads", "Times a changed configuration was applied.", own.reloads),
            ("reloads_failed", "Times the new configuration was rejected.", own.reloads_failed),
            (
                "incarnation_unsaved",
                "Times the incarnation could not be written.",
                own.incarnation_unsaved,
            ),
            ("boards_failed", "Times the board could not be made or written.", own.boards_failed),
            ("gatherings", "Times a collector was run.", own.gatherings),
            ("gatherings_failed", "Times a collector failed.", own.gatherings_failed),
        ]);
        counts
    }
}

/// What is known of one node, in the terms of the protocol.
pub(super) fn report(view: &EntryView<'_>) -> NodeReport {
    let state = match view.state {
        EntryState::Alive => State::Alive,
        EntryState::Suspected => State::Suspected,
        EntryState::Dead => State::Dead,
        EntryState::Left => State::Left,
        EntryState::Unheard => State::Unheard,
    };
    let address = SocketAddr::try_from(view.address);
    let known = NodeReport {
        name: view.name.to_owned(),
        address: address.map_or(String::new(), |address| address.to_string()),
        state,
        age_ms: view.age.map(|age| age.as_secs_f64() * 1e3),
        readings_age_ms: view.payload_age.map(|age| age.as_secs_f64() * 1e3),
        incarnation: view.incarnation,
        sequence: view.sequence,
        ..NodeReport::default()
    };
    known.with_payload(view.payload)
}

/// The values of counters by their names.
fn by_name(counts: Vec<Count>) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(name, _, value)| (name.to_owned(), value)).collect()
}
