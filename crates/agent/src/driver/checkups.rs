//! Checkups that an operator asks for; each runs in a task of its own.

use std::net::SocketAddr;

use tidings_control::Reply;
use tidings_gossip::Instant;
use tokio::sync::oneshot;

use super::Driver;
use crate::checkup::Asking;
use crate::reply::reply_line;

impl Driver {
    /// Tries what lies between this node and `host`, and answers when that is known.
    pub(super) fn check_up(&mut self, host: String, back: oneshot::Sender<String>, now: Instant) {
        let node = &mut self.endpoint.node;
        let member =
            node.entry(&host, now).and_then(|view| SocketAddr::try_from(view.address).ok());
        let asking = Asking {
            checker: node.checker(),
            member,
            host,
            port: self.reloading.port,
            listen: self.settings.listen.ip(),
            announced: self.standing.address.clone(),
            reach: self.reloading.reach,
            datagram_bytes: usize::from(self.settings.core().datagram_bytes),
        };
        tokio::spawn(async move {
            let checkup = asking.run().await;
            drop(back.send(reply_line(&Reply::Result(checkup)))); // the asker may have gone
        });
    }
}
