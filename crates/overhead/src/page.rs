//! `results.md`: the table of a campaign as Markdown, with its picture and what to be warned of.

use std::fmt::Write as _;

use crate::Campaign;
use crate::analysis::Analysis;
use crate::report::{HEADINGS, lines};
use crate::warnings::warnings;

/// The page of a campaign whose picture lies beside it.
pub fn markdown(campaign: &Campaign, analysis: &Analysis, picture: &str) -> String {
    let mut page = format!(
        "# {}\n\nWhat gossip on hidden ranks costs, {} repetitions. Slowdowns are against `{}`; \
         what is below the noise floor is given as a bound.\n\n![Slowdowns with their intervals]\
         ({picture})\n\n",
        campaign.name, campaign.repetitions, campaign.baseline
    );
    let _ = writeln!(page, "| {} |", HEADINGS.map(escaped).join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(HEADINGS.len()));
    for line in lines(analysis) {
        let cells: Vec<String> = line.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    let warnings = warnings(analysis);
    if !warnings.is_empty() {
        page += "\nRead with care:\n\n";
    }
    for warning in warnings {
        let _ = writeln!(page, "- {}", escaped(&warning));
    }
    page
}

/// A text that Markdown shows as it is.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::analyse;
    use crate::analysis::tests::records;
    use crate::campaign::tests::small;

    #[test]
    fn a_page_has_a_row_for_each_arm_and_names_its_picture() {
        let campaign = small(40);
        let page = markdown(
            &campaign,
            &analyse(&campaign, &records(&campaign, &[0.02, 0.0], 0.01)),
            "results.svg",
        );
        assert!(page.starts_with("# small\n") && page.contains("(results.svg)"), "{page}");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 2 + 3, "{page}");
        let columns = |row: &str| row.matches('|').count();
        assert!(rows.iter().all(|row| columns(row) == HEADINGS.len() + 1), "{page}");
        assert!(page.contains("slower") && page.contains("within noise"), "{page}");
        assert!(!page.contains("Read with care"), "{page}");
    }
}
