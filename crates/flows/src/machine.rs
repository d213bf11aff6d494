//! A machine: a network, what its links, engines and cores can do, and where its ranks are.
//!
//! A message from one node to another passes the engine that injects it, the links of its route and
//! the engine that ejects it; its first byte takes the latency of every link. Inside a node it
//! passes both engines too, as on BlueGene/P, or is alone, as on SimGrid's machines. A core that
//! receives is busy for a while with every message, one after the other.

use std::collections::BTreeMap;

use crate::engine::Way;
use crate::error::FlowsError;
use crate::links::Step;
use crate::own_link::{OwnLink, numbered};
use crate::shape::{AXES, Shape, Torus};

/// The most processes of a machine.
pub const MOST_PROCESSES: u64 = 1 << 20;

/// What SimGrid adds to the latency of a flow for each link, over its bandwidth, before it shares
/// links by the inverse (`weight-S` of its model SMPI).
const WEIGHT_S: f64 = 8775.0;

/// How flows share a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Alike: max-min fairness.
    Alike,
    /// By the inverse of their latency, as in SimGrid: who comes from afar gets less.
    ByLatency,
}

/// How a message moves inside a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Through the node's engines, which it shares with what leaves and enters.
    Engines,
    /// At this many bytes a second, whatever else moves.
    Alone,
}

/// What a machine's parts can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Bytes a second of a link, each way.
    pub link_bytes_per_s: f64,
    /// What a link along X, Y and Z of a torus passes, as a part of that.
    pub axes: [f64; AXES],
    /// Latency of a link, in seconds.
    pub hop_s: f64,
    /// Bytes a second that a node can send, and that it can receive; infinite without a bound.
    pub engines_bytes_per_s: [f64; 2],
    /// Bytes a second inside a node, where its engines do not bound it, and the latency there.
    pub inside_bytes_per_s: f64,
    /// Latency inside a node, in seconds.
    pub inside_s: f64,
    /// What a message costs the core that receives it, in seconds.
    pub receive_s: f64,
    /// From this size on the sender waits for the receiver, and receiving costs nothing.
    pub waits_from_bytes: u64,
    /// How flows share links.
    pub sharing: Sharing,
    /// How messages move inside a node.
    pub inside: Inside,
}

impl Figures {
    /// Those that `mpi/platforms/make.py` gives a network of this shape, with another bandwidth of
    /// its links if one is given: BlueGene/P's (Balaji et al. 2009: 425 MB/s, an engine as fast as
    /// six links, 2.8 µs to a neighbour, 2.6 µs more over 47 further hops), QDR InfiniBand's or
    /// Cray Aries', with so much between the farthest two nodes.
    pub fn usual(shape: &Shape, link_bytes_per_s: Option<f64>) -> Self {
        let (link, worst_s) = match shape {
            Shape::Torus(_) => (425e6, None),
            Shape::FatTree(_) => (4e9, Some(2.0e-6)),
            Shape::Dragonfly(_) => (5e9, Some(2.5e-6)),
        };
        let link = link_bytes_per_s.unwrap_or(link);
        let on_torus_s = 2.6e-6 / 47.0;
        let figures = Self {
            link_bytes_per_s: link,
            axes: [1.0; AXES],
            hop_s: on_torus_s,
            engines_bytes_per_s: [f64::INFINITY; 2],
            inside_bytes_per_s: 20e9,
            inside_s: 0.1e-6,
            receive_s: 0.0,
            waits_from_bytes: 65_536,
            sharing: Sharing::Alike,
            inside: Inside::Engines,
        };
        if let Some(worst_s) = worst_s {
            return Self { hop_s: worst_s / f64::from(shape.worst_hops()), ..figures };
        }
        Self {
            engines_bytes_per_s: [6.0 * link; 2],
            inside_bytes_per_s: 6.0 * link,
            inside_s: on_torus_s,
            receive_s: 2.8e-6 - on_torus_s,
            ..figures
        }
    }
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    shape: Shape,
    cores: u32,
    figures: Figures,
    widths: Vec<f64>,
    /// Latencies of links that have their own, in seconds.
    own_hops_s: BTreeMap<u32, f64>,
}

/// The way of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// All that it shares, each once.
    pub links: Vec<u32>,
    /// How many of these are links of the network.
    pub hops: u32,
    /// When its first byte arrives, in seconds.
    pub latency_s: f64,
    /// Its part of a link that is full, beside those of others.
    pub weight: f64,
    /// Its rate, if it shares nothing.
    pub alone: Option<f64>,
}

impl Path {
    /// The way of one message alone.
    pub fn way(&self) -> Way {
        let steps = || self.links.iter().map(|&link| Step { link, flows: 1.0 }).collect();
        self.alone.map_or_else(|| Way::Shared { weight: self.weight, steps: steps() }, Way::Alone)
    }
}

