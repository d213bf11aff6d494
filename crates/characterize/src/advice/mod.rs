//! Advice: where to place the ranks of an application, by what a machine was measured to do.
//!
//! [`Machine`] is what a characterisation says of a machine, [`Pattern`] which ranks exchange
//! messages; shapes of networks, routes and orders are those of `tidings-flows`. A placement is
//! judged by its `loads` and a `prediction` of its time; `search` finds one, among the nodes that
//! `presence` leaves. [`Advice`] is what is said of it, and `files` has launchers do it.
//!
//! Invariants: no place has two ranks; no node has more ranks than were measured on it; the same
//! input gives the same advice; the advised placement is never predicted to be slower than the
//! default, unless that uses nodes that are not to be used.

mod costs;
mod error;
mod files;
mod loads;
mod machine;
mod orders;
mod pattern;
mod prediction;
mod presence;
mod search;

use serde::Serialize;
use tidings_flows::shape::Shape;

pub use self::costs::Costs;
pub use self::error::AdviceError;
pub use self::files::files;
pub use self::loads::{Load, Loads};
pub use self::machine::Machine;
pub use self::pattern::{Message, Pattern};
pub use self::prediction::exchange_s;
pub use self::presence::{Noted, Presence, Seen};

use self::search::Search;

/// The version of the object that is printed. Fields are added within one, never renamed.
pub const SCHEMA: &str = "tidings-advice-1";

/// What is advised.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The machine's name in its series.
    pub machine: String,
    /// Nodes that were measured.
    pub nodes: usize,
    /// Ranks on each.
    pub ranks_per_node: u32,
    /// The lengths of a torus, if the network is one.
    pub torus: Option<Vec<u32>>,
    /// What the network is, if that is known: `torus`, `mesh`, `fat-tree` or `dragonfly`.
    pub network: Option<&'static str>,
    /// The counts that it is made of.
    pub shape: Option<Vec<u32>>,
    /// Ranks of the application.
    pub ranks: usize,
    /// What messages cost there.
    pub costs: Costs,
    /// How the placement was found.
    pub order: String,
    /// For each size, what it gains.
    pub gains: Vec<Expected>,
    /// What the default does to the network.
    pub default: Stress,
    /// What the advised placement does.
    pub advised: Stress,
    /// Nodes that are not idle at this moment; empty unless that was asked.
    pub nodes_not_idle: Vec<Noted>,
    /// Where each rank is to be.
    pub placement: Vec<Placed>,
}

/// What a placement gains for messages of a size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// Bytes of a message.
    pub bytes: f64,
    /// Predicted seconds of an exchange, as launchers place ranks by default: node after node.
    pub default_s: f64,
    /// The same, as advised.
    pub advised_s: f64,
    /// The first over the second.
    pub gain: f64,
}

/// What an exchange does to the network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stress {
    /// Mean over messages, those inside a node included.
    pub hops_a_message: f64,
    /// The most hops of a message.
    pub farthest_hops: u32,
    /// What the busiest link carries, in sizes of a message; the busiest node, if the network is
    /// not known.
    pub messages_of_the_busiest_link: f64,
}

/// Where a rank is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// The rank.
    pub rank: usize,
    /// Its node.
    pub node: String,
    /// Which of the node's places.
    pub place: u32,
}

/// Advises about a pattern on a machine for messages of these sizes. `seen` has a line for each
/// node if nodes that are busy at this moment are to be avoided, and is empty otherwise.
///
/// # Errors
/// [`AdviceError::TooMany`] if there are fewer places than ranks.
pub fn advise(
    machine: &Machine,
    pattern: &Pattern,
    sizes: &[f64],
    seen: &[Seen],
) -> Result<(Advice, Vec<u32>), AdviceError> {
    let needed = pattern.ranks.div_ceil(machine.each as usize);
    let too_many = |gone: String| AdviceError::TooMany {
        ranks: pattern.ranks,
        nodes: machine.nodes.len(),
        each: machine.each,
        gone,
    };
    if needed > machine.nodes.len() {
        return Err(too_many(String::new()));
    }
    let allowed = match seen {
        [] => Vec::new(),
        seen => presence::allowed(seen, needed).ok_or_else(|| {
            let gone = seen.iter().filter(|own| matches!(own.presence, Presence::Gone(_)));
            too_many(format!(", {} of which have died or left", gone.count()))
        })?,
    };
    let share = |own: &Seen| 1.0 - own.link_bytes_per_s / machine.costs.link_bytes_per_s;
    let free: Vec<f64> = seen.iter().map(share).collect();
    let search = Search { machine, pattern, sizes, allowed: &allowed, free: &free };
    let default_slots: Vec<u32> = (0..pattern.ranks as u32).collect();
    let found = search.best(&default_slots);
    let loads = [&default_slots, &found.slots].map(|slots| Loads::of(machine, pattern, slots));
    let [default_s, advised_s] = [&loads[0], &loads[1]].map(|loads| search.times_s(loads));
    let gain = |((bytes, default_s), advised_s): ((&f64, f64), f64)| Expected {
        bytes: *bytes,
        default_s,
        advised_s,
        gain: default_s / advised_s,
    };
    let [default, advised] = loads.map(|loads| stress(&loads, pattern));
    let node = |slot: &u32| machine.node_of(*slot as usize);
    let is_used = |own: usize| found.slots.iter().any(|slot| node(slot) == own);
    let network = machine.network.as_ref();
    let advice = Advice {
        schema: SCHEMA,
        machine: machine.name.clone(),
        nodes: machine.nodes.len(),
        ranks_per_node: machine.each,
        torus: network.filter(|own| own.kind() == "torus").map(Shape::counts),
        network: network.map(Shape::kind),
        shape: network.map(Shape::counts),
        ranks: pattern.ranks,
        costs: machine.costs.clone(),
        order: found.order.clone(),
        gains: sizes.iter().zip(default_s).zip(advised_s).map(gain).collect(),
        default,
        advised,
        nodes_not_idle: presence::notes(&machine.nodes, seen, is_used),
        placement: placement(machine, &found.slots),
    };
    Ok((advice, found.slots))
}

