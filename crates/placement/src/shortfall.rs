//! Why there are too few nodes: which need failed, on how many of them, and by how much.
//!
//! Each need is checked by itself, so a node that lacks both processors and memory counts under
//! both. The amount is that of the node that comes nearest: with that much less, it would be
//! picked. Numbers are rounded so that what is reported as free is free, and what lacks is enough.

use core::fmt;

use crate::candidate::{Candidate, Need};

/// What a node must have free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// Processors.
    Cpus,
    /// Bytes of memory.
    MemBytes,
}

/// A need that some of the nodes do not meet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lack {
    /// The quantity.
    pub resource: Resource,
    /// How much each node had to have free.
    pub asked: f64,
    /// The most that any of these nodes has free.
    pub best: f64,
    /// Nodes that have less than asked.
    pub nodes: usize,
}

/// Too few nodes have what is needed. Nothing was picked.
#[derive(Clone, PartialEq, Debug)]
pub struct Unsatisfied {
    /// Nodes that were wanted.
    pub wanted: usize,
    /// Nodes that have what is needed.
    pub found: usize,
    /// Nodes that were considered.
    pub considered: usize,
    /// The needs that fail on some of them; none if there are simply too few nodes.
    pub lacks: Vec<Lack>,
}

impl Unsatisfied {
    /// What these candidates lack.
    pub(crate) fn of(candidates: &[Candidate], wanted: usize, need: Need) -> Self {
        let cpus: Vec<f64> = candidates.iter().map(Candidate::free_cpus).collect();
        let mem: Vec<f64> = candidates.iter().map(|one| one.mem_free_bytes as f64).collect();
        let lacks = [
            Lack::of(Resource::Cpus, need.cpus, &cpus),
            Lack::of(Resource::MemBytes, need.mem_bytes as f64, &mem),
        ];
        Self {
            wanted,
            found: candidates.iter().filter(|candidate| candidate.has(need)).count(),
            considered: candidates.len(),
            lacks: lacks.into_iter().flatten().collect(),
        }
    }
}

impl Lack {
    fn of(resource: Resource, asked: f64, free: &[f64]) -> Option<Self> {
        let lacking = free.iter().filter(|&&free| free < asked);
        let nodes = lacking.clone().count();
        let best = lacking.copied().fold(0.0, f64::max);
        (nodes > 0).then_some(Self { resource, asked, best, nodes })
    }

    /// By how much the best of these nodes falls short.
    pub fn short(&self) -> f64 {
        self.asked - self.best
    }
}

impl fmt::Display for Unsatisfied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wanted, found, considered, lacks } = self;
        write!(f, "{found} of the {wanted} nodes wanted have what is needed, of {considered} ")?;
        if lacks.is_empty() {
            write!(f, "considered (alive, with known processors, not to be avoided)")?;
            return write!(f, "; ask for fewer nodes");
        }
        let marks = core::iter::once(": ").chain(core::iter::repeat("; "));
        write!(f, "considered")?;
        for (lack, mark) in lacks.iter().zip(marks) {
            write!(f, "{mark}{lack}")?;
        }
        write!(f, "; ask for less, or fewer nodes")
    }
}

impl std::error::Error for Unsatisfied {}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.nodes;
        match self.resource {
            Resource::Cpus => {
                let best = (self.best * 100.0).floor() / 100.0;
                let (asked, short) = (self.asked, self.asked - best);
                write!(f, "cpus={asked} fails on {nodes}, the best of them has {best:.2} free, ")?;
                write!(f, "{short:.2} too few")
            }
            Resource::MemBytes => {
                let (asked, best) = (size(self.asked, Round::No), size(self.best, Round::Down));
                let short = size(self.short(), Round::Up);
                write!(f, "mem={asked} fails on {nodes}, the best of them has {best} free, ")?;
                write!(f, "{short} too little")
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Round {
    Down,
    Up,
    No,
}

/// An amount in the unit that suits it, without a space as `--need` reads it, rounded to a tenth
/// unless that would change what was asked.
fn size(bytes: f64, round: Round) -> String {
    let mut scaled = bytes;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        if scaled < 1024.0 {
            break;
        }
        (scaled, unit) = (scaled / 1024.0, next);
    }
    let tenths = match round {
        Round::Down => (scaled * 10.0).floor() / 10.0,
        Round::Up => (scaled * 10.0).ceil() / 10.0,
        Round::No if (scaled * 10.0).fract() > 0.0 => return format!("{bytes}B"),
        Round::No => scaled,
    };
    format!("{tenths}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, pick};

    const GIB: u64 = 1 << 30;

    fn node(busy_cpus: f64, mem_free_bytes: u64) -> Candidate {
        Candidate {
            mem_free_bytes,
            ..Candidate::idle("n", 8.0, 64 * GIB).with_busy_cpus(busy_cpus)
        }
    }

    fn refusal(nodes: &[Candidate], wanted: usize, need: Need) -> Unsatisfied {
        let refusals = Policy::ALL.map(|policy| pick(nodes, wanted, need, policy, 1).unwrap_err());
        assert!(refusals.iter().all(|other| *other == refusals[0]), "whatever the policy");
        refusals[0].clone()
    }

    #[test]
    fn each_need_that_fails_is_named_with_how_many_and_how_much() {
        let nodes = [node(0.0, 32 * GIB), node(2.805, 10 * GIB + 1), node(7.0, 32 * GIB)];
        let refused = refusal(&nodes, 2, Need { cpus: 6.0, mem_bytes: 16 * GIB });
        assert_eq!((refused.wanted, refused.found, refused.considered), (2, 1, 3));
        assert_eq!(
            refused.to_string(),
            "1 of the 2 nodes wanted have what is needed, of 3 considered: cpus=6 fails on 2, the \
             best of them has 5.19 free, 0.81 too few; mem=16GiB fails on 1, the best of them has \
             10GiB free, 6GiB too little; ask for less, or fewer nodes"
        );
    }

    #[test]
    fn a_need_that_was_not_named_is_not_blamed() {
        let refused = refusal(&[node(7.5, 0)], 1, Need { cpus: 1.0, mem_bytes: 0 });
        assert!(!refused.to_string().contains("mem="), "{refused}");
        let refused = refusal(&[node(0.0, 0)], 3, Need::default());
        assert!(refused.lacks.is_empty());
        assert!(refused.to_string().ends_with("avoided); ask for fewer nodes"), "{refused}");
        assert!(pick(&[], 0, Need::default(), Policy::Pack, 1).is_ok_and(|none| none.is_empty()));
    }

    /// 7.999 processors are not 8.00, and one byte less is too little.
    #[test]
    fn a_tiny_shortfall_is_not_rounded_away() {
        let need = Need { cpus: 8.0, mem_bytes: 16 * GIB };
        let text = refusal(&[node(0.001, 16 * GIB - 1)], 1, need).to_string();
        assert!(text.contains("has 7.99 free, 0.01 too few"), "{text}");
        assert!(text.contains("has 15.9GiB free, 1B too little"), "{text}");
    }
}
