//! Broadcasts: how a large blob gets to many hosts, down a tree that nobody lays out.
//!
//! Whoever needs the blob asks from where to copy it, and is named one that has it and is free;
//! once it has its copy it is one of those itself. So they become three times as many in the time
//! of two copies, and the one that made it is asked by few. Nothing is planned: who comes late, and
//! who has lost the one from which it copied, asks like the others.
//!
//! Each that has it sends it to [`AT_A_TIME`] at a time, and to [`FAN`] in all. One that is gone
//! leaves its place at the one from which it had its copy.
//!
//! Invariants:
//! * A depot copies a blob once at a time: others of its host wait for that copy.
//! * Nobody sends it to more than [`FAN`] depots that are there, as long as anybody may send it to
//!   another one.
//! * Who asks is told: an owner, as soon as one is free; that the copy is here; or that nobody has
//!   the blob, nor copies it.
//!
//! Source: FOX final report, §3.2: broadcasts by a loop over all workers ended libFOX's scaling.
//! Why no tree is laid out: docs/decisions/0044-broadcasts.md.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::message::{Call, Peer};
use crate::output::Owner;

/// To how many one sends a blob in all, of those that are there.
pub const FAN: usize = crate::tree::FAN as usize;

/// To how many one sends a blob at a time.
pub const AT_A_TIME: usize = 2;

/// One that asks from where its depot is to copy a blob.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asker {
    /// Its session.
    pub peer: Peer,
    /// Its request.
    pub call: Call,
    /// The depot.
    pub depot: u64,
}

/// What one that asks is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// To copy it from there.
    From(Owner),
    /// That its depot has it.
    Here,
    /// That nobody has it.
    Nowhere,
}

/// To whom one sends it.
#[derive(Debug, Default)]
struct Sends {
    /// Depots that copy it from there now.
    now: BTreeSet<u64>,
    /// Those, and the ones that have done so and are there.
    all: BTreeSet<u64>,
}

/// Who is named first: whose places are not all taken, who sends to few, now and in all.
type Rank = (bool, usize, usize);

/// One blob on its way to those who ask for it.
#[derive(Debug, Default)]
pub struct Broadcast {
    having: BTreeMap<Owner, Sends>,
    /// Those that may send now.
    free: BTreeSet<(Rank, Owner)>,
    /// How many have places.
    roomy: usize,
    /// From whom each depot has it, or copies it.
    parents: BTreeMap<u64, Owner>,
    copying: BTreeMap<u64, Asker>,
    waiting: VecDeque<Asker>,
    /// Who waits for the copy that another one of its host makes.
    beside: BTreeMap<u64, Vec<Asker>>,
}

impl Sends {
    fn rank(&self) -> Rank {
        (self.all.len() >= FAN, self.now.len(), self.all.len())
    }
}

impl Broadcast {
    /// One asks. `owners` are there and have it. `failed` gave nothing, and is named no more until
    /// somebody says that it has it.
    pub fn ask(&mut self, asker: Asker, owners: &[Owner], failed: Option<Owner>) {
        if let Some(failed) = failed {
            self.lose(failed);
        }
        let is_again =
            |own: &Asker| own.peer == asker.peer && (own.call == asker.call || failed.is_some());
        if self.copying.get(&asker.depot).is_some_and(is_again) {
            self.end(asker.depot, false);
        }
        for owner in owners.iter().filter(|owner| Some(**owner) != failed) {
            self.add(*owner);
        }
        self.waiting.push_back(asker);
    }

    /// The next one that can be told something.
    pub fn next_told(&mut self) -> Option<(Asker, Told)> {
        loop {
            let asker = *self.waiting.front()?;
            let told = if self.having.contains_key(&Owner::Depot(asker.depot)) {
                Told::Here
            } else if self.copying.contains_key(&asker.depot) {
                self.waiting.pop_front();
                self.beside.entry(asker.depot).or_default().push(asker);
                continue;
            } else if let Some(owner) = self.choose() {
                self.begin(asker, owner);
                Told::From(owner)
            } else if self.having.is_empty() && self.copying.is_empty() {
                Told::Nowhere
            } else {
                return None;
            };
            self.waiting.pop_front();
            return Some((asker, told));
        }
    }

    /// A session says how the copying of its depot has ended.
    pub fn copied(&mut self, peer: Peer, depot: u64, is_there: bool) {
        if self.copying.get(&depot).is_some_and(|own| own.peer == peer) {
            self.end(depot, is_there);
        } else if is_there {
            self.add(Owner::Depot(depot));
        }
    }

    /// Whether a depot has it from one that had copied it itself.
    pub fn is_relayed(&self, depot: u64) -> bool {
        let parent = self.parents.get(&depot);
        matches!(parent, Some(Owner::Depot(parent)) if self.parents.contains_key(parent))
    }

    /// The connection of a session has ended: it asks again over the next.
    pub fn forget(&mut self, peer: Peer) {
        self.waiting.retain(|asker| asker.peer != peer);
        self.beside.retain(|_, askers| {
            askers.retain(|asker| asker.peer != peer);
            !askers.is_empty()
        });
    }

