//! The tables of a campaign: what a person reads, and the CSV that plots are drawn from.
//!
//! For people no slowdown within the noise is given as a number: the table says how large it can be
//! at most. The CSV has all numbers, and the verdict beside them. Columns: docs/reference/lab.md.

use std::fmt::Write as _;

use tidings_experiment::statistics::Interval;

use crate::analysis::{Analysis, Effect, Group, Side, Verdict};
use crate::campaign::Doing;
pub use crate::warnings::warnings;

/// What names an arm, in all tables.
const ARM_COLUMNS: &str = "application,nodes,ranks,arm,interval_ms,window,entry_bytes";

/// `results.csv`: a line for the baseline of each group, whose slowdown is that of its A/A pairs,
/// and one for each arm.
pub fn results_csv(analysis: &Analysis) -> String {
    let mut text = format!(
        "{ARM_COLUMNS},runs,failed,pairs,contaminated,seconds,baseline_seconds,slowdown,\
         slowdown_low,slowdown_high,floor,p,p_holm,verdict,mpi_share,baseline_mpi_share,\
         busy_share,busy_share_most,age_avg_ms,age_max_ms,messages_dropped\n"
    );
    for group in &analysis.groups {
        let own = [
            arm_cells(group, &group.baseline),
            cells(&[Some(group.baseline.runs as f64), Some(0.0)]),
            cells(&[Some(group.pairs as f64), Some(group.contaminated as f64)]),
            cells(&[group.baseline.seconds, group.baseline.seconds]),
            interval_cells(group.noise),
            cells(&[finite(group.floor()), None, None]),
            "baseline".to_owned(),
            figure_cells(group, &group.baseline),
        ];
        let _ = writeln!(text, "{}", own.join(","));
        for effect in &group.effects {
            let _ = writeln!(text, "{}", effect_cells(group, effect).join(","));
        }
    }
    text
}

fn effect_cells(group: &Group, effect: &Effect) -> [String; 8] {
    [
        arm_cells(group, &effect.side),
        cells(&[Some(effect.side.runs as f64), Some(effect.failed as f64)]),
        cells(&[Some(effect.pairs as f64), Some(effect.contaminated as f64)]),
        cells(&[effect.side.seconds, group.baseline.seconds]),
        interval_cells(effect.slowdown),
        cells(&[finite(group.floor()), Some(effect.p), Some(effect.p_holm)]),
        effect.verdict.name().to_owned(),
        figure_cells(group, &effect.side),
    ]
}

/// `phases.csv`: a line for each phase of each arm. `noise_low` and `noise_high` are the interval
/// of the phase's A/A pairs.
pub fn phases_csv(analysis: &Analysis) -> String {
    let mut text = format!(
        "{ARM_COLUMNS},phase,seconds,baseline_seconds,slowdown,slowdown_low,slowdown_high,\
         noise,noise_low,noise_high\n"
    );
    for group in &analysis.groups {
        for effect in &group.effects {
            for (name, phase) in &effect.phases {
                let own = [
                    arm_cells(group, &effect.side),
                    quoted(name),
                    cells(&[finite(phase.seconds), finite(phase.baseline_s)]),
                    interval_cells(phase.slowdown),
                    interval_cells(phase.noise),
                ];
                let _ = writeln!(text, "{}", own.join(","));
            }
        }
    }
    text
}

/// `figures.csv`: further figures of the applications, such as rates.
pub fn figures_csv(analysis: &Analysis) -> String {
    let mut text = format!("{ARM_COLUMNS},figure,value\n");
    for group in &analysis.groups {
        let sides = group.effects.iter().map(|effect| &effect.side);
        for side in std::iter::once(&group.baseline).chain(sides) {
            for (name, value) in &side.figures {
                let own = [arm_cells(group, side), quoted(name), cells(&[finite(*value)])];
                let _ = writeln!(text, "{}", own.join(","));
            }
        }
    }
    text
}

/// The headings of the table for people.
pub const HEADINGS: [&str; 11] = [
    "application",
    "nodes",
    "arm",
    "pairs",
    "dropped",
    "time, s",
    "slowdown, %",
    "interval, %",
    "verdict",
    "MPI, %",
    "age, s",
];

/// The lines of the table for people.
pub fn lines(analysis: &Analysis) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for group in &analysis.groups {
        let name = |side: &Side| {
            let doing = side.doing.as_ref().map(Doing::to_string).unwrap_or_default();
            [group.application.clone(), group.nodes.to_string(), doing]
        };
        let mut line = name(&group.baseline).to_vec();
        line[2] += " (baseline)";
        line.extend([group.pairs.to_string(), group.contaminated.to_string()]);
        line.extend([seconds(group.baseline.seconds), "noise".to_owned()]);
        line.extend([percents(group.noise), "A/A".to_owned()]);
        line.extend(shares(&group.baseline));
        lines.push(line);
        for effect in &group.effects {
            let mut line = name(&effect.side).to_vec();
            line.extend([effect.pairs.to_string(), effect.contaminated.to_string()]);
            line.extend([seconds(effect.side.seconds), reported(effect, group.floor())]);
            line.extend([percents(effect.slowdown), effect.verdict.name().to_owned()]);
            line.extend(shares(&effect.side));
            lines.push(line);
        }
    }
    lines
}

