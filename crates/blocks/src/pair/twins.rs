//! A process among those that have the parts of one block: caller, owner and backup in one.

use core::any::Any;
use core::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::copy::{Copy, State};
use super::placing::Placing;
use super::said::{InView, Logged, Said, Stand};
use crate::block::{Handler, Here, Outbox};
use crate::envelope::{Refusal, decode, encode};
use crate::id::Node;
use crate::reply::Asker;

/// Calls of one process that may wait for an answer. More are not answered.
const MAX_PENDING: usize = 65_536;

/// What a caller is answered: refused if a process that takes part does not know such a block.
pub(super) type Answer<S> = Result<<S as State>::Answer, Refusal>;

/// A call of this process.
pub struct Call<S: State> {
    /// For which part.
    pub part: u16,
    /// What is to be done.
    pub op: S::Op,
    /// Who is to be answered.
    pub asker: Asker<Result<S::Answer, Refusal>>,
}

type SaidOf<S> = Said<<S as State>::Op, <S as State>::Answer>;
type InViewOf<S> = InView<<S as State>::Op, <S as State>::Answer>;

/// A call of this process that is not answered.
struct Pending<S: State> {
    part: u16,
    op: S::Op,
    asker: Asker<Answer<S>>,
}

/// A call of a client: its number, below which all are answered, and what is to be done.
struct Asked<O> {
    client: Node,
    number: u64,
    below: u64,
    op: O,
}

/// What an owner knows of a part in the present view.
struct Owned<S: State> {
    /// Whether its copy is the best.
    is_active: bool,
    /// The calls that the backup has.
    applied: u64,
    /// Whether the backup follows, so that other copies are not needed.
    is_settled: bool,
    /// Answers that wait for the backup: to how many calls, whose, which.
    unanswered: VecDeque<(u64, Node, u64, S::Answer)>,
    /// Calls that came before the copy.
    waiting: Vec<Asked<S::Op>>,
    /// Whether something may be lost that was later than the best copy.
    is_lost: bool,
}

impl<S: State> Default for Owned<S> {
    fn default() -> Self {
        Self {
            is_active: false,
            applied: 0,
            is_settled: false,
            unanswered: VecDeque::new(),
            waiting: Vec::new(),
            is_lost: false,
        }
    }
}

/// The handler.
pub struct Twins<S: State> {
    parts: u16,
    /// The view in which the block was made.
    since: u64,
    placing: Vec<Placing>,
    copies: BTreeMap<u16, Copy<S>>,
    /// Of each part that was owned: the calls that the backup may not have.
    logs: BTreeMap<u16, VecDeque<Logged<S::Op>>>,
    owned: BTreeMap<u16, Owned<S>>,
    /// What the processes of the present view have.
    haves: BTreeMap<Node, BTreeMap<u16, Stand>>,
    /// Pieces of copies that are on their way.
    staged: BTreeMap<u16, S>,
    /// What was said in a view that this process has not entered.
    later: Vec<(Node, InViewOf<S>)>,
    pending: BTreeMap<u64, Pending<S>>,
    last_number: u64,
    lost: BTreeSet<u16>,
    /// Who does not know such a block.
    unable: BTreeMap<Node, Refusal>,
    on_loss: Box<dyn Fn(usize) + Send>,
}

impl<S: State> Twins<S> {
    /// The handler of a block in so many parts. `on_loss` is told how many parts may have lost
    /// something, whenever that changes.
    pub fn new(here: &Here, parts: u16, on_loss: impl Fn(usize) + Send + 'static) -> Self {
        Self {
            parts,
            since: here.since,
            placing: Vec::new(),
            copies: BTreeMap::new(),
            logs: BTreeMap::new(),
            owned: BTreeMap::new(),
            haves: BTreeMap::new(),
            staged: BTreeMap::new(),
            later: Vec::new(),
            pending: BTreeMap::new(),
            last_number: 0,
            lost: BTreeSet::new(),
            unable: BTreeMap::new(),
            on_loss: Box::new(on_loss),
        }
    }

    /// The parts that may have lost something.
    pub fn lost(&self) -> impl Iterator<Item = u16> {
        self.lost.iter().copied()
    }

    /// The copies that lie here.
    pub fn copies(&self) -> impl Iterator<Item = (u16, &S)> {
        self.copies.iter().map(|(part, copy)| (*part, &copy.state))
    }

