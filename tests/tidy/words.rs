//! Plain words: pages and help texts say a thing by the field's term.
//!
//! The project once had words of its own for things that have a standard name. Each is listed with
//! the term that took its place. Code in pages is not looked at: names stay as programs know them.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::Finding;

/// A word or phrase in lower case, and what to say instead.
const BANNED: &[(&str, &str)] = &[
    ("afresh", "again"),
    ("anew", "again; `starts anew` is `restarts`"),
    ("bearer", "the sender"),
    ("befall", "affect"),
    ("befalls", "affects"),
    ("by chance", "at random"),
    ("foretell", "predict"),
    ("foretells", "predicts"),
    ("foretold", "predicted"),
    ("goodbye", "a farewell"),
    ("handed out", "assigned"),
    ("hands out", "assigns"),
    ("held for dead", "considered dead"),
    ("hold for dead", "consider dead"),
    ("in force", "in effect, effective"),
    ("judge", "evaluate, decide"),
    ("judged", "evaluated, decided"),
    ("judges", "evaluates, decides"),
    ("knock", "probe"),
    ("knocks", "probes"),
    ("lap", "repetition"),
    ("laps", "repetitions"),
    ("leaned", "was biased"),
    ("lest", "so that … not"),
    ("manieth", "k-th"),
    ("outlive", "refute"),
    ("outlives", "refutes"),
    ("owe", "must, is pending"),
    ("owed", "pending"),
    ("owes", "must, is pending"),
    ("played", "simulated, run"),
    ("plays", "simulates, runs"),
    ("stand still", "pause"),
    ("standing still", "paused"),
    ("stands still", "is paused, stops"),
    ("stood still", "was paused"),
    ("taken for dead", "considered dead"),
    ("takes for dead", "considers dead"),
    ("told of", "reported, notified of"),
    ("took for dead", "considered dead"),
    ("vouch", "confirm"),
    ("vouches", "confirms"),
    ("whereabouts", "addresses"),
    ("whoever", "any node that, any program that"),
];

/// The banned words in the prose of a page.
pub(crate) fn in_page(page: &str, text: &str) -> Vec<Finding> {
    let (mut findings, mut line, mut prose, mut code) = (Vec::new(), 1, String::new(), false);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code = true,
            Event::End(TagEnd::CodeBlock) => code = false,
            Event::Text(part) if !code => prose.push_str(&part),
            Event::SoftBreak | Event::HardBreak | Event::Code(_) => prose.push(' '),
            Event::Start(
                Tag::Paragraph | Tag::Heading { .. } | Tag::Item | Tag::Table(_) | Tag::TableRow,
            ) => {
                findings.extend(in_text(page, line, &prose));
                prose.clear();
                line = text[..range.start].matches('\n').count() + 1;
            }
            Event::End(TagEnd::TableCell) => prose.push_str(" | "),
            _ => {}
        }
    }
    findings.extend(in_text(page, line, &prose));
    findings
}

/// The banned words of a text without markup.
pub(crate) fn in_text(file: &str, line: usize, text: &str) -> Vec<Finding> {
    let within = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '\'');
    let words = text.split(|c| !within(c)).filter(|word| !word.is_empty());
    let spaced = format!(" {} ", words.collect::<Vec<_>>().join(" ").to_lowercase());
    let used = BANNED.iter().filter(|(word, _)| spaced.contains(&format!(" {word} ")));
    used.map(|(word, instead)| Finding::new(file, line, format!("`{word}`: say {instead}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banned_word_is_found_with_its_line() {
        let page = "# Page\n\nFine.\n\n- A node is told\n  of it, and `knock` is code.\n\n\
            | a |\n|---|\n| Laps |\n\n```text\nanew\n```\n";
        let found = in_page("docs/a.md", page);
        let lines: Vec<(usize, bool)> =
            found.iter().map(|one| (one.line, one.remedy.contains("say"))).collect();
        assert_eq!(lines, [(5, true), (10, true)], "{found:?}");
    }

    #[test]
    fn parts_of_words_and_options_are_not_meant() {
        assert!(in_text("a", 1, "allowed overlaps; run --anew, display, a landowner").is_empty());
        assert_eq!(in_text("a", 1, "drawn Anew.").len(), 1);
    }

    #[test]
    fn words_are_in_order_and_once() {
        assert!(BANNED.is_sorted_by(|one, next| one.0 < next.0));
    }
}
