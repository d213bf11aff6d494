//! Lists of what breaks a rule and may stay for now, each entry with its reason, in `allowed/`.
//!
//! A list only gets shorter. What breaks the rule and is not on it is a finding, what is worse than
//! the list says is one, and so is an entry that nothing needs any more. An entry is a line
//! `what | how much | why`; lines that begin with `#` say what the list is for.

use crate::Finding;

/// What breaks a rule, as the rule names it: its place, and how badly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Breach {
    /// What a list calls it: a file, a function of a file, the files of a circle.
    pub what: String,
    /// How much of it there is, in the rule's unit: lines, columns, files.
    pub amount: usize,
    /// What is said where no list allows it.
    pub finding: Finding,
}

/// A list in `tests/tidy/allowed`.
pub(crate) struct Allowed {
    file: String,
    entries: Vec<Entry>,
}

struct Entry {
    line: usize,
    what: String,
    amount: usize,
}

impl Allowed {
    /// The list of this name.
    pub(crate) fn named(name: &str) -> Self {
        let file = format!("tests/tidy/allowed/{name}");
        let text = crate::repository::text(&file);
        Self::read(&file, &text)
    }

    fn read(file: &str, text: &str) -> Self {
        let entries = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .map(|(at, line)| entry(at + 1, line).unwrap_or_else(|| malformed(file, at + 1)))
            .collect();
        Self { file: file.to_owned(), entries }
    }

    /// The breaches that the list does not allow, and the entries that have to change.
    pub(crate) fn evaluate(&self, breaches: &[Breach]) -> Vec<Finding> {
        let mut findings: Vec<Finding> =
            breaches.iter().filter_map(|breach| self.not_allowed(breach)).collect();
        for entry in &self.entries {
            if !breaches.iter().any(|breach| breach.what == entry.what) {
                let remedy = format!("`{}` keeps the rule: take it off the list", entry.what);
                findings.push(Finding::new(&self.file, entry.line, remedy));
            }
        }
        findings
    }

    fn not_allowed(&self, breach: &Breach) -> Option<Finding> {
        let Some(entry) = self.entries.iter().find(|entry| entry.what == breach.what) else {
            return Some(breach.finding.clone());
        };
        let slack = entry.amount / 10;
        if breach.amount > entry.amount {
            let Finding { file, line, remedy } = &breach.finding;
            let allowed = format!("{} allows {} at most", self.file, entry.amount);
            Some(Finding::new(file, *line, format!("{remedy} ({allowed})")))
        } else if breach.amount + slack < entry.amount {
            let remedy = format!("`{}` is down to {}: say so here", entry.what, breach.amount);
            Some(Finding::new(&self.file, entry.line, remedy))
        } else {
            None
        }
    }
}

fn entry(line: usize, text: &str) -> Option<Entry> {
    let mut fields = text.split('|').map(str::trim);
    let (what, amount, why) = (fields.next()?, fields.next()?, fields.next()?);
    let reasoned = why.split_whitespace().count() >= 3;
    let amount = amount.parse().ok()?;
    reasoned.then(|| Entry { line, what: what.to_owned(), amount })
}

fn malformed(file: &str, line: usize) -> ! {
    panic!("{file}:{line}: write `what | how much | why, in three words or more`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Long files.\n\na.rs | 600 | it is a table\nb.rs | 700 | one enum only\n";

    fn breach(what: &str, amount: usize) -> Breach {
        Breach { what: what.to_owned(), amount, finding: Finding::new(what, 1, "split it") }
    }

    fn found(breaches: &[Breach]) -> Vec<String> {
        let findings = Allowed::read("list", LIST).evaluate(breaches);
        findings.iter().map(|finding| format!("{}:{}", finding.file, finding.line)).collect()
    }

    #[test]
    fn what_the_list_allows_passes() {
        assert_eq!(found(&[breach("a.rs", 600), breach("b.rs", 690)]), [""; 0]);
    }

    #[test]
    fn what_is_not_on_the_list_is_found() {
        let breaches = [breach("a.rs", 600), breach("b.rs", 700), breach("c.rs", 501)];
        assert_eq!(found(&breaches), ["c.rs:1"]);
    }

    #[test]
    fn what_is_worse_than_the_list_says_is_found() {
        assert_eq!(found(&[breach("a.rs", 601), breach("b.rs", 700)]), ["a.rs:1"]);
    }

    #[test]
    fn an_entry_that_nothing_needs_is_found() {
        assert_eq!(found(&[breach("a.rs", 600)]), ["list:4"]);
    }

    #[test]
    fn an_entry_that_is_a_tenth_too_high_is_found() {
        assert_eq!(found(&[breach("a.rs", 600), breach("b.rs", 629)]), ["list:4"]);
    }

    #[test]
    #[should_panic(expected = "list:1: write")]
    fn an_entry_without_a_reason_is_refused() {
        drop(Allowed::read("list", "a.rs | 600 |"));
    }
}
