//! The pages of a characterisation: one HTML page without scripts or other files, and Markdown with
//! the figures beside it.

use std::fmt::Write as _;

use crate::beside;
use crate::figure::Figure;
use crate::growth;
use crate::point::Characterisation;
use crate::words::escaped;

const STYLE: &str = "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em;\
color:#222;line-height:1.4}figure{margin:2em 0}svg{max-width:100%;height:auto;border:1px solid #ddd}\
figcaption{margin-top:.5em}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2em .6em;\
text-align:left;vertical-align:top}.care{background:#fff4e0;padding:.5em 1em}";

/// Clocks that lie farther apart at the end of a series than at its begin did not drift.
const STEPPED_S: f64 = 0.01;

/// What was measured, in a few lines of name and text.
fn facts(all: &Characterisation) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(places) = &all.places {
        facts.push(("MPI", places.library.clone()));
        let most = format!("{} on {} nodes", places.node_of.len(), places.names.len());
        facts.push(("ranks at most", most));
    }
    let samples: usize = all.points.iter().map(|point| point.samples).sum();
    let warm_up: usize = all.points.iter().map(|point| point.warm_up).sum();
    facts.push(("samples", format!("{samples}, without {warm_up} of warm-up")));
    let error_s = all.points.iter().map(|point| point.start_error_s).fold(0.0, f64::max);
    facts.push(("starts lie apart, by the clocks", format!("{:.2} µs at most", 1e6 * error_s)));
    facts
}

/// What a reader must know.
pub fn warnings(all: &Characterisation) -> Vec<String> {
    let mut warnings = Vec::new();
    let busy = all.points.iter().filter(|point| point.busy).count();
    if busy > 0 {
        let of = all.points.len();
        warnings.push(format!(
            "{busy} of {of} points have only runs during which the machine did other things: \
             measure again when it is quiet"
        ));
    }
    let apart: Vec<f64> = all.points.iter().map(|point| point.start_error_s).collect();
    let stepped = apart.iter().filter(|own| **own > STEPPED_S).count();
    if stepped > 0 {
        let most = apart.iter().copied().fold(0.0, f64::max);
        warnings.push(format!(
            "during {stepped} of {} points a clock stepped, by {most:.3} s at most: repetitions \
             that began late by it are left out; have clocks slewed, not set, and measure again",
            all.points.len()
        ));
    }
    let wrong = all.points.iter().filter(|point| !point.valid);
    for point in wrong {
        let key = &point.key;
        warnings.push(format!(
            "{} ({}, {} B): data arrived wrong: do not rely on this MPI for it",
            key.test, key.variant, key.bytes
        ));
    }
    if let Some(reason) = all.places.as_ref().and_then(|places| places.misplaced.as_ref()) {
        warnings.push(format!("ranks are not where they were to be: {reason}"));
    }
    warnings.extend(all.failed.iter().cloned());
    if let Some(first) = all.left_out.first() {
        let count: usize = all.left_out.iter().map(|own| own.runs[0]).sum();
        warnings.push(format!("{count} runs are left out: {}", first.skipped.reason));
    }
    warnings
}

/// What gossip does to the tests, or why nothing can be said of it; none if there was no gossip.
fn of_gossip(all: &Characterisation) -> Option<String> {
    Some(match beside::effects(all)? {
        Ok(effects) => beside::sentence(&effects) + " gossip.csv has all of them.",
        Err(error) => format!("Nothing can be said: {error}."),
    })
}

