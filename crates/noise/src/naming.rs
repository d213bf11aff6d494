//! Who took a gap: the segments of a probe that lie in it, and what is left.
//!
//! A segment is what the kernel says it did between two of its tracepoints. On the way there and
//! back (the processor's entry, saved registers, checks before it returns) no tracepoint lies, so a
//! gap is longer than its segments. That rest counts to the interrupt or task that caused the way,
//! up to [`EDGE_NS`] for each way in and out; it is reported, too. What is beyond is not the
//! kernel's: a page fault of the probe where one lies in the gap, else nobody is known.
//!
//! A gap in which the kernel did nothing at all is *silent*: every way into the kernel leaves an
//! event, so the core was outside it. On a guest that is the hypervisor's, by elimination
//! ([`Named::give`]); elsewhere, where firmware may have run, it stays unknown.

use crate::samples::Gap;
use crate::source::SourceId;
use crate::timeline::Segment;

/// What a way into the kernel and out of it takes at most.
pub const EDGE_NS: u64 = 20_000;

/// What a source took of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Who.
    pub source: SourceId,
    /// How much.
    pub length_ns: u64,
}

/// A gap by its sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// What is named, ways included.
    pub parts: Vec<Part>,
    /// How much of that are ways in and out.
    pub edges_ns: u64,
    /// What is left.
    pub unknown_ns: u64,
}

impl Named {
    /// How much is named.
    pub fn named_ns(&self) -> u64 {
        self.parts.iter().map(|part| part.length_ns).sum()
    }

    /// Whether the kernel did nothing in it.
    pub fn is_silent(&self) -> bool {
        self.parts.is_empty()
    }

    /// Names all that is left.
    pub fn give(&mut self, source: SourceId) {
        let left = std::mem::take(&mut self.unknown_ns);
        self.add(source, left);
    }

    /// Who took most.
    pub fn first(&self) -> Option<Part> {
        let most = self.parts.iter().copied().max_by_key(|part| part.length_ns)?;
        (most.length_ns >= self.unknown_ns).then_some(most)
    }

    fn add(&mut self, source: SourceId, length_ns: u64) {
        if length_ns == 0 {
            return;
        }
        match self.parts.iter_mut().find(|part| part.source == source) {
            Some(part) => part.length_ns += length_ns,
            None => self.parts.push(Part { source, length_ns }),
        }
    }
}

/// Names a gap by the segments of its probe, in order of time, and by its page faults.
pub fn name<'a>(
    gap: &Gap,
    segments: impl Iterator<Item = &'a Segment>,
    faults: impl Iterator<Item = u64>,
    fault: SourceId,
) -> Named {
    let (begin, end) = (gap.begin_ns, gap.end_ns());
    let mut named = Named::default();
    let mut causes: Vec<SourceId> = Vec::new();
    let (mut left, mut reached) = (gap.lost_ns, None);
    for segment in segments.skip_while(|own| own.end_ns <= begin) {
        if segment.begin_ns >= end {
            break;
        }
        let (from, to) = (segment.begin_ns.max(begin), segment.end_ns.min(end));
        let length = (to - from).min(left);
        named.add(segment.source, length);
        left -= length;
        if reached != Some(segment.begin_ns) {
            causes.push(segment.source);
        }
        reached = Some(segment.end_ns);
    }
    let ways = causes.len() as u64;
    for cause in causes {
        let way = (left / ways).min(2 * EDGE_NS);
        named.add(cause, way);
        named.edges_ns += way;
    }
    left -= named.edges_ns;
    if faults.into_iter().any(|at| at >= begin && at < end) {
        named.add(fault, left);
        left = 0;
    }
    named.unknown_ns = left;
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK: SourceId = SourceId(0);
    const HOG: SourceId = SourceId(1);
    const FAULT: SourceId = SourceId(2);

    fn segment(begin_ns: u64, end_ns: u64, source: SourceId) -> Segment {
        Segment { begin_ns, end_ns, source }
    }

    fn gap(begin_ns: u64, step_ns: u64) -> Gap {
        Gap { begin_ns, step_ns, lost_ns: step_ns - 100 }
    }

    fn named(gap: &Gap, segments: &[Segment], faults: &[u64]) -> Named {
        name(gap, segments.iter(), faults.iter().copied(), FAULT)
    }

    #[test]
    fn a_tick_has_its_way_in_and_out() {
        let found = named(&gap(1_000, 5_000), &[segment(2_000, 4_000, TICK)], &[]);
        assert_eq!(found.parts, [Part { source: TICK, length_ns: 4_900 }]);
        assert_eq!((found.edges_ns, found.unknown_ns), (2_900, 0));
    }

    #[test]
    fn a_task_that_ran_for_long_is_named_and_the_tick_within_it_too() {
        let segments = [
            segment(0, 500, TICK), // before the gap
            segment(2_000, 50_000, HOG),
            segment(50_000, 52_000, TICK),
            segment(52_000, 98_000, HOG),
            segment(200_000, 300_000, TICK), // after it
        ];
        let found = named(&gap(1_000, 99_000), &segments, &[]);
        assert_eq!(found.first().expect("somebody").source, HOG);
        assert_eq!(found.parts[0].length_ns, 94_000 + found.edges_ns);
        assert_eq!(found.parts[1], Part { source: TICK, length_ns: 2_000 });
        assert_eq!(found.named_ns() + found.unknown_ns, 98_900);
        assert_eq!(found.unknown_ns, 0);
    }

    #[test]
    fn what_the_kernel_did_not_do_is_unknown_unless_the_probe_faulted() {
        let nobody = named(&gap(1_000, 5_000), &[], &[]);
        assert_eq!((nobody.unknown_ns, nobody.first()), (4_900, None));
        assert!(nobody.is_silent());
        let mut given = nobody;
        given.give(HOG);
        assert_eq!((given.named_ns(), given.unknown_ns, given.is_silent()), (4_900, 0, false));
        let long = named(&gap(1_000, 1_000_100), &[segment(2_000, 4_000, TICK)], &[]);
        assert_eq!(long.named_ns(), 2_000 + 2 * EDGE_NS, "a way is not as long as that");
        assert!(!long.is_silent());
        assert_eq!((long.unknown_ns, long.first()), (958_000, None));
        let faulted = named(&gap(1_000, 5_000), &[], &[1_500]);
        assert_eq!(faulted.parts, [Part { source: FAULT, length_ns: 4_900 }]);
        assert_eq!(named(&gap(1_000, 5_000), &[], &[900, 6_000]).unknown_ns, 4_900);
    }

    proptest! {
        #[test]
        fn a_gap_is_named_or_unknown_and_nothing_twice(
            cuts in proptest::collection::btree_set(0..2_000_000_u64, 0..20),
            begin in 0..1_000_000_u64,
            step in 101..1_000_000_u64,
        ) {
            let cuts: Vec<u64> = cuts.into_iter().collect();
            let segments: Vec<Segment> = cuts
                .chunks_exact(2)
                .map(|pair| segment(pair[0], pair[1], if pair[0] % 2 == 0 { TICK } else { HOG }))
                .collect();
            let gap = gap(begin, step);
            let found = named(&gap, &segments, &[]);
            prop_assert_eq!(found.named_ns() + found.unknown_ns, gap.lost_ns);
        }
    }
}
