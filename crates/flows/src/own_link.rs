//! Links of a torus or a mesh that are otherwise than the others, named by their two nodes.
//!
//! What is said of a link holds in both directions. On a ring of two each node has a link up and
//! one down to the other node: all of these are the link between both.

use crate::error::FlowsError;
use crate::shape::Shape;

/// A value of a link that is its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnLink {
    /// The two nodes, in any order.
    pub between: [u32; 2],
    /// Its value.
    pub value: f64,
}

/// The links that have a value of their own, by their numbers, each with its value.
///
/// # Errors
/// [`FlowsError::Link`] if there is no such link, or if it is named twice.
pub(crate) fn numbered(shape: &Shape, all: &[OwnLink]) -> Result<Vec<(u32, f64)>, FlowsError> {
    let mut numbered: Vec<(u32, f64)> = Vec::new();
    for own in all {
        let [one, other] = own.between;
        let refused = |remedy| Err(FlowsError::Link { one, other, remedy });
        let Some(torus) = shape.torus() else {
            return refused("links of a torus or a mesh alone are between two nodes: remove it");
        };
        if one.max(other) >= shape.nodes() {
            return refused("nodes are numbered from 0, X fastest: write two that there are");
        }
        let links = [torus.links_between(one, other), torus.links_between(other, one)].concat();
        let Some(first) = links.first() else {
            return refused("no link is between them: write two neighbours");
        };
        if numbered.iter().any(|(link, _)| link == first) {
            return refused("it is named twice: name it once, for both directions");
        }
        numbered.extend(links.iter().map(|link| (*link, own.value)));
    }
    Ok(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{FatTree, Torus};

    fn own(one: u32, other: u32) -> OwnLink {
        OwnLink { between: [one, other], value: 0.5 }
    }

    #[test]
    fn a_link_is_numbered_as_routes_number_it_in_both_directions() {
        for torus in [Torus::new(&[4, 3]), Torus::new(&[2, 2, 2]), Torus::mesh(&[4, 2])] {
            let shape = Shape::Torus(torus.expect("lengths"));
            let nodes = shape.nodes();
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
                let numbered = numbered(&shape, &[own(to, from)]);
                assert_eq!(numbered.is_ok(), shape.hops(from, to) == 1, "{shape:?}: {from} {to}");
                let Ok(numbered) = numbered else { continue };
                for route in [shape.route(from, to), shape.route(to, from)] {
                    assert!(numbered.contains(&(route[0], 0.5)), "{shape:?}: {from} {to}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_link_or_is_named_twice_is_refused_with_a_remedy() {
        let chain = Shape::Torus(Torus::mesh(&[4]).expect("a chain"));
        let tree = Shape::FatTree(FatTree::new(&[4, 4]).expect("a tree"));
        for (shape, all, remedy) in [
            (&chain, vec![own(0, 3)], "write two neighbours"),
            (&chain, vec![own(1, 1)], "write two neighbours"),
            (&chain, vec![own(3, 4)], "write two that there are"),
            (&chain, vec![own(0, 1), own(1, 2), own(1, 0)], "name it once"),
            (&tree, vec![own(0, 1)], "of a torus or a mesh alone"),
        ] {
            let said = numbered(shape, &all).expect_err(remedy).to_string();
            assert!(said.contains(remedy), "{said}");
        }
    }
}
