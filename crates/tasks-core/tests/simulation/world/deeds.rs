//! What parties do and hear, and what goes wrong.

use tidings_tasks_core::hosts::{Condition, Hosts, Rank};
use tidings_tasks_core::message::{Effect, MAX_TASKS, Submission};
use tidings_tasks_core::view::Which;

use super::*;

impl World {
    pub(super) fn tick(&mut self, at: usize) {
        self.after(ms(20), Event::Tick(at));
        if self.parties[at].health != Health::Up {
            return;
        }
        if at >= WORKERS || self.chance.happens(0.1) {
            self.wish(at);
        }
        let party = &mut self.parties[at];
        if party.is_leaving && party.hand.is_empty() && party.calls.is_empty() {
            party.restart(); // it has left in good order
        }
        for deed in self.parties[at].tick(self.now) {
            match deed {
                Deed::Send(peer, call, request) => self.send(peer, call, request),
                Deed::Connect => self.connect(at),
                Deed::Hangup(peer) => self.break_link(peer),
                Deed::Die => return self.kill_party(at),
            }
        }
    }

    /// What a party wants, at random.
    fn wish(&mut self, at: usize) {
        let now = self.now;
        if self.gaps.is_some() {
            return self.keep_waiting(at);
        }
        if self.is_quiet() || self.parties[at].calls.len() > 12 {
            return;
        }
        if self.chance.happens(0.1) {
            self.parties[at].wish_for_tokens(&mut self.tokens, now, &mut self.chance);
        }
        let is_client = at >= WORKERS;
        let some = self.tasks.get(self.chance.below(self.tasks.len().max(1))).copied();
        let request = match (self.chance.below(100), some) {
            (0..3, _) if is_client => self.new_tasks(),
            (3..5, Some((task, _))) => Request::Wait { task },
            (5, Some((task, _))) if self.chance.happens(0.3) => {
                self.cancelled.insert(task);
                Request::Cancel { task }
            }
            (6, Some((task, _))) => Request::Revive { task },
            (14, Some((task, _))) if self.chance.happens(0.3) => {
                self.cancelled.insert(task);
                Request::Withdraw { task }
            }
            (12, _) => self.look(),
            (13, Some(_)) if is_client => self.forget(),
            (7..9, _) => Request::SetPermits { semaphore: "s".to_owned(), permits: 3 },
            (9..12, _) => Request::Acquire {
                semaphore: "s".to_owned(),
                permits: 1 + self.chance.below(3) as u32,
            },
            _ => return,
        };
        let asks = match request {
            Request::Wait { task } | Request::Cancel { task } => self.acknowledged.contains(&task),
            _ => false,
        };
        let call = self.parties[at].ask(request, now);
        if asks {
            self.sure.insert((at, call));
        }
    }

    /// A request of one who looks on.
    fn look(&mut self) -> Request {
        let from = self.chance.pick(&self.tasks).map(|(id, _)| id);
        let state = self.chance.pick(&[Which::Live, Which::Failed, Which::Done, Which::All]);
        let queue = self.chance.happens(0.5).then(|| "q1".to_owned());
        match (state, from, self.chance.below(6)) {
            (_, _, 3) => {
                let key = format!("by/{}", self.chance.below(4)).into_bytes();
                let value = Some(vec![0; self.chance.below(9)].into());
                Request::Write { effects: vec![Effect { key, value, expect: None }] }
            }
            (_, _, 4) => {
                let limit = self.chance.below(3) as u32;
                Request::Keys { prefix: b"by/".to_vec().into(), from: None, limit }
            }
            (_, _, 5) => {
                let keys = [&b"shared"[..], b"by/1"].map(|key| key.to_vec().into());
                Request::Read { keys: keys.into() }
            }
            (Some(state), from, 0) => {
                let from = from.filter(|_| self.chance.happens(0.5));
                let limit = self.chance.below(30) as u32;
                Request::List { queue, state, from, limit }
            }
            (_, Some(task), 1) => Request::Show { task },
            _ => Request::Overview,
        }
    }

    /// Some tasks are to be forgotten: of those whose effects and children could happen again,
    /// none.
    fn forget(&mut self) -> Request {
        let mut tasks = BTreeSet::new();
        for _ in 0..self.chance.below(9) {
            let picked = self.chance.pick(&self.tasks);
            tasks.extend(picked.filter(|(_, kind)| *kind == Kind::Plain).map(|(id, _)| id));
        }
        self.forgotten.extend(&tasks);
        Request::Forget { tasks: tasks.into_iter().collect() }
    }