    /// A session goes on with another peer.
    pub fn hand_over(&mut self, from: Peer, to: Peer) {
        for asker in self.copying.values_mut().filter(|asker| asker.peer == from) {
            asker.peer = to;
        }
    }

    /// A session has ended, and with it what it copied.
    pub fn lose_peer(&mut self, peer: Peer) {
        self.forget(peer);
        let ended = self.copying.values().filter(|asker| asker.peer == peer);
        for depot in ended.map(|asker| asker.depot).collect::<Vec<_>>() {
            self.end(depot, false);
        }
    }

    /// A depot is gone.
    pub fn lose_depot(&mut self, depot: u64) {
        self.end(depot, false);
        self.lose(Owner::Depot(depot));
    }

    /// Whether nobody waits or copies.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.beside.is_empty() && self.copying.is_empty()
    }

    /// How many are known to have it.
    pub fn owners(&self) -> usize {
        self.having.len()
    }

    /// Takes out who waits.
    pub fn take_waiting(&mut self) -> Vec<Asker> {
        let beside = core::mem::take(&mut self.beside).into_values().flatten();
        core::mem::take(&mut self.waiting).into_iter().chain(beside).collect()
    }

    /// Who is to send it next, if one may.
    fn choose(&self) -> Option<Owner> {
        let ((is_full, ..), owner) = *self.free.first()?;
        (!is_full || self.roomy == 0).then_some(owner)
    }

    fn begin(&mut self, asker: Asker, owner: Owner) {
        let depot = asker.depot;
        self.parents.insert(depot, owner);
        self.copying.insert(depot, asker);
        self.change(owner, |sends| {
            sends.now.insert(depot);
            sends.all.insert(depot);
        });
    }

    /// The copying of a depot has ended, if it did any.
    fn end(&mut self, depot: u64, is_there: bool) {
        self.copying.remove(&depot);
        let parent =
            if is_there { self.parents.get(&depot).copied() } else { self.parents.remove(&depot) };
        if let Some(parent) = parent {
            self.change(parent, |sends| {
                sends.now.remove(&depot);
                if !is_there {
                    sends.all.remove(&depot);
                }
            });
        }
        if is_there {
            self.add(Owner::Depot(depot));
        }
        for asker in self.beside.remove(&depot).into_iter().flatten().rev() {
            self.waiting.push_front(asker);
        }
    }

    fn add(&mut self, owner: Owner) {
        if let std::collections::btree_map::Entry::Vacant(vacant) = self.having.entry(owner) {
            let rank = vacant.insert(Sends::default()).rank();
            self.roomy += 1;
            self.free.insert((rank, owner));
        }
    }

    fn lose(&mut self, owner: Owner) {
        let Some(sends) = self.having.remove(&owner) else { return };
        let rank = sends.rank();
        self.roomy -= usize::from(!rank.0);
        self.free.remove(&(rank, owner));
    }

    fn change(&mut self, owner: Owner, change: impl FnOnce(&mut Sends)) {
        let Some(sends) = self.having.get_mut(&owner) else { return };
        let before = sends.rank();
        change(sends);
        let after = sends.rank();
        self.free.remove(&(before, owner));
        if after.1 < AT_A_TIME {
            self.free.insert((after, owner));
        }
        self.roomy += usize::from(!after.0);
        self.roomy -= usize::from(!before.0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asker(number: u64) -> Asker {
        Asker { peer: Peer(number), call: Call(1), depot: number }
    }

    fn told(broadcast: &mut Broadcast) -> Vec<(u64, Told)> {
        core::iter::from_fn(|| broadcast.next_told())
            .map(|(one, told)| (one.peer.0, told))
            .collect()
    }

    #[test]
    fn those_that_have_it_send_it_and_nobody_more_than_its_share() {
        let mut broadcast = Broadcast::default();
        for number in 0..1_000 {
            broadcast.ask(asker(number), &[Owner::Store], None);
        }
        let (mut rounds, mut sent) = (0, BTreeMap::<Owner, usize>::new());
        loop {
            let round = told(&mut broadcast);
            for (number, told) in &round {
                let Told::From(owner) = told else { panic!("{told:?}") };
                *sent.entry(*owner).or_default() += 1;
                assert!(broadcast.having[owner].now.len() <= AT_A_TIME && *number < 1_000);
            }
            if round.is_empty() {
                break;
            }
            rounds += 1;
            for (number, _) in round {
                broadcast.copied(Peer(number), number, true);
            }
        }
        // Three times as many after each round: 3⁷ are more than a thousand.
        assert_eq!((rounds, broadcast.owners(), broadcast.is_idle()), (7, 1_001, true));
        assert!(sent.values().all(|count| *count <= FAN), "{sent:?}");
    }

    #[test]
    fn processes_of_a_host_wait_for_one_copy() {
        let mut broadcast = Broadcast::default();
        let [first, second] = [1, 2].map(|peer| Asker { peer: Peer(peer), ..asker(7) });
        broadcast.ask(first, &[Owner::Depot(1)], None);
        broadcast.ask(second, &[Owner::Depot(1)], None);
        assert_eq!(told(&mut broadcast), [(1, Told::From(Owner::Depot(1)))]);
        // The one that copies dies: the other one does it.
        broadcast.lose_peer(Peer(1));
        assert_eq!(told(&mut broadcast), [(2, Told::From(Owner::Depot(1)))]);
        broadcast.ask(first, &[], None);
        assert_eq!(told(&mut broadcast), []);
        broadcast.copied(Peer(2), 7, true);
        assert_eq!(told(&mut broadcast), [(1, Told::Here)]);
        // It was freed there.
        broadcast.ask(first, &[], Some(Owner::Depot(7)));
        assert_eq!(told(&mut broadcast), [(1, Told::From(Owner::Depot(1)))]);
    }

    #[test]
    fn one_that_gives_nothing_is_named_no_more() {
        let mut broadcast = Broadcast::default();
        let owners = [Owner::Depot(1), Owner::Depot(2)];
        broadcast.ask(asker(7), &owners, None);
        assert_eq!(told(&mut broadcast), [(7, Told::From(owners[0]))]);
        broadcast.ask(asker(7), &owners, Some(owners[0]));
        assert_eq!(told(&mut broadcast), [(7, Told::From(owners[1]))]);
        broadcast.ask(asker(7), &[], Some(owners[1]));
        assert_eq!(told(&mut broadcast), [(7, Told::Nowhere)]);
    }

    #[test]
    fn a_request_that_comes_twice_gets_one_place() {
        let mut broadcast = Broadcast::default();
        broadcast.ask(asker(7), &[Owner::Store], None);
        assert_eq!(told(&mut broadcast).len(), 1);
        // The answer was lost with its connection.
        broadcast.hand_over(Peer(7), Peer(8));
        broadcast.ask(Asker { peer: Peer(8), ..asker(7) }, &[Owner::Store], None);
        assert_eq!(told(&mut broadcast), [(8, Told::From(Owner::Store))]);
        assert_eq!(broadcast.having[&Owner::Store].all.len(), 1);
    }

    #[derive(Clone, Debug)]
    enum Event {
        Ask(u64, bool),
        Copied(u64, bool),
        Forget(u64),
        LosePeer(u64),
        LoseDepot(u64),
    }

    fn event() -> impl Strategy<Value = Event> {
        let number = 0..24_u64;
        prop_oneof![
            6 => (number.clone(), any::<bool>()).prop_map(|(one, failed)| Event::Ask(one, failed)),
            6 => (number.clone(), prop::bool::weighted(0.9))
                .prop_map(|(one, is_there)| Event::Copied(one, is_there)),
            1 => number.clone().prop_map(Event::Forget),
            1 => number.clone().prop_map(Event::LosePeer),
            1 => number.prop_map(Event::LoseDepot),
        ]
    }

    fn check(broadcast: &Broadcast) -> Result<(), TestCaseError> {
        let free = broadcast.having.iter().filter(|(_, sends)| sends.now.len() < AT_A_TIME);
        let free: BTreeSet<_> = free.map(|(owner, sends)| (sends.rank(), *owner)).collect();
        prop_assert_eq!(&free, &broadcast.free);
        let roomy = broadcast.having.values().filter(|sends| sends.all.len() < FAN).count();
        prop_assert_eq!(roomy, broadcast.roomy);
        for (owner, sends) in &broadcast.having {
            prop_assert!(sends.now.len() <= AT_A_TIME && sends.now.is_subset(&sends.all));
            for depot in &sends.now {
                prop_assert!(broadcast.copying.contains_key(depot));
                prop_assert_eq!(broadcast.parents.get(depot), Some(owner));
            }
        }
        let beside = broadcast.beside.keys();
        prop_assert!(beside.clone().all(|depot| broadcast.copying.contains_key(depot)));
        // Nobody waits for ever: somebody sends, or may.
        let sends = broadcast.having.values().any(|sends| !sends.now.is_empty());
        let may_wait = sends || !broadcast.copying.is_empty();
        prop_assert!(broadcast.waiting.is_empty() || may_wait);
        Ok(())
    }

    proptest! {
        #[test]
        fn whatever_happens_nobody_is_left_waiting(
            events in prop::collection::vec(event(), 1..300),
        ) {
            let mut broadcast = Broadcast::default();
            for event in events {
                match event {
                    Event::Ask(number, has_failed) => {
                        let parent = broadcast.parents.get(&number).copied();
                        let failed = parent.filter(|_| has_failed);
                        broadcast.ask(asker(number), &[Owner::Store], failed);
                    }
                    Event::Copied(number, is_there) => {
                        broadcast.copied(Peer(number), number, is_there);
                    }
                    Event::Forget(number) => broadcast.forget(Peer(number)),
                    Event::LosePeer(number) => broadcast.lose_peer(Peer(number)),
                    Event::LoseDepot(number) => broadcast.lose_depot(number),
                }
                told(&mut broadcast);
                check(&broadcast)?;
            }
            for number in 0..24 {
                broadcast.copied(Peer(number), number, true);
                told(&mut broadcast);
            }
            prop_assert!(broadcast.take_waiting().is_empty() && broadcast.is_idle());
        }
    }
}
