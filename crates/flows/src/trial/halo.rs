//! HALO: every rank exchanges N words with its four neighbours on a grid, under each order of ranks
//! (figure 12 of the paper). What counts is when the last rank has all.

use super::row::{Extent, Measured, Prediction, Row, received};
use crate::error::FlowsError;
use crate::grid::{Grid, NEIGHBOURS};
use crate::machine::Machine;
use crate::order::{Order, Places, orders};
use crate::phase::{self, Message};

/// Bytes of a word.
const WORD: u64 = 4;

pub(super) fn run(
    machine: &Machine,
    extent: &Extent,
    row: &mut dyn FnMut(Row),
) -> Result<(), FlowsError> {
    let is_wanted = |order: &Order| extent.orders.is_empty() || extent.orders.contains(&order.name);
    for order in orders(Places::of(machine)).into_iter().filter(is_wanted) {
        let pairs = pairs(&order.nodes(machine));
        row(Row::Prediction(predict(machine, &order, &pairs)));
        for side in sides(extent) {
            row(Row::Measured(Measured {
                test: "halo",
                variant: format!("{}, isend and irecv", order.name),
                bytes: WORD * side,
                count: side,
                messages: 1,
                seconds: exchange(machine, &pairs, WORD * side)?,
            }));
        }
    }
    Ok(())
}

/// N from the least on, by the factor, the largest not left out.
fn sides(extent: &Extent) -> Vec<u64> {
    let ([least, largest], factor) = (extent.halo, extent.factor.max(2));
    let next = |side: &u64| (*side < largest).then(|| side.saturating_mul(factor).min(largest));
    std::iter::successors(Some(least.min(largest)), next).collect()
}

/// The nodes of all messages, those that a rank receives one after the other.
fn pairs(node_of: &[u32]) -> Vec<[u32; 2]> {
    let grid = Grid::of(node_of.len() as u32);
    let of_rank = |rank: u32| {
        let to = node_of[rank as usize];
        grid.neighbours(rank).map(|from| [node_of[from as usize], to])
    };
    (0..node_of.len() as u32).flat_map(of_rank).collect()
}

/// When the last rank has received all, if all exchange at once.
fn exchange(machine: &Machine, pairs: &[[u32; 2]], bytes: u64) -> Result<f64, FlowsError> {
    let message = |&[from, to]: &[u32; 2]| Message { from, to, bytes, at_s: 0.0 };
    let messages: Vec<Message> = pairs.iter().map(message).collect();
    let ends_s = phase::run(machine, &messages)?.ends_s;
    let each_s = machine.receive_s(bytes);
    let of_rank = ends_s.chunks(NEIGHBOURS).map(|own| received(own.to_vec(), 0.0, each_s));
    Ok(of_rank.fold(0.0, f64::max))
}

/// What the messages do to the links, by their routes alone.
fn predict(machine: &Machine, order: &Order, pairs: &[[u32; 2]]) -> Prediction {
    let mut loads = vec![0_u32; machine.shape().widths().len()];
    let (mut hops, mut between) = (0_u64, 0_u64);
    for &[from, to] in pairs {
        let route = machine.shape().route(from, to);
        hops += route.len() as u64;
        between += u64::from(from != to);
        for link in route {
            loads[link as usize] += 1;
        }
    }
    Prediction {
        variant: order.name.clone(),
        messages_between_nodes: between,
        hops_a_message: hops as f64 / pairs.len() as f64,
        messages_of_the_busiest_link: loads.iter().copied().max().unwrap_or(0),
        busiest_s_a_byte: machine.busiest_s_a_byte(&loads),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{extent, rows, seconds};
    use super::super::{Extent, Row, Trial};
    use crate::machine::tests::bluegene_p;
    use crate::machine::{Figures, Machine};

    /// The torus of the hosts that are made on one machine: the order that is best depends on which
    /// links are slow.
    #[test]
    fn orders_that_use_slow_links_less_are_predicted_and_computed_to_be_quicker() {
        let equal = bluegene_p(&[3, 3, 3], 2);
        let figures = Figures { axes: [1.0, 0.85, 0.75], ..*equal.figures() };
        let machine = Machine::new(equal.shape().clone(), 2, figures).expect("a machine");
        let extent = Extent { halo: [8192, 8192], ..extent() };
        let times = |machine: &Machine| -> Vec<(f64, f64)> {
            let rows = rows(Trial::Halo, machine, &extent);
            let of = |row: &Row| match row {
                Row::Prediction(own) => {
                    let name = format!("{}, isend and irecv", own.variant);
                    Some((own.busiest_s_a_byte, seconds(&rows, "halo", &name, 32_768, 8192)))
                }
                _ => None,
            };
            rows.iter().filter_map(of).collect()
        };
        let distinct = |own: &[(f64, f64)]| {
            let mut sorted: Vec<u64> = own.iter().map(|own| (own.0 * 1e15) as u64).collect();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len()
        };
        let (alike, apart) = (times(&equal), times(&machine));
        assert!(distinct(&apart) > distinct(&alike), "{alike:?} {apart:?}");
        assert!(apart.iter().all(|(byte_s, took_s)| *took_s > 32_768.0 * byte_s * 0.99));
    }

    #[test]
    fn orders_differ_and_the_busiest_link_says_how_at_large_sides() {
        let machine = bluegene_p(&[8, 4, 4], 2);
        let extent = Extent { halo: [8192, 8192], ..extent() };
        let rows = rows(Trial::Halo, &machine, &extent);
        let mut found = Vec::new();
        for row in &rows {
            if let Row::Prediction(own) = row {
                let name = format!("{}, isend and irecv", own.variant);
                let took_s = seconds(&rows, "halo", &name, 32_768, 8192);
                found.push((f64::from(own.messages_of_the_busiest_link), took_s));
            }
        }
        assert_eq!(found.len(), 25);
        // A link that has k messages needs at least k times as long as one message.
        let alone_s = 32_768.0 / 425e6;
        assert!(found.iter().all(|(load, took_s)| *took_s > load * alone_s * 0.99), "{found:?}");
        let of = |load: f64| {
            found.iter().filter(move |own| own.0.total_cmp(&load).is_eq()).map(|own| own.1)
        };
        let loads = || found.iter().map(|own| own.0);
        let (least, most) = (loads().fold(f64::MAX, f64::min), loads().fold(0.0, f64::max));
        assert!(of(least).fold(f64::MAX, f64::min) < of(most).fold(f64::MAX, f64::min));
    }

    #[test]
    fn small_sides_cost_four_receipts_and_the_farthest_hop() {
        let machine = bluegene_p(&[4, 4, 4], 1);
        let extent = Extent { halo: [2, 2], orders: vec!["XYZT".to_owned()], ..extent() };
        let rows = rows(Trial::Halo, &machine, &extent);
        assert_eq!(rows.len(), 2, "a prediction and a time: {rows:?}");
        let took_s = seconds(&rows, "halo", "XYZT, isend and irecv", 8, 2);
        let receipts_s = 4.0 * machine.figures().receive_s;
        assert!((receipts_s..receipts_s + 4.0 * 2.6e-6 / 47.0).contains(&took_s), "{took_s}");
    }
}