fn stress(loads: &Loads, pattern: &Pattern) -> Stress {
    Stress {
        hops_a_message: loads.hops / pattern.messages.len().max(1) as f64,
        farthest_hops: loads.farthest,
        messages_of_the_busiest_link: loads.busiest(),
    }
}

fn placement(machine: &Machine, slots: &[u32]) -> Vec<Placed> {
    let placed = |(rank, slot): (usize, &u32)| Placed {
        rank,
        node: machine.nodes[machine.node_of(*slot as usize)].clone(),
        place: *slot % machine.each,
    };
    slots.iter().enumerate().map(placed).collect()
}

#[cfg(test)]
mod tests {
    use super::orders::tests::machine;
    use super::*;

    fn idle(nodes: usize) -> Vec<Seen> {
        vec![Seen { presence: Presence::Idle, link_bytes_per_s: 0.0 }; nodes]
    }

    #[test]
    fn advice_says_what_is_gained_and_where_ranks_are() {
        let machine = machine([4, 4, 1], 2);
        let pattern = Pattern::of_grid("8x4", false).expect("a grid");
        let (advice, slots) = advise(&machine, &pattern, &[8.0, 65_536.0], &[]).expect("room");
        assert!(advice.gains.iter().all(|own| own.gain >= 1.0), "{advice:?}");
        assert!(advice.gains[1].gain > 1.2, "{:?}", advice.gains);
        assert!(advice.advised.hops_a_message < advice.default.hops_a_message, "{advice:?}");
        assert_eq!((advice.placement.len(), slots.len()), (32, 32));
        let refused =
            advise(&machine, &Pattern::of_grid("33x1", false).expect("a grid"), &[1.0], &[]);
        assert!(refused.expect_err("32 places").to_string().contains("16 nodes with 2 ranks each"));
    }

    /// Sixteen nodes in a tree of four switches: partners come below one switch, so that none of
    /// their messages goes up.
    #[test]
    fn on_a_fat_tree_partners_come_below_one_switch() {
        let tree = Shape::of_kind("fat-tree", &[4, 4]).expect("a kind").expect("a tree");
        let torus = machine([4, 4, 1], 1);
        let refused = torus
            .clone()
            .with_network(Shape::of_kind("fat-tree", &[4, 8]).expect("a kind").expect("a tree"));
        assert!(refused.expect_err("32 nodes").to_string().contains("has 32 nodes"));
        let machine = torus.with_network(tree).expect("16 nodes");
        let pairs: Vec<String> = (0..8).map(|rank| format!("{rank} {}\n", rank + 8)).collect();
        let pattern = Pattern::of_text(&pairs.concat(), "f").expect("pairs");
        let (advice, _) = advise(&machine, &pattern, &[1e6], &[]).expect("room");
        assert_eq!(
            (advice.network, advice.shape.as_deref()),
            (Some("fat-tree"), Some(&[4, 4][..]))
        );
        assert_eq!((advice.torus, advice.default.farthest_hops), (None, 4));
        assert_eq!(advice.advised.farthest_hops, 2, "{:?}", advice.placement);
    }

    #[test]
    fn what_the_vector_says_moves_ranks_and_changes_the_prediction() {
        let machine = machine([6, 1, 1], 1);
        let pattern = Pattern::of_grid("2x2", false).expect("a grid");
        let mut seen = idle(6);
        let busy = Presence::Busy("busy".to_owned());
        seen[1] = Seen { presence: busy, link_bytes_per_s: 390e6 };
        seen[4].presence = Presence::Unknown("silent".to_owned());
        let (advice, _) = advise(&machine, &pattern, &[1e6], &seen).expect("room");
        let nodes: Vec<&str> = advice.placement.iter().map(|own| own.node.as_str()).collect();
        assert!(!nodes.contains(&"n1") && !nodes.contains(&"n4"), "{nodes:?}");
        // The default uses n1, and in a ring messages of others pass through it or through n4.
        let (quiet, _) = advise(&machine, &pattern, &[1e6], &idle(6)).expect("room");
        let ratio = advice.gains[0].default_s / quiet.gains[0].default_s;
        assert!(ratio > 5.0, "{:?} and {:?}", advice.gains, quiet.gains);
        assert_eq!(advice.nodes_not_idle.len(), 2);
        seen[0].presence = Presence::Gone("dead".to_owned());
        seen[2].presence = Presence::Gone("dead".to_owned());
        seen[3].presence = Presence::Gone("dead".to_owned());
        let refused = advise(&machine, &pattern, &[1e6], &seen).expect_err("three are left");
        assert!(refused.to_string().contains("3 of which have died or left"), "{refused}");
    }
}