impl Machine {
    /// A machine with so many processes on each node.
    ///
    /// # Errors
    /// [`FlowsError::TooMany`].
    pub fn new(shape: Shape, cores: u32, figures: Figures) -> Result<Self, FlowsError> {
        let count = u64::from(shape.nodes()) * u64::from(cores.max(1));
        if count > MOST_PROCESSES {
            return Err(FlowsError::TooMany { what: "processes", count, most: MOST_PROCESSES });
        }
        let mut widths = shape.widths();
        if shape.torus().is_some() {
            for (link, width) in widths.iter_mut().enumerate() {
                *width *= figures.axes[Torus::axis_of(link as u32)];
            }
        }
        Ok(Self { shape, cores: cores.max(1), figures, widths, own_hops_s: BTreeMap::new() })
    }

    /// The same machine with other engines: what a node sends and receives, in bytes a second.
    #[must_use]
    pub fn with_engines(mut self, bytes_per_s: [f64; 2]) -> Self {
        self.figures.engines_bytes_per_s = bytes_per_s;
        self
    }

    /// The same machine with links that pass so many bytes a second, each way.
    ///
    /// # Errors
    /// [`FlowsError::Link`].
    pub fn with_link_bytes_per_s(mut self, own: &[OwnLink]) -> Result<Self, FlowsError> {
        for (link, bytes_per_s) in numbered(&self.shape, own)? {
            self.widths[link as usize] = bytes_per_s / self.figures.link_bytes_per_s;
        }
        Ok(self)
    }

    /// The same machine with links of such a latency, in seconds.
    ///
    /// # Errors
    /// [`FlowsError::Link`].
    pub fn with_hops_s(mut self, own: &[OwnLink]) -> Result<Self, FlowsError> {
        self.own_hops_s.extend(numbered(&self.shape, own)?);
        Ok(self)
    }

    /// Its network.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What its parts can do.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Processes on each node.
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// Nodes.
    pub fn nodes(&self) -> u32 {
        self.shape.nodes()
    }

    /// Processes: they fill node after node.
    pub fn processes(&self) -> u32 {
        self.nodes() * self.cores
    }

    /// The node of a process.
    pub fn node_of(&self, process: u32) -> u32 {
        process / self.cores
    }

    /// The process of a node, counted from 0.
    pub fn process(&self, node: u32, core: u32) -> u32 {
        node * self.cores + core
    }

    /// What all that is shared carries: links, then engines that inject, then those that eject.
    pub fn capacities(&self) -> Vec<f64> {
        let link = self.figures.link_bytes_per_s;
        let mut all: Vec<f64> = self.widths.iter().map(|width| width * link).collect();
        for engine in self.figures.engines_bytes_per_s {
            all.resize(all.len() + self.nodes() as usize, engine);
        }
        all
    }

    /// How long the link that takes longest needs for a byte of each of its messages, if links have
    /// so many, in seconds.
    pub fn busiest_s_a_byte(&self, loads: &[u32]) -> f64 {
        let byte_s = |(load, width): (&u32, &f64)| {
            f64::from(*load) / (width * self.figures.link_bytes_per_s)
        };
        loads.iter().zip(&self.widths).map(byte_s).fold(0.0, f64::max)
    }

    /// Whether nodes have engines that bound what they send or receive.
    fn has_engines(&self) -> bool {
        self.figures.engines_bytes_per_s.iter().any(|own| own.is_finite())
    }

    /// The way from one node to another.
    pub fn path(&self, from: u32, to: u32) -> Path {
        let figures = &self.figures;
        let mut links = self.shape.route(from, to);
        let hops = links.len() as u32;
        let is_inside = from == to;
        let alone = is_inside && (figures.inside == Inside::Alone || !self.has_engines());
        let latency_s = if is_inside { figures.inside_s } else { self.latency_s(&links) };
        let weight = self.weight(&links);
        if !alone && self.has_engines() {
            let engines = self.widths.len() as u32;
            links.extend([engines + from, engines + self.nodes() + to]);
        }
        let alone = alone.then_some(figures.inside_bytes_per_s);
        Path { links, hops, latency_s, weight, alone }
    }

    fn hop_s(&self, link: u32) -> f64 {
        self.own_hops_s.get(&link).copied().unwrap_or(self.figures.hop_s)
    }

    /// That of a route, which is not empty.
    fn latency_s(&self, route: &[u32]) -> f64 {
        if self.own_hops_s.is_empty() {
            return route.len() as f64 * self.figures.hop_s;
        }
        route.iter().map(|link| self.hop_s(*link)).sum()
    }

