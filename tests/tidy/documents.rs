//! Markdown pages: each relative link leads to a file that exists, and to a heading that it has;
//! each page of results names the command that makes its figures.

use std::collections::BTreeSet;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::Finding;

/// A fenced code block: its language (may be empty), the line of its first line, its text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CodeBlock {
    pub language: String,
    pub line: usize,
    pub text: String,
}

/// Relative links that lead nowhere. `read` gives a file's text, or `None` where there is no file.
pub(crate) fn broken_links(
    page: &str,
    text: &str,
    read: &impl Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (target, line) in links(text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
        let file = if path.is_empty() { page.to_owned() } else { resolve(page, path) };
        let Some(there) = (if path.is_empty() { Some(text.to_owned()) } else { read(&file) })
        else {
            let remedy =
                format!("the link `{target}` leads to {file}, which is not there: mend it");
            findings.push(Finding::new(page, line, remedy));
            continue;
        };
        if !heading.is_empty() && !headings(&there).iter().any(|known| known == heading) {
            let remedy = format!("{file} has no heading `#{heading}`: mend the link");
            findings.push(Finding::new(page, line, remedy));
        }
    }
    findings
}

/// Links that name a function of a Rust file, as [`` `name` ``](file.rs), where the file has none.
pub(crate) fn missing_functions(
    page: &str,
    text: &str,
    read: &impl Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    let (mut findings, mut file) = (Vec::new(), None);
    for (event, range) in
        Parser::new_ext(text, pulldown_cmark::Options::ENABLE_TABLES).into_offset_iter()
    {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                file = dest_url.ends_with(".rs").then(|| resolve(page, &dest_url));
            }
            Event::End(TagEnd::Link) => file = None,
            Event::Code(name) => {
                let Some(there) = file.as_deref().and_then(read) else { continue };
                if !there.contains(&format!("fn {name}(")) {
                    let line = text[..range.start].matches('\n').count() + 1;
                    let remedy = format!("`{name}` is in no such file: name a function that is");
                    findings.push(Finding::new(page, line, remedy));
                }
            }
            _ => {}
        }
    }
    findings
}

/// Lines of prose wider than 120 columns. Tables, code and the targets of links are not counted.
pub(crate) fn wide_prose(page: &str, text: &str) -> Vec<Finding> {
    let (mut findings, mut code) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        let start = line.trim_start();
        code ^= start.starts_with("```");
        let targets: usize = line.split("](").skip(1).map(|rest| width(until_bracket(rest))).sum();
        if !code && !start.starts_with('|') && width(line) - targets > 120 {
            findings.push(Finding::new(page, at + 1, "more than 120 columns: wrap the line"));
        }
    }
    findings
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn until_bracket(text: &str) -> &str {
    text.split(')').next().unwrap_or_default()
}

/// Pages that the summary does not list, so that the site of the documentation lacks them.
pub(crate) fn missing_from_summary(
    summary: &str,
    text: &str,
    pages: impl Iterator<Item = String>,
) -> Vec<Finding> {
    let listed: BTreeSet<String> =
        links(text).iter().map(|(target, _)| resolve(summary, target)).collect();
    pages
        .filter(|page| !listed.contains(page))
        .map(|page| Finding::new(&page, 1, format!("{summary} does not list it: add a line there")))
        .collect()
}

/// A page of results without a command that makes them, or with a `make` target that is not there.
pub(crate) fn without_command(page: &str, text: &str, targets: &BTreeSet<String>) -> Vec<Finding> {
    let spans = Parser::new(text).filter_map(|event| match event {
        Event::Code(span) => Some(span.into_string()),
        _ => None,
    });
    let lines = code_blocks(text).into_iter().flat_map(|block| {
        block.text.lines().map(|line| line.trim_start_matches("$ ").to_owned()).collect::<Vec<_>>()
    });
    let mut findings = Vec::new();
    let mut commands = 0;
    for command in spans.chain(lines) {
        let mut words = command.split_whitespace();
        match (words.next(), words.next()) {
            (Some("make"), Some(target)) if !targets.contains(target) => {
                let remedy = format!("`make {target}`: the Makefile has no such target");
                findings.push(Finding::new(page, 1, remedy));
            }
            (Some("make" | "cargo" | "tidings"), Some(_)) => commands += 1,
            (Some(program), _) if program.starts_with("studies/") && program.ends_with("/run") => {
                commands += 1;
            }
            _ => {}
        }
    }
    if commands == 0 {
        findings.push(Finding::new(page, 1, "name the command that makes these figures anew"));
    }
    findings
}

/// The fenced code blocks of a page.
pub(crate) fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut blocks: Vec<CodeBlock> = Vec::new();
    let mut open = false;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                let line = line_at(text, range.start) + 1;
                let language = language.into_string();
                blocks.push(CodeBlock { language, line, text: String::new() });
                open = true;
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            Event::Text(part) if open => {
                blocks.last_mut().expect("a block is open").text.push_str(&part);
            }
            _ => {}
        }
    }
    blocks
}

