//! A world of processes without time: what is on its way arrives in any order that is possible.
//!
//! Between two processes messages keep their order, and nothing else does: which message, posted
//! call, record or view comes next is drawn from the seed. A process that is killed is gone, with
//! what it had posted; what it had sent may still arrive. One that is shut out goes on until it
//! sees that. A *cut* holds up the messages of two processes until it heals.

#![allow(dead_code, unreachable_pub, reason = "no test program uses all of it")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use tidings_blocks::block::{Outlet, Posted};
use tidings_blocks::envelope::{Envelope, Refusal};
use tidings_blocks::host::Host;
use tidings_blocks::record::{self, Made, RecordError};
use tidings_blocks::table::{Kinds, Table};
use tidings_blocks::{Asker, Block, BlockId, Node, Ref, Reply, View, reply};
use tidings_primitives::Chance;
use tidings_tasks_core::ledger::Ledger;

#[derive(Default)]
pub struct Posts(Mutex<VecDeque<Posted>>);

impl Outlet for Posts {
    fn post(&self, posted: Posted) {
        self.0.lock().unwrap().push_back(posted);
    }
}

struct Process {
    host: Host,
    table: Arc<Table>,
    posts: Arc<Posts>,
    lookups: VecDeque<BlockId>,
    views: VecDeque<View>,
}

pub struct World {
    pub chance: Chance,
    pub store: Ledger,
    pub view: View,
    kinds: fn() -> Kinds,
    processes: BTreeMap<Node, Process>,
    ways: BTreeMap<(Node, Node), VecDeque<Envelope>>,
    cuts: BTreeSet<(Node, Node)>,
    last: u64,
}

/// What may come next.
enum Next {
    Message(Node, Node),
    Post(Node),
    Lookup(Node),
    View(Node),
}

impl World {
    pub fn new(seed: u64, kinds: fn() -> Kinds) -> Self {
        Self {
            chance: Chance::new(seed),
            store: Ledger::default(),
            view: View::default(),
            kinds,
            processes: BTreeMap::new(),
            ways: BTreeMap::new(),
            cuts: BTreeSet::new(),
            last: 0,
        }
    }

    /// So many processes, which all know that they take part.
    pub fn of(seed: u64, nodes: usize, kinds: fn() -> Kinds) -> Self {
        let mut world = Self::new(seed, kinds);
        for _ in 0..nodes {
            world.join();
        }
        world.run();
        world
    }

    /// The processes that run and are in the last view.
    pub fn nodes(&self) -> Vec<Node> {
        self.view.nodes.iter().copied().filter(|node| self.processes.contains_key(node)).collect()
    }

    pub fn any(&mut self) -> Node {
        let nodes = self.nodes();
        self.chance.pick(&nodes).expect("somebody is there")
    }

    pub fn join(&mut self) -> Node {
        self.join_with((self.kinds)())
    }

    pub fn join_with(&mut self, kinds: Kinds) -> Node {
        self.last += 1;
        let (node, posts) = (Node(self.last), Arc::new(Posts::default()));
        let outlet = Arc::clone(&posts) as Arc<dyn Outlet>;
        let table = Arc::new(Table::new(kinds, node, outlet));
        let host = Host::new(node, Arc::clone(&table));
        let (lookups, views) = (VecDeque::new(), VecDeque::new());
        self.processes.insert(node, Process { host, table, posts, lookups, views });
        let nodes: Vec<Node> = self.view.nodes.iter().copied().chain([node]).collect();
        self.change(nodes);
        node
    }

    pub fn kill(&mut self, node: Node) {
        self.processes.remove(&node);
        // Of what it has sent to each, the end may be lost.
        for ((from, _), way) in &mut self.ways {
            if *from == node {
                let kept = self.chance.below(way.len() + 1);
                way.truncate(kept);
            }
        }
        self.shut_out(node);
    }

    /// The others believe that it is dead.
    pub fn shut_out(&mut self, node: Node) {
        let nodes: Vec<Node> = self.view.others(node).collect();
        self.change(nodes);
    }

    fn change(&mut self, nodes: Vec<Node>) {
        let seen = self.store.get(&record::view());
        let (transaction, view) = record::change(seen.as_ref(), nodes).unwrap();
        self.store.commit(&transaction).unwrap();
        self.view = view.clone();
        for process in self.processes.values_mut() {
            // Some do not see each view.
            if self.chance.happens(0.2) && !process.views.is_empty() {
                process.views.pop_back();
            }
            process.views.push_back(view.clone());
        }
    }

    pub fn cut(&mut self, one: Node, other: Node) {
        self.cuts.extend([(one, other), (other, one)]);
    }