/// The page as HTML.
pub fn html(name: &str, all: &Characterisation, figures: &[Figure]) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>{0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<table>\n",
        escaped(name)
    );
    for (fact, text) in facts(all) {
        let _ = writeln!(page, "<tr><th>{fact}</th><td>{}</td></tr>", escaped(&text));
    }
    page += "</table>\n";
    let warnings = warnings(all);
    if !warnings.is_empty() {
        page += "<div class=\"care\"><p>Read with care:</p>\n<ul>\n";
        for warning in &warnings {
            let _ = writeln!(page, "<li>{}</li>", escaped(warning));
        }
        page += "</ul></div>\n";
    }
    for figure in figures {
        let picture = match &figure.svg {
            Some(svg) => svg.clone(),
            None => {
                format!("<strong>Figure {}: {}</strong>\n", figure.number, escaped(figure.title))
            }
        };
        let sentence = escaped(&figure.sentence);
        let _ = writeln!(page, "<figure>\n{picture}<figcaption>{sentence}</figcaption>\n</figure>");
    }
    if let Some(said) = of_gossip(all) {
        let _ = writeln!(page, "<h2>Beside gossip</h2>\n<p>{}</p>", escaped(&said));
    }
    if let Some(said) = growth::sentence(&all.points) {
        let _ = writeln!(page, "<h2>Growth</h2>\n<p>{}</p>", escaped(&said));
    }
    if all.not_measured().next().is_some() {
        page +=
            "<h2>Not measured</h2>\n<table>\n<tr><th>test</th><th>part</th><th>reason</th></tr>\n";
        for own in all.not_measured() {
            let [test, part, reason] =
                [&own.test, &own.variant, &own.reason].map(|own| escaped(own));
            let _ = writeln!(page, "<tr><td>{test}</td><td>{part}</td><td>{reason}</td></tr>");
        }
        page += "</table>\n";
    }
    page + "</body>\n</html>\n"
}

