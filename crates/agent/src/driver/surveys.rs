//! Surveys of keys that an operator asks for; each runs in a task of its own.

use tidings_control::{KeyAnswer, KeyReport, NodeKeys, NodeReport, Reply, State};
use tidings_gossip::Instant;
use tokio::sync::oneshot;

use super::Driver;
use crate::reply::picture_line;
use crate::survey::Survey;

impl Driver {
    /// Asks all members which keys they hold, and answers when that is known.
    pub(super) fn survey(&mut self, back: oneshot::Sender<String>, now: Instant) {
        let report = self.members_keys(now);
        let survey =
            Survey { checker: self.endpoint.node.checker(), listen: self.settings.listen.ip() };
        tokio::spawn(async move {
            let report = survey.run(report).await;
            let line = picture_line(report.nodes.len(), &Reply::Result(report));
            drop(back.send(line)); // the asker may have gone
        });
    }

    /// The fingerprints of the own keys, that of the sealing one first.
    pub(super) fn own_keys(&self) -> Vec<String> {
        self.endpoint.node.key_fingerprints().iter().map(ToString::to_string).collect()
    }

    /// The members as they are before they have answered.
    fn members_keys(&self, now: Instant) -> KeyReport {
        let own = self.endpoint.node.name();
        let node = |NodeReport { name, address, state, .. }| {
            let (answer, keys) = if name == own {
                (KeyAnswer::Known, self.own_keys())
            } else if matches!(state, State::Dead | State::Left) {
                (KeyAnswer::NotAsked, Vec::new())
            } else {
                (KeyAnswer::Silent, Vec::new()) // until it answers
            };
            NodeKeys { name, address, state, answer, keys }
        };
        KeyReport {
            cluster: self.settings.cluster.clone(),
            colony: self.settings.colony.map(|id| id.0),
            observer: own.to_owned(),
            encrypted: self.standing.encrypted,
            expected: self.company.expected(self.seeds_asked()),
            nodes: self.nodes(now).nodes.into_iter().map(node).collect(),
        }
    }
}