    fn say(out: &mut Outbox<'_>, to: Node, said: SaidOf<S>) {
        let view = out.view().number;
        out.send(to, encode(&InView { view, said }));
    }

    /// Sends a call of this process to whoever owns its part now.
    fn ask(&self, number: u64, out: &mut Outbox<'_>) {
        let Some(pending) = self.pending.get(&number) else { return };
        let Some(placing) = self.placing.get(usize::from(pending.part)) else { return };
        let below = self.pending.keys().next().copied().unwrap_or(number);
        let said = Said::Ask(pending.part, number, below, pending.op.clone());
        Self::say(out, placing.owner, said);
    }

    fn hear(&mut self, from: Node, said: SaidOf<S>, out: &mut Outbox<'_>) {
        match said {
            Said::Have(parts) => {
                self.haves.insert(from, parts.into_iter().collect());
                self.look_for_copies(out);
            }
            Said::Fetch(part) => {
                if let Some(copy) = self.copies.get(&part) {
                    send_copy(copy, part, from, out);
                }
            }
            Said::Page(part, page) => {
                if part < self.parts {
                    let _ = self.staged.entry(part).or_default().restore(&page);
                }
            }
            Said::Copied(part, stand, answered) => {
                let state = self.staged.remove(&part).unwrap_or_default();
                if part < self.parts {
                    self.copies.insert(part, Copy::of(state, stand, answered));
                    self.logs.remove(&part);
                    self.activate_if_best(part, out);
                }
            }
            Said::Follow(part, count) => self.follow(from, part, count, out),
            Said::Apply(part, logged) => self.apply(from, part, &logged, out),
            Said::Applied(part, count) => self.applied(from, part, count, out),
            Said::Settled(part) => {
                let own = out.own();
                if self.placing.get(usize::from(part)).is_some_and(|placing| !placing.has(own)) {
                    self.copies.remove(&part);
                    self.logs.remove(&part);
                }
            }
            Said::Lost(part) => self.note_loss(part),
            Said::Ask(part, number, below, op) => {
                self.asked(part, Asked { client: from, number, below, op }, out);
            }
            Said::Answer(number, answer) => {
                if let Some(pending) = self.pending.remove(&number) {
                    pending.asker.answer(Ok(answer));
                }
            }
        }
    }

    fn note_loss(&mut self, part: u16) {
        if part < self.parts && self.lost.insert(part) {
            (self.on_loss)(self.lost.len());
        }
    }

    /// As soon as all have said what they have: gets the best copy of each part that is owned.
    fn look_for_copies(&mut self, out: &mut Outbox<'_>) {
        if out.view().nodes.iter().any(|node| !self.haves.contains_key(node)) {
            return;
        }
        let waiting = |(part, owned): (&u16, &Owned<S>)| (!owned.is_active).then_some(*part);
        let parts: Vec<u16> = self.owned.iter().filter_map(waiting).collect();
        for part in parts {
            let (best, at) = self.best(part, out.own());
            if self.may_be_lost(part, best, out) {
                self.note_loss(part);
                self.owned.entry(part).or_default().is_lost = true;
                let view = out.view().number;
                let said: SaidOf<S> = Said::Lost(part);
                out.send_to_others(&encode(&InView { view, said }));
            }
            if at == out.own() {
                self.activate(part, out);
            } else {
                Self::say(out, at, Said::Fetch(part));
            }
        }
    }

    /// How far the best copy is, and who has it: this process, if nobody is further.
    fn best(&self, part: u16, own: Node) -> (Stand, Node) {
        let stand_of = |parts: &BTreeMap<u16, Stand>| parts.get(&part).copied().unwrap_or_default();
        let stands = self.haves.iter().map(|(node, parts)| (stand_of(parts), *node));
        let best = stands.max_by_key(|(stand, node)| (*stand, *node == own));
        best.unwrap_or((Stand::default(), own))
    }

    /// Whether in a view since the best copy both of a pair had a later one, and both are gone.
    fn may_be_lost(&self, part: u16, best: Stand, out: &Outbox<'_>) -> bool {
        let view = out.view();
        let later = view.past.iter().filter(|past| {
            past.number > best.tag && past.number >= self.since && !past.nodes.is_empty()
        });
        let mut gone = later.filter_map(|past| Placing::of(part, &past.nodes)).filter(|placing| {
            !view.has(placing.owner) && placing.backup.is_none_or(|backup| !view.has(backup))
        });
        gone.next().is_some()
    }

