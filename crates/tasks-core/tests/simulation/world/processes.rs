//! Processes of the world: elected, stopped, and moved on.

use super::*;

impl World {
    pub(super) fn elect(&mut self, at: usize) {
        self.after(ms(100), Event::Elect(at));
        self.watch(at);
        let process = &mut self.processes[at];
        if process.health != Health::Up || process.coordinator.is_some() || process.is_taking {
            return;
        }
        let ledger = &mut self.store.ledger;
        let session = *process.session.get_or_insert_with(|| ledger.open_session());
        let seen = ledger.get(&keys::role(PART));
        let lives = ledger.get(&keys::lives(PART)).is_some();
        let life = process.life;
        let name = format!("c{at}.{life}");
        let reign: Option<Reign> =
            seen.as_ref().map(|seen| minicbor::decode(&seen.value).expect("a reign"));
        if let (Some(reign), Some(seen)) = (&reign, &seen) {
            if reign.coordinator == name {
                return self.begin(at, reign.epoch, seen.revision);
            }
        }
        let suspects = &self.suspects;
        let is_lost = |host: &str| suspects.iter().any(|suspect| *host == format!("c{suspect}"));
        if !reign::is_vacant(reign.as_ref(), lives, is_lost) {
            return;
        }
        self.suspects.clear();
        let (host, address) = (format!("c{at}"), String::new());
        let candidate = Candidate { name, host, address, session: Some(session) };
        let (transaction, reign) = reign::take(PART, seen.as_ref(), &candidate).expect("a reign");
        self.processes[at].is_taking = true;
        let delay = self.delay();
        self.after(delay, Event::Take(at, life, transaction, reign.epoch));
    }

    /// Who coordinates looks now and then whether another has the role: without a commit it would
    /// not learn it.
    pub(super) fn watch(&mut self, at: usize) {
        let holder = self.value::<Reign>(&keys::role(PART)).map(|reign| reign.coordinator);
        let process = &mut self.processes[at];
        let is_it = holder == Some(format!("c{at}.{}", process.life));
        let may_look = process.health == Health::Up && self.chance.happens(0.1);
        if may_look && !is_it && process.coordinator.take().is_some() {
            self.break_links(|link| link.process == at);
        }
    }

    pub(super) fn begin(&mut self, at: usize, epoch: Epoch, role: Revision) {
        self.totals.reigns += 1;
        let small = self.chance.happens(0.3);
        self.processes[at].reign(self.now, epoch, role, small);
        self.poll(at);
    }

    pub(super) fn reach(&mut self, at: usize, life: u64, input: Input) {
        let process = &mut self.processes[at];
        if process.life != life || process.health == Health::Down {
            return;
        }
        if process.health == Health::Frozen {
            return process.inbox.push_back(input);
        }
        match input {
            Input::Timeout if process.alarm.is_none_or(|alarm| alarm > self.now) => return,
            Input::Timeout => process.alarm = None,
            Input::Taken(answer, epoch) => {
                process.is_taking = false;
                if let Ok(role) = answer {
                    self.begin(at, epoch, role);
                }
                return;
            }
            Input::Request(peer, call, _) if process.coordinator.is_none() => {
                return self.say(peer, Message::Answer(call, Answer::Refused(Refusal::Elsewhere)));
            }
            _ => {}
        }
        self.processes[at].take(self.now, input);
        self.poll(at);
    }

    /// Takes out what a coordinator has to say.
    pub(super) fn poll(&mut self, at: usize) {
        let process = &mut self.processes[at];
        let (life, reign) = (process.life, process.reign);
        let Some(coordinator) = &mut process.coordinator else { return };
        let mut out = Vec::new();
        while let Some((ticket, read)) = coordinator.poll_read() {
            out.push(Event::Read(at, life, reign, ticket, read));
        }
        while let Some((ticket, transaction)) = coordinator.poll_commit() {
            out.push(Event::Commit(at, life, reign, ticket, transaction));
        }
        let mut messages = Vec::new();
        while let Some(message) = coordinator.poll_message() {
            messages.push(message);
        }
        let next = coordinator.poll_timeout();
        let is_deposed = coordinator.is_deposed();
        assert!(out.len() + messages.len() < 5_000, "it has no end of things to say");
        if is_deposed {
            self.totals.superseded += coordinator.counters().superseded;
            process.coordinator = None;
        }
        for event in out {
            let delay = self.delay();
            self.after(delay, event);
        }
        for (peer, message) in messages {
            self.say(peer, message);
        }
        if is_deposed {
            self.break_links(|link| link.process == at);
        }
        let process = &mut self.processes[at];
        let is_sooner = |next: &Instant| process.alarm.is_none_or(|alarm| *next < alarm);
        if let Some(next) = next.filter(is_sooner) {
            process.alarm = Some(next);
            let wait = next.saturating_since(self.now);
            self.after(wait, Event::Process(at, life, Input::Timeout));
        }
    }

    pub(super) fn kill_process(&mut self, at: usize) {
        let process = &mut self.processes[at];
        if process.health == Health::Down {
            return;
        }
        if let Some(coordinator) = &process.coordinator {
            self.totals.superseded += coordinator.counters().superseded;
        }
        let (life, session) = (process.life, process.session.take());
        *process = Process { life: life + 1, reign: process.reign, ..Process::new() };
        process.health = Health::Down;
        if let Some(session) = session {
            self.after(ms(700), Event::End(session));
        }
        self.break_links(|link| link.process == at);
        if self.chance.happens(0.5) {
            self.suspects.insert(at); // the news is true
        }
        let rest = ms(800 + self.chance.below(1_500));
        self.after(rest, Event::Heal(Side::Process(at)));
    }

    pub(super) fn heal(&mut self, side: Side) {
        match side {
            Side::Party(at) => {
                let party = &mut self.parties[at];
                let was = core::mem::replace(&mut party.health, Health::Up);
                if was == Health::Down {
                    party.restart();
                }
                for (peer, message) in core::mem::take(&mut self.parties[at].inbox) {
                    self.hear(at, peer, message);
                }
            }
            Side::Process(at) => {
                let process = &mut self.processes[at];
                if core::mem::replace(&mut process.health, Health::Up) != Health::Frozen {
                    return;
                }
                // It does what its clock says before it reads what came.
                let life = process.life;
                let inbox = core::mem::take(&mut process.inbox);
                self.processes[at].take(self.now, Input::Timeout);
                self.poll(at);
                for input in inbox {
                    self.reach(at, life, input);
                }
            }
        }
    }
}