    pub fn heal(&mut self) {
        self.cuts.clear();
    }

    pub fn leave(&mut self, node: Node) {
        self.processes.get_mut(&node).unwrap().host.leave();
        self.collect(node);
        self.run();
        self.processes.remove(&node);
        self.shut_out(node);
    }

    /// The block of a name, as a process sees it: made, if there is none.
    pub fn open<B: Block>(&mut self, at: Node, name: &str) -> Result<Ref<B>, RecordError> {
        let key = record::named(name)?;
        let id = if let Some(found) = self.store.get(&key) {
            record::read(&found)?
        } else {
            let last = self.store.get(&record::next());
            let now = self.store.get(&record::view());
            let kind = (B::KIND, B::VERSION);
            let (made, id) = record::make(name, kind, last.as_ref(), now.as_ref())?;
            self.store.commit(&made).unwrap();
            id
        };
        let made = self.made(id).unwrap();
        record::check(id, &made, B::KIND, B::VERSION)?;
        let table = &self.processes[&at].table;
        table.enter(id, &made)?;
        Ok(table.get::<B>(id)?.clone())
    }

    /// Posts a call to the handler of a block.
    pub fn call<C, A>(&self, at: Node, block: BlockId, call: impl FnOnce(Asker<A>) -> C) -> Reply<A>
    where
        C: std::any::Any + Send,
    {
        let (asker, reply) = reply::ask();
        let posted = Posted::Call(block, Box::new(call(asker)));
        self.processes[&at].posts.post(posted);
        reply
    }

    pub fn table(&self, at: Node) -> &Table {
        &self.processes[&at].table
    }

    fn made(&self, id: BlockId) -> Option<Made> {
        self.store.get(&record::made(id)).map(|found| record::read(&found).unwrap())
    }

    pub fn refusal(&self, at: Node, id: BlockId) -> Option<Refusal> {
        self.processes[&at].table.enter(id, &self.made(id)?).err()
    }

    pub fn send(&mut self, envelope: Envelope) {
        self.ways.entry((envelope.from, envelope.to)).or_default().push_back(envelope);
    }

    /// Does one thing that may come next; `false` if there is none.
    pub fn step(&mut self) -> bool {
        let ways = self.ways.iter().filter(|(way, all)| {
            !all.is_empty() && !self.cuts.contains(way) && self.processes.contains_key(&way.1)
        });
        let mut next: Vec<Next> = ways.map(|((from, to), _)| Next::Message(*from, *to)).collect();
        for (node, process) in &self.processes {
            if !process.posts.0.lock().unwrap().is_empty() {
                next.push(Next::Post(*node));
            }
            if !process.lookups.is_empty() {
                next.push(Next::Lookup(*node));
            }
            if !process.views.is_empty() {
                next.push(Next::View(*node));
            }
        }
        if next.is_empty() {
            return false;
        }
        let at = self.chance.below(next.len());
        let node = match next.swap_remove(at) {
            Next::Message(from, to) => {
                let envelope = self.ways.get_mut(&(from, to)).unwrap().pop_front().unwrap();
                self.processes.get_mut(&to).unwrap().host.receive(envelope);
                to
            }
            Next::Post(node) => {
                let process = self.processes.get_mut(&node).unwrap();
                let posted = process.posts.0.lock().unwrap().pop_front().unwrap();
                process.host.take(posted);
                node
            }
            Next::Lookup(node) => {
                let id = self.processes.get_mut(&node).unwrap().lookups.pop_front().unwrap();
                let made = self.made(id);
                self.processes.get_mut(&node).unwrap().host.found(id, made.as_ref());
                node
            }
            Next::View(node) => {
                let process = self.processes.get_mut(&node).unwrap();
                let view = process.views.pop_front().unwrap();
                process.host.enter(view);
                node
            }
        };
        self.collect(node);
        true
    }

    fn collect(&mut self, node: Node) {
        let process = self.processes.get_mut(&node).unwrap();
        while let Some(id) = process.host.poll_lookup() {
            process.lookups.push_back(id);
        }
        let mut sent = Vec::new();
        while let Some(envelope) = process.host.poll_transmit() {
            sent.push(envelope);
        }
        for envelope in sent {
            self.send(envelope);
        }
    }

    /// Until nothing is on its way but what a cut holds up.
    ///
    /// # Panics
    /// It does not end: somebody sends for ever.
    pub fn run(&mut self) {
        for _ in 0..2_000_000 {
            if !self.step() {
                return;
            }
        }
        panic!("it does not end");
    }

    pub fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.step();
        }
    }
}
