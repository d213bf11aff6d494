//! Loads: what the messages of a pattern do to links and nodes, if ranks are placed so.

use tidings_flows::shape::Shape;

use super::machine::Machine;
use super::pattern::Pattern;

/// What passes through something in an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Messages.
    pub messages: u32,
    /// Their sizes, in sizes of a message.
    pub weight: f64,
}

impl Load {
    fn add(&mut self, weight: f64) {
        self.messages = self.messages.saturating_add(1);
        self.weight += weight;
    }
}

/// What an exchange does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loads {
    /// Of each link, as its network numbers them, what passes it beside what a plain link passes;
    /// none if the network is not known.
    pub links: Vec<Load>,
    /// What each node sends to others.
    pub out: Vec<Load>,
    /// What each node receives from others.
    pub into: Vec<Load>,
    /// What stays inside each node.
    pub inside: Vec<Load>,
    /// The most hops of a message; 1 between nodes of a network that is not known.
    pub farthest: u32,
    /// Hops of all messages.
    pub hops: f64,
}

impl Loads {
    /// The loads of a pattern whose rank r is at the place `slots[r]`.
    pub fn of(machine: &Machine, pattern: &Pattern, slots: &[u32]) -> Self {
        let nodes = machine.nodes.len();
        let none = vec![Load::default(); nodes];
        let widths = machine.network.as_ref().map_or(Vec::new(), Shape::widths);
        let mut loads = Self {
            links: vec![Load::default(); widths.len()],
            out: none.clone(),
            into: none.clone(),
            inside: none,
            ..Self::default()
        };
        for message in &pattern.messages {
            let node_of = |rank: u32| machine.node_of(slots[rank as usize] as usize);
            let (from, to) = (node_of(message.from), node_of(message.to));
            if from == to {
                loads.inside[from].add(message.weight);
                continue;
            }
            loads.out[from].add(message.weight);
            loads.into[to].add(message.weight);
            let mut hops = 1;
            if let Some(shape) = &machine.network {
                let route = shape.route(from as u32, to as u32);
                hops = route.len() as u32;
                for link in route {
                    loads.links[link as usize].add(message.weight);
                }
            }
            loads.farthest = loads.farthest.max(hops);
            loads.hops += f64::from(hops);
        }
        for (load, width) in loads.links.iter_mut().zip(widths) {
            load.weight /= width;
        }
        loads
    }

    /// The weight of the link that has most; of nodes, if links are not known.
    pub fn busiest(&self) -> f64 {
        let most = |loads: &[Load]| loads.iter().map(|own| own.weight).fold(0.0, f64::max);
        if self.links.is_empty() {
            most(&self.out).max(most(&self.into))
        } else {
            most(&self.links)
        }
    }
}
