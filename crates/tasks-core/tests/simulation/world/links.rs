//! Connections of the world: made, broken and used.

use super::*;

impl World {
    pub(super) fn connect(&mut self, party: usize) {
        let holder = self.value::<Reign>(&keys::role(PART)).map(|reign| reign.coordinator);
        let is_it =
            |at: &usize| holder.as_ref().is_some_and(|name| name.starts_with(&format!("c{at}.")));
        let known = (0..PROCESSES).find(is_it);
        let random = self.chance.below(PROCESSES);
        let process = known.filter(|_| self.chance.happens(0.9)).unwrap_or(random);
        if self.processes[process].health == Health::Down {
            return;
        }
        self.last_peer += 1;
        let peer = Peer(self.last_peer);
        let life = self.processes[process].life;
        self.links.insert(peer, Link { party, process, life, arrival: [self.now; 2] });
        self.parties[party].connected(peer, self.now);
    }

    pub(super) fn break_links(&mut self, is_broken: impl Fn(&Link) -> bool) {
        let broken: Vec<Peer> =
            self.links.iter().filter(|(_, link)| is_broken(link)).map(|(&peer, _)| peer).collect();
        for peer in broken {
            self.break_link(peer);
        }
    }

    pub(super) fn break_link(&mut self, peer: Peer) {
        let Some(link) = self.links.remove(&peer) else { return };
        let at = link.arrival[0].max(self.now).saturating_since(self.now) + self.delay();
        self.after(at, Event::Process(link.process, link.life, Input::Gone(peer)));
        let at = link.arrival[1].max(self.now).saturating_since(self.now) + self.delay();
        self.after(at, Event::Broken(link.party, peer));
    }

    /// When the next message on a connection arrives.
    pub(super) fn travel(&mut self, peer: Peer, direction: usize) -> Option<Duration> {
        let delay = self.delay();
        let link = self.links.get_mut(&peer)?;
        let at = (self.now + delay).max(link.arrival[direction] + Duration::from_micros(1));
        link.arrival[direction] = at;
        Some(at.saturating_since(self.now))
    }

    pub(super) fn say(&mut self, peer: Peer, message: Message) {
        let Some(wait) = self.travel(peer, 1) else { return };
        if let Message::Assign { .. } = message {
            self.dispatched();
        }
        let party = self.links[&peer].party;
        let life = self.parties[party].life;
        self.after(wait, Event::Party(party, life, peer, message));
    }

    pub(super) fn send(&mut self, peer: Peer, call: Call, request: Request) {
        let Some(wait) = self.travel(peer, 0) else { return };
        let link = &self.links[&peer];
        let (process, life) = (link.process, link.life);
        self.after(wait, Event::Process(process, life, Input::Request(peer, call, request)));
    }
}
