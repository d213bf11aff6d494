//! The plan of a campaign: all of its runs, in the order in which they are to be made.
//!
//! A lap runs every arm of every group (an application on a number of nodes) once and its baseline
//! twice. The order of groups, and of the runs of a group, is drawn anew for each lap, so that
//! nothing that changes with time or with the run before falls on one arm alone.
//!
//! Invariant: the plan follows from the campaign file alone, so that an interrupted campaign goes
//! on with the very runs that are missing.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Campaign;
use crate::campaign::Doing;

/// What a run is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The baseline.
    Baseline,
    /// The baseline once more: with the first it makes an A/A pair.
    Again,
    /// An arm, by its place in [`Campaign::arms`].
    Arm(usize),
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its place in the plan, from 0.
    pub index: u32,
    /// Its lap, from 1; runs of lap 0 warm up and count for nothing.
    pub lap: u32,
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
            Role::Arm(at) => &campaign.arms[at],
        }
    }
}

/// All runs of a campaign.
pub fn plan(campaign: &Campaign) -> Vec<Planned> {
    let groups: Vec<(usize, u32)> = (0..campaign.applications.len())
        .flat_map(|application| campaign.nodes.iter().map(move |&nodes| (application, nodes)))
        .collect();
    let mut plan = Vec::new();
    let warm_up = if campaign.is_virtual() { 0 } else { campaign.warm_up };
    for _ in 0..warm_up {
        lay(&mut plan, 0, &groups, &[Role::Baseline]);
    }
    for lap in 1..=campaign.repetitions {
        let lap_seed = campaign.seed ^ u64::from(lap).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(lap_seed);
        let mut order = groups.clone();
        shuffle(&mut order, &mut random);
        for group in order {
            let mut roles = roles(campaign, lap);
            shuffle(&mut roles, &mut random);
            let from = plan.len();
            lay(&mut plan, lap, &[group], &roles);
            // 53 bits: what a number in JSON holds, and `--seed` takes.
            plan[from..].iter_mut().for_each(|planned| planned.seed = random.next_u64() >> 11);
        }
    }
    plan
}

/// What is run of a group in a lap. In virtual time a baseline repeats itself exactly: one pair of
/// it shows that, and serves all laps.
fn roles(campaign: &Campaign, lap: u32) -> Vec<Role> {
    let baselines = [Role::Baseline, Role::Again];
    let baselines = if campaign.is_virtual() && lap > 1 { &[][..] } else { &baselines };
    let arms = (0..campaign.arms.len()).map(Role::Arm);
    baselines.iter().copied().chain(arms).collect()
}

fn lay(plan: &mut Vec<Planned>, lap: u32, groups: &[(usize, u32)], roles: &[Role]) {
    for &(application, nodes) in groups {
        for &role in roles {
            let index = plan.len() as u32;
            plan.push(Planned { index, lap, application, nodes, role, seed: 1 });
        }
    }
}

/// Fisher and Yates's.
fn shuffle<T>(items: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        let at = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        items.swap(last, at as usize);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::campaign::tests::{SMPI, campaign_of, small};

    #[test]
    fn every_lap_has_each_arm_once_and_the_baseline_twice() {
        let campaign = small(40);
        let plan = plan(&campaign);
        let mut counted: BTreeMap<(u32, usize, u32, Role), u32> = BTreeMap::new();
        for planned in &plan {
            let key = (planned.lap, planned.application, planned.nodes, planned.role);
            *counted.entry(key).or_default() += 1;
        }
        assert!(counted.values().all(|&count| count == 1));
        let groups = campaign.applications.len() * campaign.nodes.len();
        assert_eq!(plan.len(), groups * (1 + 40 * (2 + campaign.arms.len())));
        assert!(plan.iter().enumerate().all(|(at, planned)| planned.index == at as u32));
    }

    #[test]
    fn the_order_is_drawn_anew_for_each_lap_and_is_the_same_whenever_it_is_drawn() {
        let campaign = small(40);
        assert_eq!(plan(&campaign), plan(&campaign));
        let firsts = plan(&campaign).into_iter().filter(|planned| planned.lap > 0);
        let mut firsts_by_role: BTreeMap<Role, u32> = BTreeMap::new();
        let mut lap = 0;
        for planned in firsts {
            if planned.lap > lap {
                lap = planned.lap;
                *firsts_by_role.entry(planned.role).or_default() += 1;
            }
        }
        // Four roles: each is first in some ten of forty laps.
        assert_eq!(firsts_by_role.len(), 4, "{firsts_by_role:?}");
        assert!(firsts_by_role.values().all(|&count| count >= 3), "{firsts_by_role:?}");
    }

    #[test]
    fn in_virtual_time_one_baseline_pair_is_enough() {
        let campaign = campaign_of(SMPI);
        let baselines = plan(&campaign).into_iter().filter(|planned| planned.role <= Role::Again);
        assert_eq!(baselines.map(|planned| planned.lap).collect::<Vec<_>>(), [1, 1]);
    }
}