    fn activate_if_best(&mut self, part: u16, out: &mut Outbox<'_>) {
        if self.owned.get(&part).is_some_and(|owned| !owned.is_active) {
            self.activate(part, out);
        }
    }

    /// Begins to own a part: its copy has all that was answered. The backup is brought to the same.
    fn activate(&mut self, part: u16, out: &mut Outbox<'_>) {
        let backup = self.placing[usize::from(part)].backup;
        let is_lost = self.owned.get(&part).is_some_and(|owned| owned.is_lost);
        let copy = self.copies.entry(part).or_default();
        // Then it is as no other copy is.
        let is_other = is_lost && copy.state.lose();
        let log = self.logs.entry(part).or_default();
        let stand = copy.stand;
        copy.stand.tag = out.view().number;
        if let Some(backup) = backup {
            let haves = self.haves.get(&backup).and_then(|parts| parts.get(&part).copied());
            let theirs = haves.unwrap_or_default();
            let missing = stand.count.saturating_sub(theirs.count) as usize;
            if !is_other
                && theirs.tag == stand.tag
                && theirs.count <= stand.count
                && missing <= log.len()
            {
                Self::say(out, backup, Said::Follow(part, theirs.count));
                for logged in log.range(log.len() - missing..) {
                    Self::say(out, backup, Said::Apply(part, logged.clone()));
                }
            } else {
                send_copy(copy, part, backup, out);
                Self::say(out, backup, Said::Follow(part, stand.count));
            }
        } else {
            log.clear();
        }
        let owned = self.owned.entry(part).or_default();
        owned.is_active = true;
        if backup.is_none() {
            owned.applied = u64::MAX;
        }
        for asked in core::mem::take(&mut owned.waiting) {
            self.asked(part, asked, out);
        }
    }

    /// A call of a client, for a part that this process owns.
    fn asked(&mut self, part: u16, asked: Asked<S::Op>, out: &mut Outbox<'_>) {
        let Some(owned) = self.owned.get_mut(&part) else { return };
        if !owned.is_active {
            owned.waiting.push(asked);
            return;
        }
        let Some(copy) = self.copies.get_mut(&part) else { return };
        let Asked { client, number, below, op } = asked;
        let answer = if let Some(answer) = copy.answer(client, number) {
            answer.clone()
        } else {
            let count = copy.stand.count + 1;
            let logged = Logged { count, client, number, below, op };
            let answer = copy.apply(&logged);
            if let Some(backup) = self.placing[usize::from(part)].backup {
                self.logs.entry(part).or_default().push_back(logged.clone());
                Self::say(out, backup, Said::Apply(part, logged));
            }
            answer
        };
        if copy.stand.count <= owned.applied {
            Self::say(out, client, Said::Answer(number, answer));
        } else {
            owned.unanswered.push_back((copy.stand.count, client, number, answer));
        }
    }

    fn follow(&mut self, from: Node, part: u16, count: u64, out: &mut Outbox<'_>) {
        let own = out.own();
        let placed = self.placing.get(usize::from(part));
        if placed.is_none_or(|placing| placing.owner != from || placing.backup != Some(own)) {
            return;
        }
        let copy = self.copies.entry(part).or_default();
        if copy.stand.count == count {
            copy.stand.tag = out.view().number;
            self.logs.remove(&part);
            Self::say(out, from, Said::Applied(part, count));
        }
    }

    fn apply(&mut self, from: Node, part: u16, logged: &Logged<S::Op>, out: &mut Outbox<'_>) {
        let Some(copy) = self.copies.get_mut(&part) else { return };
        if copy.stand.tag == out.view().number && logged.count == copy.stand.count + 1 {
            let _ = copy.apply(logged);
            Self::say(out, from, Said::Applied(part, logged.count));
        }
    }

