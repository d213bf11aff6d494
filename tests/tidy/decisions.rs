//! The index of decisions: each record has its line, in the order of numbers, with its own words.
//!
//! A line is `| [NNNN](file): title | status |`. A number that no record has stands there too, as
//! `| NNNN | not used … |`, so that nobody looks for it.

use crate::Finding;

/// A record: its file's name, and its text.
pub(crate) type Record = (String, String);

/// What is wrong with the index at `page`, beside the records of its folder.
pub(crate) fn wrong_in_index(page: &str, index: &str, records: &[Record]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut wanted = Vec::new();
    let mut next = 1;
    for (file, text) in records {
        let Some((number, line)) = line_of(file, text) else {
            let remedy = "begin with `# NNNN: title`, by the file's number, and a line `Status: …`";
            findings.push(Finding::new(file, 1, remedy));
            continue;
        };
        wanted.extend((next..number).map(|unused| format!("| {unused:04} | not used")));
        wanted.push(line);
        next = number + 1;
    }
    let is_row = |line: &&str| line.starts_with("| [") || line.starts_with("| 0");
    let rows: Vec<&str> = index.lines().filter(is_row).collect();
    for (at, line) in wanted.iter().enumerate() {
        if !rows.get(at).is_some_and(|row| row.starts_with(line.as_str())) {
            let remedy = format!("line {} of the table should begin `{line}`", at + 1);
            findings.push(Finding::new(page, 1, remedy));
        }
    }
    if rows.len() > wanted.len() {
        let remedy = format!("the table has {} lines for {}", rows.len(), wanted.len());
        findings.push(Finding::new(page, 1, remedy));
    }
    findings
}

/// The number of a record and its line in the index; `None` if it does not say them.
fn line_of(file: &str, text: &str) -> Option<(u32, String)> {
    let digits = file.get(..4)?;
    let title =
        text.lines().next()?.strip_prefix("# ")?.strip_prefix(digits)?.strip_prefix(": ")?;
    let status = text.lines().find_map(|line| line.strip_prefix("Status: "))?;
    let status = status.split_once(". ").map_or(status, |(status, _)| status);
    Some((digits.parse().ok()?, format!("| [{digits}]({file}): {title} | {status} |")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "# Decisions\n\n| record | status |\n|---|---|\n\
        | [0001](0001-a.md): A | accepted |\n| 0002 | not used |\n\
        | [0003](0003-c.md): C | superseded by 0004 |\n";

    fn records() -> Vec<Record> {
        let record = |file: &str, text: &str| (file.to_owned(), text.to_owned());
        vec![
            record("0001-a.md", "# 0001: A\n\nStatus: accepted. Date: 2026-11-20.\n"),
            record("0003-c.md", "# 0003: C\nStatus: superseded by 0004. Date: 2026-11-21.\n"),
        ]
    }

    fn found(index: &str, records: &[Record]) -> usize {
        wrong_in_index("README.md", index, records).len()
    }

    #[test]
    fn an_index_that_says_what_the_records_say_passes() {
        assert_eq!(wrong_in_index("README.md", INDEX, &records()), []);
    }

    #[test]
    fn a_line_that_is_missing_or_in_another_place_is_found() {
        assert_ne!(
            found(
                &INDEX.replace("| [0003](0003-c.md): C | superseded by 0004 |\n", ""),
                &records()
            ),
            0
        );
        assert_ne!(found(&INDEX.replace("| 0002 | not used |\n", ""), &records()), 0);
        assert_ne!(found(&format!("{INDEX}| [0009](0009-x.md): X | accepted |\n"), &records()), 0);
    }

    #[test]
    fn another_title_or_status_is_found() {
        assert_eq!(found(&INDEX.replace("): C", "): D"), &records()), 1);
        assert_eq!(found(&INDEX.replace("superseded by 0004", "accepted"), &records()), 1);
    }

    #[test]
    fn a_record_without_status_or_with_another_number_is_found() {
        let (index, good) = (INDEX, "Status: accepted.");
        for text in ["# 0001: A\n", &format!("# 0002: A\n{good}"), &format!("A\n{good}")] {
            let mut records = records();
            records[0].1 = text.to_owned();
            assert_ne!(found(index, &records), 0, "{text}");
        }
    }
}
