//! Picking nodes for work: the entries in the terms of the placement crate, and earlier picks.
//!
//! The agent remembers what it has assigned, so that callers on one machine, however many, do not
//! all get the nodes that look idle. It does not know the callers on other machines: random choice
//! keeps those apart.

use std::collections::BTreeSet;

use tidings_control::{ErrorKind, ErrorReport, Lack, Pick, Picked, PickedNode, Reply, Shortfall};
use tidings_gossip::payload::NodeState;
use tidings_gossip::roster::Hostlist;
use tidings_gossip::{EntryState, EntryView, Instant};
use tidings_placement::{Candidate, Need, Policy, Resource, Unsatisfied, pick};

use super::Driver;

/// The most names to avoid that are looked for among the nodes, to say which nobody has.
const UNKNOWN_MOST: usize = 1024;

/// The most nodes that one request may ask for.
const MOST_NODES: u32 = 1 << 20;

impl Driver {
    /// Answers a request for nodes, and remembers the pick.
    pub(super) fn pick_nodes(&mut self, request: &Pick, now: Instant) -> Reply<Picked> {
        let refuse = |kind, message: String| Reply::Error(ErrorReport::new(kind, message));
        let policy = match request.policy.parse::<Policy>() {
            Ok(policy) => policy,
            Err(unknown) => return refuse(ErrorKind::BadRequest, unknown.to_string()),
        };
        if !(1..=MOST_NODES).contains(&request.count) || !(0.0..).contains(&request.cpus) {
            let message = format!("count must be 1 to {MOST_NODES}, and cpus not below 0");
            return refuse(ErrorKind::BadRequest, message);
        }
        let avoid = match Avoided::read(&request.avoid) {
            Ok(avoid) => avoid,
            Err(message) => return refuse(ErrorKind::BadRequest, message),
        };
        let need = Need { cpus: request.cpus, mem_bytes: request.mem_bytes };
        let now_s = now.as_micros() as f64 / 1e6;
        let candidates = self.candidates(&avoid, now, now_s);
        let mut seed = [0; 8];
        if getrandom::fill(&mut seed).is_err() {
            seed = now.as_micros().to_le_bytes(); // random enough: no two requests share a time
        }
        let (count, seed) = (request.count as usize, u64::from_le_bytes(seed));
        let places = match pick(&candidates, count, need, policy, seed) {
            Ok(places) => places,
            Err(unsatisfied) => return Reply::Error(refusal(&unsatisfied)),
        };
        let nodes = places.iter().map(|&place| {
            let candidate = &candidates[place];
            self.reservations.make(&candidate.name, need, now_s);
            PickedNode {
                name: candidate.name.clone(),
                age_ms: candidate.age_s * 1e3,
                cpus: candidate.cpus,
                free_cpus: candidate.free_cpus(),
                mem_free_bytes: candidate.mem_free_bytes,
            }
        });
        Reply::Result(Picked {
            policy: policy.to_string(),
            nodes: nodes.collect(),
            considered: candidates.len(),
            avoid_unknown: avoid.unknown(self.endpoint.node.entries(now).map(|view| view.name)),
        })
    }

    /// The nodes that are alive with known processors and memory, less earlier picks.
    fn candidates(&self, avoid: &Avoided<'_>, now: Instant, now_s: f64) -> Vec<Candidate> {
        let entries = self.endpoint.node.entries(now);
        let wanted = entries.filter(|view| !avoid.has(view.name));
        let mut candidates: Vec<Candidate> = wanted.filter_map(|view| candidate(&view)).collect();
        for candidate in &mut candidates {
            self.reservations.discount(candidate, now_s);
        }
        candidates
    }
}

/// Nodes that are not to be picked: names, and hostlists as in a roster.
struct Avoided<'r> {
    names: BTreeSet<&'r str>,
    lists: Vec<Hostlist>,
}

impl<'r> Avoided<'r> {
    /// Reads them; an empty text names nobody. The error says which text is wrong, and where.
    fn read(texts: &'r [String]) -> Result<Self, String> {
        let is_list = |text: &&str| text.contains(['[', ']', ',']);
        let texts = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
        let (lists, names): (Vec<&str>, Vec<&str>) = texts.partition(is_list);
        let list = |text: &str| {
            Hostlist::parse(text).map_err(|error| {
                format!("avoid `{text}`, character {}: {}", error.column, error.problem)
            })
        };
        let names = names.into_iter().collect();
        Ok(Self { names, lists: lists.into_iter().map(list).collect::<Result<_, _>>()? })
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.lists.iter().any(|list| list.contains(name))
    }

    /// Those that no node has: perhaps they are mistyped.
    fn unknown<'k>(&self, known: impl Iterator<Item = &'k str>) -> Vec<String> {
        let there: BTreeSet<&str> = known.filter(|name| self.has(name)).collect();
        let names = self.names.difference(&there).map(|name| (*name).to_owned());
        let lists =
            self.lists.iter().flat_map(|list| list.lacking(there.iter().copied(), UNKNOWN_MOST));
        names.chain(lists).take(UNKNOWN_MOST).collect()
    }
}

/// The shortfall, in words and in numbers.
fn refusal(unsatisfied: &Unsatisfied) -> ErrorReport {
    let lacks = unsatisfied.lacks.iter().map(|lack| Lack {
        need: match lack.resource {
            Resource::Cpus => "cpus".to_owned(),
            Resource::MemBytes => "mem_bytes".to_owned(),
        },
        asked: lack.asked,
        best: lack.best,
        short: lack.short(),
        nodes: lack.nodes,
    });
    let shortfall = Shortfall {
        wanted: unsatisfied.wanted,
        found: unsatisfied.found,
        considered: unsatisfied.considered,
        lacks: lacks.collect(),
    };
    let report = ErrorReport::new(ErrorKind::Unsatisfied, unsatisfied.to_string());
    ErrorReport { shortfall: Some(shortfall), ..report }
}

/// A node in the terms of placement; `None` if it is not alive, or lacks readings.
fn candidate(view: &EntryView<'_>) -> Option<Candidate> {
    let age_s = view.age.filter(|_| view.state == EntryState::Alive)?.as_secs_f64();
    let readings = NodeState::decode(view.payload).ok()?;
    let cpus = f64::from(readings.cores?);
    let busy_percent = readings.cpu_busy_percent.map_or(0.0, f64::from);
    let load = readings.load1.map_or(0.0, f64::from);
    let mem_bytes = readings.mem_total_bytes.unwrap_or(0);
    Some(Candidate {
        name: view.name.to_owned(),
        age_s,
        cpus,
        // The load covers the last minute, the share the last moments: the greater counts.
        busy_cpus: load.max(busy_percent / 100.0 * cpus),
        mem_bytes,
        mem_free_bytes: readings.mem_available_bytes.unwrap_or(mem_bytes),
    })
}
