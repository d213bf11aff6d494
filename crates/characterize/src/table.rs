//! `points.csv`: a line for each point. docs/reference/characterize.md has the columns.

use std::fmt::Write as _;

use tidings_experiment::series::beside;

use crate::figure::rate;
use crate::point::Characterisation;
use crate::words;

/// The columns.
pub const COLUMNS: &str = "machine,ranks,test,variant,bytes,count,seconds,seconds_low,\
seconds_high,seconds_p25,seconds_p50,seconds_p75,bytes_per_s,runs,samples,warm_up,late,\
start_error_s,contaminated,busy,valid,beside";

/// The table of all points.
pub fn csv(all: &Characterisation) -> String {
    let mut text = format!("{COLUMNS}\n");
    // Of runs without hidden ranks nothing is said of them.
    let asleep = if all.beside_gossip.is_empty() { "" } else { beside::ASLEEP };
    let points = all.points.iter().map(|point| (point, asleep));
    let gossip = all.beside_gossip.iter().map(|point| (point, beside::GOSSIP));
    for (point, doing) in points.chain(gossip) {
        let (key, seconds, [p25, p50, p75]) = (&point.key, point.seconds, point.quartiles_s);
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{:e},{:e},{:e},{:e},{:e},{:e},{:.0},{},{},{},{},{:e},{},{},{},{doing}",
            words::quoted(&key.machine),
            key.ranks,
            words::quoted(&key.test),
            words::quoted(&key.variant),
            key.bytes,
            key.count,
            seconds.estimate,
            seconds.low,
            seconds.high,
            p25,
            p50,
            p75,
            rate(point),
            point.of_runs.len(),
            point.samples,
            point.warm_up,
            point.late,
            point.start_error_s,
            point.contaminated,
            point.busy,
            point.valid
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::characterisation;
    use crate::point::tests::{record, series};

    #[test]
    fn every_line_has_all_columns() {
        let run = record(&[("overlap", "P0-P3 alone", 1024, 0, 1e-6)], 0.0);
        let text = csv(&characterisation(&series(), &[run]));
        let counts: Vec<usize> = text.lines().map(|line| line.matches(',').count()).collect();
        assert_eq!(counts, [21, 21], "{text}");
        assert!(text.contains("\"P0-P3 alone\",1024,0,1.02e-6,"), "{text}");
        let cells: Vec<&str> = text.lines().flat_map(|line| line.split(',')).collect();
        let median = COLUMNS.split(',').position(|name| name == "seconds_p50").expect("a column");
        assert_eq!(cells[median + cells.len() / 2], "1.02e-6", "{text}");
    }
}
