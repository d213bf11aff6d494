//! Placement: who owns a block and who has its copy, by who lives and nothing else.
//!
//! Workers stand in a ring in the order of their numbers. A block's owner is the first living
//! worker from the block's place in the ring on, its copy is at the second. So two workers that
//! know the same dead need not ask each other; when an owner dies its copy is the owner, and the
//! next one in the ring gets a copy.
//!
//! So a world whose hosts have several workers numbers them such that neighbours in the ring are on
//! different hosts; else a host that fails takes owner and copy.
//!
//! Invariant: while a worker lives it stays what it is to a block, or becomes its owner from being
//! its copy. So what is sent to an owner by a worker that knows fewer dead comes to the owner.

use tidings_steal::view::View;

/// The owner of what has this number and who has its copy; no copy where one worker lives.
pub fn holders(number: u32, view: &View) -> (u32, Option<u32>) {
    let begin = number % view.workers();
    let first = view.position_from(begin);
    let owner = view.at(first);
    let next = view.at((first + 1) % view.live());
    (owner, (next != owner).then_some(next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn who_lives_stays_or_becomes_the_owner(
            workers in 1u32..30,
            deaths in prop::collection::vec(0u32..30, 0..30),
            number: u32,
        ) {
            let mut view = View::new(workers);
            for dead in deaths {
                let (owner, copy) = holders(number, &view);
                prop_assert!(view.lives(owner) && copy.is_none_or(|copy| view.lives(copy)));
                prop_assert_eq!(copy.is_none(), view.live() == 1);
                if view.live() == 1 || !view.remove(dead) {
                    continue;
                }
                let (then, _) = holders(number, &view);
                match copy {
                    Some(copy) if owner == dead => prop_assert_eq!(then, copy),
                    _ => prop_assert_eq!(then, owner),
                }
            }
        }
    }

    #[test]
    fn the_ring_goes_on_at_its_begin() {
        let mut view = View::new(3);
        assert_eq!(holders(5, &view), (2, Some(0)));
        view.remove(2);
        assert_eq!(holders(5, &view), (0, Some(1)));
        view.remove(0);
        assert_eq!(holders(5, &view), (1, None));
    }
}
