//! Orders: in which order places on a machine are filled, and ranks taken.
//!
//! Places are taken in the orders of `tidings-flows`: by X, Y, Z and T (which of its node's places)
//! in all 24 orders of these four, as the paper's mappings (XYZT: X changes fastest), and along a
//! Hilbert curve. Ranks are taken by their number; those of a grid also tile by tile, so that a
//! node has a tile; those of any other pattern by who exchanges with whom.

use std::collections::VecDeque;

use tidings_flows::order::{Places, orders};

use super::machine::Machine;
use super::pattern::Pattern;

/// More ranks than this are not taken in every kind of tile.
const MANY: usize = 4_096;
/// How launchers fill nodes by default, one after the other.
const FILLING: &str = "TXYZ";

/// An order with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Its name.
    pub name: String,
    /// What comes first, second and so on: places, or ranks.
    pub sequence: Vec<u32>,
}

/// All orders of a machine's places, each once: how launchers fill nodes by default comes first.
pub(super) fn of_places(machine: &Machine) -> Vec<Order> {
    let places = Places::new(machine.network.as_ref(), machine.nodes.len() as u32, machine.each);
    let filling = (0..machine.slots() as u32).collect();
    let mut all = vec![Order { name: FILLING.to_owned(), sequence: filling }];
    // Of orders that are the same, the first has the name.
    for order in orders(places) {
        let sequence = order.processes(places);
        add(&mut all, order.name, sequence);
    }
    all
}

fn add(orders: &mut Vec<Order>, name: String, sequence: Vec<u32>) {
    if orders.iter().all(|own| own.sequence != sequence) {
        orders.push(Order { name, sequence });
    }
}

/// Orders of a pattern's ranks: by their number first.
pub(super) fn of_ranks(pattern: &Pattern, each: u32) -> Vec<Order> {
    let by_number = (0..pattern.ranks as u32).collect();
    let mut orders = vec![Order { name: "by number".to_owned(), sequence: by_number }];
    match &pattern.grid {
        Some(sides) => {
            for tile in tiles(sides, each, pattern.ranks > MANY) {
                let words: Vec<String> = tile.iter().map(u32::to_string).collect();
                add(&mut orders, format!("tiles of {}", words.join("x")), by_tile(sides, &tile));
            }
        }
        None => add(&mut orders, "by partners".to_owned(), by_partners(pattern)),
    }
    orders
}

/// Tiles of a grid that have as many ranks as a node; of a large grid the one with the shortest
/// sides only.
fn tiles(sides: &[u32], each: u32, is_large: bool) -> Vec<Vec<u32>> {
    let mut tiles: Vec<Vec<u32>> = vec![Vec::new()];
    for &side in sides {
        let longer = |tile: &Vec<u32>| {
            let divisors = (1..=side.min(each)).filter(move |own| side % own == 0);
            let tile = tile.clone();
            divisors.map(move |own| [&tile[..], &[own]].concat()).collect::<Vec<_>>()
        };
        tiles = tiles.iter().flat_map(longer).collect();
    }
    tiles.retain(|tile| tile.iter().map(|own| u64::from(*own)).product::<u64>() == u64::from(each));
    tiles.sort_by_key(|tile| tile.iter().sum::<u32>());
    tiles.truncate(if is_large { 1 } else { usize::MAX });
    tiles
}

fn by_tile(sides: &[u32], tile: &[u32]) -> Vec<u32> {
    let ranks: u32 = sides.iter().product();
    let key = |rank: &u32| {
        let (mut left, mut which, mut within) = (*rank, Vec::new(), Vec::new());
        for (side, own) in sides.iter().zip(tile).rev() {
            which.insert(0, left % side / own);
            within.insert(0, left % side % own);
            left /= side;
        }
        [which, within].concat()
    };
    let mut sequence: Vec<u32> = (0..ranks).collect();
    sequence.sort_by_cached_key(key);
    sequence
}

/// Ranks as they are met from the one with fewest partners on, nearest first (Cuthill and McKee).
fn by_partners(pattern: &Pattern) -> Vec<u32> {
    let mut partners = pattern.partners();
    for own in &mut partners {
        own.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        own.dedup_by_key(|own| own.0);
    }
    let mut begins: Vec<usize> = (0..pattern.ranks).collect();
    begins.sort_by_key(|rank| partners[*rank].len());
    let mut seen = vec![false; pattern.ranks];
    let mut sequence = Vec::with_capacity(pattern.ranks);
    for begin in begins {
        let mut queue = VecDeque::from([begin]);
        while let Some(rank) = queue.pop_front() {
            if std::mem::replace(&mut seen[rank], true) {
                continue;
            }
            sequence.push(rank as u32);
            queue.extend(partners[rank].iter().map(|own| own.0).filter(|other| !seen[*other]));
        }
    }
    sequence
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::costs::Costs;
    use super::super::costs::tests::{points, torus_rows};
    use tidings_flows::shape::{Shape, Torus};

    use super::*;

    pub(crate) fn machine(lengths: [u32; 3], each: u32) -> Machine {
        let nodes = lengths.iter().product::<u32>() as usize;
        Machine {
            name: "torus".to_owned(),
            nodes: (0..nodes).map(|node| format!("n{node}")).collect(),
            each,
            network: Some(Shape::Torus(Torus::new(&lengths).expect("a torus"))),
            costs: Costs::of(&points(&torus_rows()), nodes).expect("all is there"),
        }
    }

    fn is_whole(sequence: &[u32], count: usize) -> bool {
        let mut sorted = sequence.to_vec();
        sorted.sort_unstable();
        sorted == (0..count as u32).collect::<Vec<_>>()
    }

    #[test]
    fn places_have_24_orders_and_hilberts_and_each_has_all() {
        let orders = of_places(&machine([4, 2, 3], 2));
        assert_eq!(orders.len(), 25);
        assert_eq!((orders[0].name.as_str(), &orders[0].sequence[..3]), ("TXYZ", &[0, 1, 2][..]));
        let zyxt = orders.iter().find(|own| own.name == "ZYXT").expect("there is one");
        assert_eq!(zyxt.sequence[..4], [0, 16, 32, 8], "Z changes fastest, then Y");
        assert!(orders.iter().all(|own| is_whole(&own.sequence, 48)));
        assert_eq!(of_places(&machine([3, 1, 1], 1)).len(), 1, "a row has one order");
    }

    #[test]
    fn ranks_are_taken_tile_by_tile_or_by_their_partners() {
        let grid = Pattern::of_grid("4x4", false).expect("a grid");
        let orders = of_ranks(&grid, 4);
        let names: Vec<&str> = orders.iter().map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["by number", "tiles of 2x2", "tiles of 4x1"]);
        assert_eq!(orders[1].sequence[..6], [0, 1, 4, 5, 2, 3]);
        assert!(orders.iter().all(|own| is_whole(&own.sequence, 16)));
        let path = Pattern::of_text("0 3\n3 1\n1 2", "f").expect("a path");
        assert_eq!(of_ranks(&path, 2)[1].sequence, [0, 3, 1, 2]);
    }
}
