//! Tallies: numbers that each node counts for itself, summed when somebody asks.
//!
//! Counting is for every event, reading for some: so a node counts alone, on its own cores, and who
//! wants the whole asks all nodes. A sum has what each node had counted when it answered; it is not
//! a picture of one moment.
//!
//! A node that leaves in order passes on what it has counted; a sum that is made just then may be
//! without it. What a node has counted that is lost is lost with it, which a sum says.

use core::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use minicbor::{Decode, Encode};

use crate::block::{Handler, Outbox};
use crate::envelope::{Refusal, decode, encode};
use crate::id::Node;
use crate::reply::Asker;

/// What a process counts.
pub trait Counts: Send + Sync {
    /// What it has counted until now; as many numbers everywhere.
    fn read(&self) -> Vec<u64>;
}

/// What all nodes have counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    /// The sums, modulo 2⁶⁴.
    pub counts: Vec<u64>,
    /// The nodes that have answered, this one among them.
    pub nodes: usize,
    /// The nodes that were lost since this process first used the block: what they had counted is
    /// not in it.
    pub lost: usize,
    /// The nodes that do not know such a block, and so have counted nothing.
    pub unable: usize,
}

/// A call: who wants a sum.
#[derive(Debug)]
pub struct Collect(pub Asker<Sum>);

/// What tallies say to each other.
#[derive(Debug, Encode, Decode)]
enum Said {
    #[n(0)]
    Ask(#[n(0)] u64),
    #[n(1)]
    Told(#[n(0)] u64, #[n(1)] Vec<u64>),
    #[n(2)]
    Passed(#[n(0)] Vec<u64>),
}

/// The handler of a block that counts.
pub struct Tally {
    own: Arc<dyn Counts>,
    /// What others have passed on that have left.
    passed: Vec<u64>,
    has_left: bool,
    lost: usize,
    left: BTreeSet<Node>,
    last: u64,
    asked: BTreeMap<u64, Asked>,
}

struct Asked {
    missing: BTreeSet<Node>,
    sum: Sum,
    asker: Asker<Sum>,
}

impl Tally {
    /// Of what is counted here.
    pub fn new(own: Arc<dyn Counts>) -> Self {
        Self {
            own,
            passed: Vec::new(),
            has_left: false,
            lost: 0,
            left: BTreeSet::new(),
            last: 0,
            asked: BTreeMap::new(),
        }
    }

    fn counts(&self) -> Vec<u64> {
        if self.has_left {
            return Vec::new(); // others have it now
        }
        let mut counts = self.own.read();
        add(&mut counts, &self.passed);
        counts
    }

    /// Takes what concerns a node in each sum that is being made, and answers those that are whole.
    fn heard(&mut self, of: Option<u64>, node: Node, change: impl Fn(&mut Sum)) {
        for (number, asked) in &mut self.asked {
            if of.is_none_or(|of| of == *number) && asked.missing.remove(&node) {
                change(&mut asked.sum);
            }
        }
        self.answer();
    }

    fn answer(&mut self) {
        let whole = |(number, asked): (&u64, &Asked)| asked.missing.is_empty().then_some(*number);
        let done: Vec<u64> = self.asked.iter().filter_map(whole).collect();
        for number in done {
            if let Some(asked) = self.asked.remove(&number) {
                asked.asker.answer(Sum { lost: self.lost, ..asked.sum });
            }
        }
    }
}

impl Handler for Tally {
    fn called(&mut self, call: Box<dyn Any + Send>, out: &mut Outbox<'_>) {
        let Ok(collect) = call.downcast::<Collect>() else { return };
        self.last += 1;
        let missing: BTreeSet<Node> = out.view().others(out.own()).collect();
        out.send_to_others(&encode(&Said::Ask(self.last)));
        let sum = Sum { counts: self.counts(), nodes: 1, lost: self.lost, unable: 0 };
        self.asked.insert(self.last, Asked { missing, sum, asker: collect.0 });
        self.answer();
    }

    fn received(&mut self, from: Node, message: &[u8], out: &mut Outbox<'_>) {
        match decode(message) {
            Some(Said::Ask(number)) => out.send(from, encode(&Said::Told(number, self.counts()))),
            Some(Said::Told(number, counts)) => self.heard(Some(number), from, |sum| {
                add(&mut sum.counts, &counts);
                sum.nodes += 1;
            }),
            Some(Said::Passed(counts)) => {
                self.left.insert(from);
                add(&mut self.passed, &counts);
            }
            None => {}
        }
    }

    fn refused(&mut self, by: Node, _why: &Refusal, _out: &mut Outbox<'_>) {
        self.heard(None, by, |sum| sum.unable += 1);
    }

    fn node_lost(&mut self, node: Node, _out: &mut Outbox<'_>) {
        if !self.left.remove(&node) {
            self.lost += 1;
        }
        self.heard(None, node, |_| ());
    }

    fn leaving(&mut self, out: &mut Outbox<'_>) {
        let others: Vec<Node> = out.view().others(out.own()).collect();
        let Some(heir) = others.first() else { return };
        let counts = self.counts();
        self.has_left = true;
        for node in &others {
            let passed = if node == heir { counts.clone() } else { Vec::new() };
            out.send(*node, encode(&Said::Passed(passed)));
        }
    }
}

/// Adds numbers to others, of which there may be fewer.
fn add(to: &mut Vec<u64>, counts: &[u64]) {
    if to.len() < counts.len() {
        to.resize(counts.len(), 0);
    }
    for (to, count) in to.iter_mut().zip(counts) {
        *to = to.wrapping_add(*count);
    }
}