    /// A batch of new tasks, with some that were submitted before.
    fn new_tasks(&mut self) -> Request {
        let mut tasks = Vec::new();
        for _ in 0..=self.chance.below(12) {
            let number = self.tasks.len() as u64;
            let weights = [6, 2, 2, 1, 1, 1, 1];
            let mut draw = self.chance.below(weights.iter().sum());
            let mut kind = Kind::Plain;
            for (one, weight) in KINDS.into_iter().zip(weights) {
                kind = one;
                let Some(rest) = draw.checked_sub(weight) else { break };
                draw = rest;
            }
            if kind == Kind::Poison && self.chance.happens(0.5) {
                kind = Kind::Plain;
            }
            let id = TaskId::of("task", number);
            self.tasks.push((id, kind));
            tasks.push(submission(id, kind, &mut self.chance));
        }
        self.add_inputs(&mut tasks);
        for _ in 0..self.chance.below(4) {
            let picked = self.chance.pick(&self.tasks);
            if let Some((id, kind)) = picked.filter(|(id, _)| tasks.iter().all(|one| one.id != *id))
            {
                tasks.push(submission(id, kind, &mut self.chance));
            }
        }
        assert!(tasks.len() < MAX_TASKS);
        Request::Submit { tasks }
    }

    /// Some of new tasks wait for others of them, and for some that are acknowledged. Now and then
    /// two wait for each other.
    fn add_inputs(&mut self, tasks: &mut [Submission]) {
        let known: Vec<TaskId> = self.tasks.iter().map(|(id, _)| *id).collect();
        for at in 0..tasks.len() {
            if self.chance.happens(0.5) {
                continue;
            }
            for _ in 0..=self.chance.below(3) {
                let earlier = self.chance.pick(&known).filter(|id| self.acknowledged.contains(id));
                let own = (at > 0).then(|| tasks[self.chance.below(at.max(1))].id);
                let input = if self.chance.happens(0.5) { own.or(earlier) } else { earlier };
                tasks[at].inputs.extend(input);
            }
            if !tasks[at].inputs.is_empty() {
                tasks[at].delay_ms = 0;
            }
        }
        if self.chance.happens(0.5) {
            tasks.reverse();
        }
        if tasks.len() > 1 && self.chance.happens(0.05) {
            let (first, last) = (tasks[0].id, tasks[tasks.len() - 1].id);
            for (task, input) in [(0, last), (tasks.len() - 1, first)] {
                tasks[task].inputs.push(input);
                tasks[task].delay_ms = 0;
            }
        }
    }

    pub(super) fn hear(&mut self, at: usize, peer: Peer, message: Message) {
        match self.parties[at].health {
            Health::Down => return,
            Health::Frozen => return self.parties[at].inbox.push_back((peer, message)),
            Health::Up => {}
        }
        let (now, chance) = (self.now, &mut self.chance);
        if let Some((call, request, answer)) = self.parties[at].hear((peer, message), now, chance) {
            let is_sure = self.sure.remove(&(at, call));
            self.check_answer(&request, &answer, is_sure);
        }
    }

    /// Whether what was answered is so.
    fn check_answer(&mut self, request: &Request, answer: &Answer, is_sure: bool) {
        match (request, answer) {
            (Request::Submit { tasks }, Answer::Submitted(_)) => {
                for task in tasks {
                    let is_known = self.is_known(task.id) || self.forgotten.contains(&task.id);
                    assert!(is_known, "{} was acknowledged, and is lost", task.id);
                    self.acknowledged.insert(task.id);
                }
            }
            (Request::Complete { task, attempt, .. }, Answer::Done)
                if !self.forgotten.contains(task) =>
            {
                let finished: Finished =
                    self.value(&keys::finished(PART, *task)).expect("it ended");
                assert_eq!(finished.task.attempt, *attempt, "{task} ended by another attempt");
            }
            (
                Request::Complete { task, attempt, .. } | Request::Fail { task, attempt, .. },
                Answer::Refused(Refusal::Superseded),
            ) => {
                let live: Option<Task> = self.value(&keys::task(PART, *task));
                let is_last = live.is_some_and(|live| live.running(*attempt).is_some());
                assert!(!is_last, "{task}: a live attempt was refused as superseded");
            }
            (Request::Wait { task } | Request::Cancel { task }, Answer::Refused(refusal)) => {
                let is_lost = *refusal == Refusal::NoTask && is_sure;
                let is_lost = is_lost && !self.forgotten.contains(task);
                assert!(!is_lost, "{task} was acknowledged, and is not known");
            }
            (Request::Forget { .. }, Answer::Forgotten(count)) => {
                self.totals.forgotten += u64::from(*count);
            }
            (Request::Forget { .. } | Request::List { .. } | Request::Overview, refused)
                if matches!(refused, Answer::Refused(_)) =>
            {
                panic!("{refused:?} to {request:?}");
            }
            (Request::List { queue, state, from, .. }, Answer::Listed(tasks, next)) => {
                self.totals.listed += tasks.len() as u64;
                for (id, shown) in tasks {
                    assert!(queue.as_ref().is_none_or(|queue| shown.task().queue == *queue));
                    assert!(state.has(shown) && from.is_none_or(|from| from <= *id));
                    assert!(next.is_none_or(|next| *id < next), "{id} is on the next page too");
                }
                assert!(tasks.windows(2).all(|pair| pair[0].0 < pair[1].0), "they are in order");
            }
            (Request::Submit { tasks }, Answer::Refused(Refusal::Invalid(reason))) => {
                let mut inputs = tasks.iter().flat_map(|task| &task.inputs);
                let is_gone = inputs.any(|input| self.forgotten.contains(input));
                let is_circle = reason.contains("in a circle");
                assert!(is_circle || is_gone && reason.contains("is not known"), "{reason}");
                self.totals.circles += u64::from(is_circle);
            }
            (Request::Submit { .. } | Request::Acquire { .. }, Answer::Refused(refusal)) => {
                assert_eq!(*refusal, Refusal::NoSemaphore, "to {request:?}");
            }
            _ => {}
        }
    }

