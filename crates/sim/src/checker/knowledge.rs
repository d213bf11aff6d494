//! What is known of an origin never goes back, as long as its holder lives.
//!
//! Stamps of one origin are totally ordered. The checker keeps the highest that each holder has
//! shown of each origin; a lower one later is a violation, whatever arrived in between.

use super::{Claim, Findings};

/// The highest stamps shown so far: one for each holder and origin.
#[derive(Clone, Debug)]
pub struct KnowledgeChecker {
    nodes: usize,
    highest: Vec<u64>,
}

impl KnowledgeChecker {
    /// For `nodes` nodes of which nothing is known.
    pub fn of(nodes: usize) -> Self {
        Self { nodes, highest: vec![0; nodes * nodes] }
    }

    /// A node has restarted and may know nothing.
    pub fn restarted(&mut self, holder: usize) {
        self.highest[holder * self.nodes..][..self.nodes].fill(0);
    }

    /// Looks at one claim.
    pub fn check(&mut self, claim: &Claim, findings: &mut Findings) {
        let stamp = (u64::from(claim.stamp.0) << 32) | u64::from(claim.stamp.1);
        let highest = &mut self.highest[claim.pair.0 * self.nodes + claim.pair.1];
        if stamp < *highest {
            let before = (*highest >> 32, *highest & 0xFFFF_FFFF);
            findings.lowered_entries += 1;
            findings.note(|| format!("{claim:?}: its holder had {before:?} before"));
        }
        *highest = stamp.max(*highest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_goes_back_is_found() {
        let mut checker = KnowledgeChecker::of(3);
        let mut findings = Findings::default();
        let mut show = |checker: &mut KnowledgeChecker, pair, stamp| {
            let claim = Claim { pair, stamp, age_micros: 0, true_age_micros: None };
            checker.check(&claim, &mut findings);
            findings.lowered_entries
        };
        assert_eq!(show(&mut checker, (0, 1), (1, 5)), 0);
        assert_eq!(show(&mut checker, (2, 1), (1, 4)), 0);
        assert_eq!(show(&mut checker, (0, 1), (2, 0)), 0);
        assert_eq!(show(&mut checker, (0, 1), (1, 9)), 1);
        checker.restarted(0);
        assert_eq!(show(&mut checker, (0, 1), (1, 1)), 1);
    }
}
