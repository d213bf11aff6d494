//! Prediction: how long an exchange takes, from its loads and the machine's costs.
//!
//! All messages begin at once. The last one has arrived when what has most to do is done (a link,
//! or what a node sends, receives or copies), and one latency of the farthest message later. A link
//! that others use at this moment has only the rest of its bandwidth for us.

use super::loads::{Load, Loads};
use super::machine::Machine;

/// No link is taken to be fuller than this: something always gets through.
const LEAST_FREE: f64 = 0.05;

/// Seconds of an exchange whose messages have so many bytes. Of each node's bandwidth the share in
/// `free` is ours; all of it where there is none.
pub fn exchange_s(machine: &Machine, loads: &Loads, free: &[f64], bytes: f64) -> f64 {
    let costs = &machine.costs;
    let free = |node: usize| free.get(node).copied().unwrap_or(1.0).clamp(LEAST_FREE, 1.0);
    let longest = |loads: &[Load], rate: f64, free: &dyn Fn(usize) -> f64, sharing: f64| {
        let own = loads.iter().enumerate().map(|(at, load)| {
            let shared = if load.messages > 1 { sharing } else { 1.0 };
            load.weight * bytes * shared / (rate * free(at))
        });
        own.fold(0.0, f64::max)
    };
    let of_nodes = |loads: &[Load], rate: f64, sharing: f64| longest(loads, rate, &free, sharing);
    let links = match &machine.network {
        // A node of a network that is not known has one link in each direction.
        None => {
            let out = of_nodes(&loads.out, costs.out_bytes_per_s, costs.sharing);
            out.max(of_nodes(&loads.into, costs.in_bytes_per_s, costs.sharing))
        }
        // What others send from a node is known; what passes through a switch is not.
        Some(shape) => {
            let begin = |link: usize| shape.begin_of(link as u32);
            let free = |link: usize| begin(link).map_or(1.0, |node| free(node as usize));
            longest(&loads.links, costs.link_bytes_per_s, &free, costs.sharing)
        }
    };
    let out = of_nodes(&loads.out, costs.out_bytes_per_s, 1.0);
    let into = of_nodes(&loads.into, costs.in_bytes_per_s, 1.0);
    let inside = loads.inside.iter().map(|load| load.weight * bytes / costs.inside_bytes_per_s);
    let inside = inside.fold(0.0, f64::max);
    let latency_s = match loads.farthest {
        0 => costs.inside_latency_s,
        hops => costs.latency_s + costs.hop_s * f64::from(hops - 1),
    };
    latency_s + links.max(out).max(into).max(inside)
}

#[cfg(test)]
mod tests {
    use super::super::orders::tests::machine;
    use super::super::pattern::Pattern;
    use super::*;

    #[test]
    fn a_shared_link_and_a_busy_node_take_longer_and_small_messages_cost_their_hops() {
        let machine = machine([6, 1, 1], 1);
        let pattern = |text: &str| Pattern::of_text(text, "f").expect("a pattern");
        let time = |text: &str, slots: &[u32], bytes: f64, free: &[f64]| {
            let loads = Loads::of(&machine, &pattern(text), slots);
            exchange_s(&machine, &loads, free, bytes)
        };
        let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.03;
        let place = [0, 1, 2, 3];
        let alone = time("0 1", &place, 4e6, &[]);
        assert!(near(alone, 3e-6 + 0.01), "{alone}");
        let shared = time("0 3\n1 2", &place, 4e6, &[]);
        assert!(near(shared, 5e-6 + 0.01 * 2.0 * 1.5), "{shared}");
        let busy = time("0 1", &place, 4e6, &[0.5]);
        assert!(near(busy, 3e-6 + 0.02), "{busy}");
        let full = time("0 1", &place, 4e6, &[0.0]);
        assert!(full.is_finite() && full > busy, "{full}");
        let small = time("0 3\n1 2", &place, 0.0, &[]);
        assert!(near(small, 5e-6), "three hops: {small}");
    }

    #[test]
    fn loads_are_those_of_the_links_that_messages_take() {
        let machine = machine([6, 1, 1], 1);
        let pattern = Pattern::of_text("0 3 2\n1 2", "f").expect("a pattern");
        let loads = Loads::of(&machine, &pattern, &[0, 1, 2, 3]);
        assert_eq!((loads.busiest(), loads.farthest, loads.hops), (3.0, 3, 4.0));
        assert_eq!(loads.links.iter().filter(|load| load.messages > 0).count(), 3);
        let loads = Loads::of(&machine, &pattern, &[0, 2, 3, 1]);
        assert_eq!((loads.busiest(), loads.farthest), (2.0, 1));
    }
}
