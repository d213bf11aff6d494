//! Orders of ranks: which process of the machine is which rank of an exchange.
//!
//! The 24 orders of X, Y, Z and T name the axis that changes fastest first; T is the core of a
//! node. A Hilbert order goes through the nodes along Skilling's curve (AIP Conference Proceedings
//! 707, 2004). Of orders that are the same on a machine, the first by its letters stands.

use crate::machine::Machine;
use crate::shape::{AXES, Shape, Torus};

const LETTERS: [char; AXES + 1] = ['X', 'Y', 'Z', 'T'];

/// The name of the order along a Hilbert curve.
const HILBERT: &str = "Hilbert";

/// An order of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Its name.
    pub name: String,
    /// The axes from the fastest on; none for the Hilbert order.
    axes: Option<[usize; AXES + 1]>,
}

/// Where processes are: the lengths of X, Y, Z and T. Processes fill node after node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    lengths: [u32; AXES + 1],
}

impl Places {
    /// So many nodes with so many processes each; nodes of what is no torus or mesh are a row.
    pub fn new(shape: Option<&Shape>, nodes: u32, cores: u32) -> Self {
        let torus = shape.and_then(Shape::torus);
        let [x, y, z] = torus.map_or([nodes, 1, 1], Torus::lengths);
        Self { lengths: [x, y, z, cores] }
    }

    /// Those of a machine.
    pub fn of(machine: &Machine) -> Self {
        Self::new(Some(machine.shape()), machine.nodes(), machine.cores())
    }

    fn nodes(self) -> u32 {
        self.lengths[..AXES].iter().product()
    }

    fn place(self, process: u32) -> [u32; AXES + 1] {
        let [x, y, _, cores] = self.lengths;
        let node = process / cores;
        [node % x, node / x % y, node / (x * y), process % cores]
    }
}

/// All orders that differ.
pub fn orders(places: Places) -> Vec<Order> {
    let lengths = places.lengths;
    let mut seen: Vec<String> = Vec::new();
    let mut orders = Vec::new();
    for axes in permutations() {
        let effective: String =
            axes.iter().filter(|axis| lengths[**axis] > 1).map(|axis| LETTERS[*axis]).collect();
        if !seen.contains(&effective) {
            let name = axes.iter().map(|axis| LETTERS[*axis]).collect();
            orders.push(Order { name, axes: Some(axes) });
            seen.push(effective);
        }
    }
    if places.nodes() > 2 {
        orders.push(Order { name: HILBERT.to_owned(), axes: None });
    }
    orders
}

impl Order {
    /// The process that is each rank.
    pub fn processes(&self, places: Places) -> Vec<u32> {
        let lengths = places.lengths;
        let bits = (1..32).find(|bits| lengths[..AXES].iter().all(|own| *own <= 1 << bits));
        let number = |process: &u32| -> u64 {
            let at = places.place(*process);
            if let Some(axes) = self.axes {
                axes.iter().rev().fold(0, |number, &axis| {
                    number * u64::from(lengths[axis]) + u64::from(at[axis])
                })
            } else {
                let along = hilbert([at[0], at[1], at[2]], bits.unwrap_or(1));
                along * u64::from(lengths[AXES]) + u64::from(at[AXES])
            }
        };
        let mut processes: Vec<u32> = (0..places.nodes() * lengths[AXES]).collect();
        processes.sort_by_cached_key(number);
        processes
    }

    /// The node of each rank.
    pub fn nodes(&self, machine: &Machine) -> Vec<u32> {
        let processes = self.processes(Places::of(machine));
        processes.into_iter().map(|process| machine.node_of(process)).collect()
    }
}

/// All orders of the axes, by their letters as they stand in [`LETTERS`].
fn permutations() -> Vec<[usize; AXES + 1]> {
    let all = 0..=AXES;
    let mut found = Vec::new();
    for first in all.clone() {
        for second in all.clone() {
            for third in all.clone() {
                for fourth in all.clone() {
                    let axes = [first, second, third, fourth];
                    let mut sorted = axes;
                    sorted.sort_unstable();
                    if sorted == [0, 1, 2, 3] {
                        found.push(axes);
                    }
                }
            }
        }
    }
    found
}

/// The number of a place along a Hilbert curve with so many bits a coordinate, from 1 to 21
/// (Skilling, AIP Conference Proceedings 707, 2004).
fn hilbert(mut at: [u32; AXES], bits: u32) -> u64 {
    let top = 1_u32 << (bits - 1);
    let mut bit = top;
    while bit > 1 {
        for axis in 0..AXES {
            if at[axis] & bit != 0 {
                at[0] ^= bit - 1;
            } else {
                let swapped = (at[0] ^ at[axis]) & (bit - 1);
                at[0] ^= swapped;
                at[axis] ^= swapped;
            }
        }
        bit >>= 1;
    }
    for axis in 1..AXES {
        at[axis] ^= at[axis - 1];
    }
    let mut held = 0;
    let mut bit = top;
    while bit > 1 {
        if at[AXES - 1] & bit != 0 {
            held ^= bit - 1;
        }
        bit >>= 1;
    }
    let mut number = 0;
    for shift in (0..bits).rev() {
        for own in at {
            number = 2 * number + u64::from((own ^ held) >> shift & 1);
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::bluegene_p;

    #[test]
    fn there_are_24_orders_and_hilberts_and_fewer_where_axes_have_one_place() {
        let of = |lengths: &[u32]| orders(Places::of(&bluegene_p(lengths, 2)));
        assert_eq!(of(&[4, 4, 2]).len(), 25);
        let names: Vec<String> = of(&[8, 1, 1]).into_iter().map(|own| own.name).collect();
        assert_eq!(names, ["XYZT", "YZTX", "Hilbert"]);
    }

    #[test]
    fn the_first_axis_changes_fastest() {
        let machine = bluegene_p(&[4, 2, 2], 2);
        let of = |name: &str| {
            let all = orders(Places::of(&machine));
            let own = all.iter().find(|order| order.name == name).expect("it differs");
            own.nodes(&machine)
        };
        assert_eq!(of("XYZT")[..5], [0, 1, 2, 3, 4]);
        assert_eq!(of("TXYZ")[..5], [0, 0, 1, 1, 2]);
        assert_eq!(of("ZYXT")[..5], [0, 8, 4, 12, 1]);
    }

    #[test]
    fn along_hilberts_curve_each_node_is_next_to_the_one_before() {
        let machine = bluegene_p(&[4, 4, 4], 1);
        let all = orders(Places::of(&machine));
        let nodes = all.last().expect("Hilbert's").nodes(&machine);
        let hops = |pair: &[u32]| machine.path(pair[0], pair[1]).hops;
        assert!(nodes.windows(2).all(|pair| hops(pair) == 1), "{nodes:?}");
        let mut sorted = nodes;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..64).collect::<Vec<_>>());
    }
}