/// The page as Markdown.
pub fn markdown(name: &str, all: &Characterisation, figures: &[Figure]) -> String {
    let mut page = format!("# {name}\n\n");
    for (fact, text) in facts(all) {
        let _ = writeln!(page, "- {fact}: {text}");
    }
    let warnings = warnings(all);
    if !warnings.is_empty() {
        page += "\nRead with care:\n\n";
    }
    for warning in warnings {
        let _ = writeln!(page, "- {warning}");
    }
    for figure in figures {
        let _ = write!(page, "\n## Figure {}: {}\n\n", figure.number, figure.title);
        if figure.svg.is_some() {
            let _ = write!(page, "![{}]({})\n\n", figure.title, figure.file);
        }
        let _ = writeln!(page, "{}", figure.sentence);
    }
    if let Some(said) = of_gossip(all) {
        let _ = write!(page, "\n## Beside gossip\n\n{said}\n");
    }
    if let Some(said) = growth::sentence(&all.points) {
        let _ = write!(page, "\n## Growth\n\n{said}\n");
    }
    if all.not_measured().next().is_some() {
        page += "\n## Not measured\n\n| test | part | reason |\n|---|---|---|\n";
    }
    for own in all.not_measured() {
        let [test, part, reason] =
            [&own.test, &own.variant, &own.reason].map(|own| own.replace('|', "\\|"));
        let _ = writeln!(page, "| {test} | {part} | {reason} |");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::figures;
    use crate::point::characterisation;
    use crate::point::tests::{record, series};
    use crate::row::Skipped;

    /// A machine on which latency jumps above 4 KiB, the second flow is throttled, and a
    /// communicator costs three times what WORLD does.
    fn machine() -> Characterisation {
        let rows = [
            ("latency", "in cache", 0, 0, 1e-6),
            ("latency", "in cache", 1024, 0, 1.1e-6),
            ("latency", "in cache", 4096, 0, 1.4e-6),
            ("latency", "in cache", 16384, 0, 9e-6),
            ("core-latency", "core 0 and core 1", 1, 0, 1e-6),
            ("core-latency", "core 0 and core 2", 1, 0, 2e-6),
            ("core-latency", "core 0 and core 2, out of cache", 1, 0, 9e-6),
            ("core-bandwidth", "core 0 and core 1", 65536, 0, 1e-5),
            ("core-bandwidth", "core 0 and core 1, out of cache", 65536, 0, 4e-5),
            ("overlap", "P0-P3, no overlap", 65536, 0, 1e-3),
            ("overlap", "P1-P2, no overlap", 65536, 0, 1e-3),
            ("overlap", "P0-P3, with P1-P2", 65536, 0, 1e-3),
            ("overlap", "P1-P2, with P0-P3", 65536, 0, 2e-3),
            ("bcast", "WORLD", 4, 4, 1e-6),
            ("bcast", "WORLD without the last rank", 4, 3, 3e-6),
            ("hotspot", "mean of workers", 1, 1, 1e-6),
            ("hotspot", "mean of workers", 1, 4, 5e-6),
        ];
        let mut all = characterisation(&series(), &[record(&rows, 0.0)]);
        all.skipped.insert(Skipped {
            test: "hops-latency".to_owned(),
            variant: String::new(),
            reason: "needs 3 nodes".to_owned(),
        });
        all
    }

    #[test]
    fn each_figure_says_what_it_means_or_why_it_is_not_there() {
        let figures = figures(&machine());
        let said = |number: &str| {
            let own = figures.iter().find(|figure| figure.number == number);
            own.map(|figure| figure.sentence.clone()).expect("a figure of that number")
        };
        assert!(said("2a").contains("jumps between 4 KiB and 16 KiB"), "{}", said("2a"));
        assert!(
            said("5").contains("P1-P2 with P0-P3 is throttled most: it keeps 50 %"),
            "{}",
            said("5")
        );
        assert!(
            said("9").contains("On WORLD without the last rank it takes 3 times"),
            "{}",
            said("9")
        );
        assert!(said("3a").contains("core 0 and core 2 takes 2 times"), "{}", said("3a"));
        assert!(said("3b").contains("Out of cache 1.61 GB/s are reached"), "{}", said("3b"));
        assert!(said("6b").contains("4 workers with 1 B"), "{}", said("6b"));
        assert_eq!(said("4"), "Not measured: needs 3 nodes.");
        assert_eq!(said("7a"), "Not measured: its test was not run.");
    }

    #[test]
    fn both_pages_have_all_figures_and_what_was_not_measured() {
        let all = machine();
        let figures = figures(&all);
        let (page, text) = (html("a & b", &all, &figures), markdown("m", &all, &figures));
        assert!(page.contains("<h1>a &amp; b</h1>") && !page.contains("Read with care"), "{page}");
        assert_eq!(page.matches("<figure>").count(), figures.len());
        assert!(
            page.contains("needs 3 nodes") && text.contains("| hops-latency |  | needs 3 nodes |")
        );
        assert!(text.contains("(figure-2a.svg)") && !text.contains("(figure-4.svg)"), "{text}");
    }

    #[test]
    fn runs_that_were_left_out_are_warned_of_and_named_with_the_reason() {
        let mut all = characterisation(&series(), &[]);
        all.say_why_left_out("2m would not have sufficed");
        assert_eq!(warnings(&all), ["1 runs are left out: 2m would not have sufficed"]);
        let figures = figures(&all);
        assert_eq!(
            figures[0].sentence,
            "Not measured: its test was not run (2m would not have sufficed)."
        );
        let part = "1 of 1 runs of 2 ranks on here";
        let text = markdown("m", &all, &figures);
        assert!(text.contains(&format!("| all | {part} | 2m would not have")), "{text}");
        assert!(html("m", &all, &figures).contains(&format!("<td>{part}</td>")));
    }

    #[test]
    fn a_busy_machine_and_wrong_data_are_warned_of() {
        let mut run = record(&[("halo", "XYZT, one-sided", 8, 2, 1e-6)], 0.9);
        run.rows[0]["valid"] = false.into();
        let warnings = warnings(&characterisation(&series(), &[run]));
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("quiet") && warnings[1].contains("arrived wrong"));
    }
}
