//! A phase: messages that are all known before, each with the moment at which it begins.
//!
//! They are grouped by [`crate::symmetry`]; a class of messages is one flow of the engine, and a
//! class of links one link. Half a million messages of a regular exchange become some hundreds.

use std::collections::BTreeMap;

use crate::engine::{Engine, Way};
use crate::error::FlowsError;
use crate::links::Step;
use crate::machine::Machine;
use crate::symmetry::{Routes, classes, colour};

/// The most links that all messages of a phase may cross together: 512 MiB.
pub const MOST_CROSSINGS: u64 = 1 << 27;

/// Ends nearer than this, as a part of the time that has passed, are one event: an event costs as
/// much as there are classes, so with many of them fewer are told apart.
fn grain(classes: usize) -> f64 {
    match classes {
        0..2_000 => 1e-6,
        2_000..50_000 => 5e-3,
        _ => 2e-2,
    }
}

/// A message between nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// The node that sends it.
    pub from: u32,
    /// The node that receives it.
    pub to: u32,
    /// Its size.
    pub bytes: u64,
    /// When it is sent, in seconds.
    pub at_s: f64,
}

/// What a phase took.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// When each message has arrived, in seconds.
    pub ends_s: Vec<f64>,
    /// Classes of messages.
    pub classes: usize,
    /// How often rates were computed.
    pub events: u64,
}

/// All that the classes of a phase are made from.
struct Known {
    routes: Routes,
    begins_s: Vec<f64>,
    weights: Vec<f64>,
    alone: Vec<Option<f64>>,
}

/// When each message has arrived.
///
/// # Errors
/// [`FlowsError::TooMany`] if the messages cross more links than [`MOST_CROSSINGS`].
pub fn run(machine: &Machine, messages: &[Message]) -> Result<Done, FlowsError> {
    let known = known(machine, messages)?;
    let capacities = machine.capacities();
    let at_first = |(flow, message): (usize, &Message)| {
        let alone = known.alone[flow].map_or(0, f64::to_bits);
        let [begin, weight] = [known.begins_s[flow], known.weights[flow]].map(f64::to_bits);
        colour(&[message.bytes, begin, weight, alone])
    };
    let flows: Vec<u64> = messages.iter().enumerate().map(at_first).collect();
    let links: Vec<u64> = capacities.iter().map(|own| own.to_bits()).collect();
    let classes = classes(&known.routes, &flows, &links);
    let first_flows = firsts(&classes.of_flow);
    let first_links = firsts(&classes.of_link);
    let crossing = crossing(&known.routes, &classes.of_flow, &classes.of_link, &first_links);
    let of_class: Vec<f64> = first_links.iter().map(|first| capacities[*first as usize]).collect();
    let mut engine = Engine::new(&of_class).with_grain(grain(first_flows.len()));
    let mut steps: Vec<Vec<Step>> = vec![Vec::new(); first_flows.len()];
    for ((class, link), flows) in crossing {
        steps[class as usize].push(Step { link, flows: f64::from(flows) });
    }
    for (class, first) in first_flows.iter().enumerate() {
        let flow = *first as usize;
        let shared = || Way::Shared {
            weight: known.weights[flow],
            steps: std::mem::take(&mut steps[class]),
        };
        let way = known.alone[flow].map_or_else(shared, Way::Alone);
        engine.begin(known.begins_s[flow], messages[flow].bytes as f64, way);
    }
    let mut ended_s = vec![0.0; first_flows.len()];
    while let Some(arrival) = engine.next_arrival() {
        ended_s[arrival.message as usize] = arrival.at_s;
    }
    let ends_s = classes.of_flow.iter().map(|class| ended_s[*class as usize]).collect();
    Ok(Done { ends_s, classes: first_flows.len(), events: engine.events() })
}

fn known(machine: &Machine, messages: &[Message]) -> Result<Known, FlowsError> {
    let mut known = Known {
        routes: Routes::new(),
        begins_s: Vec::with_capacity(messages.len()),
        weights: Vec::with_capacity(messages.len()),
        alone: Vec::with_capacity(messages.len()),
    };
    for message in messages {
        let path = machine.path(message.from, message.to);
        let count = (known.routes.links.len() + path.links.len()) as u64;
        if count > MOST_CROSSINGS {
            let what = "links that the messages of a phase cross";
            return Err(FlowsError::TooMany { what, count, most: MOST_CROSSINGS });
        }
        known.routes.push(&path.links);
        known.begins_s.push(message.at_s + path.latency_s);
        known.weights.push(path.weight);
        known.alone.push(path.alone);
    }
    Ok(known)
}

