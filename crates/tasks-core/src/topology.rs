//! Order: places of a graph, each behind its inputs; or the circle that makes that impossible.
//!
//! Source: A. B. Kahn, Topological sorting of large networks, 1962.

use std::collections::BTreeSet;

/// The places from 0 to `count`, each behind its inputs and otherwise as they are counted. Inputs
/// beyond `count` are elsewhere, and may be named in any order; one that is named twice is one.
///
/// # Errors
/// Some wait for each other: the members of one circle, each before its input, the last one before
/// the first.
pub fn order<I: IntoIterator<Item = usize>>(
    count: usize,
    inputs_of: impl Fn(usize) -> I,
) -> Result<Vec<usize>, Vec<usize>> {
    let own = |at: usize| inputs_of(at).into_iter().filter(|input| *input < count);
    let mut consumers = vec![Vec::new(); count];
    let mut missing = vec![0_usize; count];
    for (at, missing) in missing.iter_mut().enumerate() {
        for input in own(at) {
            consumers[input].push(at);
            *missing += 1;
        }
    }
    let mut free: BTreeSet<usize> = (0..count).filter(|at| missing[*at] == 0).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(at) = free.pop_first() {
        order.push(at);
        for &consumer in &consumers[at] {
            missing[consumer] -= 1;
            if missing[consumer] == 0 {
                free.insert(consumer);
            }
        }
    }
    match missing.iter().position(|count| *count > 0) {
        None => Ok(order),
        Some(first) => Err(circle(first, |at| own(at).find(|input| missing[*input] > 0))),
    }
}

/// The members of the circle that is reached from a place by going from input to input.
fn circle(first: usize, input_of: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut path = vec![first];
    let mut seen = BTreeSet::from([first]);
    // What is missing after all that can be placed was placed has an input that is missing too.
    while let Some(next) = path.last().and_then(|last| input_of(*last)) {
        if !seen.insert(next) {
            let at = path.iter().position(|one| *one == next).unwrap_or_default();
            return path.split_off(at);
        }
        path.push(next);
    }
    path
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    fn ordered(inputs: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
        order(inputs.len(), |at| inputs[at].iter().copied())
    }

    proptest! {
        #[test]
        fn each_comes_behind_its_inputs_or_a_circle_is_named(
            inputs in vec(vec(0..12_usize, 0..4), 0..10)
        ) {
            match ordered(&inputs) {
                Ok(order) => {
                    let mut all = order.clone();
                    all.sort_unstable();
                    prop_assert_eq!(all, (0..inputs.len()).collect::<Vec<_>>());
                    for (at, place) in order.iter().enumerate() {
                        let later = &order[at..];
                        prop_assert!(!inputs[*place].iter().any(|input| later.contains(input)));
                    }
                }
                Err(circle) => {
                    let following = circle.iter().cycle().skip(1);
                    for (place, next) in circle.iter().zip(following) {
                        prop_assert!(inputs[*place].contains(next), "{:?}", circle);
                    }
                }
            }
        }

        /// Inputs that are counted before make no circle, and nothing is moved.
        #[test]
        fn what_is_in_order_stays(sets in vec(btree_set(0..20_usize, 0..4), 0..20)) {
            let inputs: Vec<Vec<usize>> = (0..)
                .zip(sets)
                .map(|(at, set)| set.into_iter().filter(|input| *input < at).collect())
                .collect();
            prop_assert_eq!(ordered(&inputs), Ok((0..inputs.len()).collect()));
        }
    }

    #[test]
    fn a_circle_is_named_without_those_behind_it() {
        assert_eq!(ordered(&[vec![1], vec![2], vec![3], vec![1]]), Err(vec![1, 2, 3]));
        assert_eq!(ordered(&[vec![], vec![1]]), Err(vec![1]));
    }

    #[test]
    fn a_long_chain_is_followed() {
        let last = 100_000;
        let chain = order(last, |at| (at > 0).then(|| at - 1));
        assert_eq!(chain.map(|order| order.len()), Ok(last));
        let circle = order(last, |at| Some((at + 1) % last));
        assert_eq!(circle.map_err(|circle| circle.len()), Err(last));
    }
}
