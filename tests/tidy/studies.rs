//! Studies: a folder for each question, which answers it at once and can be made anew.
//!
//! A study is a folder of `studies` with a page or a `run`. It has both; `run` is executable and
//! says in its first comment what the question is; the index names the study. The first ten lines
//! of the page hold the question, an answer with a number, where the numbers are, and the command;
//! how the answer was found comes below a rule.

use std::collections::BTreeSet;

use crate::Finding;

/// The lines in which a page answers.
const LINES: usize = 10;

/// The folders that are studies, by the files that are there.
pub(crate) fn named(files: &[String]) -> BTreeSet<&str> {
    let of = |file: &'_ str| -> bool { file == "README.md" || file == "run" };
    files
        .iter()
        .filter_map(|file| file.strip_prefix("studies/")?.split_once('/'))
        .filter(|(_, file)| of(file))
        .map(|(study, _)| study)
        .collect()
}

/// A study without page, without `run`, or without a line in the index.
pub(crate) fn incomplete(
    study: &str,
    files: &[String],
    index: &str,
    is_executable: &impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let (page, run) = (format!("studies/{study}/README.md"), format!("studies/{study}/run"));
    let mut findings = Vec::new();
    if !files.contains(&page) {
        findings.push(Finding::new(&page, 1, "write the page that answers the question"));
    }
    if !files.contains(&run) || !is_executable(&run) {
        findings.push(Finding::new(&run, 1, "make a program `run` that measures and draws"));
    }
    let entry = format!("]({study}/README.md) | ");
    let result = index.lines().find_map(|line| line.split_once(&entry).map(|(_, result)| result));
    if !result.is_some_and(|result| result.contains(|c: char| c.is_ascii_digit())) {
        let remedy = format!("give {study} a line with its result, a number");
        findings.push(Finding::new("studies/README.md", 1, remedy));
    }
    findings
}

/// What a page lacks of an answer in its first lines.
pub(crate) fn without_answer(study: &str, text: &str) -> Vec<Finding> {
    let page = format!("studies/{study}/README.md");
    let head: Vec<&str> = text.lines().take(LINES).collect();
    let has = |wanted: &dyn Fn(&str) -> bool| head.iter().any(|line| wanted(line));
    let number = |line: &str| line.contains(|c: char| c.is_ascii_digit());
    let command = format!("`studies/{study}/run`");
    let asked: [(bool, &str); 5] = [
        (has(&|line| line.starts_with("**Question.** ")), "the `**Question.**`"),
        (
            has(&|line| line.starts_with("**Answer.** ") && number(line)),
            "the `**Answer.**`, with a number",
        ),
        (
            has(&|line| [".svg)", ".csv)", "](#"].iter().any(|end| line.contains(end))),
            "the figure, or where the table is",
        ),
        (has(&|line| line.starts_with("Command: ") && line.contains(&command)), "the command"),
        (text.lines().skip(LINES).any(|line| line == "---"), "a rule below the answer"),
    ];
    asked
        .iter()
        .filter(|(is_there, _)| !is_there)
        .map(|(_, what)| {
            let remedy = format!("a page answers in its first {LINES} lines: give {what}");
            Finding::new(&page, 1, remedy)
        })
        .collect()
}

/// Tables that a study's draw.py names and that are not there: nobody has measured them.
pub(crate) fn without_table(study: &str, drawn: &str, files: &[String]) -> Vec<Finding> {
    let draw = format!("studies/{study}/draw.py");
    let named = drawn.lines().enumerate().flat_map(|(at, line)| {
        let quoted = line.split('"').skip(1).step_by(2);
        let is_name =
            |text: &&str| text.strip_suffix(".csv").is_some_and(|name| !name.contains('{'));
        quoted.filter(is_name).map(move |table| (at + 1, table))
    });
    named
        .filter(|(_, table)| !files.contains(&format!("studies/{study}/{table}")))
        .map(|(line, table)| Finding::new(&draw, line, format!("{table} is missing: measure it")))
        .collect()
}

/// A `run` whose first comment is no question.
pub(crate) fn without_question(study: &str, run: &str) -> Vec<Finding> {
    let asks = run.lines().nth(1).is_some_and(|line| line.starts_with("# ") && line.contains('?'));
    let remedy = "say the question in the second line: `make studies` lists it";
    (!asks).then(|| Finding::new(&format!("studies/{study}/run"), 2, remedy)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_drawn_and_was_not_measured_is_found() {
        let files = ["studies/ages/ages.csv".to_owned()];
        let drawn = "DRAWN = (\n    Drawn(\"ages.csv\", X),\n    Drawn(\"later.csv\", X),\n)\n";
        let found = without_table("ages", drawn, &files);
        assert_eq!(found.iter().map(|one| one.line).collect::<Vec<_>>(), [3]);
    }

    const INDEX: &str = "| study | result |\n|---|---|\n| [ages](ages/README.md) | 2.5 s |\n";
    const PAGE: &str = "# Ages\n\n**Question.** How old?\n\n**Answer.** 2.5 s.\n\n![Ages](ages.svg)\n\n\
        Command: `studies/ages/run` (2 minutes).\n\n---\n\nHow.\n";

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| format!("studies/{name}")).collect()
    }

    #[test]
    fn a_folder_with_a_page_or_a_run_is_a_study() {
        let there = files(&["README.md", "ages/README.md", "deaths/run", "drawing/style.py"]);
        assert_eq!(named(&there), BTreeSet::from(["ages", "deaths"]));
    }

    #[test]
    fn a_study_that_lacks_something_is_found() {
        let whole = files(&["ages/README.md", "ages/run"]);
        assert!(incomplete("ages", &whole, INDEX, &|_| true).is_empty());
        assert_eq!(incomplete("ages", &whole, INDEX, &|_| false).len(), 1);
        assert_eq!(
            incomplete("ages", &whole, "| [ages](ages/README.md) | old |", &|_| true).len(),
            1
        );
        assert_eq!(incomplete("deaths", &files(&["deaths/draw.py"]), INDEX, &|_| true).len(), 3);
    }

    #[test]
    fn a_page_that_does_not_answer_at_once_is_found() {
        assert!(without_answer("ages", PAGE).is_empty());
        let late = PAGE.replace("# Ages\n", "# Ages\n\nOnce upon a time\n\nthere were\n\nnodes.\n");
        assert_eq!(without_answer("ages", &late).len(), 3);
        for (part, by) in [
            ("**Answer.** 2.5 s", "**Answer.** Soon"),
            ("**Question.**", "Question:"),
            ("ages.svg)", "ages)"),
            ("`studies/ages/run`", "`studies/deaths/run`"),
            ("---", "How:"),
        ] {
            assert_eq!(without_answer("ages", &PAGE.replace(part, by)).len(), 1, "{part}");
        }
    }

    #[test]
    fn a_run_without_its_question_is_found() {
        assert!(without_question("ages", "#!/bin/sh\n# How old?\n").is_empty());
        assert_eq!(without_question("ages", "#!/bin/sh\nset -e\n# How old?\n").len(), 1);
    }
}
