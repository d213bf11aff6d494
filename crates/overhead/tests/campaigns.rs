//! The method over hundreds of campaigns whose truth is known: how often a slowdown of 0.5 % is
//! found, and how often one is reported where there is none.
//!
//! Noise is made to resemble what was recorded on two cores with a load of twenty
//! (studies/injected-slowdown): run times scatter by 1.6 per cent around a level that drifts from
//! repetition to repetition, by 3.6 per cent in all, and one run in ten is hit by others and takes
//! longer by five per cent on average, with a long tail. Everything is drawn from a seed.

use std::path::Path;

use serde_json::json;
use tidings_overhead::analysis::{Analysis, Verdict, analyse};
use tidings_overhead::comparison::{Quantity, compare};
use tidings_overhead::record::Record;
use tidings_overhead::schedule::{Role, plan};
use tidings_overhead::{Campaign, campaign::Doing};
use tidings_primitives::Chance;

/// Campaigns without a slowdown, and of those whose intervals are looked at.
const CAMPAIGNS: u64 = 200;
/// Repetitions of a campaign in which 0.5 % is to be found: 15 minutes of runs of 0.3 s.
const REPETITIONS: u32 = 1_000;
/// Repetitions of a campaign in which noise is small beside what a skewed estimate would be off by.
const MANY_REPETITIONS: u32 = 1_700;

/// A campaign of so many repetitions, with these intervals for arms.
fn campaign(repetitions: u32, intervals_ms: &str) -> Campaign {
    let text = format!(
        "name = \"synthetic\"\nrepetitions = {repetitions}\nlimit_s = 1.0\n\
         [world]\nnodes = [2]\nranks_per_node = 2\n\
         [backend]\nkind = \"local\"\nmpi = \"openmpi\"\nshim = \"shim.so\"\n\
         [gossip]\nintervals_ms = {intervals_ms}\nwindows = [\"20%\"]\nentry_bytes = [64]\n\
         [[applications]]\nname = \"known\"\ncommand = [\"known\"]\n"
    );
    Campaign::from_text(&text, Path::new("synthetic.toml")).expect("a right campaign")
}

/// The noise of a machine that is not idle.
struct Noise {
    chance: Chance,
    drift: f64,
    /// How much of it there is: 1 is a machine that is not idle.
    scale: f64,
}

impl Noise {
    fn new(seed: u64, scale: f64) -> Self {
        Self { chance: Chance::new(seed), drift: 0.0, scale }
    }

    /// Evenly from 0 to 1, both excluded.
    fn even(&mut self) -> f64 {
        self.chance.real() + f64::EPSILON / 4.0 // half a step of what is drawn
    }

    /// Of the normal distribution (Box and Muller's).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.even(), self.even());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    fn next_repetition(&mut self) {
        self.drift = 0.7 * self.drift + 0.026 * self.normal();
    }

    /// The logarithm of a run's time over what it should be.
    fn run(&mut self) -> f64 {
        let hit = if self.even() < 0.1 { -0.05 * self.even().ln() } else { 0.0 };
        self.drift + self.scale * (0.016 * self.normal() + hit)
    }
}

/// A record of a run, as a journal has it.
fn recorded(doing: &Doing) -> Record {
    let mut fields = json!({
        "index": 0, "lap": 0, "application": "known", "nodes": 2, "ranks": 4, "hidden": 2,
        "baseline": true, "again": false, "seed": 1, "started": "", "outcome": "ok",
        "exit_code": 0, "message": null, "seconds": 0.0, "phases": {}, "figures": {},
        "wall_s": 0.0, "times": null, "gossip": null,
    });
    let doing = serde_json::to_value(doing).expect("an object");
    let doing = doing.as_object().expect("an object").clone();
    fields.as_object_mut().expect("an object").extend(doing);
    serde_json::from_value(fields).expect("a record")
}

/// What a campaign shows in which each arm is slower by so much.
fn shown(campaign: &Campaign, slowdowns: &[f64], seed: u64) -> Analysis {
    shown_over(Noise::new(seed, 1.0), campaign, slowdowns)
}

