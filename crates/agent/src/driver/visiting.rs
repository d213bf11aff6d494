//! Visits: the vectors of other colonies, fetched on request.
//!
//! The node visits one colony at a time, so requests wait in a queue; all that wait for one colony
//! are answered together. A visit ends by itself, with everything or without answers; a request
//! that waits no longer is dropped, and its visit too. The number of requests is bounded by that of
//! control connections.

use tidings_control::{ErrorKind, ErrorReport, NodeReport, Nodes, Reply};
use tidings_gossip::colony::visit::VisitView;
use tidings_gossip::{ColonyId, Instant};
use tokio::sync::oneshot;

use super::Driver;
use super::answer::report;
use crate::reply::{picture_line, reply_line};

impl Driver {
    /// Answers with the nodes of `colony` as soon as they are known.
    pub(super) fn visit(&mut self, number: u32, back: oneshot::Sender<String>, now: Instant) {
        let colony = ColonyId(number);
        let own = self.endpoint.node.colony();
        if own == Some(colony) {
            drop(back.send(reply_line(&Reply::Result(self.nodes(now)))));
            return;
        }
        let known = self.endpoint.node.other_colonies(now).any(|view| view.id == colony);
        let message = match own {
            Some(_) if known => {
                self.visits.waiting.push((colony, back));
                return;
            }
            Some(own) => format!(
                "no colony {number} is known here, in colony {own}: `tidings colonies` lists those \
                 that are"
            ),
            None => "this agent is in no colony: set `colony`, and restart it".to_owned(),
        };
        drop(back.send(refusal(ErrorKind::NotFound, message)));
    }

    /// Begins the next visit, and ends one that no request waits for any more.
    pub(super) fn go_on_visiting(&mut self, now: Instant) {
        if self.visits.waiting.is_empty() && self.visits.under_way.is_none() {
            return;
        }
        self.visits.waiting.retain(|(_, back)| !back.is_closed());
        if let Some(colony) = self.visits.under_way {
            if !self.visits.waiting.iter().any(|(waiting, _)| *waiting == colony) {
                self.visits.under_way = None;
                self.endpoint.node.end_visit();
            }
        }
        while self.visits.under_way.is_none() {
            let Some((colony, _)) = self.visits.waiting.first() else { return };
            let colony = *colony;
            self.visits.under_way = Some(colony);
            if self.endpoint.node.visit(colony) {
                self.endpoint.send(now);
            } else {
                self.visited(now, colony, false);
            }
        }
    }

    /// Answers those that wait for a visit that has ended.
    pub(super) fn visited(&mut self, now: Instant, colony: ColonyId, complete: bool) {
        if self.visits.under_way != Some(colony) {
            return;
        }
        self.visits.under_way = None;
        let line = self.visit_line(now, colony, complete);
        self.endpoint.node.end_visit();
        for (waiting, back) in std::mem::take(&mut self.visits.waiting) {
            if waiting == colony {
                drop(back.send(line.clone()));
            } else {
                self.visits.waiting.push((waiting, back));
            }
        }
    }

    fn visit_line(&self, now: Instant, colony: ColonyId, complete: bool) -> String {
        let view = self.endpoint.node.visited(now);
        let entries = view.iter().flat_map(VisitView::entries);
        let mut nodes: Vec<NodeReport> = entries.map(|entry| report(&entry)).collect();
        if !complete && nodes.len() >= self.settings.max_nodes as usize {
            let message = format!(
                "colony {colony} has more nodes than max_nodes = {}: raise it, and restart this \
                 agent",
                self.settings.max_nodes
            );
            return refusal(ErrorKind::Unanswered, message);
        }
        if !complete {
            let message = format!(
                "colony {colony} does not answer, after {} of its nodes were received: are its \
                 agents up, and reachable from here?",
                nodes.len()
            );
            return refusal(ErrorKind::Unanswered, message);
        }
        nodes.sort_by(|one, other| one.name.cmp(&other.name));
        let picture = Nodes {
            colony: Some(colony.0),
            cluster: self.settings.cluster.clone(),
            observer: self.endpoint.node.name().to_owned(),
            interval_ms: self.interval_ms(),
            nodes,
        };
        picture_line(picture.nodes.len(), &Reply::Result(picture))
    }
}

fn refusal(kind: ErrorKind, message: String) -> String {
    reply_line(&Reply::<()>::Error(ErrorReport::new(kind, message)))
}
