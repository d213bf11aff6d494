//! `results.svg`: a line for each arm, its slowdown with the interval, over the band of noise.
//!
//! Invariants: every text is escaped and stands left of the plot, however long names are; a number
//! that was not measured draws nothing.

use std::fmt::Write as _;

use tidings_experiment::statistics::Interval;

use crate::analysis::{Analysis, Effect, Group, Verdict};
use crate::campaign::Doing;

/// Sizes in pixels: of a letter, a line of the picture, the plot and the space around it.
const LETTER: f64 = 7.5;
const LINE: f64 = 24.0;
const PLOT: f64 = 480.0;
const MARGIN: f64 = 16.0;

/// Of a colour-blind reader's palette (Okabe and Ito), and greys.
const SLOWER: &str = "#d55e00";
const FASTER: &str = "#0072b2";
const UNDECIDED: &str = "#555555";

/// A line of the picture.
struct Row {
    label: String,
    slowdown: Option<Interval>,
    floor: f64,
    color: &'static str,
}

/// The picture of a campaign's results.
pub fn svg(title: &str, analysis: &Analysis) -> String {
    let rows: Vec<Row> = analysis.groups.iter().flat_map(rows).collect();
    let reach = rows.iter().map(|row| row.slowdown.map_or(0.0, |own| own.reach()).max(row.floor));
    let most = reach.filter(|share| share.is_finite()).fold(0.001, f64::max) * 1.1;
    let letters = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let left = MARGIN * 2.0 + LETTER * letters as f64;
    let (width, height) = (left + PLOT + MARGIN, LINE * (rows.len() as f64 + 4.0));
    let at = |share: f64| left + PLOT * (0.5 + share / most / 2.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"13\" role=\"img\">\n<title>{0}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"{LINE}\" font-weight=\"bold\">{0}</text>\n",
        escaped(title)
    );
    for (number, row) in rows.iter().enumerate() {
        draw(&mut text, row, LINE * (number as f64 + 2.0), &at);
    }
    axis(&mut text, most, LINE * (rows.len() as f64 + 1.5), &at);
    text + "</svg>\n"
}

/// A group's arms.
fn rows(group: &Group) -> Vec<Row> {
    let row = |effect: &Effect| {
        let doing = effect.side.doing.as_ref().map(Doing::to_string).unwrap_or_default();
        Row {
            label: format!("{}, {} nodes: {doing}", group.application, group.nodes),
            slowdown: effect.slowdown,
            floor: if group.floor().is_finite() { group.floor() } else { 0.0 },
            color: match effect.verdict {
                Verdict::Slower => SLOWER,
                Verdict::Faster => FASTER,
                Verdict::WithinNoise | Verdict::TooFew => UNDECIDED,
            },
        }
    };
    group.effects.iter().map(row).collect()
}

/// The label, the band of noise, the interval and the estimate.
fn draw(text: &mut String, row: &Row, y: f64, at: &dyn Fn(f64) -> f64) {
    let (low, high) = (at(-row.floor), at(row.floor));
    let _ = writeln!(
        text,
        "<text x=\"{MARGIN}\" y=\"{y:.1}\">{}</text>\n<rect x=\"{low:.1}\" y=\"{:.1}\" \
         width=\"{:.1}\" height=\"{LINE}\" fill=\"#dddddd\"/>",
        escaped(&row.label),
        y - 0.7 * LINE,
        high - low
    );
    let Some(own) = row.slowdown else { return };
    let (middle, color) = (y - 0.2 * LINE, row.color);
    let _ = writeln!(
        text,
        "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\" stroke=\"{color}\" \
         stroke-width=\"2\"/>\n<circle cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"4\" fill=\"{color}\"/>",
        at(own.low),
        at(own.high),
        at(own.estimate)
    );
}

/// The line of zero and the numbers below the plot.
fn axis(text: &mut String, most: f64, y: f64, at: &dyn Fn(f64) -> f64) {
    let zero = at(0.0);
    let _ = writeln!(
        text,
        "<line x1=\"{zero:.1}\" x2=\"{zero:.1}\" y1=\"{LINE}\" y2=\"{y:.1}\" stroke=\"black\"/>"
    );
    for share in [-most / 1.1, 0.0, most / 1.1] {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.2} %</text>",
            at(share),
            y + 0.7 * LINE,
            100.0 * share
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{zero:.1}\" y=\"{:.1}\" text-anchor=\"middle\">slowdown, with its interval of \
         95 %; grey: noise</text>",
        y + 1.6 * LINE
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::analyse;
    use crate::analysis::tests::records;
    use crate::campaign::tests::small;

    #[test]
    fn each_arm_has_its_interval_over_the_noise() {
        let campaign = small(40);
        let mut analysis = analyse(&campaign, &records(&campaign, &[0.02, 0.0], 0.01));
        analysis.groups[0].application = "a < b".to_owned();
        let text = svg("small & short", &analysis);
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{text}");
        assert!(text.contains("small &amp; short") && text.contains("a &lt; b"), "{text}");
        assert_eq!((text.matches("<circle").count(), text.matches(SLOWER).count()), (2, 2));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn what_was_not_measured_draws_nothing() {
        let text = svg("none", &analyse(&small(20), &[]));
        assert_eq!(text.matches("<circle").count(), 0, "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