/// The first member of each class.
fn firsts(class_of: &[u32]) -> Vec<u32> {
    let count = class_of.iter().max().map_or(0, |most| *most as usize + 1);
    let mut firsts = vec![u32::MAX; count];
    for (member, class) in class_of.iter().enumerate() {
        let first = &mut firsts[*class as usize];
        *first = (*first).min(member as u32);
    }
    firsts
}

/// How many flows of each class cross a link of each class, for those that do: counted on the first
/// link of the class, since on all of them it is the same.
fn crossing(
    routes: &Routes,
    of_flow: &[u32],
    of_link: &[u32],
    first_links: &[u32],
) -> BTreeMap<(u32, u32), u32> {
    let mut counts = BTreeMap::new();
    for (flow, class) in of_flow.iter().enumerate() {
        for link in routes.of(flow) {
            let of = of_link[*link as usize];
            if first_links[of as usize] == *link {
                *counts.entry((*class, of)).or_insert(0) += 1;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::bluegene_p;
    use proptest::prelude::*;

    #[test]
    fn an_exchange_along_a_ring_is_few_classes_and_takes_what_a_link_takes() {
        let machine = bluegene_p(&[8, 1, 1], 1);
        let around = |from: u32| Message { from, to: (from + 2) % 8, bytes: 425_000, at_s: 0.0 };
        let messages: Vec<Message> = (0..8).map(around).collect();
        let done = run(&machine, &messages).expect("it fits");
        assert_eq!(done.classes, 1, "all are alike");
        // Two messages of a millisecond on each link.
        let expected = 2e-3 + 2.0 * 2.6e-6 / 47.0;
        assert!(done.ends_s.iter().all(|end_s| (end_s / expected - 1.0).abs() < 1e-9), "{done:?}");
    }

    #[test]
    fn classes_change_no_time() {
        // Messages with sizes that differ are told apart; nearly the same sizes take nearly as
        // long.
        let machine = bluegene_p(&[4, 4, 2], 2);
        let messages = |odd: u64| -> Vec<Message> {
            let to = |from: u32| (from * 5 + 3) % 32;
            let own = |from: u32| Message {
                from,
                to: to(from),
                bytes: 100_000_000 + odd * u64::from(from),
                at_s: 0.0,
            };
            (0..32).map(own).collect()
        };
        let [grouped, apart] = [0, 1].map(|odd| run(&machine, &messages(odd)).expect("it fits"));
        assert!(grouped.classes < apart.classes && apart.classes == 32, "{}", grouped.classes);
        for (one, other) in grouped.ends_s.iter().zip(&apart.ends_s) {
            assert!((one / other - 1.0).abs() < 1e-5, "{one} and {other}");
        }
    }

    /// The same messages, each a flow of its own.
    fn each_alone(machine: &Machine, messages: &[Message]) -> Vec<f64> {
        let mut engine = Engine::new(&machine.capacities());
        for message in messages {
            let path = machine.path(message.from, message.to);
            engine.begin(message.at_s + path.latency_s, message.bytes as f64, path.way());
        }
        let mut ends_s = vec![0.0; messages.len()];
        while let Some(arrival) = engine.next_arrival() {
            ends_s[arrival.message as usize] = arrival.at_s;
        }
        ends_s
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_class_stands_for_its_messages(
            ends in prop::collection::vec((0_u32..36, 0_u32..36, 0_usize..2), 1..60),
            shift in 1_u32..36,
        ) {
            let machine = bluegene_p(&[6, 3, 2], 2);
            // Some messages of a regular exchange, which is alike everywhere, and some more.
            let regular = (0..36).map(|from| (from, (from + shift) % 36, 0));
            let sizes = [300_000, 1_000_000];
            let messages: Vec<Message> = regular
                .chain(ends)
                .map(|(from, to, size)| Message { from, to, bytes: sizes[size], at_s: 0.0 })
                .collect();
            let grouped = run(&machine, &messages).expect("it fits");
            for (one, other) in grouped.ends_s.iter().zip(each_alone(&machine, &messages)) {
                prop_assert!((one / other - 1.0).abs() < 1e-5, "{one} and {other}");
            }
        }
    }
}