/// The targets of a page's links and images, each with its line.
fn links(text: &str) -> Vec<(String, usize)> {
    Parser::new(text)
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some((dest_url.into_string(), line_at(text, range.start)))
            }
            _ => None,
        })
        .collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn headings(text: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    let mut title: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => title = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => anchors.extend(title.take().map(|t| anchor(&t))),
            Event::Text(part) | Event::Code(part) => {
                if let Some(title) = &mut title {
                    title.push_str(&part);
                }
            }
            _ => {}
        }
    }
    anchors
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A link's path, seen from the repository instead of from its page.
fn resolve(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Lines that a page quotes below `| the log says |` and that no code prints. A text of the code
/// may be continued behind a backslash.
pub(crate) fn log_lines_of_nobody(page: &str, text: &str, code: &str) -> Vec<Finding> {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let code = words(&code.replace("\\\n", " "));
    let lines = text.lines().enumerate();
    let table = lines.skip_while(|(_, line)| !line.starts_with("| the log says")).skip(2);
    let rows: Vec<_> = table.take_while(|(_, line)| line.starts_with('|')).collect();
    if rows.is_empty() {
        return vec![Finding::new(page, 1, "no table of lines of the log: the walk is broken")];
    }
    rows.into_iter()
        .filter_map(|(number, line)| {
            let quoted = line.split('`').nth(1).unwrap_or_default();
            let is_there = !quoted.is_empty() && code.contains(&words(quoted));
            let what = format!("`{quoted}`: the agent does not log this");
            (!is_there).then(|| Finding::new(page, number + 1, what))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<usize> {
        let read = |file: &str| match file {
            "docs/glossary.md" => Some("# Words\n\n### unit of time (`u`)\n".to_owned()),
            "docs" => Some(String::new()),
            _ => None,
        };
        broken_links("docs/a.md", text, &read).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        assert_eq!(findings("Text.\n\nSee [it](missing.md) and ![it](../pic.png)."), [3, 3]);
        assert_eq!(findings("[a]\n\n[a]: missing.md"), [1]);
    }

    #[test]
    fn a_link_to_a_missing_heading_is_found() {
        assert_eq!(findings("[it](glossary.md#age)"), [1]);
        assert_eq!(findings("# Here\n\n[it](#there)"), [3]);
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let good =
            "# Here\n[a](glossary.md#unit-of-time-u) [b](../docs) [c](https://x.org/y) [d](#here)
            `[e](missing.md)`";
        assert!(findings(good).is_empty());
    }

    #[test]
    fn a_test_that_is_not_in_the_file_is_found() {
        let read = |_: &str| Some("fn ages_are_known() {}".to_owned());
        let found = |text: &str| missing_functions("docs/a.md", text, &read).len();
        assert_eq!(found("| a |\n|---|\n| [`ages_are_known`](../t.rs) |"), 0);
        assert_eq!(found("| a |\n|---|\n| [`ages_are`](../t.rs) |"), 1);
    }

    #[test]
    fn results_without_a_command_are_found() {
        let targets = BTreeSet::from(["busy".to_owned()]);
        let found = |text: &str| without_command("studies/a/README.md", text, &targets).len();
        assert_eq!((found("Figures."), found("By `make bussy`.")), (1, 2));
        assert_eq!(found("By `studies/busy-share/run --draw`."), 0);
        assert_eq!((found("By `make busy`."), found("```sh\n$ cargo bench\n```\n")), (0, 0));
    }

    #[test]
    fn wide_prose_is_found_and_tables_code_and_links_pass() {
        let wide = "word ".repeat(30);
        let found = |text: &str| wide_prose("docs/a.md", text).len();
        assert_eq!(found(&format!("Fine.\n\n{wide}\n")), 1);
        assert_eq!(found(&format!("| {wide} |\n\n```text\n{wide}\n```\n")), 0);
        assert_eq!(found(&format!("- [one]({})\n", "a/".repeat(80))), 0);
    }

    #[test]
    fn a_page_that_the_summary_lacks_is_found() {
        let text = "# Summary\n\n[One](../ONE.md)\n\n- [Two](a/two.md)\n";
        let pages = ["ONE.md", "docs/a/two.md", "docs/three.md"].map(str::to_owned);
        let found = missing_from_summary("docs/SUMMARY.md", text, pages.into_iter());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].file, "docs/three.md");
    }

    #[test]
    fn code_blocks_keep_language_and_line() {
        let blocks = code_blocks("Text\n\n```sh\nmake demo\n```\n");
        let wanted = CodeBlock { language: "sh".into(), line: 4, text: "make demo\n".into() };
        assert_eq!(blocks, [wanted]);
    }
}