/// A slowdown where it may be reported; else how large it can be.
fn reported(effect: &Effect, floor: f64) -> String {
    match (effect.verdict, effect.slowdown) {
        (Verdict::Slower | Verdict::Faster, Some(slowdown)) => percent(slowdown.estimate),
        (Verdict::WithinNoise, Some(slowdown)) => {
            format!("at most {}", percent(slowdown.high.max(floor)))
        }
        _ => "-".to_owned(),
    }
}

fn percents(interval: Option<Interval>) -> String {
    interval.map_or("-".to_owned(), |interval| {
        format!("{} to {}", percent(interval.low), percent(interval.high))
    })
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.4}"))
}

fn shares(side: &Side) -> [String; 2] {
    let share = side.mpi_share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share));
    let age = side.age_avg_ms.map_or("-".to_owned(), |age_ms| format!("{:.2}", age_ms / 1e3));
    [share, age]
}

fn arm_cells(group: &Group, side: &Side) -> String {
    let (arm, gossip) = match &side.doing {
        Some(Doing::None) => ("none", String::new()),
        Some(Doing::Asleep) => ("asleep", String::new()),
        Some(Doing::Busy) => ("busy", String::new()),
        Some(Doing::Gossip { interval_ms, window, entry_bytes }) => {
            ("gossip", format!("{interval_ms},{window},{entry_bytes}"))
        }
        None => ("", String::new()),
    };
    let gossip = if gossip.is_empty() { ",,".to_owned() } else { gossip };
    format!("{},{},{},{arm},{gossip}", quoted(&group.application), group.nodes, side.ranks)
}

fn figure_cells(group: &Group, side: &Side) -> String {
    cells(&[
        side.mpi_share,
        group.baseline.mpi_share,
        side.busy_share,
        side.busy_share_most,
        side.age_avg_ms,
        side.age_max_ms,
        side.messages_dropped,
    ])
}

fn interval_cells(interval: Option<Interval>) -> String {
    cells(&[
        interval.map(|interval| interval.estimate),
        interval.map(|interval| interval.low),
        interval.map(|interval| interval.high),
    ])
}

/// Numbers with nine digits, empty where there is none.
fn cells(numbers: &[Option<f64>]) -> String {
    let texts = numbers.iter().map(|number| match number {
        Some(number) if number.fract() == 0.0 && number.abs() < 1e9 => format!("{number:.0}"),
        Some(number) => format!("{number:.9}"),
        None => String::new(),
    });
    texts.collect::<Vec<_>>().join(",")
}

fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

/// A text as a cell of CSV.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::analyse;
    use crate::analysis::tests::records;
    use crate::campaign::tests::small;

    fn analysis() -> Analysis {
        let campaign = small(40);
        let mut all = records(&campaign, &[0.02, 0.0], 0.01);
        for run in &mut all {
            run.phases.insert("halo, inner".to_owned(), run.seconds.expect("all have") / 2.0);
            run.figures.insert("gbs".to_owned(), 3.5);
        }
        analyse(&campaign, &all)
    }

    #[test]
    fn every_line_of_a_table_has_as_many_cells_as_its_heading() {
        let analysis = analysis();
        for (text, lines) in
            [(results_csv(&analysis), 4), (phases_csv(&analysis), 3), (figures_csv(&analysis), 4)]
        {
            let counts: Vec<usize> = text
                .lines()
                .map(|line| line.replace("\"halo, inner\"", "halo").split(',').count())
                .collect();
            assert_eq!(counts.len(), lines, "{text}");
            assert!(counts.iter().all(|&count| count == counts[0]), "{text}");
        }
        let lines = lines(&analysis);
        assert!(lines.iter().all(|line| line.len() == HEADINGS.len()), "{lines:?}");
    }

    #[test]
    fn what_is_within_the_noise_is_no_number_but_a_bound() {
        let lines = lines(&analysis());
        assert_eq!(lines[0][2], "asleep (baseline)");
        let slower: f64 = lines[1][6].parse().expect("a number");
        assert!((slower - 2.0).abs() < 0.4 && lines[1][8] == "slower", "{lines:?}");
        assert!(lines[2][6].starts_with("at most 0.") && lines[2][8] == "within noise");
    }
}
