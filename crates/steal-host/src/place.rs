//! Places: where in a host a worker runs, in one word, so that others know how far it is.
//!
//! Two processors are near if they are one core, then if they have one cache of the last level,
//! then if they have one package. A system that says less than that has fewer distances: what it
//! does not say is the same for all.
//!
//! A process that the system moves to another processor says so when it enters the next phase: who
//! wants distances to hold has each process stay where it is. Source: what Linux has below
//! /sys/devices/system/cpu (Documentation/admin-guide/cputopology.rst of its sources).

use std::fs;

/// That a worker has said where it is.
const KNOWN: u64 = 1 << 63;

/// How far those are that share nothing but the host.
const FARTHEST: u32 = 3;

/// The place of this processor, as a word; never 0.
pub(crate) fn word_of(processor: usize) -> u64 {
    let number = |what: &str| {
        let file = format!("/sys/devices/system/cpu/cpu{processor}/{what}");
        let read = fs::read_to_string(file).ok();
        read.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let package = number("topology/physical_package_id");
    place(package, number("cache/index3/id"), number("topology/core_id"))
}

/// A package, a cache of it and a core, of each as much as there is room for.
fn place(package: u64, cache: u64, core: u64) -> u64 {
    let part = |number: u64, at: u32| (number & 0xffff) << at;
    KNOWN | part(package, 32) | part(cache, 16) | part(core, 0)
}

/// How far two places are from each other, of words that anybody may have written.
pub(crate) fn distance(one: u64, other: u64) -> u32 {
    if one & other & KNOWN == 0 || one >> 32 != other >> 32 {
        return FARTHEST;
    }
    [16, 0]
        .into_iter()
        .zip([2, 1])
        .find(|(at, _)| one >> at != other >> at)
        .map_or(0, |(_, far)| far)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_share_says_how_far_they_are() {
        let here = place(1, 2, 3);
        let there = [place(1, 2, 3), place(1, 2, 4), place(1, 5, 3), place(2, 2, 3), 0];
        assert_eq!(there.map(|place| distance(here, place)), [0, 1, 2, 3, 3]);
        assert_eq!(distance(0, 0), FARTHEST);
    }

    #[test]
    fn a_processor_is_at_its_own_place() {
        assert_eq!(distance(word_of(0), word_of(0)), 0);
        // Nothing is said of one that is not there.
        assert_eq!(word_of(1 << 30), place(0, 0, 0));
    }
}