    pub(super) fn is_known(&self, id: TaskId) -> bool {
        let ledger = &self.store.ledger;
        ledger.get(&keys::task(PART, id)).or(ledger.get(&keys::finished(PART, id))).is_some()
    }

    // Faults.

    pub(super) fn fault(&mut self) {
        if self.is_quiet() {
            self.weather.clear();
            return;
        }
        if self.gaps.is_some() {
            return self.kill_who_coordinates();
        }
        let pause = self.weather.pause.mul_f64(2.0 * self.chance.real());
        self.after(pause, Event::Fault);
        let Some(fault) = self.chance.pick(&FAULTS) else { return };
        *self.totals.faults.entry(fault).or_default() += 1;
        let process = self.chance.below(PROCESSES);
        let worker = self.chance.below(WORKERS);
        let client = WORKERS + self.chance.below(CLIENTS);
        let while_ms = ms(20 + self.chance.below(1_800));
        match fault {
            Fault::KillProcess => self.kill_process(process),
            Fault::FreezeProcess if self.processes[process].health == Health::Up => {
                self.processes[process].health = Health::Frozen;
                let life = self.processes[process].life;
                self.after(ms(700), Event::Silence(process, life));
                self.after(while_ms, Event::Heal(Side::Process(process)));
            }
            Fault::SuspectProcess => drop(self.suspects.insert(process)),
            Fault::KillWorker => self.kill_party(worker),
            Fault::FreezeWorker if self.parties[worker].health == Health::Up => {
                self.parties[worker].health = Health::Frozen;
                self.after(while_ms, Event::Heal(Side::Party(worker)));
            }
            Fault::DrainWorker if self.parties[worker].health == Health::Up => {
                let party = &mut self.parties[worker];
                party.is_leaving = true;
                party.hand.clear();
                party.permits.clear();
                party.calls.clear();
                party.forget_tokens();
                party.ask(Request::Leave, self.now);
            }
            Fault::SeeHosts => self.see_hosts(),
            Fault::SuspectHost => self.lose_host(&format!("h{}", worker % 4)),
            Fault::KillClient => self.kill_party(client),
            Fault::BreakConnection => {
                let links: Vec<Peer> = self.links.keys().copied().collect();
                if let Some(peer) = self.chance.pick(&links) {
                    self.break_link(peer);
                }
            }
            Fault::StoreFull => self.weather.full_until = self.now + while_ms,
            Fault::StoreLost => self.weather.lost_until = self.now + while_ms / 4,
            Fault::FreezeProcess | Fault::FreezeWorker | Fault::DrainWorker => {}
        }
    }

    fn kill_party(&mut self, at: usize) {
        let party = &mut self.parties[at];
        if party.health == Health::Down {
            return;
        }
        party.health = Health::Down;
        party.life += 1; // what is on its way to it is lost
        let host = party.host.clone();
        self.break_links(|link| link.party == at);
        if self.chance.happens(0.3) {
            self.lose_host(&host);
        }
        let rest = ms(100 + self.chance.below(1_500));
        self.after(rest, Event::Heal(Side::Party(at)));
    }

    /// Hosts are seen to do well, or not, or are no longer seen.
    fn see_hosts(&mut self) {
        let conditions = [Condition::Good, Condition::Slow, Condition::Doubtful];
        let is_seen = self.chance.happens(0.8);
        let mut ranks = BTreeMap::new();
        for at in 0..4 {
            let condition = self.chance.pick(&conditions).unwrap_or_default();
            let load = 100 * self.chance.below(11) as u32;
            ranks.insert(format!("h{at}"), Rank { condition, load });
        }
        let hosts = is_seen.then(|| Hosts { ranks, ..Hosts::default() });
        for at in 0..PROCESSES {
            let life = self.processes[at].life;
            let delay = self.delay();
            self.after(delay, Event::Process(at, life, Input::Hosts(hosts.clone())));
        }
    }

    /// The news that a host is gone, true or not.
    fn lose_host(&mut self, host: &str) {
        for at in 0..PROCESSES {
            let life = self.processes[at].life;
            let delay = self.delay();
            self.after(delay, Event::Process(at, life, Input::HostLost(host.to_owned())));
        }
    }
}