    fn applied(&mut self, from: Node, part: u16, count: u64, out: &mut Outbox<'_>) {
        let Some(owned) = self.owned.get_mut(&part) else { return };
        if self.placing[usize::from(part)].backup != Some(from) || !owned.is_active {
            return;
        }
        owned.applied = owned.applied.max(count);
        while let Some((of, client, number, answer)) = owned.unanswered.pop_front() {
            if of > owned.applied {
                owned.unanswered.push_front((of, client, number, answer));
                break;
            }
            Self::say(out, client, Said::Answer(number, answer));
        }
        if let Some(log) = self.logs.get_mut(&part) {
            while log.front().is_some_and(|logged| logged.count <= owned.applied) {
                log.pop_front();
            }
        }
        if !owned.is_settled {
            owned.is_settled = true;
            let placing = self.placing[usize::from(part)];
            let has = |(node, parts): (&Node, &BTreeMap<u16, Stand>)| {
                (parts.contains_key(&part) && !placing.has(*node)).then_some(*node)
            };
            for node in self.haves.iter().filter_map(has) {
                Self::say(out, node, Said::Settled(part));
            }
        }
    }

    /// Answers all calls that wait for a process that does not know such a block.
    fn fail(&mut self) {
        let Some(refusal) = self.unable.values().next() else { return };
        for (_, pending) in core::mem::take(&mut self.pending) {
            pending.asker.answer(Err(refusal.clone()));
        }
    }
}

fn send_copy<S: State>(copy: &Copy<S>, part: u16, to: Node, out: &mut Outbox<'_>) {
    for page in copy.state.pages() {
        Twins::<S>::say(out, to, Said::Page(part, page));
    }
    Twins::<S>::say(out, to, Said::Copied(part, copy.stand, copy.answered()));
}

impl<S: State> Handler for Twins<S> {
    fn called(&mut self, call: Box<dyn Any + Send>, out: &mut Outbox<'_>) {
        let Ok(call) = call.downcast::<Call<S>>() else { return };
        let Call { part, op, asker } = *call;
        if part >= self.parts || self.pending.len() >= MAX_PENDING {
            return; // who asks hears that there is no answer
        }
        self.last_number += 1;
        let number = self.last_number;
        self.pending.insert(number, Pending { part, op, asker });
        self.ask(number, out);
        self.fail();
    }

    fn received(&mut self, from: Node, message: &[u8], out: &mut Outbox<'_>) {
        let Some(InView { view, said }) = decode::<InViewOf<S>>(message) else {
            return;
        };
        // What is answered is so in every view.
        let is_answer = matches!(said, Said::Answer(..));
        match view.cmp(&out.view().number) {
            Ordering::Greater if !is_answer => self.later.push((from, InView { view, said })),
            Ordering::Less if !is_answer => {}
            _ => self.hear(from, said, out),
        }
    }

    fn refused(&mut self, by: Node, why: &Refusal, _out: &mut Outbox<'_>) {
        self.unable.insert(by, why.clone());
        self.fail();
    }

    /// Begins the view: what belongs to the one before is over.
    fn view_entered(&mut self, out: &mut Outbox<'_>) {
        let view = out.view();
        let placed = (0..self.parts).filter_map(|part| Placing::of(part, &view.nodes));
        self.placing = placed.collect();
        self.unable.retain(|node, _| view.has(*node));
        (self.haves, self.staged) = (BTreeMap::new(), BTreeMap::new());
        self.owned = BTreeMap::new();
        for (part, placing) in (0..).zip(&self.placing) {
            if placing.owner == out.own() {
                self.owned.insert(part, Owned::default());
            }
        }
        for copy in self.copies.values_mut() {
            copy.forget(|client| view.has(client));
        }
        let have: Vec<(u16, Stand)> =
            self.copies.iter().map(|(part, copy)| (*part, copy.stand)).collect();
        let said: SaidOf<S> = Said::Have(have.clone());
        out.send_to_others(&encode(&InView { view: view.number, said }));
        self.haves.insert(out.own(), have.into_iter().collect());
        let numbers: Vec<u64> = self.pending.keys().copied().collect();
        for number in numbers {
            self.ask(number, out);
        }
        self.look_for_copies(out);
        for (from, in_view) in core::mem::take(&mut self.later) {
            match in_view.view.cmp(&view.number) {
                Ordering::Greater => self.later.push((from, in_view)),
                Ordering::Equal if view.has(from) => self.hear(from, in_view.said, out),
                _ => {}
            }
        }
    }
}
