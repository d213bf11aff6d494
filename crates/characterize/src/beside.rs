//! What gossip does to each test: points beside hidden ranks that gossip, compared with those
//! beside hidden ranks that sleep, of one session in which both alternate.

use std::fmt::Write as _;

use tidings_experiment::ExperimentError;

use crate::comparison::{Difference, Sessions, compare};
use crate::point::Characterisation;
use crate::words;

/// The columns of `gossip.csv`.
pub const COLUMNS: &str = "machine,ranks,test,variant,places,runs_asleep,runs_gossip,longer,longer_low,longer_high,p,p_holm,differs";

/// What gossip does to each line of a figure; `None` if no run was beside gossip.
pub fn effects(all: &Characterisation) -> Option<Result<Vec<Difference>, ExperimentError>> {
    (!all.beside_gossip.is_empty())
        .then(|| compare(&all.points, &all.beside_gossip, Sessions::InTurn))
}

/// `gossip.csv`: a line for each.
pub fn csv(effects: &[Difference]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for own in effects {
        let change = own.change.map_or(",,".to_owned(), |change| {
            format!("{:.6},{:.6},{:.6}", change.estimate, change.low, change.high)
        });
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{change},{:.6},{:.6},{}",
            words::quoted(&own.machine),
            own.ranks,
            words::quoted(&own.test),
            words::quoted(&own.variant),
            own.places,
            own.runs[0],
            own.runs[1],
            own.p,
            own.p_holm,
            own.differs
        );
    }
    text
}

/// One sentence: which tests gossip slows down, or that it slows down none.
pub fn sentence(effects: &[Difference]) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let differing: Vec<&Difference> = effects.iter().filter(|own| own.differs).collect();
    let of = |own: &&Difference| own.change.map_or(0.0, |change| change.estimate);
    let most = differing.iter().copied().max_by(|one, other| of(one).total_cmp(&of(other)));
    let Some((most, change)) = most.and_then(|own| Some((own, own.change?))) else {
        let wide = effects.iter().filter_map(|own| own.change).map(|own| own.high);
        let wide = wide.fold(0.0, f64::max);
        return format!(
            "Gossip changes none of {} tests; the widest interval allows {}.",
            effects.len(),
            percent(wide)
        );
    };
    format!(
        "Gossip changes {} of {} tests; most {} ({}) on {} ranks, which takes {} longer ({} to {}).",
        differing.len(),
        effects.len(),
        most.test,
        most.variant,
        most.ranks,
        percent(change.estimate),
        percent(change.low),
        percent(change.high)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::characterisation;
    use crate::point::tests::{record, series};
    use serde_json::json;

    /// Twelve runs of each, alternating, of which barriers take a fifth longer beside gossip.
    fn session() -> Characterisation {
        let mut records = Vec::new();
        for run in 0..24_u32 {
            let is_gossip = run % 4 == 1 || run % 4 == 2;
            let luck = 1.0 + 0.01 * f64::from(run * 37 % 24) / 24.0;
            let slower = if is_gossip { 1.2 } else { 1.0 };
            let rows = [
                ("barrier", "WORLD", 0, 2, luck * slower * 1e-6),
                ("latency", "in cache", 8, 0, luck * 1e-6),
            ];
            let mut own = record(&rows, 0.0);
            let word = if is_gossip { "gossip" } else { "asleep" };
            own.settings.insert("beside".to_owned(), json!(word));
            records.push(own);
        }
        characterisation(&series(), &records)
    }

    #[test]
    fn what_gossip_slows_down_is_found_and_named() {
        let all = session();
        assert_eq!((all.points.len(), all.beside_gossip.len()), (2, 2));
        assert_eq!(all.points[0].of_runs.len(), 12, "figures are of runs beside ranks that sleep");
        let effects = effects(&all).expect("beside gossip").expect("enough runs");
        let found: Vec<(&str, bool)> =
            effects.iter().map(|own| (own.test.as_str(), own.differs)).collect();
        assert_eq!(found, [("barrier", true), ("latency", false)]);
        let said = sentence(&effects);
        assert!(said.starts_with("Gossip changes 1 of 2 tests; most barrier (WORLD)"), "{said}");
        assert!(sentence(&effects[1..]).contains("none of 1 tests"), "{said}");
        let text = csv(&effects);
        let counts: Vec<usize> = text.lines().map(|line| line.matches(',').count()).collect();
        assert_eq!(counts, [12, 12, 12], "{text}");
    }

    #[test]
    fn without_gossip_nothing_is_said_of_it() {
        let all = characterisation(&series(), &[record(&[("barrier", "WORLD", 0, 2, 1e-6)], 0.0)]);
        assert!(effects(&all).is_none());
    }
}