    fn weight(&self, route: &[u32]) -> f64 {
        let figures = &self.figures;
        if figures.sharing == Sharing::Alike || route.is_empty() {
            return 1.0;
        }
        let penalty = |link: &u32| {
            let bytes_per_s = self.widths[*link as usize] * figures.link_bytes_per_s;
            self.hop_s(*link) + WEIGHT_S / bytes_per_s
        };
        let neighbour = figures.hop_s + WEIGHT_S / figures.link_bytes_per_s;
        neighbour / route.iter().map(penalty).sum::<f64>()
    }

    /// What receiving a message of so many bytes costs, in seconds.
    pub fn receive_s(&self, bytes: u64) -> f64 {
        if self.waits(bytes) { 0.0 } else { self.figures.receive_s }
    }

    /// Whether the sender of so many bytes waits until they have arrived.
    pub fn waits(&self, bytes: u64) -> bool {
        bytes >= self.figures.waits_from_bytes
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// BlueGene/P's figures on a torus: Balaji et al. (2009), sections 2.1 and 3.1.
    pub(crate) fn bluegene_p(lengths: &[u32], cores: u32) -> Machine {
        let shape = Shape::Torus(Torus::new(lengths).expect("a torus"));
        let figures = Figures::usual(&shape, None);
        Machine::new(shape, cores, figures).expect("a machine")
    }

    #[test]
    fn a_message_passes_both_engines_and_its_links() {
        let machine = bluegene_p(&[4, 4, 4], 2);
        let path = machine.path(0, 1);
        assert_eq!((path.hops, path.links.len()), (1, 3));
        assert_eq!(machine.path(3, 3).links.len(), 2, "inside a node, the engines alone");
        assert_eq!(machine.capacities().len(), 64 * (6 + 2));
        assert!((machine.path(0, 42).latency_s / 2.6e-6 - 6.0 / 47.0).abs() < 1e-9);
    }

    #[test]
    fn by_latency_who_comes_three_links_far_gets_a_third() {
        let mut machine = bluegene_p(&[8, 1, 1], 1);
        machine.figures.sharing = Sharing::ByLatency;
        let weights = [1, 3].map(|to| machine.path(0, to).weight);
        assert!((weights[0] / weights[1] - 3.0).abs() < 1e-9, "{weights:?}");
    }

    #[test]
    fn links_along_an_axis_may_be_slower() {
        let machine = bluegene_p(&[3, 3, 3], 1);
        let figures = Figures { axes: [1.0, 0.5, 0.25], ..machine.figures };
        let machine = Machine::new(machine.shape, 1, figures).expect("a machine");
        let capacities = machine.capacities();
        let of = |to| capacities[machine.path(0, to).links[0] as usize];
        for (to, bytes_per_s) in [(1, 425e6), (3, 212.5e6), (9, 106.25e6)] {
            assert!((of(to) / bytes_per_s - 1.0).abs() < 1e-12, "{to}: {}", of(to));
        }
    }

    #[test]
    fn a_link_of_its_own_changes_what_passes_it_and_nothing_else() {
        let own = |one, other, value| OwnLink { between: [one, other], value };
        let machine = bluegene_p(&[4], 1).with_link_bytes_per_s(&[own(1, 2, 42.5e6)]);
        let machine = machine.and_then(|own_rate| own_rate.with_hops_s(&[own(1, 0, 1e-3)]));
        let machine = machine.expect("neighbours");
        let capacities = machine.capacities();
        let slowest = |from, to| {
            let path = machine.path(from, to);
            path.links.iter().map(|link| capacities[*link as usize]).fold(f64::INFINITY, f64::min)
        };
        let near = |own: f64, wanted: f64| (own / wanted - 1.0).abs() < 1e-9;
        for (from, to, bytes_per_s) in [(1, 2, 42.5e6), (2, 1, 42.5e6), (0, 2, 42.5e6)] {
            assert!(near(slowest(from, to), bytes_per_s), "{from} to {to}");
        }
        assert!(near(slowest(0, 1), 425e6) && near(slowest(2, 3), 425e6));
        let hop_s = machine.figures().hop_s;
        let late_s = |from, to| machine.path(from, to).latency_s;
        assert!(near(late_s(0, 1), 1e-3) && near(late_s(1, 0), 1e-3));
        assert!(near(late_s(0, 2), 1e-3 + hop_s) && near(late_s(2, 3), hop_s));
    }

    #[test]
    fn more_processes_than_fit_are_refused() {
        let machine = bluegene_p(&[32, 32, 32], 4);
        assert_eq!(machine.processes(), 131_072);
        let refused = Machine::new(machine.shape.clone(), 64, machine.figures);
        assert!(matches!(refused, Err(FlowsError::TooMany { what: "processes", .. })));
    }
}