/// The same over a noise.
fn shown_over(mut noise: Noise, campaign: &Campaign, slowdowns: &[f64]) -> Analysis {
    let mut repetition = 0;
    let mut records = Vec::new();
    let recorded = recorded(&campaign.baseline);
    for planned in plan(campaign) {
        if planned.repetition > repetition {
            repetition = planned.repetition;
            noise.next_repetition();
        }
        let slowdown = match planned.role {
            Role::Treatment(arm) => slowdowns[arm],
            Role::Baseline | Role::Again => 0.0,
        };
        let seconds = 0.3 * (1.0 + slowdown) * noise.run().exp();
        records.push(Record {
            index: planned.index,
            repetition: planned.repetition,
            baseline: planned.role <= Role::Again,
            again: planned.role == Role::Again,
            doing: planned.doing(campaign).clone(),
            seconds: Some(seconds),
            wall_s: seconds,
            ..recorded.clone()
        });
    }
    analyse(campaign, &records)
}

/// In how many campaigns each arm was reported to differ, and in how many any of them.
fn found(campaign: &Campaign, slowdowns: &[f64], seeds: std::ops::Range<u64>) -> (Vec<u64>, u64) {
    let (mut each, mut any) = (vec![0; slowdowns.len()], 0);
    for seed in seeds {
        let analysis = shown(campaign, slowdowns, seed);
        let verdicts = analysis.groups[0].effects.iter().map(|effect| effect.verdict);
        let differs: Vec<bool> =
            verdicts.map(|verdict| matches!(verdict, Verdict::Slower | Verdict::Faster)).collect();
        each.iter_mut().zip(&differs).for_each(|(count, &differs)| *count += u64::from(differs));
        any += u64::from(differs.contains(&true));
    }
    (each, any)
}

#[test]
fn half_a_per_cent_is_found_in_95_of_100_campaigns() {
    let (each, _) = found(&campaign(REPETITIONS, "[256]"), &[0.005], 1..101);
    println!("0.5 % found in {} of 100 campaigns of {REPETITIONS} repetitions", each[0]);
    assert!(each[0] >= 95, "{each:?} of 100");
}

#[test]
fn where_nothing_is_slower_at_most_5_of_100_campaigns_say_so() {
    let (_, alone) = found(&campaign(200, "[256]"), &[0.0], 1_001..1_001 + CAMPAIGNS);
    let eight = campaign(40, "[1, 2, 4, 8, 16, 64, 256, 1024]");
    let (_, eight) = found(&eight, &[0.0; 8], 2_001..2_001 + CAMPAIGNS);
    println!("false alarms: {alone} with one arm, {eight} with eight, of {CAMPAIGNS} campaigns");
    assert!(alone * 100 <= 5 * CAMPAIGNS, "{alone} of {CAMPAIGNS}");
    assert!(eight * 100 <= 5 * CAMPAIGNS, "{eight} of {CAMPAIGNS}");
}

#[test]
fn where_nothing_is_slower_long_campaigns_say_so_no_more_often() {
    let (_, alarms) = found(&campaign(MANY_REPETITIONS, "[256]"), &[0.0], 4_001..4_101);
    println!("false alarms: {alarms} of 100 campaigns of {MANY_REPETITIONS} repetitions");
    assert!(alarms <= 5, "{alarms} of 100");
}

/// A quiet machine and one that is not: only their noise differs.
#[test]
fn campaigns_on_other_machines_are_not_distinguished_by_their_noise() {
    let campaign = campaign(MANY_REPETITIONS, "[256]");
    let over = |seed, scale| shown_over(Noise::new(seed, scale), &campaign, &[0.0]);
    let differ = (5_001..5_041).filter(|&seed| {
        let (quiet, loud) = (over(seed, 0.1), over(seed + 1_000, 1.0));
        compare(&quiet, &loud, Quantity::Slowdown).expect("the same arms")[0].differs
    });
    let differ = differ.count();
    println!("{differ} of 40 comparisons of {MANY_REPETITIONS} repetitions report a difference");
    assert!(differ <= 4, "{differ} of 40");
}

#[test]
fn intervals_hold_the_truth() {
    let campaign = campaign(40, "[256]");
    let held = (3_001..3_001 + CAMPAIGNS).filter(|&seed| {
        let analysis = shown(&campaign, &[0.01], seed);
        let found = analysis.groups[0].effects[0].slowdown.expect("forty pairs");
        found.low <= 0.01 && 0.01 <= found.high
    });
    let held = held.count() as u64;
    println!("intervals held the truth in {held} of {CAMPAIGNS} campaigns of 40 repetitions");
    // 95 % of them should; 90 % is three standard errors below.
    assert!(held * 100 >= 90 * CAMPAIGNS, "{held} of {CAMPAIGNS}");
}
