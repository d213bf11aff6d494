//! Conditions on nodes: the language of `--where`.
//!
//! `load1 < 2 and mem_available > 8GiB` picks the nodes for which it holds. Three steps, one file
//! each: [`grammar`] turns text into a tree that knows only words, [`types`] binds the words to
//! columns and scales quantities into their units, [`eval`] decides for one node. A person who
//! writes a condition has to name units where one could be mistaken (`bare`). A missing reading
//! makes its comparison false, so a node never passes by what is not known of it; note that
//! `not load1 < 2` then holds for a node without `load1`. The language is described for users in
//! `docs/reference/where.md`.

mod bare;
mod error;
pub mod eval;
pub mod grammar;
pub mod types;

use tidings_control::NodeReport;

pub use error::FilterError;
pub use error::underline;
pub use grammar::{Expression, MAX_BYTES, MAX_DEPTH};
pub use types::Condition;

/// The most names of a hostlist of which those that nobody has are looked for.
const NAMES_MOST: usize = 65_536;

/// A condition that has been read, checked, and is ready to use.
#[derive(Debug, Clone)]
pub struct Filter {
    condition: Condition,
}

impl Filter {
    /// Reads a condition that someone writes.
    ///
    /// # Errors
    /// [`FilterError`] with the place in `text` and what was expected there.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let expression = grammar::parse(text)?;
        let condition = types::check(text, &expression)?;
        bare::refuse(text, &expression)?;
        Ok(Self { condition })
    }

    /// Reads a condition that was accepted before, perhaps by an earlier version: numbers may lack
    /// their unit, and are then in the column's own.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn kept(text: &str) -> Result<Self, FilterError> {
        let expression = grammar::parse(text)?;
        Ok(Self { condition: types::check(text, &expression)? })
    }

    /// Names in hostlists of the condition that none of `reports` has: they may be mistyped.
    pub fn unknown_names(&self, reports: &[NodeReport]) -> Vec<String> {
        let mut names = Vec::new();
        self.condition.for_each_hostlist(&mut |list| {
            names.extend(
                list.lacking(reports.iter().map(|report| report.name.as_str()), NAMES_MOST),
            );
        });
        names
    }

    /// Whether the condition holds for this node.
    pub fn holds(&self, report: &NodeReport) -> bool {
        eval::holds(&self.condition, report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nobody_has_are_found_wherever_they_stand() {
        let nodes = ["n1", "n2", "m7"]
            .map(|name| NodeReport { name: name.to_owned(), ..NodeReport::default() });
        let filter = Filter::parse("cores > 1 or not (name =~ n[1-3] and name =~ m7,m8)");
        assert_eq!(filter.expect("valid").unknown_names(&nodes), ["n3", "m8"]);
    }

    #[test]
    fn an_error_points_at_its_place() {
        let error = Filter::parse("cores >= 4 and lod1 < 2").expect_err("no such column");
        let lines: Vec<_> = error.to_string().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "no column `lod1`; the nearest is `load1`");
        assert_eq!(lines[1], "  cores >= 4 and lod1 < 2");
        assert_eq!(lines[2], "                 ^^^^");
    }

    /// The whole message, as a person sees it behind `tidings: --where: `.
    #[test]
    fn what_is_wrong_with_a_condition_is_pointed_at() {
        for (text, golden) in [
            ("laod < 2", "no column `laod`; the nearest is `load1`\n  laod < 2\n  ^^^^"),
            (
                "name == n1 adn age < 2s",
                "expected `and`, `or` or the end, found `adn`\n  name == n1 adn age < 2s\n             ^^^",
            ),
            (
                "mem_avail > 8GiB",
                "no column `mem_avail`; the nearest is `mem_available_bytes`\n  mem_avail > 8GiB\n  ^^^^^^^^^",
            ),
        ] {
            assert_eq!(Filter::parse(text).expect_err(text).to_string(), golden);
        }
    }

    #[test]
    fn carets_survive_control_characters_and_long_text() {
        let long = format!("{}\tlod1 < 2", "load1 < 2 and ".repeat(50));
        let error = Filter::parse(&long).expect_err("no such column");
        let lines: Vec<_> = error.to_string().lines().map(str::to_owned).collect();
        assert_eq!(lines[1].find("lod1"), lines[2].find('^'));
        assert!(lines[1].chars().count() < 110);
    }
}
