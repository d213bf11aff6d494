//! What a reader of results should be warned of: a rule that sees the arm, a machine that was busy,
//! runs that are short beside what disturbs them.
//!
//! Processes of others get the processor for slices of some milliseconds, and the kernel counts
//! what they use in ticks of 10 ms. In a run of a tenth of a second one tick is a tenth: neither
//! the run's time nor its share of others says then what gossip did.

use crate::analysis::{Analysis, Effect, Group};
use crate::campaign::Doing;

/// The unit in which the kernel counts the time of processors, in seconds.
const TICK_S: f64 = 0.01;
/// A run in which a tick is more than this share is short.
const TICK_SHARE: f64 = 0.01;
/// If the rule dropped a larger share of pairs, the machine was not fit for the campaign.
const MOST_DROPPED: f64 = 0.5;

/// All warnings about results.
pub fn warnings(analysis: &Analysis) -> Vec<String> {
    let mut warnings = Vec::new();
    for group in &analysis.groups {
        warnings.extend(unknown(group));
        warnings.extend(busy(group));
        if !analysis.is_virtual {
            warnings.extend(short(group));
        }
        warnings.extend(bias(group));
        warnings.extend(group.effects.iter().filter_map(|effect| seen(group, effect)));
    }
    warnings
}

fn of(group: &Group) -> String {
    format!("{} on {} nodes", group.application, group.nodes)
}

fn dropped(contaminated: usize, pairs: usize) -> f64 {
    contaminated as f64 / (contaminated + pairs).max(1) as f64
}

fn unknown(group: &Group) -> Option<String> {
    (group.unknown > 0).then(|| {
        format!(
            "{}: of {} runs it is not known what else their nodes did, so they count for no \
             verdict: the shim of `make mpi` says it where /proc can be read; others_share = 1 \
             keeps them",
            of(group),
            group.unknown
        )
    })
}

fn busy(group: &Group) -> Option<String> {
    let share = dropped(group.contaminated, group.pairs);
    (share > MOST_DROPPED).then(|| {
        format!(
            "{}: {:.0} % of the A/A pairs were dropped: this machine did too much else; stop it, \
             or measure on another",
            of(group),
            100.0 * share
        )
    })
}

fn short(group: &Group) -> Option<String> {
    let seconds = group.baseline.seconds.filter(|seconds| TICK_S / seconds > TICK_SHARE)?;
    Some(format!(
        "{}: a run takes {seconds:.3} s, shorter than what disturbs it: a slice of 10 ms that \
         another process gets is {:.0} % of it; give the application work for {:.0} s or more",
        of(group),
        100.0 * TICK_S / seconds,
        TICK_S / TICK_SHARE
    ))
}

fn bias(group: &Group) -> Option<String> {
    group.noise.is_some_and(|noise| noise.low * noise.high > 0.0).then(|| {
        format!(
            "{}: the second baseline run of a repetition differs from the first, which chance \
             alone does in one campaign of twenty; the noise floor has it in",
            of(group)
        )
    })
}

/// A rule that drops an arm's pairs and not the A/A pairs looks at the arm, not at others.
fn seen(group: &Group, effect: &Effect) -> Option<String> {
    let own = dropped(effect.contaminated, effect.pairs);
    let base = dropped(group.contaminated, group.pairs);
    let all = (effect.contaminated + effect.pairs).max(1) as f64;
    // Twice the standard error of a share.
    let most = 2.0 * (base.max(0.5 / all) * (1.0 - base) / all).sqrt() + 0.1;
    let doing = effect.side.doing.as_ref().map(Doing::to_string).unwrap_or_default();
    (own - base > most).then(|| {
        format!(
            "{}, {doing}: the rule dropped {:.0} % of its pairs and {:.0} % of the A/A pairs: it \
             may see the arm itself; bound others_share or steal_share instead",
            of(group),
            100.0 * own,
            100.0 * base
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::records;
    use crate::analysis::{Verdict, analyse};
    use crate::campaign::tests::{LOCAL, campaign_of, on_nodes, small};
    use crate::record::Record;

    #[test]
    fn a_rule_that_sees_the_arm_itself_is_told() {
        let campaign = small(40);
        let mut all = records(&campaign, &[0.0, 0.0], 0.01);
        assert_eq!(warnings(&analyse(&campaign, &all)), Vec::<String>::new());
        for run in
            all.iter_mut().filter(|run| run.repetition % 2 == 0 && run.doing != Doing::Asleep)
        {
            run.disturbance.steal_share = Some(0.2);
        }
        let found = warnings(&analyse(&campaign, &all));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("50 %"), "{found:?}");
    }

    /// A campaign whose file has no rule; its arms are slower beyond doubt.
    fn without_rule(others_share: f64) -> (Analysis, Vec<Record>) {
        let text = LOCAL.replace("[contamination]\nsteal_share = 0.05\n", "");
        assert_ne!(text, LOCAL);
        let campaign = campaign_of(&text);
        let mut all = records(&campaign, &[4.65, 4.65], 0.01);
        for run in &mut all {
            run.disturbance.others_share = Some(others_share);
            run.seconds = run.seconds.map(|seconds| seconds / 20.0);
        }
        (analyse(&campaign, &all), all)
    }

    /// A campaign beside which nine tenths of the machine did other things said `slower 465 %`.
    #[test]
    fn a_campaign_without_rule_has_no_verdict_on_a_busy_machine() {
        let (analysis, _) = without_rule(0.9);
        let effects = &analysis.groups[0].effects;
        assert!(effects.iter().all(|effect| effect.verdict == Verdict::TooFew), "{effects:?}");
        let found = warnings(&analysis);
        assert!(found[0].contains("100 % of the A/A pairs were dropped"), "{found:?}");
        let (analysis, _) = without_rule(0.1);
        assert_eq!(analysis.groups[0].effects[0].verdict, Verdict::Slower);
    }

    /// Of nodes of Slurm it was never known, and verdicts were told all the same.
    #[test]
    fn nodes_that_do_not_say_what_else_they_did_give_no_verdict() {
        let verdict = |rule: &str, others_share| {
            let campaign = campaign_of(&on_nodes(rule));
            let mut all = records(&campaign, &[4.65, 4.65], 0.01);
            for run in &mut all {
                run.disturbance.others_share = others_share;
            }
            let analysis = analyse(&campaign, &all);
            (analysis.groups[0].effects[0].verdict, warnings(&analysis))
        };
        let (told, found) = verdict("", None);
        assert_eq!(told, Verdict::TooFew);
        assert!(found[0].contains("not known what else their nodes did"), "{found:?}");
        assert_eq!(verdict("", Some(0.9)).0, Verdict::TooFew);
        assert_eq!(verdict("", Some(0.1)), (Verdict::Slower, Vec::new()));
        assert_eq!(verdict("others_share = 1.0", None), (Verdict::Slower, Vec::new()));
    }

    #[test]
    fn runs_shorter_than_disturbances_are_told() {
        let (analysis, _) = without_rule(0.1);
        let found = warnings(&analysis);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("a run takes 0.1") && found[0].contains("10 % of it"));
    }
}
