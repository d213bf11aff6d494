//! The plan of a campaign: all of its runs, in the order in which they are to be made.
//!
//! A group is an application on a number of nodes, a treatment an arm. Invariant: the plan follows
//! from the campaign file alone.

use tidings_experiment::schedule::Design;
pub use tidings_experiment::schedule::Role;

use crate::Campaign;
use crate::campaign::Doing;

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its place in the plan, from 0.
    pub index: u32,
    /// Its repetition, from 1; runs of repetition 0 warm up and count for nothing.
    pub repetition: u32,
    /// The application, by its place in [`Campaign::applications`].
    pub application: usize,
    /// How many nodes.
    pub nodes: u32,
    /// What it is measured for.
    pub role: Role,
    /// The seed of its gossip.
    pub seed: u64,
}

impl Planned {
    /// What the hidden ranks do in it.
    pub fn doing<'a>(&self, campaign: &'a Campaign) -> &'a Doing {
        match self.role {
            Role::Baseline | Role::Again => &campaign.baseline,
            Role::Treatment(at) => &campaign.arms[at],
        }
    }
}

/// All runs of a campaign.
pub fn plan(campaign: &Campaign) -> Vec<Planned> {
    let groups: Vec<(usize, u32)> = (0..campaign.applications.len())
        .flat_map(|application| campaign.nodes.iter().map(move |&nodes| (application, nodes)))
        .collect();
    let design = Design {
        groups: groups.len(),
        treatments: campaign.arms.len(),
        repetitions: campaign.repetitions,
        warm_up: campaign.warm_up,
        is_exact: campaign.is_virtual(),
        seed: campaign.seed,
    };
    let planned = design.slots().into_iter().zip(0..).map(|(slot, index)| {
        let (application, nodes) = groups[slot.group];
        Planned {
            index,
            repetition: slot.repetition,
            application,
            nodes,
            role: slot.role,
            seed: slot.seed,
        }
    });
    planned.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::campaign::tests::{SMPI, campaign_of, small};

    #[test]
    fn every_repetition_has_each_arm_once_and_the_baseline_twice() {
        let campaign = small(40);
        let plan = plan(&campaign);
        let mut counted: BTreeMap<(u32, usize, u32, Role), u32> = BTreeMap::new();
        for planned in &plan {
            let key = (planned.repetition, planned.application, planned.nodes, planned.role);
            *counted.entry(key).or_default() += 1;
        }
        assert!(counted.values().all(|&count| count == 1));
        let groups = campaign.applications.len() * campaign.nodes.len();
        assert_eq!(plan.len(), groups * (1 + 40 * (2 + campaign.arms.len())));
        assert!(plan.iter().enumerate().all(|(at, planned)| planned.index == at as u32));
    }

    #[test]
    fn the_order_is_drawn_again_for_each_repetition_and_is_the_same_whenever_it_is_drawn() {
        let campaign = small(40);
        assert_eq!(plan(&campaign), plan(&campaign));
        let firsts = plan(&campaign).into_iter().filter(|planned| planned.repetition > 0);
        let mut firsts_by_role: BTreeMap<Role, u32> = BTreeMap::new();
        let mut repetition = 0;
        for planned in firsts {
            if planned.repetition > repetition {
                repetition = planned.repetition;
                *firsts_by_role.entry(planned.role).or_default() += 1;
            }
        }
        // Four roles: each is first in some ten of forty repetitions.
        assert_eq!(firsts_by_role.len(), 4, "{firsts_by_role:?}");
        assert!(firsts_by_role.values().all(|&count| count >= 3), "{firsts_by_role:?}");
    }

    #[test]
    fn in_virtual_time_one_baseline_pair_is_enough() {
        let campaign = campaign_of(SMPI);
        let baselines = plan(&campaign).into_iter().filter(|planned| planned.role <= Role::Again);
        assert_eq!(baselines.map(|planned| planned.repetition).collect::<Vec<_>>(), [1, 1]);
    }
}
